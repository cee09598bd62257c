package capsule

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// binaryEncoder writes the CBOR list of a letter and a byte string.
type binaryEncoder struct{ scratch []byte }

func (w *binaryEncoder) record(dst []byte, letter byte, rec []byte) ([]byte, error) {
	return canon.AppendBytes(append(dst, 0x82, 0x61, letter), rec), nil
}

func (w *binaryEncoder) entry(dst []byte, e *perdure.Entry, p *payload) ([]byte, error) {
	var err error
	if w.scratch, err = e.Drop().AppendBinary(w.scratch[:0]); err != nil {
		return dst, err
	}
	if dst, err = w.record(dst, frameEntry, w.scratch); err != nil {
		return dst, err
	}
	if w.scratch, err = payloadCodec.Append(w.scratch[:0], p); err != nil {
		return dst, err
	}
	return w.record(dst, framePayload, w.scratch)
}

// source reads input in buffers, and counts and hashes what has been taken.
type source struct {
	r    io.Reader
	buf  []byte
	i, n int   // what is left is buf[i:n]
	off  int64 // of buf[i]
	max  int64 // of the whole input
	err  error // what ended reading
}

func newSource(r io.Reader, limit int64) *source {
	return &source{r: r, buf: make([]byte, bufferSize), max: limit}
}

// fill makes at least n bytes (at most a buffer) available, or as many as there are.
func (s *source) fill(n int) error {
	if s.n-s.i >= n {
		return nil
	}
	copy(s.buf, s.buf[s.i:s.n])
	s.i, s.n = 0, s.n-s.i
	for tries := 0; s.n < n && s.err == nil; tries++ {
		got, err := s.r.Read(s.buf[s.n:])
		s.n += got
		s.err = err
		if got == 0 && err == nil && tries == 100 {
			s.err = io.ErrNoProgress
		}
	}
	switch {
	case s.off+int64(s.n-s.i) > s.max:
		return reject(PredSize, s.max, "$", "more bytes", canon.Count(s.max, "bytes"))
	case s.n-s.i >= n:
		return nil
	case s.err == io.EOF && s.n == s.i:
		return io.EOF
	case s.err == io.EOF:
		return reject(PredComplete, s.off+int64(s.n-s.i), "$", "the end of the file inside a frame", "a whole frame")
	}
	return fmt.Errorf("read capsule: %w", s.err)
}

// peek returns the next bytes without taking them; fewer than n at the end.
func (s *source) peek(n int) []byte {
	_ = s.fill(n)
	return s.buf[s.i:min(s.n, s.i+n)]
}

// skip takes n bytes that are available.
func (s *source) skip(n int) { s.i, s.off = s.i+n, s.off+int64(n) }

// take returns the next n bytes in memory of their own. It grows only for bytes that are there.
func (s *source) take(n int) ([]byte, error) {
	b := make([]byte, 0, min(n, bufferSize))
	for len(b) < n {
		if err := s.fill(1); err != nil {
			if err == io.EOF {
				err = reject(PredComplete, s.off, "$", "the end of the file inside a frame", "a whole frame")
			}
			return nil, err
		}
		k := min(n-len(b), s.n-s.i)
		b = append(b, s.buf[s.i:s.i+k]...)
		s.skip(k)
	}
	return b, nil
}

// line returns the next line without its end, in memory of its own. Of an index it may be longer by so many bytes.
func (s *source) line(room int64) ([]byte, error) {
	if err := s.fill(1); err != nil {
		return nil, err
	}
	at := s.off
	var b []byte
	for {
		rest := s.buf[s.i:s.n]
		end := bytes.IndexByte(rest, '\n')
		if end >= 0 {
			rest = rest[:end]
		}
		most := int64(maxLine)
		if bytes.HasPrefix(b, []byte(`{"index":`)) {
			most += room
		}
		if int64(len(b)+len(rest)) > most {
			return nil, reject(PredFrame, at, "$", "a longer line", "at most "+canon.Count(most, "bytes"))
		}
		b = append(b, rest...)
		s.skip(len(rest))
		if end >= 0 {
			s.skip(1)
			return b, nil
		}
		if err := s.fill(1); err != nil {
			if err == io.EOF {
				err = reject(PredComplete, s.off, "$", "the end of the file inside a line", "a whole line")
			}
			return nil, err
		}
	}
}

// digest hashes the bytes of frames, each when the one after it is read: the index holds the hash of everything before
// itself.
type digest struct {
	h    hash.Hash
	last [4][]byte // of the frame read last
	n    int
}

func (d *digest) add(b []byte) { d.last[d.n], d.n = b, d.n+1 }

// next is called before the next frame is read.
func (d *digest) next() {
	for _, b := range d.last[:d.n] {
		d.h.Write(b)
	}
	d.n = 0
}

// before is the hash of everything before the frame read last.
func (d *digest) before() perdure.Hash { return perdure.Hash(d.h.Sum(nil)) }

