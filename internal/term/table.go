package term

import (
	"io"
	"slices"
	"strings"

	"github.com/perdure/perdure/view"
)

// Table is rows of cells, aligned by the width people see.
type Table struct {
	Head []string
	Rows [][]string
	Tint []func(string) string // of each column, if any
	Fold bool                  // the last column goes on below, on a terminal too narrow for it

	Drop  []string // heads of columns that a terminal too narrow for all is not shown, the first of them first
	Whole string   // the head of a column that is never cut: people copy from it
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
			width[i] = max(width[i], columnsOf(cell))
		}
	}
	s, columns := StyleOf(w), WidthOf(w)
	if whole := slices.Index(t.Head, t.Whole); t.Fold {
		fit(width[:len(width)-1], whole, columns) // the last goes on below
	} else {
		if less := t.narrowed(width, columns); less != nil {
			return less.Write(w)
		}
		fit(width, whole, columns)
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
			cell = shortened(cell, width[i])
			pad := ""
			if i < len(row)-1 {
				pad = strings.Repeat(" ", width[i]-columnsOf(cell)+2)
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

const (
	// leastColumn is how narrow a column of a table may become.
	leastColumn = 8
	// leastFirst is the same for the first column that may be cut, which says what a row is about, as long as others
	// can be dropped.
	leastFirst = 24
)

// columnsOf is how wide a cell is; the program's own sequences take no room.
func columnsOf(cell string) (n int) {
	for {
		before, rest, own := strings.Cut(cell, ownMark)
		if n += Columns(before); !own {
			return n
		}
		_, cell, _ = strings.Cut(rest, ownMark)
	}
}

// narrowed is the table without the next column that it can do without, if a terminal has no room for all; else nil.
func (t *Table) narrowed(width []int, columns int) *Table {
	need, whole := 2*(len(width)-1), slices.Index(t.Head, t.Whole)
	first := 0
	if whole == 0 {
		first = 1
	}
	for i, w := range width {
		switch i {
		case whole:
		case first:
			w = min(w, leastFirst)
		default:
			w = min(w, leastColumn)
		}
		need += w
	}
	if columns < minRoom || need <= columns || len(t.Drop) == 0 {
		return nil
	}
	less := &Table{Head: t.Head, Rows: t.Rows, Tint: t.Tint, Drop: t.Drop[1:], Whole: t.Whole}
	at := slices.Index(t.Head, t.Drop[0])
	if at < 0 {
		return less
	}
	less.Head, less.Rows = slices.Delete(slices.Clone(t.Head), at, at+1), nil
	for _, row := range t.Rows {
		less.Rows = append(less.Rows, slices.Delete(slices.Clone(row), at, at+1))
	}
	if at < len(t.Tint) {
		less.Tint = slices.Delete(slices.Clone(t.Tint), at, at+1)
	}
	return less
}

// fit takes from the widest columns of a table, but for a whole one, what a terminal has no room for. Zero columns have
// room for everything.
func fit(width []int, whole, columns int) {
	if columns < minRoom {
		return
	}
	over := 2*(len(width)-1) - columns
	for _, w := range width {
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for i, w := range width {
			if i != whole && (widest < 0 || w > width[widest]) {
				widest = i
			}
		}
		if widest < 0 || width[widest] <= leastColumn {
			return
		}
		width[widest]--
	}
}

// shortened is a cell that fits its column.
func shortened(cell string, width int) string {
	if strings.Contains(cell, ownMark) || Columns(cell) <= width {
		return cell
	}
	head, _ := breakAt(cell, width-1)
	return head + "…"
}
