package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The rows after mark are in no index: whoever looks for an agent's reads all of them. Where a page among them is
// damaged nobody could tell any more whose rows were on it, so that the damage was everybody's. So mark also keeps a
// note, on another page and of the same commit, of which agent each of those rows is. It is read only where the rows
// cannot be, and says which agents miss one; the others go on. See tailFrom.

// note says whose the rows after mark are.
type note struct {
	mark int64
	end  int64   // the last row that there was
	rows []int64 // agent and rid, in turn
}

// leastNote is how long a note is at least: what is as long as a hash, Rebuild would take for a word.
const leastNote = hashSize + 8

var noteTable = crc32.MakeTable(crc32.Castagnoli)

// append adds the bytes of a note to b: a checksum of the rest, then as varints the mark, the last row, and of each row
// how far it is from the one before and its agent, and a zero.
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
	for b = append(b, 0); len(b)-start < leastNote; {
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
	switch _, later, err := c.number("SELECT 1 FROM log WHERE rid>? LIMIT 1", n.end); {
	case err == nil && later:
		return nil, nil
	case err != nil && !corrupt(err): // where the last rows are damaged, the note says which they were
		return nil, err
	}
	return n, nil
}

// note writes the note of the rows after mark, unless it is written.
func (w *writer) note() error {
	if w.noted == w.next {
		return nil
	}
	w.noting.mark, w.noting.end, w.noting.rows = w.mark, w.next-1, w.noting.rows[:0]
	for _, v := range w.tail {
		w.noting.rows = append(w.noting.rows, integer(v))
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
	w.noted, w.moved = w.next, false
	return nil
}

// tailFrom are up to n rows of an agent after mark, from one rid on and before another, where those rows cannot all be
// read: its own are read one by one, as the note says. Back begins at the last.
func tailFrom(c *conn, key, from, before, n int64, back bool) (rows []storedRow, err error) {
	note, err := readNote(c)
	if err == nil && note == nil {
		err = errUnnoted
	}
	if err != nil {
		return nil, err
	}
	for i := range len(note.rows) / 2 {
		if back {
			i = len(note.rows)/2 - 1 - i
		}
		rid := note.rows[2*i+1]
		if note.rows[2*i] != key || rid < from || rid >= before {
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