// binaryDecoder reads the binary form.
type binaryDecoder struct {
	*source
	sum     *digest
	heads   [2][12]byte
	entries int64 // before the next frame
}

func (d *binaryDecoder) next() (*frame, error) {
	d.sum.next()
	f, err := d.frame()
	if err != nil || f.letter != frameEntry {
		if err == nil && f.letter == framePayload {
			err = reject(PredOrder, f.at, "$", "a body", "an entry before it")
		}
		return f, err
	}
	if err := f.split(); err != nil {
		return nil, err
	}
	p, err := d.frame()
	if err == io.EOF {
		err = reject(PredComplete, d.off, "$", "the end of the file after an entry", "its body")
	}
	if err != nil {
		return nil, err
	}
	if p.letter != framePayload {
		return nil, reject(PredOrder, p.at, "$", "frame "+string(rune(p.letter)), "the body of the entry before it")
	}
	if err := payloadCodec.Decode(p.record, &f.payload, canon.Limits{}); err != nil {
		return nil, moved(err, p.base)
	}
	d.entries++
	f.body, f.payload.Body = f.payload.Body, nil
	f.bodyBase = d.off - int64(len(f.body))
	if f.payload.More {
		f.bodyBase -= 2 // its key and value stand after the body
	}
	return f, nil
}

// frame reads one frame: a list of two, a letter, and a byte string whose length is known before its content is read.
func (d *binaryDecoder) frame() (*frame, error) {
	at := d.off
	if err := d.fill(4); err != nil {
		return nil, err
	}
	head := d.peek(4)
	letter := head[2]
	if head[0] != 0x82 || head[1] != 0x61 || !bytes.ContainsRune([]byte("HSEPKMZ"), rune(letter)) {
		return nil, reject(PredFrame, at, "$", fmt.Sprintf("bytes %x", head[:3]),
			"a list of a letter and a byte string")
	}
	if err := d.fill(3 + headWidth(head[3])); err != nil {
		return nil, err // cut off in the middle of it
	}
	n, width, ok := bytesHead(d.peek(12)[3:])
	if !ok {
		return nil, reject(PredFrame, at+3, "$", fmt.Sprintf("byte %x", head[3]), "the shortest head of a byte string")
	}
	most := uint64(maxFrame)
	if letter == frameIndex {
		most += uint64(indexRoom * d.entries)
	}
	if n > most {
		return nil, reject(PredFrame, at+3, "$", canon.Count(n, "bytes"), "at most "+canon.Count(most, "bytes"))
	}
	kept := &d.heads[d.sum.n/2]
	d.sum.add(kept[:copy(kept[:], d.buf[d.i:d.i+3+width])])
	d.skip(3 + width)
	base := d.off
	rec, err := d.take(int(n))
	if err != nil {
		return nil, err
	}
	d.sum.add(rec)
	return &frame{letter: letter, at: at, base: base, record: rec}, nil
}

// bytesHead reads the head of a byte string: its length, and how many bytes the head has.
func bytesHead(b []byte) (n uint64, width int, ok bool) {
	if len(b) == 0 || b[0]>>5 != 2 {
		return 0, 0, false
	}
	switch c := b[0] & 31; {
	case c < 24:
		return uint64(c), 1, true
	case c == 24 && len(b) >= 2:
		return uint64(b[1]), 2, b[1] >= 24
	case c == 25 && len(b) >= 3:
		n = uint64(binary.BigEndian.Uint16(b[1:]))
		return n, 3, n > 0xff
	case c == 26 && len(b) >= 5:
		n = uint64(binary.BigEndian.Uint32(b[1:]))
		return n, 5, n > 0xffff
	case c == 27 && len(b) >= 9:
		n = binary.BigEndian.Uint64(b[1:])
		return n, 9, n > 0xffffffff
	}
	return 0, 0, false
}

// headWidth is how many bytes the head of a byte string has that begins so.
func headWidth(first byte) int {
	switch first {
	case 0x58:
		return 2
	case 0x59:
		return 3
	case 0x5a:
		return 5
	case 0x5b:
		return 9
	}
	return 1
}

// split takes the record of an entry without its body apart: a map of its header and, if it is signed, its signature.
func (f *frame) split() error {
	const mark = 3 // key 3, and the head of 64 bytes
	b := f.record
	switch {
	case len(b) > 2 && b[0] == 0xa1 && b[1] == 1:
		f.header = b[2:]
	case len(b) > 2+mark+64 && b[0] == 0xa2 && b[1] == 1 && bytes.Equal(b[len(b)-64-mark:len(b)-64],
		[]byte{3, 0x58, 64}):
		f.header, f.signature = b[2:len(b)-64-mark:len(b)-64-mark], b[len(b)-64:]
	default:
		return reject(PredFrame, f.base, "$", "something else",
			"an entry without its body: a map of header and signature")
	}
	if f.signature != nil && [64]byte(f.signature) == [64]byte{} {
		return reject(PredFrame, f.base, "$.signature", "a signature of zeros", "a signature, or none")
	}
	f.base += 2
	f.record = nil
	return nil
}
