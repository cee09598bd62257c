package term

import (
	"encoding/json"
	"fmt"
	"io"

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
		var b []byte
		if b, err = json.Marshal(value); err == nil {
			_, err = fmt.Fprintln(w, tint(mark+" "+view.InLine(path)+": "+view.InLine(string(b))))
		}
	}
	for _, c := range found {
		side("-", s.Bad, c.Path, c.From)
		side("+", s.Good, c.Path, c.To)
	}
	return err
}
