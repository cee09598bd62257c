package canon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

const maxSafe = 1<<53 - 1

// walker reads one value strictly. It is the only judge of the binary form: with a nil pointer it checks, with a pointer
// to the Go type of the Type it also fills that in.
type walker struct {
	b     []byte
	i     int
	items int64 // left
	depth int   // left
	max   int   // bytes
	src   *Reader
}

// Check reports whether b is exactly one canonical value of type t. It allocates nothing unless it refuses.
func Check(t *Type, b []byte, lim Limits) error {
	lim = lim.withDefaults()
	w := walker{b: b, items: lim.Items, depth: lim.Depth}
	return rooted(w.whole(t, nil, lim.Bytes))
}

// whole reads a value that must fill w.b.
func (w *walker) whole(t *Type, p unsafe.Pointer, limit int64) *Rejection {
	if int64(len(w.b)) > limit {
		return reject(PredBytes, limit, strconv.Itoa(len(w.b)), "at most "+strconv.FormatInt(limit, 10))
	}
	if r := w.value(t, p); r != nil {
		return r
	}
	if w.i != len(w.b) {
		return reject(PredTrailing, int64(w.i), strconv.Itoa(len(w.b)-w.i)+" more bytes", "the end")
	}
	return nil
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

// need makes sure n more bytes are in w.b.
func (w *walker) need(n int) *Rejection {
	if len(w.b)-w.i >= n {
		return nil
	}
	return w.more(n)
}

func (w *walker) more(n int) *Rejection {
	if w.src == nil {
		return reject(PredTruncated, int64(len(w.b)), "the end", strconv.Itoa(n-(len(w.b)-w.i))+" more bytes")
	}
	if n > w.max-w.i {
		return reject(PredBytes, int64(w.i), "a longer value", "at most "+strconv.Itoa(w.max)+" bytes")
	}
	for len(w.b)-w.i < n {
		if r := w.src.fill(); r != nil {
			return r
		}
	}
	return nil
}

// arg reads the head whose initial byte c is at w.i and returns its argument.
func (w *walker) arg(c byte) (uint64, *Rejection) {
	if c &= 31; c < 24 {
		w.i++
		return uint64(c), nil
	}
	return w.longArg(c)
}

func (w *walker) longArg(info byte) (uint64, *Rejection) {
	if info > 27 {
		return 0, w.malformed(info)
	}
	size := 1 << (info - 24)
	if r := w.need(1 + size); r != nil {
		return 0, r
	}
	var v, least uint64
	q := w.b[w.i+1:]
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
		return 0, reject(PredShortestInt, int64(w.i), fmt.Sprintf("%d in %d bytes", v, 1+size), "the fewest bytes")
	}
	w.i += 1 + size
	return v, nil
}

// malformed rejects a head with additional information 28 to 31.
func (w *walker) malformed(info byte) *Rejection {
	c := w.b[w.i]
	got := fmt.Sprintf("byte %02x", c)
	if info < 31 || c>>5 < majorBytes || c>>5 == majorTag {
		return reject(PredReserved, int64(w.i), got, "a defined initial byte")
	}
	return reject(PredIndefinite, int64(w.i), got, "a definite length")
}

// mismatch rejects the item with initial byte c at w.i, which is not of type t.
func (w *walker) mismatch(c byte, t *Type) *Rejection {
	at := int64(w.i)
	info := c & 31
	switch major := c >> 5; {
	case info > 27:
		return w.malformed(info)
	case major == majorTag:
		return reject(PredTag, at, "a tag", "the bare value")
	case c == cborNull:
		return reject(PredNull, at, "null", t.Kind.String())
	case major == majorOther && (info < 20 || info == 23 || info == 24):
		return reject(PredSimple, at, fmt.Sprintf("byte %02x", c), "false, true or null")
	}
	return reject(PredType, at, itemName(c), t.Kind.String())
}

// itemName names the item that starts with c.
func itemName(c byte) string {
	switch c >> 5 {
	case majorUint, majorNint:
		return "an integer"
	case majorBytes:
		return "bytes"
	case majorText:
		return "text"
	case majorList:
		return "a list"
	case majorMap:
		return "a map"
	case majorTag:
		return "a tag"
	}
	switch c {
	case cborFalse, cborTrue:
		return "a bool"
	case cborNull:
		return "null"
	}
	return "a float"
}

