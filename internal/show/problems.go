package show

import (
	"io"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// Problems prints an error for people: of several that were joined each on its line, with a hint below those that share
// it. Explained is an error and what to do about it.
func Problems(w io.Writer, err error, explained func(error) (message, hint string)) error {
	s, last, said := term.StyleOf(w), "", ""
	var b strings.Builder
	advise := func() {
		label := "  hint: "
		if strings.HasPrefix(last, client.Says) {
			label = "  " // it is not ours
		}
		if last != "" {
			b.WriteString(term.Hang(label+view.OneLine(last, 0), 8, s.Width) + "\n")
		}
	}
	for i, one := range view.Each(err) {
		message, hint := explained(one)
		if i > 0 && message == said && hint == last {
			continue // once is enough
		}
		if i > 0 && hint != last {
			advise()
		}
		last, said = hint, message
		line := term.Hang("perdure: "+message, 4, s.Width)
		b.WriteString(s.Bad("perdure:") + strings.TrimPrefix(line, "perdure:") + "\n")
	}
	advise()
	_, err = io.WriteString(w, b.String())
	return err
}
