package sqlite

import (
	"database/sql/driver"
	"fmt"

	"github.com/perdure/perdure"
)

const (
	// third and whole are the longest data of which three, or one, go into a page of 4096 bytes. What is longer than whole goes into
	// pages of its own, without much waste.
	third = 1350
	whole = 4050
	// quarter is the longest data of which four go into a page.
	quarter = 1010
)

// insert writes a row whose first byte is to say in how many more rows it goes on: rows between a third of a page and a page waste up to
// half of it, so they are cut into pieces that go well together.
func (w *writer) insert(key int64, data []byte) error {
	pieces := 1
	if len(data) > third && len(data) <= whole {
		pieces = (len(data) + quarter - 1) / quarter
	}
	data[0] = byte(pieces - 1)
	size := (len(data) + pieces - 1) / pieces
	for i := range pieces {
		agent := driver.Value(key)
		if i > 0 {
			agent = nil
		}
		piece := data[i*size : min((i+1)*size, len(data))]
		if err := w.do("INSERT INTO log VALUES(?,?,?)", w.next, agent, piece); err != nil {
			return err
		}
		w.next++
	}
	return nil
}

// storedRow is a row and where it is.
type storedRow struct {
	*row
	rid  int64
	rows int64 // in the table
}

// join reads the rows that a row goes on in, and parses it.
func join(c *conn, rid int64, data []byte) (storedRow, error) {
	if len(data) == 0 {
		return storedRow{}, errRow
	}
	more := int64(data[0])
	data = data[1:len(data):len(data)]
	if more > 0 {
		err := c.query("SELECT data FROM log WHERE rid>? AND rid<=? ORDER BY rid", func(v []driver.Value) error {
			piece, _ := v[0].([]byte)
			data = append(data, piece...)
			return nil
		}, rid, rid+more)
		if err != nil {
			return storedRow{}, err
		}
	}
	r, err := parseRow(data)
	if err != nil {
		return storedRow{}, fmt.Errorf("%w (row %d): restore the store from a backup, or run `perdure doctor`", err, rid)
	}
	return storedRow{r, rid, more + 1}, nil
}

// newestRow is the row that arrived last for an agent.
func newestRow(c *conn, key int64) (storedRow, error) {
	rows, err := rowsOf(c, "SELECT rid, data FROM log WHERE agent=? ORDER BY rid DESC LIMIT 1", key)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%w: an agent has no entries", errRow)
	}
	if err != nil {
		return storedRow{}, err
	}
	return rows[0], nil
}

// rowsOf reads the rows that a query for rid and data yields.
func rowsOf(c *conn, text string, args ...driver.Value) ([]storedRow, error) {
	type raw struct {
		rid  int64
		data []byte
	}
	var raws []raw
	err := c.query(text, func(v []driver.Value) error {
		data, _ := v[1].([]byte)
		raws = append(raws, raw{integer(v[0]), data})
		return nil
	}, args...)
	if err != nil {
		return nil, err
	}
	rows := make([]storedRow, len(raws))
	for i, r := range raws {
		if rows[i], err = join(c, r.rid, r.data); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// lastBefore is the name of the entry of an agent that arrived before a row, or zero.
func lastBefore(c *conn, id perdure.AgentID, key, rid int64) (perdure.Hash, error) {
	rows, err := rowsOf(c, "SELECT rid, data FROM log WHERE agent=? AND rid<? ORDER BY rid DESC LIMIT 1", key, rid)
	if err != nil || len(rows) == 0 {
		return perdure.Hash{}, err
	}
	return rows[0].last(id), nil
}
