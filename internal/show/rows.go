package show

import (
	"io"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// Checked prints the rows of what was verified, and colours what is good and what is not.
func Checked(w io.Writer, rows []view.PageRow, ok bool) error {
	return Rows(w, rows, func(s term.Style, row view.PageRow) (label, text string) {
		switch {
		case row.Label == home.LabelWrong:
			return s.Bad(row.Label), row.Text
		case row.Label == home.LabelUnknown:
			return s.Warn(row.Label), row.Text
		case row.Label != "verified":
			return row.Label, row.Text
		case !ok:
			return s.Bad(row.Label), row.Text
		}
		return s.Good(row.Label), row.Text
	})
}

// Summary prints the rows of what people read of an agent. Typed is a text in which commands are as they are typed
// here.
func Summary(w io.Writer, rows []view.PageRow, typed func(string) string) error {
	return Rows(w, rows, func(s term.Style, r view.PageRow) (label, text string) {
		text = r.Text + typed(r.Do)
		switch r.Label {
		case "standing":
			text = s.State(text)
		case "older":
			text = s.Bad(text)
		}
		return r.Label, text
	})
}

// Rows prints rows for people; what has no room in a line goes on below.
func Rows(w io.Writer, rows []view.PageRow, tint func(term.Style, view.PageRow) (label, text string)) error {
	s := term.StyleOf(w)
	t := term.Table{Fold: true, Tint: []func(string) string{s.Head}}
	for _, r := range rows {
		t.Add(tint(s, r))
	}
	return t.Write(w)
}
