package canon

import (
	"io"
	"slices"
)

// readSize is how much a Reader reads at once, and so how far it may be past a bad byte before it refuses.
const readSize = 32 << 10

// Reader reads values that follow each other with nothing between (an RFC 8742 sequence), checking bytes as they arrive.
// It holds one value at a time, and no more memory than twice the bytes that have arrived for it.
type Reader struct {
	r    io.Reader
	lim  Limits
	w    walker
	off  int64 // of w.b[0] in the input
	err  error // what ended reading
	done error // what ended the sequence
}

// NewReader returns a Reader of the values in r. The limits hold for each value.
func NewReader(r io.Reader, lim Limits) *Reader {
	return &Reader{r: r, lim: lim.withDefaults()}
}

// Offset returns where in the input the next value starts.
func (r *Reader) Offset() int64 { return r.off + int64(r.w.i) }

// Next returns the binary form of the next value, which is canonical and of type t. The bytes are valid until the next
// call. At the end of the sequence it returns io.EOF. After an error every call returns that error.
func (r *Reader) Next(t *Type) ([]byte, error) {
	if r.done != nil {
		return nil, r.done
	}
	r.off += int64(r.w.i)
	rest := copy(r.w.b, r.w.b[r.w.i:])
	r.w = walker{b: r.w.b[:rest], items: r.lim.Items, depth: r.lim.Depth, max: int(r.lim.Bytes), src: r}
	if rest == 0 {
		if rej := r.fill(); rej != nil {
			if r.done = r.err; r.done == nil {
				r.done = rooted(rej)
			}
			return nil, r.done
		}
	}
	rej := r.w.value(t, nil)
	if rej == nil && r.w.i > r.w.max {
		rej = reject(PredBytes, 0, "a longer value", "the byte limit")
	}
	if rej != nil {
		if r.done = r.err; r.done == nil || r.done == io.EOF {
			rej.Offset += r.off
			r.done = rooted(rej)
		}
		r.w.i = 0
		return nil, r.done
	}
	return r.w.b[:r.w.i:r.w.i], nil
}

// fill reads once more. It grows the buffer only for bytes that are there.
func (r *Reader) fill() *Rejection {
	b := r.w.b
	if r.err == nil {
		b = slices.Grow(b, min(readSize, max(512, len(b))))
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

// arriving reads the content of a text string of n bytes, checking each piece as it comes.
func (w *walker) arriving(n int, verbatim bool) *Rejection {
	from, to := w.i, w.i+n
	scan := textScan{verbatim: verbatim}
	for {
		have := min(len(w.b), to)
		s := w.b[from:have]
		if bad, pred := scan.next(s, have == to); pred != "" {
			return textRejection(pred, from+bad, s[bad:])
		}
		if have == to {
			w.i = to
			return nil
		}
		if r := w.src.fill(); r != nil {
			return r
		}
	}
}