// value reads one value of type t.
func (w *walker) value(t *Type, p unsafe.Pointer) *Rejection {
	if w.i >= len(w.b) {
		if r := w.more(1); r != nil {
			return r
		}
	}
	c := w.b[w.i]
	switch t.Kind {
	case Text, Verbatim:
		if c>>5 != majorText {
			break
		}
		from, r := w.text(c, t.Kind == Verbatim)
		if r == nil && p != nil {
			*(*string)(p) = str(w.b[from:w.i])
		}
		return r
	case Bytes:
		if c>>5 != majorBytes {
			break
		}
		return w.bytes(c, t, p)
	case Uint:
		if c>>5 != majorUint {
			break
		}
		u, r := w.arg(c)
		if r == nil && p != nil {
			*(*uint64)(p) = u
		}
		return r
	case Int:
		if c>>5 > majorNint {
			break
		}
		return w.int(c, t, p)
	case Enum:
		if c>>5 != majorUint {
			break
		}
		return w.enum(c, t, p)
	case Bool:
		if c != cborFalse && c != cborTrue {
			break
		}
		w.i++
		if p != nil {
			*(*bool)(p) = c == cborTrue
		}
		return nil
	case Float:
		if c < cborF16 || c > cborF64 {
			break
		}
		f, r := w.float(c)
		if r == nil && p != nil {
			*(*float64)(p) = f
		}
		return r
	case Record:
		if c>>5 != majorMap {
			break
		}
		return w.record(c, t, p)
	case Union:
		if c>>5 != majorMap {
			break
		}
		return w.unionCase(c, t, p)
	case List:
		if c>>5 != majorList {
			break
		}
		return w.list(c, t, p)
	case Map:
		if c>>5 != majorMap {
			break
		}
		return w.textMap(c, t, p)
	case Any:
		return w.free(c, t, false)
	case DataKind:
		from := w.i
		r := w.free(c, t, true)
		if r == nil && p != nil {
			*(*Data)(p) = w.b[from:w.i:w.i]
		}
		return r
	}
	return w.mismatch(c, t)
}

// length reads the head of a string and makes sure its length is within the limits, and within the input unless that is
// still arriving.
func (w *walker) length(c byte) (int, *Rejection) {
	at := w.i
	n, r := w.arg(c)
	if r != nil {
		return 0, r
	}
	if n > uint64(len(w.b)-w.i) {
		if w.src == nil {
			return 0, reject(PredTruncated, int64(at), strconv.Itoa(len(w.b)-w.i)+" bytes", strconv.FormatUint(n, 10))
		}
		if n > uint64(w.max-w.i) {
			return 0, reject(PredBytes, int64(at), "a string of "+strconv.FormatUint(n, 10), "at most "+strconv.Itoa(w.max)+" for the value")
		}
	}
	return int(n), nil
}

// text reads a text string and returns where its content starts; it ends at w.i.
func (w *walker) text(c byte, verbatim bool) (int, *Rejection) {
	n, r := w.length(c)
	if r != nil {
		return 0, r
	}
	from := w.i
	if n > len(w.b)-from {
		return from, w.arriving(n, verbatim)
	}
	s := w.b[from : from+n]
	w.i += n
	if verbatim {
		if bad := verbatimFault(s); bad >= 0 {
			return 0, textRejection(PredUTF8, from+bad, s[bad:])
		}
		return from, nil
	}
	if bad, pred := textFault(str(s)); pred != "" {
		return 0, textRejection(pred, from+bad, s[bad:])
	}
	return from, nil
}

func textRejection(pred string, at int, rest []byte) *Rejection {
	if len(rest) > 12 {
		rest = rest[:12]
	}
	want := map[string]string{PredUTF8: "UTF-8", PredNFC: "NFC", PredUnassigned: "a code point of Unicode " + UnicodeVersion}[pred]
	return reject(pred, int64(at), fmt.Sprintf("%+q", rest), want)
}

func (w *walker) bytes(c byte, t *Type, p unsafe.Pointer) *Rejection {
	at := w.i
	n, r := w.length(c)
	if r != nil {
		return r
	}
	if t.Len > 0 && n != t.Len {
		return reject(PredLength, int64(at), strconv.Itoa(n)+" bytes", strconv.Itoa(t.Len))
	}
	if r := w.need(n); r != nil {
		return r
	}
	s := w.b[w.i : w.i+n : w.i+n]
	w.i += n
	if p == nil {
		return nil
	}
	if t.Len > 0 {
		copy(unsafe.Slice((*byte)(p), n), s)
	} else {
		*(*[]byte)(p) = s
	}
	return nil
}

