package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"
)

// wreck is the rows of an agent as they were found page by page, where the inner pages of the log that lead to them are
// damaged.
type wreck struct {
	key     int64
	version uint32 // of the file
	rids    []int64
	rows    map[int64][]byte // and the pieces that they go on in
}

// wreckOf finds all the rows of an agent. Indexes say which they are: it returns the damage where they do not, or where
// one of the rows is lost.
func wreckOf(c *conn, key int64, damage error) (*wreck, error) {
	version, err := c.dataVersion()
	if err != nil {
		return nil, err
	}
	if w := c.wreck; w != nil && w.key == key && w.version == version {
		return w, nil
	}
	w := &wreck{key: key, version: version, rows: map[int64][]byte{}}
	note, err := readNote(c)
	if err != nil || note == nil {
		return nil, damage
	}
	const text = "SELECT rid FROM places WHERE agent=?1 UNION SELECT rid FROM recent WHERE agent=?1"
	err = c.query(text, func(v []driver.Value) error {
		w.rids = append(w.rids, integer(v[0]))
		return nil
	}, key)
	if err != nil {
		return nil, damage
	}
	for i := 0; i < len(note.rows); i += 2 {
		if note.rows[i] == key {
			w.rids = append(w.rids, note.rows[i+1])
		}
	}
	slices.Sort(w.rids)
	if err := w.search(c); err != nil {
		return nil, damage
	}
	c.wreck = w
	return w, nil
}

// search looks for the rows on every page, then for their pieces.
func (w *wreck) search(c *conn) error {
	wanted := map[int64]bool{}
	for _, rid := range w.rids {
		wanted[rid] = true
	}
	for _, pieces := range []bool{false, true} {
		if pieces {
			clear(wanted)
			for rid, data := range w.rows {
				for i := range more(data) {
					wanted[rid+1+i] = true
				}
			}
		}
		err := eachRecord(c, func(rid int64, v []value) {
			if isLog(rid, v) && wanted[rid] && v[1].null() == pieces && (pieces || *v[1].number == w.key) {
				w.rows[rid] = v[2].bytes
			}
		})
		if err != nil {
			return err
		}
		for rid := range wanted {
			if w.rows[rid] == nil {
				return fmt.Errorf("%w: row %d is lost", errRow, rid)
			}
		}
	}
	return nil
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
	page := func(n int64) (b []byte, err error) {
		err = c.query("SELECT data FROM sqlite_dbpage WHERE pgno=?", func(v []driver.Value) error {
			b, _ = v[0].([]byte)
			return nil
		}, n)
		if err == nil && len(b) != pageSize {
			err = errRow
		}
		return b, err
	}
	for n := int64(1); n <= pages; n++ {
		if b, err := page(n); err == nil {
			(&image{}).cells(b, n == 1, page, f)
		}
	}
	return nil
}

// take is up to n of the rows from one rid on and before another; with back, the last first.
func (w *wreck) take(from, before, n int64, back bool) (rows []storedRow, err error) {
	rids := slices.Clone(w.rids)
	if back {
		slices.Reverse(rids)
	}
	for _, rid := range rids {
		if rid < from || rid >= before {
			continue
		}
		data := w.rows[rid]
		pieces := more(data)
		whole := slices.Clone(data[min(1, len(data)):])
		for i := range pieces {
			whole = append(whole, w.rows[rid+1+i]...)
		}
		r, err := parseRow(whole)
		if err != nil {
			return nil, fmt.Errorf("%w (row %d): run `perdure doctor --repair`, or import a good copy", err, rid)
		}
		if rows = append(rows, storedRow{r, rid, pieces + 1}); int64(len(rows)) == n {
			break
		}
	}
	return rows, nil
}
