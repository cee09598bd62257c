package canon

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unsafe"
)

const maxSafe = 1<<53 - 1

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

// length reads the head of a string and returns its length and where its content starts. The length is within the
// limits, and within the input unless that is still arriving.
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
		return reject(PredTruncated, int64(i), Count(len(w.b)-from, "bytes"), strconv.FormatUint(n, 10))
	}
	if from > w.max || n > uint64(w.max-from) {
		return reject(PredBytes, int64(i), "a string of "+strconv.FormatUint(n, 10),
			"at most "+strconv.Itoa(w.max)+" for the value")
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
	want := map[string]string{PredUTF8: "UTF-8", PredNFC: "NFC",
		PredUnassigned: "a code point of Unicode " + UnicodeVersion}[pred]
	return reject(pred, int64(at), fmt.Sprintf("%+q", rest), want)
}

func (w *walker) bytes(c byte, t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	n, from, r := w.length(c, i)
	if r != nil {
		return i, r
	}
	if t.Len > 0 && n != t.Len {
		return i, reject(PredLength, int64(i), Count(n, "bytes"), strconv.Itoa(t.Len))
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
