package perdure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/perdure/perdure/internal/canon"
)

// ReadMemory yields the entries of a memory written by WriteMemory: a CBOR sequence of entry records, parents before
// children. It refuses bytes that are not one within a read buffer of the first bad one, with the offset in the stream,
// and ends there; it holds one entry at a time, and no more than the limits allow. It can be ranged over again if r can
// seek.
func ReadMemory(r io.Reader, lim Limits) iter.Seq2[*Entry, error] {
	var start int64
	seeker, seekable := r.(io.Seeker)
	if seekable {
		var err error
		start, err = seeker.Seek(0, io.SeekCurrent)
		seekable = err == nil
	}
	used := false
	return func(yield func(*Entry, error) bool) {
		if used {
			if !seekable {
				yield(nil, errors.New("read memory again: its input cannot seek; put it in a file"))
				return
			}
			if _, err := seeker.Seek(start, io.SeekStart); err != nil {
				yield(nil, fmt.Errorf("read memory again: %w", err))
				return
			}
		}
		used = true
		m := memoryReader{r: r, lim: lim}
		for {
			e, err := m.next()
			if err == io.EOF || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// memoryBlock is how much of a memory is read at once, beginning with firstBlock, as many memories are small. Entries
// keep the block they stand in.
const (
	memoryBlock = 128 << 10
	firstBlock  = 8 << 10
)

// memoryReader reads entries out of blocks, and one at a time when they are larger than that.
type memoryReader struct {
	r     io.Reader
	lim   Limits
	block []byte // read and not yet decoded
	size  int    // of the next block
	off   int64  // of block in the stream
	err   error  // that ended reading
	large *canon.Reader
}

func (m *memoryReader) next() (*Entry, error) {
	for m.large == nil {
		n, whole := itemLen(m.block)
		if whole || (m.err != nil && len(m.block) > 0) {
			e, err := DecodeEntry(m.block[:n:n], m.lim)
			at(err, m.off)
			m.block, m.off = m.block[n:], m.off+int64(n)
			return e, err
		}
		if m.err != nil {
			return nil, m.err
		}
		if len(m.block) >= memoryBlock {
			m.large = canon.NewReader(io.MultiReader(bytes.NewReader(m.block), m.r), m.lim)
			break
		}
		if err := m.fill(); err != nil {
			return nil, err
		}
	}
	from := m.off + m.large.Offset()
	b, err := m.large.Next(entryCodec.Type())
	if err != nil {
		at(err, m.off)
		return nil, err
	}
	e, err := DecodeEntry(bytes.Clone(b), m.lim)
	at(err, from)
	return e, err
}

// fill reads once more, behind what is left, into a new block where the old one has no room.
func (m *memoryReader) fill() error {
	if m.size = max(m.size, firstBlock); cap(m.block)-len(m.block) < m.size/8 {
		m.block = append(make([]byte, 0, max(m.size, 2*len(m.block))), m.block...)
		m.size = min(2*m.size, memoryBlock)
	}
	for range 100 {
		n, err := m.r.Read(m.block[len(m.block):cap(m.block)])
		m.block, m.err = m.block[:len(m.block)+n], err
		if err != nil && err != io.EOF {
			return fmt.Errorf("read memory: %w", err)
		}
		if n > 0 || err != nil {
			return nil
		}
	}
	return io.ErrNoProgress
}

// at moves the offset of a rejection to where its input stands in the stream.
func at(err error, off int64) {
	if r, ok := err.(*Rejection); ok {
		r.Offset += off
	}
}

// itemLen finds where the first CBOR item of b ends, and whether it does within b. It judges nothing: for bytes that
// are no CBOR it is all of them, so that the decoder finds out where they are wrong.
func itemLen(b []byte) (n int, whole bool) {
	i := 0
	for left := uint64(1); left > 0; left-- {
		if i >= len(b) {
			return len(b), false
		}
		c := b[i]
		i++
		v := uint64(c & 31)
		if v >= 24 {
			if v > 27 {
				return len(b), true
			}
			size := 1 << (v - 24)
			if len(b)-i < size {
				return len(b), false
			}
			v = 0
			for _, x := range b[i : i+size] {
				v = v<<8 | uint64(x)
			}
			i += size
		}
		switch c >> 5 {
		case 2, 3: // bytes and text
			if v > uint64(len(b)-i) {
				return len(b), false
			}
			i += int(v)
		case 4, 5, 6: // lists, maps and tags hold items
			if c>>5 == 6 {
				v = 1
			}
			if v > uint64(len(b)-i) { // each takes a byte at least
				return len(b), false
			}
			if left += v; c>>5 == 5 {
				left += v
			}
		}
	}
	return i, true
}

// WriteMemory writes entries as ReadMemory reads them. Yield parents before children.
func WriteMemory(w io.Writer, entries iter.Seq2[*Entry, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var b []byte
	for e, err := range entries {
		if err != nil {
			return err
		}
		if b, err = e.AppendBinary(b[:0]); err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return fmt.Errorf("write memory: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write memory: %w", err)
	}
	return nil
}
