package term

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/view"
)

// shown is a text under edit, as a screen shows it.
type shown struct {
	prompt, more string // before its first line, and before those after it
	text         []rune
	at           int
}

// drawn is what of it is on the terminal.
type drawn struct {
	is     bool
	widths []int // of its rows, in columns
	row    int   // where the cursor is
	column int
	width  int // of the terminal, then
}

const (
	// unknownWidth and unknownRows are for a terminal that does not say how large it is.
	unknownWidth, unknownRows = 80, 24
	tabText                   = "    "
)

// edit shows a text under edit below everything else, or how it has changed.
func (s *Screen) edit(now shown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.speaking {
		s.speaking = false
		_, _ = io.WriteString(s.w, "\n") // whoever does not see it has gone
	}
	if was := s.under; was != nil && s.on.is && s.on.width == s.editWidth() && was.prompt == now.prompt &&
		was.at == now.at && slices.Equal(was.text, now.text) {
		return
	}
	if text, ok := s.appended(&now); ok {
		_, _ = io.WriteString(s.w, text) // as above
		width := Columns(text)
		s.on.column += width
		s.on.widths[s.on.row] += width
		s.under = &now
		return
	}
	s.erase()
	s.under = &now
	s.draw()
}

// appended is what is to be written if all that has changed is a character at the end that fits its row.
func (s *Screen) appended(now *shown) (string, bool) {
	was := s.under
	if was == nil || !s.on.is || s.on.width != s.editWidth() || len(now.text) != len(was.text)+1 ||
		was.at != len(was.text) || now.at != len(now.text) || now.prompt != was.prompt || len(s.on.widths) == 0 ||
		s.on.row != len(s.on.widths)-1 {
		return "", false
	}
	last := now.text[len(now.text)-1]
	if glyph.Hidden(last) || cells(last) == 0 || string(now.text[:was.at]) != string(was.text) {
		return "", false
	}
	if s.on.column+cells(last) >= s.on.width {
		return "", false
	}
	return string(last), true
}

// leave takes the text under edit from the screen, or with keep has it stay as it is.
func (s *Screen) leave(keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under == nil {
		return
	}
	if last := len(s.on.widths) - 1; !keep || s.on.row != last || s.on.column != s.on.widths[last] {
		s.erase()
		if s.under.at = len(s.under.text); keep {
			s.draw()
		}
	}
	if keep {
		_, _ = io.WriteString(s.w, "\n") // whoever does not see it has gone
	}
	s.under, s.on = nil, drawn{}
}

// clear empties the terminal and draws the text under edit at its top.
func (s *Screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.w, own("\x1b[H\x1b[2J")) // as above
	if s.on = (drawn{}); s.under != nil {
		s.draw()
	}
}

// redraw draws the text under edit anew, for a terminal that has another size or was used by another program.
func (s *Screen) redraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under != nil {
		s.erase()
		s.draw()
	}
}

func (s *Screen) editWidth() int {
	if w := WidthOf(s.w); w > 0 {
		return w
	}
	return unknownWidth
}

// erase takes what is drawn from the terminal. Where the terminal has become narrower, rows take more room than they
// did.
func (s *Screen) erase() {
	if !s.on.is {
		return
	}
	width, up := s.editWidth(), s.on.row
	if width < s.on.width {
		up = s.on.column / width
		for _, w := range s.on.widths[:s.on.row] {
			up += 1 + max(0, w-1)/width
		}
	}
	back := "\r"
	if up > 0 {
		back += fmt.Sprintf("\x1b[%dA", up)
	}
	_, _ = io.WriteString(s.w, own(back+"\x1b[J")) // whoever does not see it has gone
	s.on = drawn{}
}

// draw draws the text under edit; of one with too many rows those around the cursor.
func (s *Screen) draw() {
	width, height := s.editWidth(), rowsOf(fdOf(s.w))
	if height == 0 {
		height = unknownRows
	}
	rows, row, column := s.under.rows(width - 1) // what fills the last column moves the cursor in its own way
	first := 0
	if most := max(height-1, 1); len(rows) > most {
		first = min(max(0, row-most+1), len(rows)-most)
		rows, row = rows[first:first+most], row-first
	}
	style := StyleOf(s.w)
	var b strings.Builder
	s.on = drawn{is: true, row: row, column: column, width: width}
	for i, r := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(style.Head(r.mark) + r.text)
		s.on.widths = append(s.on.widths, r.width)
	}
	last := rows[len(rows)-1]
	if up := len(rows) - 1 - row; up > 0 {
		b.WriteString(own(fmt.Sprintf("\x1b[%dA", up)))
	}
	if row != len(rows)-1 || column != last.width {
		b.WriteString(own("\r"))
		if column > 0 {
			b.WriteString(own(fmt.Sprintf("\x1b[%dC", column)))
		}
	}
	_, _ = io.WriteString(s.w, b.String()) // as above
}

// editRow is a row of a text under edit.
type editRow struct {
	mark, text string
	width      int
}

// rows are the rows of a text that is that wide, and where the cursor is.
func (n *shown) rows(width int) (rows []editRow, row, column int) {
	at := editRow{mark: n.prompt, width: Columns(n.prompt)}
	indent := strings.Repeat(" ", min(Columns(n.more), max(0, width-1)))
	var b strings.Builder
	end := func(mark string) {
		at.text = b.String()
		rows = append(rows, at)
		at = editRow{mark: mark, width: Columns(mark)}
		b.Reset()
	}
	for i, r := range n.text {
		seen, wide := seenRune(r)
		if r != '\n' && at.width+wide > width {
			end(indent)
		}
		if i == n.at {
			row, column = len(rows), at.width
		}
		if r == '\n' {
			end(n.more)
			continue
		}
		b.WriteString(seen)
		at.width += wide
	}
	if n.at >= len(n.text) {
		row, column = len(rows), at.width
	}
	end("")
	return rows, row, column
}

// seenRune is a character as it is seen under edit, and how wide that is.
func seenRune(r rune) (string, int) {
	switch {
	case r == '\n':
		return "", 0
	case r == '\t':
		return tabText, len(tabText)
	case glyph.Hidden(r):
		return view.Escaped(r), len(view.Escaped(r))
	}
	return string(r), cells(r)
}

// cells is how many columns a character takes.
func cells(r rune) int { return runeColumns(r, 0) }

// control says something to the terminal itself.
func (s *Screen) control(sequence string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.w, own(sequence)) // whoever does not see it has gone
}

// prompt writes what stands before a line that somebody else edits.
func (s *Screen) prompt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.speaking {
		s.speaking, text = false, "\n"+text
	}
	_, _ = io.WriteString(s.w, StyleOf(s.w).Head(text)) // whoever does not see it has gone
}