func (w *walker) int(c byte, t *Type, p unsafe.Pointer) *Rejection {
	at := w.i
	u, r := w.arg(c)
	if r != nil {
		return r
	}
	v, limit := int64(u), uint64(maxSafe)
	if c>>5 == majorNint {
		v, limit = ^v, maxSafe-1
	}
	if u > limit {
		return reject(PredIntSafe, int64(at), "an integer past 2^53", "at most 2^53-1 from zero")
	}
	if p != nil && !t.setInt(p, v) {
		return reject(PredIntSafe, int64(at), strconv.FormatInt(v, 10), "what this machine's int holds")
	}
	return nil
}

func (w *walker) enum(c byte, t *Type, p unsafe.Pointer) *Rejection {
	at := w.i
	u, r := w.arg(c)
	if r != nil {
		return r
	}
	if _, ok := t.nameOf(u); !ok {
		return reject(PredEnum, int64(at), strconv.FormatUint(u, 10), t.enumWant())
	}
	if p != nil {
		t.setEnum(p, u)
	}
	return nil
}

// float reads a float, whose initial byte is one of the three.
func (w *walker) float(c byte) (float64, *Rejection) {
	size := 1 << (c - cborF16 + 1)
	if r := w.need(1 + size); r != nil {
		return 0, r
	}
	at, q := w.i, w.b[w.i+1:]
	w.i += 1 + size
	var f float64
	short := false
	switch c {
	case cborF16:
		h := binary.BigEndian.Uint16(q)
		f = fromHalf(h)
		if h&0x7c00 == 0x7c00 && h&0x3ff != 0 && h != 0x7e00 {
			return 0, reject(PredNaN, int64(at), fmt.Sprintf("NaN f9%04x", h), "f97e00")
		}
		return f, nil
	case cborF32:
		bits := binary.BigEndian.Uint32(q)
		f = float64(math.Float32frombits(bits))
		_, short = toHalf(bits)
	default:
		f = math.Float64frombits(binary.BigEndian.Uint64(q))
		short = float64(float32(f)) == f
	}
	if f != f {
		return 0, reject(PredNaN, int64(at), "another NaN", "f97e00")
	}
	if short {
		return 0, reject(PredShortestFlt, int64(at), fmt.Sprintf("%v in %d bytes", f, 1+size), "fewer bytes")
	}
	return f, nil
}

// open enters a list or map of n elements of at least size bytes each.
func (w *walker) open(at int, n uint64, size int) *Rejection {
	if w.depth == 0 {
		return reject(PredDepth, int64(at), "deeper nesting", "the depth limit")
	}
	if n > uint64(w.items) {
		return reject(PredItems, int64(at), strconv.FormatUint(n, 10)+" elements", "at most "+strconv.FormatInt(w.items, 10)+" more")
	}
	if w.src == nil && n > uint64(len(w.b)-w.i)/uint64(size) {
		return reject(PredTruncated, int64(at), strconv.Itoa(len(w.b)-w.i)+" bytes", strconv.FormatUint(n, 10)+" elements")
	}
	w.depth--
	w.items -= int64(n)
	return nil
}

func (w *walker) list(c byte, t *Type, p unsafe.Pointer) *Rejection {
	at := w.i
	n, r := w.arg(c)
	if r != nil {
		return r
	}
	if r := w.open(at, n, 1); r != nil {
		return r
	}
	if p != nil {
		return w.fillList(t, p, int(n))
	}
	for k := range n {
		if r := w.value(t.Elem, nil); r != nil {
			return r.under(indexSegment(k))
		}
	}
	w.depth++
	return nil
}

// keyOrder compares the key at [from,to) with the one before it.
func (w *walker) keyOrder(last, lastEnd, from int) *Rejection {
	switch bytes.Compare(w.b[last:lastEnd], w.b[from:w.i]) {
	case 0:
		return reject(PredKeyDuplicate, int64(from), "the same key again", "each key once")
	case 1:
		return reject(PredKeyOrder, int64(from), "a key before its neighbour", "ascending keys")
	}
	return nil
}

