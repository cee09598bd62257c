package nats

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// A commit is one message of the log: what one call added to an agent. It says what the agent is like after it, so
// that the last message of an agent is enough to write the next, and where the message before it is, so that one that
// is missing is noticed. At its end is a sum over all of it and the agent's id. Who changes the sum, too, still cannot
// change what names commit to, nor sign.

const (
	hashSize   = len(perdure.Hash{})
	sumSize    = 16
	layout     = 1  // of a commit
	cursorBits = 20 // of a cursor are for the entry within its commit
	// maxEntries bounds the entries of one commit. Cursors count on it.
	maxEntries = 1 << cursorBits
)

// cursor is where entry i of the commit at seq stands.
func cursor(seq uint64, i int) perdure.Cursor { return perdure.Cursor(seq<<cursorBits | uint64(i)) }

func seqOf(c perdure.Cursor) uint64 { return uint64(c) >> cursorBits }

// errCommit says that a message does not hold what was written.
var errCommit = errors.New(
	"a message is not what was written: run `perdure doctor --repair`, or import a good copy of the agent")

// errLost says that the servers do not have what they acknowledged.
var errLost = errors.New("the servers lost a message that they had acknowledged: run `perdure doctor --repair`, or " +
	"import a good copy of the agent")

// commit is a message of the log.
type commit struct {
	seq uint64 // its place in the stream; not in the message

	prev  uint64 // the message of this agent before it; zero: none
	base  uint64 // the message that its memory begins with; zero: this one
	snap  uint64 // the latest message before it that has a snapshot to resume from
	count int64  // entries of the memory, up to its own
	total int    // entries of its own
	says  perdure.Time
	heads []perdure.Hash // ascending; none: the agent is gone
	depth perdure.Depth
	snaps []int  // which of its entries are snapshots to resume from, ascending
	data  []byte // its entries, each after its length; nil: they are in pages
	pages []page
}

// page is a part of the entries of a commit, in a message of its own.
type page struct {
	seq   uint64 // in the stream of pages
	first int    // the entry that it begins with, or is a part of
	parts int    // of an entry that is longer than a page: how many pages it takes, from this one on; zero: not long
	sum   perdure.Hash
}

// root is where the memory of the commit begins.
func (c *commit) root() uint64 {
	if c.base == 0 {
		return c.seq
	}
	return c.base
}

// gone reports whether the agent is not there any more.
func (c *commit) gone() bool { return len(c.heads) == 0 }

// last is the latest commit up to this one that has a snapshot to resume from; zero: none has.
func (c *commit) lastSnap() uint64 {
	if len(c.snaps) > 0 {
		return c.seq
	}
	return c.snap
}

// encode is the message.
func (c *commit) encode(id perdure.AgentID) []byte {
	b := make([]byte, 0, 128+len(c.data)+len(c.heads)*hashSize+len(c.pages)*(hashSize+16))
	b = append(b, layout)
	for _, n := range []uint64{c.prev, c.base, c.snap, uint64(c.count), uint64(c.total), uint64(c.says)} {
		b = binary.AppendUvarint(b, n)
	}
	depth := ""
	if c.depth != perdure.Full {
		depth = c.depth.String()
	}
	b = append(binary.AppendUvarint(b, uint64(len(depth))), depth...)
	b = binary.AppendUvarint(b, uint64(len(c.heads)))
	for i := range c.heads {
		b = append(b, c.heads[i][:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(c.snaps)))
	for _, i := range c.snaps {
		b = binary.AppendUvarint(b, uint64(i))
	}
	b = binary.AppendUvarint(b, uint64(len(c.pages)))
	for _, p := range c.pages {
		for _, n := range []uint64{p.seq, uint64(p.first), uint64(p.parts)} {
			b = binary.AppendUvarint(b, n)
		}
		b = append(b, p.sum[:]...)
	}
	b = append(b, c.data...)
	sum := sumOf(id, b)
	return append(b, sum[:sumSize]...)
}

func sumOf(id perdure.AgentID, b []byte) (out [sha256.Size]byte) {
	h := sha256.New()
	_, _ = h.Write(id[:])
	_, _ = h.Write(b)
	h.Sum(out[:0])
	return out
}

// decodeCommit reads a message, and refuses one that is not what was written.
func decodeCommit(id perdure.AgentID, seq uint64, b []byte) (*commit, error) {
	end := len(b) - sumSize
	if end < 1 || b[0] != layout {
		return nil, fmt.Errorf("%w (message %d)", errCommit, seq)
	}
	if sum := sumOf(id, b[:end]); !bytes.Equal(sum[:sumSize], b[end:]) {
		return nil, fmt.Errorf("%w (message %d)", errCommit, seq)
	}
	c := &commit{seq: seq}
	if err := c.decode(&reader{rest: b[1:end:end]}); err != nil {
		return nil, fmt.Errorf("%w (message %d)", err, seq)
	}
	return c, nil
}

func (c *commit) decode(r *reader) error {
	c.prev, c.base, c.snap = r.number(), r.number(), r.number()
	c.count, c.total, c.says = int64(r.number()), int(r.number()), perdure.Time(r.number())
	if depth := r.bytes(r.length(1)); len(depth) > 0 {
		if err := c.depth.UnmarshalText(depth); err != nil {
			return errCommit
		}
	}
	for range r.length(hashSize) {
		c.heads = append(c.heads, r.hash())
	}
	for range r.length(1) {
		c.snaps = append(c.snaps, int(r.number()))
	}
	for range r.length(hashSize + 3) {
		c.pages = append(c.pages, page{seq: r.number(), first: int(r.number()), parts: int(r.number()), sum: r.hash()})
	}
	if c.data = r.rest; len(c.pages) > 0 {
		c.data = nil
	}
	if r.bad || c.total < 0 || c.total > maxEntries || c.count < 0 ||
		slices.ContainsFunc(c.snaps, func(i int) bool { return i < 0 || i >= c.total }) {
		return errCommit
	}
	return nil
}

// reader takes a message apart.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) number() uint64 {
	n, used := binary.Uvarint(r.rest)
	if used <= 0 {
		r.bad, used = true, 0
	}
	r.rest = r.rest[used:]
	return n
}

// length is a number of things that take at least so many bytes each: never more than can be there.
func (r *reader) length(size int) int {
	n := r.number()
	if n > uint64(len(r.rest)/size) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) (out []byte) {
	if n > len(r.rest) {
		r.bad = true
		return nil
	}
	out, r.rest = r.rest[:n:n], r.rest[n:]
	return out
}

func (r *reader) hash() (h perdure.Hash) {
	copy(h[:], r.bytes(hashSize))
	return h
}

// appendEntry adds an entry to data.
func appendEntry(data []byte, e *perdure.Entry) ([]byte, error) {
	b, err := e.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("entry %s: %w", e.Name.Short(), err)
	}
	return append(binary.AppendUvarint(data, uint64(len(b))), b...), nil
}

// entriesOf reads entries of an agent, and refuses what is none.
func entriesOf(id perdure.AgentID, data []byte, lim perdure.Limits) (out []*perdure.Entry, err error) {
	for r := (&reader{rest: data}); len(r.rest) > 0; {
		b := r.bytes(r.length(1))
		if r.bad {
			return nil, errCommit
		}
		e, err := perdure.DecodeEntry(b, lim)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errCommit, err)
		}
		if e.ID() != id {
			return nil, fmt.Errorf("%w: entry %s is of another agent", errCommit, e.Name.Short())
		}
		out = append(out, e)
	}
	return out, nil
}
