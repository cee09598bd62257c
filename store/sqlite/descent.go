package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"math"
	"slices"
)

// innerTable is the kind of the pages of a table that lead to others.
const innerTable = 0x05

// descent is how far the inner pages of the log lead towards a row.
type descent struct {
	severed bool  // an inner page is damaged: the leaves below it may be sound
	last    int64 // the last row of those that the page is for at which the way ends
}

// descend goes down to the leaf of a row. Whether a page that is lost was a leaf, those beside it tell: all leaves are
// equally far from the root.
func descend(c *conn, rid int64) descent {
	d := descent{last: math.MaxInt64}
	n, found, err := c.number("SELECT rootpage FROM sqlite_schema WHERE name='log'")
	d.severed = err != nil || !found
	var beside []int64
	for depth := 0; depth < 20 && !d.severed; depth++ {
		b, err := dbpage(c, n)
		switch {
		case err != nil:
			d.severed = true
		case b[0] == leafTable:
			return d
		case b[0] == innerTable:
			if n, beside, d.severed = d.child(b, rid); d.severed {
				return d
			}
		default:
			d.severed = !slices.ContainsFunc(beside, func(n int64) bool {
				b, err := dbpage(c, n)
				return err == nil && b[0] == leafTable
			})
			return d
		}
	}
	d.severed = true
	return d
}

// child is the page below an inner page that leads to a row, and those beside it.
func (d *descent) child(b []byte, rid int64) (n int64, beside []int64, bad bool) {
	const head = 12
	count := int(binary.BigEndian.Uint16(b[3:]))
	if count > (pageSize-head)/2 {
		return 0, nil, true
	}
	n, last := int64(binary.BigEndian.Uint32(b[8:])), d.last
	for i := count - 1; i >= 0; i-- {
		at := int(binary.BigEndian.Uint16(b[head+2*i:]))
		if at < head+2*count || at > pageSize-5 {
			return 0, nil, true
		}
		key, _, ok := varint(b[at+4:])
		if !ok {
			return 0, nil, true
		}
		page := int64(binary.BigEndian.Uint32(b[at:]))
		if int64(key) < rid {
			beside = append(beside, page)
			break
		}
		beside = append(beside[:0], n)
		n, last = page, int64(key)
	}
	d.last = min(d.last, last)
	return n, beside, false
}

// dbpage is a page of the file, as this connection sees it.
func dbpage(c *conn, n int64) (b []byte, err error) {
	err = c.query("SELECT data FROM sqlite_dbpage WHERE pgno=?", func(v []driver.Value) error {
		b, _ = v[0].([]byte)
		return nil
	}, n)
	if err == nil && len(b) != pageSize {
		err = errRow
	}
	return b, err
}
