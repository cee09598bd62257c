package postgres

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// A row of the log holds the entries that one call added, or a part of them: their names, one after the other, and
// their canonical bytes, each after its length, with a sum over all of it at the end. Names and sum are compared with
// what is read, so that a row that something has changed is noticed. Who changes the sum, too, still cannot change what
// names commit to, nor sign.

const (
	// maxRowEntries and maxRowBytes bound what one row holds, so that a memory can be read piece by piece. Cursors
	// count on the first.
	maxRowEntries = 1 << cursorBits
	maxRowBytes   = 256 << 10
	cursorBits    = 10
	hashSize      = len(perdure.Hash{})
	sumSize       = 16
)

// cursor is where entry i of the row at pos stands.
func cursor(pos int64, i int) perdure.Cursor { return perdure.Cursor(pos<<cursorBits | int64(i)) }

// errRow says that a row does not hold what was written.
var errRow = errors.New(
	"a row is not what was written: run `perdure doctor --repair`, or import a good copy of the agent",
)

// errLost says that rows are missing.
var errLost = errors.New(
	"rows of it are missing: run `perdure doctor --repair`, or import a good copy of the agent",
)

// row is a row of the log.
type row struct {
	pos         int64
	names, data []byte
	snaps       []byte // which entries are snapshots to resume from, two bytes each; nil: none
}

// fill takes as many of the entries as go into one row, and returns how many. Covers says which of them are snapshots
// that named every head when they arrived.
func (r *row) fill(entries []*perdure.Entry, covers func(i int) bool) (int, error) {
	r.names, r.data = make([]byte, 0, min(len(entries), maxRowEntries)*hashSize), nil
	size := 0
	for i, e := range entries {
		long := len(e.HeaderBytes()) + len(e.BodyBytes()) + 80
		if i == maxRowEntries || i > 0 && size+long > maxRowBytes {
			r.seal(entries[0].ID())
			return i, nil
		}
		size += long
		r.names = append(r.names, e.Name[:]...)
		b, err := e.MarshalBinary()
		if err != nil {
			return 0, fmt.Errorf("entry %s: %w", e.Name.Short(), err)
		}
		if r.data == nil {
			r.data = make([]byte, 0, len(b)+binary.MaxVarintLen64+sumSize)
		}
		r.data = append(binary.AppendUvarint(r.data, uint64(len(b))), b...)
		if e.Kind == perdure.KindSnapshot && covers(i) {
			r.snaps = binary.BigEndian.AppendUint16(r.snaps, uint16(i))
		}
	}
	r.seal(entries[0].ID())
	return len(entries), nil
}

// seal puts the sum at the end.
func (r *row) seal(id perdure.AgentID) {
	sum := r.sum(id, r.data)
	r.data = append(r.data, sum[:sumSize]...)
}

// sum is that of the row with this data.
func (r *row) sum(id perdure.AgentID, data []byte) (out [sha256.Size]byte) {
	h := sha256.New()
	_, _ = h.Write(id[:])
	_, _ = h.Write(r.names)
	_, _ = h.Write(data)
	h.Sum(out[:0])
	return out
}

// count is how many entries the row has.
func (r *row) count() int { return len(r.names) / hashSize }

// name is that of entry i.
func (r *row) name(i int) perdure.Hash { return perdure.Hash(r.names[i*hashSize : (i+1)*hashSize]) }

// pieces are the bytes of the entries.
func (r *row) pieces(id perdure.AgentID) ([][]byte, error) {
	end := len(r.data) - sumSize
	if len(r.names)%hashSize != 0 || len(r.names) == 0 || r.count() > maxRowEntries || end < 0 {
		return nil, errRow
	}
	if sum := r.sum(id, r.data[:end]); !bytes.Equal(sum[:sumSize], r.data[end:]) {
		return nil, errRow
	}
	out := r.split()
	if len(out) != r.count() {
		return nil, errRow
	}
	return out, nil
}

// split takes the data apart, as far as lengths go; nil: they do not go to its end.
func (r *row) split() (out [][]byte) {
	for rest := r.data[:max(0, len(r.data)-sumSize)]; len(rest) > 0; {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return nil
		}
		out, rest = append(out, rest[used:used+int(n):used+int(n)]), rest[used+int(n):]
	}
	return out
}

// entries reads the entries of the row, and refuses what is not an entry of the agent under the name it was stored
// with.
func (r *row) entries(id perdure.AgentID, lim perdure.Limits) ([]*perdure.Entry, error) {
	pieces, err := r.pieces(id)
	if err != nil {
		return nil, fmt.Errorf("%w (position %d)", err, r.pos)
	}
	out := make([]*perdure.Entry, len(pieces))
	for i, b := range pieces {
		e, err := r.entry(id, i, b, lim)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

func (r *row) entry(id perdure.AgentID, i int, b []byte, lim perdure.Limits) (*perdure.Entry, error) {
	e, err := perdure.DecodeEntry(b, lim)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w (position %d): %w", errRow, r.pos, err)
	case e.Name != r.name(i) || e.ID() != id:
		return nil, fmt.Errorf("%w (position %d): entry %s was stored as %s", errRow, r.pos, e.Name.Short(),
			r.name(i).Short())
	}
	return e, nil
}

// snapshots are the places of snapshots to resume from, newest first.
func (r *row) snapshots() (out []int) {
	for b := r.snaps; len(b) >= 2; b = b[2:] {
		if i := int(binary.BigEndian.Uint16(b)); i < r.count() {
			out = append(out, i)
		}
	}
	slices.Reverse(out)
	return out
}
