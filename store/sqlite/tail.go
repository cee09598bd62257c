package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// The rows after mark are in no index: whoever looks for an agent's reads all of them. Where a page among them is
// damaged nobody could tell any more whose rows were on it, so that the damage was everybody's. So mark also keeps a
// note, on another page and of the same commit, of which agent each of those rows is. It is read only where the rows
// cannot be, and says which agents miss one; the others go on. See tailFrom.
//
// A note costs a commit another page. So it also says whose the rows after it are: it is written anew only once
// another agent writes, and an agent that works alone does without.

// note says whose the rows after mark are.
type note struct {
	mark int64
	end  int64   // the last row that there was
	rows []int64 // agent and rid, in turn
	rest int64   // the agent of all rows that came after these; zero: none did
	lost int64   // the first of those that cannot be read; zero: all can
}

// leastNote is how long a note is at least: what is as long as a hash, Rebuild would take for a word.
const leastNote = hashSize + 8

var noteTable = crc32.MakeTable(crc32.Castagnoli)

// append adds the bytes of a note to b: a checksum of the rest, then as varints the mark, the last row, and of each row
// how far it is from the one before and its agent, a zero, and the agent of the rest.
func (n *note) append(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(n.mark))
	b = binary.AppendUvarint(b, uint64(n.end))
	before := n.mark
	for i := 0; i < len(n.rows); i += 2 {
		b = binary.AppendUvarint(b, uint64(n.rows[i+1]-before))
		b = binary.AppendUvarint(b, uint64(n.rows[i]))
		before = n.rows[i+1]
	}
	b = append(b, 0)
	for b = binary.AppendUvarint(b, uint64(n.rest)); len(b)-start < leastNote; {
		b = append(b, 0)
	}
	binary.BigEndian.PutUint32(b[start:], crc32.Checksum(b[start+4:], noteTable))
	return b
}

// parseNote reads a note; nil if it is none.
func parseNote(b []byte) *note {
	if len(b) < leastNote || binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], noteTable) {
		return nil
	}
	r := &rowReader{b: b[4:]}
	n := &note{mark: int64(r.uvarint()), end: int64(r.uvarint())}
	for rid := n.mark; ; {
		by := int64(r.uvarint())
		if by == 0 || r.bad {
			break
		}
		rid += by
		n.rows = append(n.rows, int64(r.uvarint()), rid)
	}
	if r.bad {
		return nil
	}
	if n.rest = int64(r.uvarint()); r.bad { // it was written before notes said so
		n.rest = 0
	}
	return n
}

// readNote reads the note of a file; nil if it has none that can be believed. One that is older than the last row is
// of a file that a program wrote to which does not know of notes.
func readNote(c *conn) (n *note, err error) {
	rows := 0
	err = c.query("SELECT rid, tail FROM mark", func(v []driver.Value) error {
		b, _ := v[1].([]byte)
		if rows++; rows == 1 {
			n = parseNote(b)
		}
		if n != nil && (n.mark != integer(v[0]) || rows > 1) {
			n = nil
		}
		return nil
	})
	if err != nil || n == nil {
		return nil, err
	}
	if known, err := n.follow(c); err != nil || !known {
		return nil, err
	}
	return n, nil
}

// follow adds the rows that came after a note, and reports whether they are whose it says. Where some cannot be read,
// the first of those stands for all: whose they are is known, and that they are lost.
func (n *note) follow(c *conn) (known bool, err error) {
	known = true
	take := func(v []driver.Value) error {
		agent, first := v[0].(int64)
		if known = n.rest != 0 && (!first || agent == n.rest); !known {
			return errEnough
		}
		if n.end = max(n.end, integer(v[1])); first {
			n.rows = append(n.rows, agent, integer(v[1]))
		}
		return nil
	}
	err = c.query("SELECT agent, rid FROM log WHERE rid>? ORDER BY rid", take, n.end)
	if known && n.rest != 0 && corrupt(err) {
		n.end++
		n.lost, n.rows = n.end, append(n.rows, n.rest, n.end)
		from := len(n.rows)
		err = c.query("SELECT agent, rid FROM log WHERE rid>? ORDER BY rid DESC", take, n.end)
		for i, last := from, len(n.rows)-2; i < last; i, last = i+2, last-2 {
			n.rows[i+1], n.rows[last+1] = n.rows[last+1], n.rows[i+1]
		}
	}
	if err != nil && !corrupt(err) && !errors.Is(err, errEnough) {
		return false, err
	}
	return known, nil // where the last rows are damaged, the note says which they were
}

