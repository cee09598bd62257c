package capsule

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// meter counts what has been read and what it unpacked to. Chunks pack well and a chunk may be named any number of
// times, so a small file can stand for bodies that fill a disk: a Reader asks its meter before it unpacks a body.
type meter struct {
	read     int64 // bytes of capsules, and of the chunks beside them
	unpacked int64 // bytes of headers and bodies

	// chunks are those kept beside the capsules that read counts. It counts each once, however often it is fetched: or
	// a few of them, fetched again and again, would pay for any number of bodies.
	chunks map[perdure.Hash]struct{}
}

// add counts what another meter counted after this one.
func (m *meter) add(o meter) {
	m.read, m.unpacked = m.read+o.read, m.unpacked+o.unpacked
	for name := range o.chunks {
		m.fetched(name)
	}
}

// fetched notes a chunk and reports whether it is the first time.
func (m *meter) fetched(name perdure.Hash) bool {
	if _, ok := m.chunks[name]; ok {
		return false
	}
	if m.chunks == nil {
		m.chunks = map[perdure.Hash]struct{}{}
	}
	m.chunks[name] = struct{}{}
	return true
}

// most is how many bytes may have been unpacked by now. A limit that somebody set holds as it stands.
func (o *ReadOptions) most(read int64) int64 {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return DefaultUnpacked + DefaultRatio*read
}

// charge refuses the entry of a frame if it would unpack to more than is allowed by now. It is called before memory is
// taken for the entry.
func (c *Reader) charge(f *frame) error {
	size := int64(len(f.header) + len(f.body))
	for _, ref := range f.payload.Chunks {
		size += min(max(ref.Size, 0), chunk.MaxSize) // other sizes are refused by assemble
	}
	c.used.unpacked += size
	now := c.cost()
	if b := c.o.before; b != nil {
		now.read, now.unpacked = now.read+b.read, now.unpacked+b.unpacked
	}
	most := c.o.most(now.read)
	if now.unpacked <= most {
		return nil
	}
	want := canon.Count(most, "bytes")
	if c.o.MaxBytes <= 0 {
		want = fmt.Sprintf("at most %d MiB and %d times the %d bytes read", int64(DefaultUnpacked)>>20, DefaultRatio,
			now.read)
	}
	return reject(PredUnpacked, f.at, "$", canon.Count(now.unpacked, "bytes unpacked"), want)
}

// cost is what has been read so far and what it unpacked to.
func (c *Reader) cost() meter {
	return meter{c.used.read + c.dec.offset(), c.used.unpacked, c.used.chunks}
}

// fetched counts the record of a chunk that is kept beside the capsule.
func (c *Reader) fetched(name perdure.Hash, record []byte) {
	if b := c.o.before; b != nil {
		if _, ok := b.chunks[name]; ok {
			return
		}
	}
	if c.used.fetched(name) {
		c.used.read += int64(len(record))
	}
}
