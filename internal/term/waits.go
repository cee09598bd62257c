package term

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure/view"
)

// WriteWaits prints it for people: what is asked, the action, who is asked and until when, and then how to answer; in
// brief one line of each.
func WriteWaits(w io.Writer, found []view.Wait, now time.Time, brief bool) error {
	s, width := StyleOf(w), WidthOf(w)
	for i := range found {
		one := &found[i]
		name := one.Name
		if name == "" {
			name = one.Agent.Short()
		}
		shown := view.ShownName(name)
		if brief {
			if err := writeBriefly(w, one, shown, now); err != nil {
				return err
			}
			continue
		}
		what, ago := view.OneLine(one.Head(), 0), view.Ago(one.Since, now)
		if one.Action == nil && strings.Contains(what, "perdure ") {
			what = ago + ": " + what // it ends with a command to be copied
		} else {
			what += ", " + ago
		}
		var b strings.Builder
		b.WriteString(Folded(s.Head(shown)+"  "+s.Warn(one.Kind)+"  ", Columns(shown)+2+len(one.Kind)+2,
			what, width))
		row := func(text string) { b.WriteString(Wrapped("    ", text, width, s.Dim)) }
		if one.Action != nil || one.Given != nil && one.Tool != "" {
			row("agent " + one.Agent.String()) // two names can look alike
		}
		for _, r := range one.Sheet(now) {
			for _, text := range r.Text {
				row(strings.TrimSpace(r.Label + " " + text))
			}
		}
		if one.Others != "" {
			row(one.Others)
		}
		if one.Answer != "" {
			b.WriteString("    " + s.Dim(one.Answer) + "\n") // never broken: it is there to be copied
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// writeBriefly prints one thing in one line, cut to fit.
func writeBriefly(w io.Writer, one *view.Wait, name string, now time.Time) error {
	s, since := StyleOf(w), ", "+view.Ago(one.Since, now)
	room := view.LineWidth
	if width := WidthOf(w); width > 0 {
		room = max(width-Columns(name+"  "+one.Kind+"  "+since), minRoom)
	}
	_, err := fmt.Fprintln(w, s.Head(name)+"  "+s.Warn(one.Kind)+"  "+shortened(view.OneLine(one.What, 0), room)+
		since)
	return err
}
