package canon

import (
	"fmt"
	"strconv"
	"unsafe"
)

// walker reads one value strictly. It is the only judge of the binary form: with a nil pointer it checks, with a
// pointer to the Go type of the Type it also fills that in. Its methods take the position of what they read and return
// the position after it, so that it stays in a register.
type walker struct {
	b     []byte
	items int64   // left
	depth int     // left
	max   int     // bytes of the value, while they arrive
	src   *Reader // where more bytes come from; nil when b is everything
}

// Check reports whether b is exactly one canonical value of type t. It allocates nothing unless it refuses.
func Check(t *Type, b []byte, lim Limits) error {
	lim = lim.withDefaults()
	w := walker{b: b, items: lim.Items, depth: lim.Depth}
	if r := w.whole(t, nil, lim.Bytes); r != nil {
		return rooted(r)
	}
	return nil
}

// whole reads a value that must fill w.b.
func (w *walker) whole(t *Type, p unsafe.Pointer, limit int64) *Rejection {
	if int64(len(w.b)) > limit {
		return reject(PredBytes, limit, strconv.Itoa(len(w.b)), "at most "+strconv.FormatInt(limit, 10))
	}
	i, r := w.value(t, 0, p)
	if r == nil && i != len(w.b) {
		r = reject(PredTrailing, int64(i), Count(len(w.b)-i, "more bytes"), "the end")
	}
	return r
}

// Span returns the value of field id of the record in b, which has been checked, without copying it; nil when absent.
func Span(b []byte, id uint16) []byte {
	c := cursor{b: b}
	_, n := c.head()
	for range n {
		_, key := c.head()
		from := c.i
		c.skip()
		if key == uint64(id) {
			return b[from:c.i:c.i]
		}
	}
	return nil
}

// need makes sure n bytes follow i.
func (w *walker) need(i, n int) *Rejection {
	if len(w.b)-i >= n {
		return nil
	}
	return w.more(i, n)
}

func (w *walker) more(i, n int) *Rejection {
	if w.src == nil {
		return reject(PredTruncated, int64(len(w.b)), "the end", Count(n-(len(w.b)-i), "more bytes"))
	}
	if n > w.max-i {
		return reject(PredBytes, int64(i), "a longer value", "at most "+Count(w.max, "bytes"))
	}
	for len(w.b)-i < n {
		if r := w.src.fill(); r != nil {
			return r
		}
	}
	return nil
}

// value reads one value of type t.
func (w *walker) value(t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	if i >= len(w.b) {
		if r := w.more(i, 1); r != nil {
			return i, r
		}
	}
	c := w.b[i]
	switch t.Kind {
	case Text, Verbatim:
		if c>>5 == majorText {
			from, to, r := w.text(c, i, t.Kind == Verbatim)
			if r == nil && p != nil {
				*(*string)(p) = str(w.b[from:to])
			}
			return to, r
		}
	case Bytes:
		if c>>5 == majorBytes {
			return w.bytes(c, t, i, p)
		}
	case Uint:
		if c>>5 == majorUint {
			u, i, r := w.arg(c, i)
			if r == nil && p != nil {
				*(*uint64)(p) = u
			}
			return i, r
		}
	case Int:
		if c>>5 <= majorNint {
			if c < 24 && p == nil {
				return i + 1, nil
			}
			return w.int(c, t, i, p)
		}
	case Enum:
		if c>>5 == majorUint {
			return w.enum(c, t, i, p)
		}
	case Bool:
		if c == cborFalse || c == cborTrue {
			if p != nil {
				*(*bool)(p) = c == cborTrue
			}
			return i + 1, nil
		}
	case Float:
		if c >= cborF16 && c <= cborF64 {
			f, i, r := w.float(c, i)
			if r == nil && p != nil {
				*(*float64)(p) = f
			}
			return i, r
		}
	case Record:
		if c>>5 == majorMap {
			return w.record(c, t, i, p)
		}
	case Union:
		if c>>5 == majorMap {
			return w.unionCase(c, t, i, p)
		}
	case List:
		if c>>5 == majorList {
			return w.list(c, t, i, p)
		}
	case Map:
		if c>>5 == majorMap {
			return w.textMap(c, t, i, p)
		}
	case Any:
		return w.free(c, t, i)
	case DataKind:
		to, r := w.free(c, t, i)
		if r == nil && p != nil {
			*(*Data)(p) = w.b[i:to:to]
		}
		return to, r
	}
	return i, w.mismatch(c, t, i)
}

// malformed rejects the head at i, whose additional information is 28 to 31.
func (w *walker) malformed(info byte, i int) *Rejection {
	c := w.b[i]
	got := fmt.Sprintf("byte %02x", c)
	if info < 31 || c>>5 < majorBytes || c>>5 == majorTag {
		return reject(PredReserved, int64(i), got, "a defined initial byte")
	}
	return reject(PredIndefinite, int64(i), got, "a definite length")
}

// mismatch rejects the item with initial byte c at i, which is not of type t.
func (w *walker) mismatch(c byte, t *Type, i int) *Rejection {
	info := c & 31
	switch major := c >> 5; {
	case info > 27:
		return w.malformed(info, i)
	case major == majorTag:
		return reject(PredTag, int64(i), "a tag", "the bare value")
	case c == cborNull:
		return reject(PredNull, int64(i), "null", t.Kind.String())
	case major == majorOther && (info < 20 || info == 23 || info == 24):
		return reject(PredSimple, int64(i), fmt.Sprintf("byte %02x", c), "false, true or null")
	}
	return reject(PredType, int64(i), itemName(c), t.Kind.String())
}

// itemName names the item that starts with c.
func itemName(c byte) string {
	switch c {
	case cborFalse, cborTrue:
		return "a bool"
	case cborNull:
		return "null"
	}
	return [...]string{"an integer", "an integer", "bytes", "text", "a list", "a map", "a tag", "a float"}[c>>5]
}
