package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// writeSheet prints, whole, what a person answers for.
func writeSheet(to io.Writer, w *view.Wait, now time.Time) error {
	s, width := term.StyleOf(to), term.WidthOf(to)
	var b strings.Builder
	row := func(label, text string) {
		b.WriteString(term.Wrapped(fmt.Sprintf("%-10s", label), text, width, s.Head))
	}
	row("agent", strings.TrimSpace(view.ShownName(w.Name)+" "+w.Agent.String()))
	row(cmp.Or(w.Kind, "action"), view.InLine(w.Head()))
	for _, r := range w.Sheet(now) {
		for i, text := range r.Text {
			label := r.Label
			if i > 0 {
				label = ""
			}
			row(label, text)
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}
