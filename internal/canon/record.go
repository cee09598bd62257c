package canon

import (
	"fmt"
	"strconv"
	"unsafe"
)

// Reserved is the unknown fields of the reserved range of a record: key, value, key, value, as they came. A struct
// keeps them in a field tagged `canon:",reserved"`; one that has none refuses them.
type Reserved []byte

// record reads a record whose initial byte is c.
func (w *walker) record(c byte, t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	at := i
	n, i, r := w.arg(c, i)
	if r == nil {
		r = w.open(at, i, n, 2)
	}
	if r != nil {
		return i, r
	}
	s := t.Schema
	fields := s.Fields
	next, last := 0, -1
	var kept Reserved
	for range n {
		from, id := i, 24
		if i < len(w.b) {
			id = int(w.b[i])
		}
		if i++; id >= 24 || id <= last {
			if id, i, r = w.fieldID(from, last); r != nil {
				return i, r
			}
		}
		last = id
		for next < len(fields) && int(fields[next].ID) < id {
			if r := fields[next].absent(at, p); r != nil {
				return i, r
			}
			next++
		}
		if next == len(fields) || int(fields[next].ID) != id {
			if i, r = w.unknown(s, id, from, i, p != nil); r != nil {
				return i, r
			}
			if p != nil {
				kept = joined(kept, w.b[from:i:i])
			}
			continue
		}
		f := &fields[next]
		next++
		var v unsafe.Pointer
		if p != nil {
			v = f.place(p)
		}
		from = i
		i, r = w.value(f.Type, i, v)
		if r == nil && f.Presence == OmitZero && zeroWire(f.Type, w.b[from:i]) {
			r = reject(PredEmpty, int64(from), "a present zero", "no field")
		}
		if r != nil {
			return i, r.under("." + f.Name)
		}
	}
	for ; next < len(fields); next++ {
		if r := fields[next].absent(at, p); r != nil {
			return i, r
		}
	}
	if p != nil && s.keeps {
		*(*Reserved)(unsafe.Add(p, s.reserved)) = kept
	}
	w.depth++
	return i, nil
}

// fieldID reads the key of a field, which comes after the field with id last.
func (w *walker) fieldID(i, last int) (int, int, *Rejection) {
	if r := w.need(i, 1); r != nil {
		return 0, i, r
	}
	c := w.b[i]
	if c>>5 != majorUint {
		if c&31 > 27 {
			return 0, i, w.malformed(c&31, i)
		}
		return 0, i, reject(PredKeyType, int64(i), itemName(c), "a field id")
	}
	u, end, r := w.arg(c, i)
	switch {
	case r != nil:
	case u > MaxReserved:
		r = reject(PredIDRange, int64(i), strconv.FormatUint(u, 10), "at most 127")
	case int(u) == last:
		r = reject(PredKeyDuplicate, int64(i), "field "+strconv.Itoa(last)+" again", "each field once")
	case int(u) < last:
		r = reject(PredKeyOrder, int64(i), fmt.Sprintf("field %d after %d", u, last), "ascending ids")
	}
	return int(u), end, r
}

// unknown reads the value at i of a field the schema does not have, whose key is at from. Nothing is known of its text,
// so it is verbatim. It must be kept if the record goes into a struct.
func (w *walker) unknown(s *Schema, id, from, i int, keep bool) (int, *Rejection) {
	if id <= MaxCritical {
		return i, reject(PredCritical, int64(from), "unknown field "+strconv.Itoa(id), "a field of the schema").
			under(".$" + strconv.Itoa(id))
	}
	i, r := w.value(DataType, i, nil)
	if r == nil && keep && !s.keeps {
		r = reject(PredReservedUnkept, int64(from), "unknown field "+strconv.Itoa(id),
			s.Name+" as this program knows it")
	}
	if r != nil {
		_ = r.under(".$" + strconv.Itoa(id))
	}
	return i, r
}

// joined appends a run of reserved fields to those kept, without copying when they are neighbours in the input.
func joined(kept Reserved, run []byte) Reserved {
	if len(kept) == 0 {
		return run
	}
	if end := unsafe.Add(unsafe.Pointer(unsafe.SliceData(kept)),
		len(kept)); end == unsafe.Pointer(unsafe.SliceData(run)) {
		return unsafe.Slice(unsafe.SliceData(kept), len(kept)+len(run))
	}
	return append(kept[:len(kept):len(kept)], run...)
}

// unionCase reads a union whose initial byte is c: a map of exactly one known case.
func (w *walker) unionCase(c byte, t *Type, i int, p unsafe.Pointer) (int, *Rejection) {
	at := i
	n, i, r := w.arg(c, i)
	if r == nil && n != 1 {
		r = reject(PredUnion, int64(at), strconv.FormatUint(n, 10)+" cases", "one")
	}
	if r == nil {
		r = w.open(at, i, n, 2)
	}
	if r != nil {
		return i, r
	}
	at = i
	id, i, r := w.fieldID(i, -1)
	if r != nil {
		return i, r
	}
	for k := range t.Schema.Fields {
		f := &t.Schema.Fields[k]
		if int(f.ID) != id {
			continue
		}
		var v unsafe.Pointer
		if p != nil {
			v = t.union.cases[k].new()
		}
		if i, r = w.value(f.Type, i, v); r != nil {
			return i, r.under("." + f.Name)
		}
		if p != nil {
			t.union.cases[k].store(p, v)
		}
		w.depth++
		return i, nil
	}
	return i, reject(PredUnion, int64(at), "case "+strconv.Itoa(id), "a case of "+t.Schema.Name)
}

// zeroWire reports whether the checked bytes b are the zero value of t: the one OmitZero leaves out.
func zeroWire(t *Type, b []byte) bool {
	switch t.Kind {
	case Bool:
		return b[0] == cborFalse
	case Int, Uint, Enum:
		return b[0] == 0
	case Float:
		return b[0] == cborF16 && b[1] == 0 && b[2] == 0
	case Bytes:
		return t.Len == 0 && b[0] == majorBytes<<5 || t.Len > 0 && zeroBytes(b[len(b)-t.Len:])
	case Text, Verbatim:
		return b[0] == majorText<<5
	case List:
		return b[0] == majorList<<5
	case Map:
		return b[0] == majorMap<<5
	case Record:
		return zeroRecord(t.Schema, b)
	case Union, Any, DataKind:
	}
	return false
}

// zeroRecord reports whether a record has only required fields, all zero.
func zeroRecord(s *Schema, b []byte) bool {
	c := cursor{b: b}
	_, n := c.head()
	for range n {
		_, id := c.head()
		from := c.i
		c.skip()
		f := s.byID(id)
		if f == nil || f.Presence != Required || !zeroWire(f.Type, b[from:c.i]) {
			return false
		}
	}
	return true
}

func zeroBytes(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
