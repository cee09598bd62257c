package canon

import (
	"bytes"
	"math"
	"strconv"
	"unsafe"
)

// open enters a list or map at i whose n elements of at least size bytes each start at from.
func (w *walker) open(i, from int, n uint64, size uint64) *Rejection {
	if w.depth == 0 || n > uint64(w.items) || w.src == nil && n*size > uint64(len(w.b)-from) {
		return w.closedTo(i, from, n)
	}
	w.depth--
	w.items -= int64(n)
	return nil
}

// closedTo rejects what open does not enter.
func (w *walker) closedTo(i, from int, n uint64) *Rejection {
	switch {
	case w.depth == 0:
		return reject(PredDepth, int64(i), "deeper nesting", "the depth limit")
	case n > uint64(w.items):
		return reject(PredItems, int64(i), Count(n, "elements"),
			"at most "+strconv.FormatInt(w.items, 10)+" more")
	}
	return reject(PredTruncated, int64(i), Count(len(w.b)-from, "bytes"), Count(n, "elements"))
}

func (w *walker) list(c byte, t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	n, from, r := w.arg(c, i)
	if r == nil {
		r = w.open(i, from, n, 1)
	}
	if r != nil {
		return i, r
	}
	i = from
	if p != nil {
		return w.fillList(t, i, p, int(n))
	}
	for k := range n {
		if i, r = w.value(t.Elem, i, nil); r != nil {
			return i, r.under(indexSegment(k))
		}
	}
	w.depth++
	return i, nil
}

// key is one map key: its head at from, its content up to end.
type key struct {
	from, content, end int
}

// after checks that the key comes after the one before it.
func (w *walker) after(before, k key) *Rejection {
	switch bytes.Compare(w.b[before.from:before.end], w.b[k.from:k.end]) {
	case 0:
		return reject(PredKeyDuplicate, int64(k.from), "the same key again", "each key once")
	case 1:
		return reject(PredKeyOrder, int64(k.from), "a key before its neighbour", "ascending keys")
	}
	return nil
}

// textKey reads a text key.
func (w *walker) textKey(i int, verbatim bool) (key, *Rejection) {
	if r := w.need(i, 1); r != nil {
		return key{}, r
	}
	c := w.b[i]
	if c>>5 != majorText {
		if c&31 > 27 {
			return key{}, w.malformed(c&31, i)
		}
		return key{}, reject(PredKeyType, int64(i), itemName(c), "text")
	}
	content, end, r := w.text(c, i, verbatim)
	return key{i, content, end}, r
}

func (w *walker) textMap(c byte, t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	n, from, r := w.arg(c, i)
	if r == nil {
		r = w.open(i, from, n, 2)
	}
	if r != nil {
		return i, r
	}
	i = from
	var m mapFiller
	if p != nil {
		m = newMapFiller(t, p, int(n))
	}
	var before key
	for j := range n {
		k, r := w.textKey(i, false)
		if r == nil && j > 0 {
			r = w.after(before, k)
		}
		if r != nil {
			return i, r
		}
		before = k
		if i, r = w.value(t.Elem, k.end, m.elem()); r != nil {
			return i, r.under(keySegment(string(w.b[k.content:k.end])))
		}
		m.put(w.b[k.content:k.end])
	}
	w.depth++
	return i, nil
}

// free reads a schema-less value, of type Any or DataKind.
func (w *walker) free(c byte, t *Type, i int) (int, *Rejection) {
	switch c >> 5 {
	case majorUint:
		_, i, r := w.arg(c, i)
		return i, r
	case majorNint:
		u, next, r := w.arg(c, i)
		if r == nil && u > math.MaxInt64 {
			r = reject(PredIntRange, int64(i), "-1-"+strconv.FormatUint(u, 10), "at least -2^63")
		}
		return next, r
	case majorBytes:
		n, from, r := w.length(c, i)
		if r == nil {
			r = w.need(from, n)
		}
		return from + n, r
	case majorText:
		_, to, r := w.text(c, i, t.Kind == DataKind)
		return to, r
	case majorList:
		n, from, r := w.arg(c, i)
		if r == nil {
			r = w.open(i, from, n, 1)
		}
		if r != nil {
			return i, r
		}
		i = from
		for k := range n {
			if i, r = w.value(t, i, nil); r != nil {
				return i, r.under(indexSegment(k))
			}
		}
		w.depth++
		return i, nil
	case majorMap:
		return w.freeMap(c, t, i)
	case majorOther:
		switch c {
		case cborFalse, cborTrue, cborNull:
			return i + 1, nil
		case cborF16, cborF32, cborF64:
			_, i, r := w.float(c, i)
			return i, r
		}
	}
	return i, w.mismatch(c, t, i)
}

// freeMap reads a schema-less map, whose keys are all text or all small unsigned integers.
func (w *walker) freeMap(c byte, t *Type, i int) (int, *Rejection) {
	n, from, r := w.arg(c, i)
	if r == nil {
		r = w.open(i, from, n, 2)
	}
	if r != nil {
		return i, r
	}
	i = from
	var before key
	numbered := false
	for j := range n {
		k, number, r := w.freeKey(i, t.Kind == DataKind)
		if r == nil && j > 0 {
			if number != numbered {
				return i, reject(PredKeyType, int64(i), "text and integer keys", "keys of one kind")
			}
			r = w.after(before, k)
		}
		if r != nil {
			return i, r
		}
		before, numbered = k, number
		if i, r = w.value(t, k.end, nil); r != nil {
			if numbered {
				return i, r.under("." + numberKey(w.b[k.from:k.end]))
			}
			return i, r.under(keySegment(string(w.b[k.content:k.end])))
		}
	}
	w.depth++
	return i, nil
}

// freeKey reads a text or integer key and says which.
func (w *walker) freeKey(i int, verbatim bool) (k key, number bool, r *Rejection) {
	if r := w.need(i, 1); r != nil {
		return key{}, false, r
	}
	if w.b[i]>>5 != majorUint {
		k, r = w.textKey(i, verbatim)
		return k, false, r
	}
	id, end, r := w.arg(w.b[i], i)
	if r == nil && id > math.MaxUint16 {
		r = reject(PredKeyType, int64(i), strconv.FormatUint(id, 10), "text, or 0 to 65535")
	}
	return key{i, i, end}, true, r
}

// numberKey is the written form of an integer key in its encoded bytes.
func numberKey(b []byte) string {
	c := cursor{b: b}
	_, n := c.head()
	return "$" + strconv.FormatUint(n, 10)
}