// tailOf are the rows of an agent after mark, where those rows cannot all be read, as the note says.
func tailOf(c *conn, key int64) (rids []int64, err error) {
	n, err := readNote(c)
	if err == nil && n == nil {
		err = errUnnoted
	}
	if err != nil {
		return nil, err
	}
	severed := key == n.rest && n.lost != 0 && descend(c, n.lost).severed
	for i := 0; i < len(n.rows); i += 2 {
		if rid := n.rows[i+1]; n.rows[i] == key && !(severed && rid >= n.lost) {
			rids = append(rids, rid)
		}
	}
	if severed { // what leads to the rows is damaged, and they may not be
		rids, err = n.strays(c, rids)
	}
	return rids, err
}

// strays adds the rows after those that can be read to rids, from every page there is.
func (n *note) strays(c *conn, rids []int64) ([]int64, error) {
	version, err := c.dataVersion()
	if err != nil {
		return nil, err
	}
	if c.strays == nil || c.strays.lost != n.lost || c.strays.version != version {
		found := &strays{lost: n.lost, version: version}
		err := eachRecord(c, func(rid int64, v []value) {
			if isLog(rid, v) && rid >= n.lost && !v[1].null() && *v[1].number == n.rest {
				found.rids = append(found.rids, rid)
			}
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(found.rids)
		c.strays = found
	}
	return append(rids, c.strays.rids...), nil
}

// strays are the rows of the agent that wrote last which were looked for page by page.
type strays struct {
	lost    int64  // from here on
	version uint32 // of the file
	rids    []int64
}

// note writes the note of the rows after mark, unless the one that is written says it.
func (w *writer) note() error {
	if w.noted == w.next || w.rest != 0 && !w.moved {
		return nil
	}
	w.noting.mark, w.noting.end, w.noting.rows, w.noting.rest = w.mark, w.next-1, w.noting.rows[:0], 0
	for _, v := range w.tail {
		w.noting.rows = append(w.noting.rows, integer(v))
	}
	if n := len(w.tail); n > 0 {
		w.noting.rest = integer(w.tail[n-2])
	}
	w.buffer = w.noting.append(w.buffer[:0])
	text := "UPDATE mark SET tail=?2 WHERE rid=?1"
	if w.moved {
		text = "UPDATE mark SET rid=?1, tail=?2"
	}
	if err := w.exec(text, w.mark, w.buffer); err != nil {
		w.unmarked = w.apart && corrupt(err)
		return err
	}
	w.noted, w.rest, w.moved = w.next, w.noting.rest, false
	return nil
}

// tailFrom are up to n rows of an agent after mark, from one rid on and before another, where those rows cannot all be
// read: its own are read one by one, as the note says. Back begins at the last.
func tailFrom(c *conn, key, from, before, n int64, back bool) (rows []storedRow, err error) {
	rids, err := tailOf(c, key)
	if err != nil {
		return nil, err
	}
	if back {
		slices.Reverse(rids)
	}
	for _, rid := range rids {
		if rid < from || rid >= before {
			continue
		}
		one, err := rowsOf(c, 1, "SELECT rid, data FROM log WHERE rid=? AND agent=?", rid, key)
		if err == nil && len(one) == 0 {
			err = fmt.Errorf("%w: row %d is lost: run `perdure doctor --repair`, or import a good copy", errRow, rid)
		}
		if err != nil {
			return rows, err
		}
		if rows = append(rows, one...); int64(len(rows)) == n {
			break
		}
	}
	return rows, nil
}
