package sqlite

import (
	"fmt"
	"slices"
)

// wreck is the rows of an agent as they were found page by page, where the inner pages of the log that lead to them are
// damaged. Nobody can change a row that cannot be reached, so that it is good for as long as that cannot.
type wreck struct {
	key  int64
	rows map[int64][]byte // and the pieces that they go on in
}

// salvage finds a row of an agent that SQLite cannot reach. It returns the damage where the row is lost.
func salvage(c *conn, key, rid int64, damage error) (storedRow, error) {
	if w := c.wreck; w == nil || w.key != key || w.rows[rid] == nil {
		severed := false
		for i := range int64(mostPieces) {
			severed = severed || descend(c, rid+i).severed
		}
		if !severed { // a leaf is lost, which no other page has
			return storedRow{}, damage
		}
		if err := search(c, key); err != nil {
			return storedRow{}, damage
		}
	}
	return c.wreck.row(rid, damage)
}

// search looks for the rows of an agent on every page. The connection remembers those of the last agent.
func search(c *conn, key int64) error {
	rids, err := (&question{key: key, before: 1 << 62, n: 1 << 62}).rids(c)
	if err != nil {
		return err
	}
	wanted, pieces := map[int64]bool{}, map[int64]bool{}
	for _, rid := range rids {
		wanted[rid] = true
		for i := range int64(mostPieces - 1) {
			pieces[rid+1+i] = true
		}
	}
	w := &wreck{key: key, rows: map[int64][]byte{}}
	err = eachRecord(c, func(rid int64, v []value) {
		if isLog(rid, v) && (v[1].null() && pieces[rid] || !v[1].null() && wanted[rid] && *v[1].number == key) {
			w.rows[rid] = v[2].bytes
		}
	})
	if err == nil {
		c.wreck = w
	}
	return err
}

// more is in how many more rows a row goes on.
func more(data []byte) int64 {
	if len(data) == 0 {
		return 0
	}
	return int64(data[0])
}

// eachRecord calls f with every record in a leaf, whatever leads to it, as this connection sees the file.
func eachRecord(c *conn, f func(rowid int64, record []value)) error {
	pages, _, err := c.number("PRAGMA page_count")
	if err != nil {
		return err
	}
	page := func(n int64) ([]byte, error) { return dbpage(c, n) }
	for n := int64(1); n <= pages; n++ {
		if b, err := page(n); err == nil {
			(&image{}).cells(b, n == 1, page, f)
		}
	}
	return nil
}

// row puts a row together. It returns the damage where it, or a piece of it, was not found.
func (w *wreck) row(rid int64, damage error) (storedRow, error) {
	data := w.rows[rid]
	pieces := more(data)
	for i := range pieces + 1 {
		if w.rows[rid+i] == nil {
			return storedRow{}, damage
		}
	}
	whole := slices.Clone(data[1:])
	for i := range pieces {
		whole = append(whole, w.rows[rid+1+i]...)
	}
	r, err := parseRow(whole)
	if err != nil {
		return storedRow{}, fmt.Errorf("%w (row %d): run `perdure doctor --repair`, or import a good copy", err, rid)
	}
	return storedRow{r, rid, pieces + 1}, nil
}
