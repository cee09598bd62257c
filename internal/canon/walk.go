package canon

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

const maxSafe = 1<<53 - 1

// walker reads one value strictly. It is the only judge of the binary form: with a nil pointer it checks, with a pointer
// to the Go type of the Type it also fills that in. Its methods take the position of what they read and return the
// position after it, so that it stays in a register.
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
		r = reject(PredTrailing, int64(i), strconv.Itoa(len(w.b)-i)+" more bytes", "the end")
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
		return reject(PredTruncated, int64(len(w.b)), "the end", strconv.Itoa(n-(len(w.b)-i))+" more bytes")
	}
	if n > w.max-i {
		return reject(PredBytes, int64(i), "a longer value", "at most "+strconv.Itoa(w.max)+" bytes")
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

// arg reads the head with initial byte c at i and returns its argument.
func (w *walker) arg(c byte, i int) (uint64, int, *Rejection) {
	if c &= 31; c < 24 {
		return uint64(c), i + 1, nil
	}
	return w.longArg(c, i)
}

func (w *walker) longArg(info byte, i int) (uint64, int, *Rejection) {
	if info > 27 {
		return 0, i, w.malformed(info, i)
	}
	size := 1 << (info - 24)
	if r := w.need(i, 1+size); r != nil {
		return 0, i, r
	}
	var v, least uint64
	q := w.b[i+1:]
	switch info {
	case 24:
		v, least = uint64(q[0]), 24
	case 25:
		v, least = uint64(binary.BigEndian.Uint16(q)), 1<<8
	case 26:
		v, least = uint64(binary.BigEndian.Uint32(q)), 1<<16
	default:
		v, least = binary.BigEndian.Uint64(q), 1<<32
	}
	if v < least {
		return 0, i, reject(PredShortestInt, int64(i), fmt.Sprintf("%d in %d bytes", v, 1+size), "the fewest bytes")
	}
	return v, i + 1 + size, nil
}

// length reads the head of a string and returns its length and where its content starts. The length is within the limits,
// and within the input unless that is still arriving.
func (w *walker) length(c byte, i int) (int, int, *Rejection) {
	n, from := uint64(c&31), i+1
	var r *Rejection
	if n >= 24 {
		n, from, r = w.longArg(c&31, i)
	}
	if r == nil && n > uint64(len(w.b)-from) {
		r = w.lengthPast(n, i, from)
	}
	return int(n), from, r
}

// lengthPast judges a length past the end of w.b.
func (w *walker) lengthPast(n uint64, i, from int) *Rejection {
	if w.src == nil {
		return reject(PredTruncated, int64(i), strconv.Itoa(len(w.b)-from)+" bytes", strconv.FormatUint(n, 10))
	}
	if from > w.max || n > uint64(w.max-from) {
		return reject(PredBytes, int64(i), "a string of "+strconv.FormatUint(n, 10), "at most "+strconv.Itoa(w.max)+" for the value")
	}
	return nil
}

// text reads a text string and returns where its content starts and ends.
func (w *walker) text(c byte, i int, verbatim bool) (int, int, *Rejection) {
	n, from := int(c&31), i+1
	if n >= 24 || n > len(w.b)-from {
		var r *Rejection
		if n, from, r = w.length(c, i); r != nil {
			return i, i, r
		}
	}
	to := from + n
	if to > len(w.b) {
		return from, to, w.arriving(from, to, verbatim)
	}
	s := w.b[from:to]
	if ascii(s) {
		return from, to, nil
	}
	return from, to, textVerdict(s, from, verbatim)
}

// textVerdict rejects s, which starts at from in the input, if it has a fault.
func textVerdict(s []byte, from int, verbatim bool) *Rejection {
	var bad int
	var pred string
	if verbatim {
		bad, pred = verbatimFault(s), PredUTF8
	} else {
		bad, pred = textFault(str(s))
	}
	if bad < 0 {
		return nil
	}
	return textRejection(pred, from+bad, s[bad:])
}

func textRejection(pred string, at int, rest []byte) *Rejection {
	if len(rest) > 12 {
		rest = rest[:12]
	}
	want := map[string]string{PredUTF8: "UTF-8", PredNFC: "NFC", PredUnassigned: "a code point of Unicode " + UnicodeVersion}[pred]
	return reject(pred, int64(at), fmt.Sprintf("%+q", rest), want)
}

func (w *walker) bytes(c byte, t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	n, from, r := w.length(c, i)
	if r != nil {
		return i, r
	}
	if t.Len > 0 && n != t.Len {
		return i, reject(PredLength, int64(i), strconv.Itoa(n)+" bytes", strconv.Itoa(t.Len))
	}
	if r := w.need(from, n); r != nil {
		return i, r
	}
	to := from + n
	switch {
	case p == nil:
	case t.Len > 0:
		copy(unsafe.Slice((*byte)(p), n), w.b[from:to])
	default:
		*(*[]byte)(p) = w.b[from:to:to]
	}
	return to, nil
}

func (w *walker) int(c byte, t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	u, next, r := w.arg(c, i)
	if r != nil {
		return i, r
	}
	v, limit := int64(u), uint64(maxSafe)
	if c>>5 == majorNint {
		v, limit = ^v, maxSafe-1
	}
	if u > limit {
		return i, reject(PredIntSafe, int64(i), "an integer past 2^53", "at most 2^53-1 from zero")
	}
	if p != nil && !t.setInt(p, v) {
		return i, reject(PredIntSafe, int64(i), strconv.FormatInt(v, 10), "what this machine's int holds")
	}
	return next, nil
}

func (w *walker) enum(c byte, t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	u, next, r := w.arg(c, i)
	if r != nil {
		return i, r
	}
	if _, ok := t.nameOf(u); !ok {
		return i, reject(PredEnum, int64(i), strconv.FormatUint(u, 10), t.enumWant())
	}
	if p != nil {
		t.setEnum(p, u)
	}
	return next, nil
}

// float reads a float, whose initial byte is one of the three.
func (w *walker) float(c byte, i int) (float64, int, *Rejection) {
	size := 1 << (c - cborF16 + 1)
	if r := w.need(i, 1+size); r != nil {
		return 0, i, r
	}
	q := w.b[i+1:]
	var f float64
	short := false
	switch c {
	case cborF16:
		h := binary.BigEndian.Uint16(q)
		if h&0x7c00 == 0x7c00 && h&0x3ff != 0 && h != 0x7e00 {
			return 0, i, reject(PredNaN, int64(i), fmt.Sprintf("NaN f9%04x", h), "f97e00")
		}
		return fromHalf(h), i + 3, nil
	case cborF32:
		bits := binary.BigEndian.Uint32(q)
		f = float64(math.Float32frombits(bits))
		_, short = toHalf(bits)
	default:
		f = math.Float64frombits(binary.BigEndian.Uint64(q))
		short = float64(float32(f)) == f
	}
	if f != f {
		return 0, i, reject(PredNaN, int64(i), "another NaN", "f97e00")
	}
	if short {
		return 0, i, reject(PredShortestFlt, int64(i), fmt.Sprintf("%v in %d bytes", f, 1+size), "fewer bytes")
	}
	return f, i + 1 + size, nil
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
