package term

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/view"
)

// Table is rows of cells, aligned by the width people see.
type Table struct {
	Head []string
	Rows [][]string
	Tint []func(string) string // of each column, if any
	Fold bool                  // the last column goes on below, on a terminal that is too narrow for it
}

// Add adds a row. No cell reaches beyond its line, whatever it holds.
func (t *Table) Add(cells ...string) {
	for i, cell := range cells {
		if !strings.Contains(cell, ownMark) { // a styled one is the program's own words
			cells[i] = view.InLine(cell)
		}
	}
	t.Rows = append(t.Rows, cells)
}

// Write prints the table; nothing when it has no rows.
func (t *Table) Write(w io.Writer) error {
	if len(t.Rows) == 0 {
		return nil
	}
	all := t.Rows
	if t.Head != nil {
		all = slices.Concat([][]string{t.Head}, t.Rows)
	}
	width := make([]int, len(all[0]))
	for _, row := range all {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	s, columns := StyleOf(w), WidthOf(w)
	if !t.Fold {
		fit(width, columns)
	}
	var b strings.Builder
	for r, row := range all {
		var line strings.Builder
		before := 0
		for i, cell := range row {
			if t.Fold && i == len(row)-1 && i > 0 && !strings.Contains(cell, ownMark) {
				b.WriteString(Folded(line.String(), before, cell, columns))
				line.Reset()
				break
			}
			cell = shortened(cell, width[i], t.Fold)
			pad := ""
			if i < len(row)-1 {
				pad = strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2)
				before += width[i] + 2
			}
			switch {
			case t.Head != nil && r == 0:
				cell = s.Head(cell)
			case s.on && i < len(t.Tint) && t.Tint[i] != nil:
				cell = t.Tint[i](cell)
			}
			line.WriteString(cell + pad)
		}
		if line.Len() > 0 {
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// leastColumn is how narrow a column of a table may become.
const leastColumn = 8

// fit takes from the widest columns of a table what a terminal has no room for. Zero columns have room for everything.
func fit(width []int, columns int) {
	if columns < minRoom {
		return
	}
	over := 2*(len(width)-1) - columns
	for _, w := range width {
		over += w
	}
	for ; over > 0; over-- {
		widest := 0
		for i, w := range width {
			if w > width[widest] {
				widest = i
			}
		}
		if width[widest] <= leastColumn {
			return
		}
		width[widest]--
	}
}

// shortened is a cell that fits its column; one that is folded fits below.
func shortened(cell string, width int, fold bool) string {
	if fold || strings.Contains(cell, ownMark) || utf8.RuneCountInString(cell) <= width {
		return cell
	}
	return string([]rune(cell)[:width-1]) + "…"
}
