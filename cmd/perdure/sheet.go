package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/view"
)

// writeSheet prints, whole, what a person answers for.
func writeSheet(to io.Writer, w *view.Wait, now time.Time) error {
	s, width := styleOf(to), widthOf(to)
	var b strings.Builder
	row := func(label, text string) { b.WriteString(wrapped(fmt.Sprintf("%-10s", label), text, width, s.head)) }
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

// wrapped is a line with a label, broken to a width; what goes on is marked and begins under the text. A width of zero
// breaks nothing.
func wrapped(label, text string, width int, tint func(string) string) string {
	indent := utf8.RuneCountInString(label)
	if strings.TrimSpace(label) != "" {
		label = tint(label)
	} else if text == "" {
		return ""
	}
	return folded(label, indent, text, width)
}

// folded is text behind a head that takes so many columns, broken to a width.
func folded(head string, indent int, text string, width int) string {
	room := width - indent
	if width < minRoom || columns(text) <= room {
		return strings.TrimRight(head+text, " ") + "\n"
	}
	var b strings.Builder
	mark := ""
	if room < minRoom { // the text begins below its head
		b.WriteString(strings.TrimRight(head, " ") + "\n")
		head, indent, room, mark = "    ", 4, width-4, "> "
	}
	for text != "" {
		var part string
		part, text = breakAt(text, room-len(mark))
		b.WriteString(head + mark + part + "\n")
		head, mark = strings.Repeat(" ", indent), "> "
	}
	return b.String()
}

// paragraphs is a text of several lines behind an indent, which tells it from lines of the program's own. On a terminal lines end between
// words.
func paragraphs(indent, text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		for {
			part, rest := breakAtWord(line, width-columns(indent))
			b.WriteString(strings.TrimRight(indent+view.InLine(part), " ") + "\n")
			if line = rest; line == "" {
				break
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// breakAtWord parts text before the word that does not fit a width; a word that is longer is parted itself. A width of less than minRoom
// breaks nothing.
func breakAtWord(text string, width int) (head, rest string) {
	if width < minRoom || columns(text) <= width {
		return text, ""
	}
	head, rest = breakAt(text, width)
	if i := strings.LastIndexByte(head, ' '); i > 0 && !strings.HasPrefix(rest, " ") {
		head, rest = text[:i], text[i:]
	}
	return strings.TrimRight(head, " "), strings.TrimLeft(rest, " ")
}

// minRoom is the least room that text is broken into. A terminal that is narrower breaks it itself.
const minRoom = 16

// breakAt parts text where it fills a width; at least one rune goes first.
func breakAt(text string, width int) (head, rest string) {
	used := 0
	for i, r := range text {
		w := runeColumns(r)
		if i > 0 && used+w > width {
			return text[:i], text[i:]
		}
		used += w
	}
	return text, ""
}

func columns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is how many columns a rune may take: two, to be sure, for scripts and signs that are wide.
func runeColumns(r rune) int {
	if r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f000) {
		return 2
	}
	return 1
}
