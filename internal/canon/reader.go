package canon

import (
	"io"
	"math"
	"slices"
)

// readSize is how much a Reader reads at once, and so how far it may be past a bad byte before it refuses.
const readSize = 32 << 10

// Reader reads values that follow each other with nothing between (an RFC 8742 sequence), checking bytes as they
// arrive. It holds one value at a time, and no more memory than twice the bytes that have arrived for it.
type Reader struct {
	r    io.Reader
	lim  Limits
	w    walker
	used int   // length of the value returned last
	off  int64 // of w.b[0] in the input
	err  error // what ended reading
	done error // what ended the sequence
}

// NewReader returns a Reader of the values in r. The limits hold for each value.
func NewReader(r io.Reader, lim Limits) *Reader {
	return &Reader{r: r, lim: lim.withDefaults()}
}

// Offset returns where in the input the next value starts.
func (r *Reader) Offset() int64 { return r.off + int64(r.used) }

// Limit sets the limits of the values that come next.
func (r *Reader) Limit(lim Limits) { r.lim = lim.withDefaults() }

// Peek returns the next n bytes without taking them; fewer at the end. They are valid until the next call.
func (r *Reader) Peek(n int) []byte {
	r.shift()
	for len(r.w.b) < n && r.fill() == nil {
	}
	return r.w.b[:min(n, len(r.w.b))]
}

// shift drops the value returned last from the buffer.
func (r *Reader) shift() {
	r.off += int64(r.used)
	r.w.b = r.w.b[:copy(r.w.b, r.w.b[r.used:])]
	r.used = 0
}

// Next returns the binary form of the next value, which is canonical and of type t. The bytes are valid until the next
// call. At the end of the sequence it returns io.EOF. After an error every call returns that error.
func (r *Reader) Next(t *Type) ([]byte, error) {
	if r.done != nil {
		return nil, r.done
	}
	r.shift()
	r.w = walker{b: r.w.b, items: r.lim.Items, depth: r.lim.Depth, max: int(min(r.lim.Bytes, math.MaxInt)),
		src: r}
	if len(r.w.b) == 0 {
		if rej := r.fill(); rej != nil {
			r.done = r.err
			return nil, r.done
		}
	}
	n, rej := r.w.value(t, 0, nil)
	if rej == nil && n > r.w.max {
		rej = reject(PredBytes, 0, "a longer value", "at most "+Count(r.w.max, "bytes"))
	}
	if rej == nil {
		r.used = n
		return r.w.b[:n:n], nil
	}
	r.done = r.err
	if r.err == nil || r.err == io.EOF || rej.Predicate != PredTruncated {
		rej.Offset += r.off
		r.done = rooted(rej)
	}
	return nil, r.done
}

// fill reads once more. The buffer grows with what has arrived, to at most twice that. A rejection means that r.err has
// ended reading.
func (r *Reader) fill() *Rejection {
	b := r.w.b
	if r.err == nil && len(b) == cap(b) {
		b = slices.Grow(b, max(512, len(b)))
	}
	for tries := 0; r.err == nil; tries++ {
		n, err := r.r.Read(b[len(b):min(cap(b), len(b)+readSize)])
		r.err = err
		r.w.b = b[:len(b)+n]
		if n > 0 {
			return nil
		}
		if err == nil && tries == 100 {
			r.err = io.ErrNoProgress
		}
	}
	return reject(PredTruncated, int64(len(r.w.b)), "the end", "more bytes")
}

// arriving reads the content of a text string, checking each piece as it comes.
func (w *walker) arriving(from, to int, verbatim bool) *Rejection {
	scan := textScan{verbatim: verbatim}
	for {
		have := min(len(w.b), to)
		s := w.b[from:have]
		if bad, pred := scan.next(s, have == to); pred != "" {
			return textRejection(pred, from+bad, s[bad:])
		}
		if have == to {
			return nil
		}
		if r := w.src.fill(); r != nil {
			return r
		}
	}
}
