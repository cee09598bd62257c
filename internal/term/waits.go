package term

import (
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure/view"
)

// WriteWaits prints it for people: what is asked, the action as far as a list has room for it, who is asked and until
// when, and then how to answer.
func WriteWaits(w io.Writer, found []view.Wait, now time.Time, brief bool) error {
	s, width := StyleOf(w), WidthOf(w)
	for i := range found {
		one := &found[i]
		name := one.Name
		if name == "" {
			name = one.Agent.Short()
		}
		what := view.OneLine(one.Head(), 0)
		if brief {
			what = view.OneLine(one.What, view.LineWidth)
		}
		var b strings.Builder
		shown := view.ShownName(name)
		b.WriteString(Folded(s.Head(shown)+"  "+s.Warn(one.Kind)+"  ", Columns(shown)+2+len(one.Kind)+2,
			what+", "+view.Ago(one.Since, now), width))
		row := func(text string) { b.WriteString(Wrapped("    ", text, width, s.Dim)) }
		if one.Action != nil && !brief {
			row("agent " + one.Agent.String()) // two names can look alike
		}
		for _, r := range one.Sheet(now) {
			if brief {
				break
			}
			for _, text := range r.Text {
				row(strings.TrimSpace(r.Label + " " + text))
			}
		}
		if brief {
			row(one.Circumstances(now))
		}
		if one.Answer == "" {
			row(one.Others)
		} else {
			b.WriteString("    " + s.Dim(one.Answer) + "\n") // never broken: it is there to be copied
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}