// textKey reads a text key and returns its content.
func (w *walker) textKey(verbatim bool) (int, *Rejection) {
	if r := w.need(1); r != nil {
		return 0, r
	}
	c := w.b[w.i]
	if c>>5 != majorText {
		if c&31 > 27 {
			return 0, w.malformed(c & 31)
		}
		return 0, reject(PredKeyType, int64(w.i), itemName(c), "text")
	}
	return w.text(c, verbatim)
}

func (w *walker) textMap(c byte, t *Type, p unsafe.Pointer) *Rejection {
	at := w.i
	n, r := w.arg(c)
	if r != nil {
		return r
	}
	if r := w.open(at, n, 2); r != nil {
		return r
	}
	var m mapFiller
	if p != nil {
		m = newMapFiller(t, p, int(n))
	}
	last, lastEnd := 0, 0
	for k := range n {
		from := w.i
		content, r := w.textKey(false)
		if r != nil {
			return r
		}
		end := w.i
		if k > 0 {
			if r := w.keyOrder(last, lastEnd, from); r != nil {
				return r
			}
		}
		last, lastEnd = from, end
		if r := w.value(t.Elem, m.elem()); r != nil {
			return r.under(keySegment(string(w.b[content:end])))
		}
		m.put(w.b[content:end])
	}
	w.depth++
	return nil
}

// free reads a schema-less value.
func (w *walker) free(c byte, t *Type, verbatim bool) *Rejection {
	switch c >> 5 {
	case majorUint:
		_, r := w.arg(c)
		return r
	case majorNint:
		at := w.i
		u, r := w.arg(c)
		if r == nil && u > math.MaxInt64 {
			return reject(PredIntRange, int64(at), "-1-"+strconv.FormatUint(u, 10), "at least -2^63")
		}
		return r
	case majorBytes:
		n, r := w.length(c)
		if r == nil {
			r = w.need(n)
		}
		if r == nil {
			w.i += n
		}
		return r
	case majorText:
		_, r := w.text(c, verbatim)
		return r
	case majorList:
		at := w.i
		n, r := w.arg(c)
		if r == nil {
			r = w.open(at, n, 1)
		}
		if r != nil {
			return r
		}
		for k := range n {
			if r := w.value(t, nil); r != nil {
				return r.under(indexSegment(k))
			}
		}
		w.depth++
		return nil
	case majorMap:
		return w.freeMap(c, t, verbatim)
	case majorOther:
		switch c {
		case cborFalse, cborTrue, cborNull:
			w.i++
			return nil
		case cborF16, cborF32, cborF64:
			_, r := w.float(c)
			return r
		}
	}
	return w.mismatch(c, t)
}

// freeMap reads a schema-less map, whose keys are all text or all small unsigned integers.
func (w *walker) freeMap(c byte, t *Type, verbatim bool) *Rejection {
	at := w.i
	n, r := w.arg(c)
	if r == nil {
		r = w.open(at, n, 2)
	}
	if r != nil {
		return r
	}
	last, lastEnd, numbered := 0, 0, false
	for k := range n {
		if r := w.need(1); r != nil {
			return r
		}
		from, content := w.i, w.i
		if c := w.b[w.i]; c>>5 == majorUint && (k == 0 || numbered) {
			id, r := w.arg(c)
			if r == nil && id > math.MaxUint16 {
				r = reject(PredKeyType, int64(from), strconv.FormatUint(id, 10), "text, or 0 to 65535")
			}
			if r != nil {
				return r
			}
			numbered = true
		} else if numbered && c>>5 == majorText {
			return reject(PredKeyType, int64(from), "text after an integer key", "keys of one kind")
		} else {
			content, r = w.textKey(verbatim)
			if r != nil {
				return r
			}
		}
		end := w.i
		if k > 0 {
			if r := w.keyOrder(last, lastEnd, from); r != nil {
				return r
			}
		}
		last, lastEnd = from, end
		if r := w.value(t, nil); r != nil {
			if numbered {
				return r.under("." + freeKey(w.b[from:end]))
			}
			return r.under(keySegment(string(w.b[content:end])))
		}
	}
	w.depth++
	return nil
}

// freeKey is the written form of an integer key in its encoded bytes.
func freeKey(b []byte) string {
	c := cursor{b: b}
	_, n := c.head()
	return "$" + strconv.FormatUint(n, 10)
}
