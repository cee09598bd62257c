package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/perdure/perdure/view"
)

// WriteChanges prints the differences between two things, by their names.
func WriteChanges(w io.Writer, from, to string, found []view.Change) error {
	s := StyleOf(w)
	_, err := fmt.Fprintf(w, "%s\n%s\n", s.Bad("--- "+view.InLine(from)), s.Good("+++ "+view.InLine(to)))
	side := func(mark string, tint func(string) string, path string, value any) {
		if value == nil || err != nil {
			return
		}
		b := new(bytes.Buffer)
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false) // people read it: > is no \u003e
		if err = enc.Encode(value); err == nil {
			head := mark + " " + view.InLine(path) + ": "
			text := view.InLine(strings.TrimSuffix(b.String(), "\n"))
			for line := range strings.Lines(Folded(head, Columns(head), text, s.Width)) {
				if _, err = fmt.Fprintln(w, tint(strings.TrimSuffix(line, "\n"))); err != nil {
					return
				}
			}
		}
	}
	for _, c := range found {
		side("-", s.Bad, c.Path, c.From)
		side("+", s.Good, c.Path, c.To)
	}
	return err
}
