package canon

import (
	"fmt"
	"strconv"
	"unsafe"
)

// Reserved is the unknown fields of the reserved range of a record: key, value, key, value, as they came. A struct keeps
// them in a field tagged `canon:",reserved"`; one that has none refuses them.
type Reserved []byte

// record reads a record whose initial byte is c.
func (w *walker) record(c byte, t *Type, p unsafe.Pointer) *Rejection {
	at := w.i
	n, r := w.arg(c)
	if r == nil {
		r = w.open(at, n, 2)
	}
	if r != nil {
		return r
	}
	s := t.Schema
	fields := s.Fields
	next, last := 0, -1
	var kept Reserved
	for range n {
		from := w.i
		id, r := w.fieldID(last)
		if r != nil {
			return r
		}
		last = id
		for next < len(fields) && int(fields[next].ID) < id {
			if r := fields[next].absent(at, p); r != nil {
				return r
			}
			next++
		}
		if next == len(fields) || int(fields[next].ID) != id {
			if r := w.unknown(id, from); r != nil {
				return r.under(".$" + strconv.Itoa(id))
			}
			if p != nil {
				if !s.keeps {
					return reject(PredReservedUnkept, int64(from), "unknown field "+strconv.Itoa(id), s.Name+" as this program knows it")
				}
				kept = joined(kept, w.b[from:w.i:w.i])
			}
			continue
		}
		f := &fields[next]
		next++
		from = w.i
		r = w.value(f.Type, f.place(p))
		if r == nil && f.Presence == OmitZero && zeroWire(f.Type, w.b[from:w.i]) {
			r = reject(PredEmpty, int64(from), "a present zero", "no field")
		}
		if r != nil {
			return r.under("." + f.Name)
		}
	}
	for ; next < len(fields); next++ {
		if r := fields[next].absent(at, p); r != nil {
			return r
		}
	}
	if p != nil && s.keeps {
		*(*Reserved)(unsafe.Add(p, s.reserved)) = kept
	}
	w.depth++
	return nil
}

// fieldID reads the key of a field, which comes after the field with id last.
func (w *walker) fieldID(last int) (int, *Rejection) {
	if w.i >= len(w.b) {
		if r := w.more(1); r != nil {
			return 0, r
		}
	}
	at, c := w.i, w.b[w.i]
	id := int(c)
	if c < 24 {
		w.i++
	} else {
		if c>>5 != majorUint {
			if c&31 > 27 {
				return 0, w.malformed(c & 31)
			}
			return 0, reject(PredKeyType, int64(at), itemName(c), "a field id")
		}
		u, r := w.longArg(c & 31)
		if r != nil {
			return 0, r
		}
		if u > MaxReserved {
			return 0, reject(PredIDRange, int64(at), strconv.FormatUint(u, 10), "at most 127")
		}
		id = int(u)
	}
	if id <= last {
		if id == last {
			return 0, reject(PredKeyDuplicate, int64(at), "field "+strconv.Itoa(id)+" again", "each field once")
		}
		return 0, reject(PredKeyOrder, int64(at), fmt.Sprintf("field %d after %d", id, last), "ascending ids")
	}
	return id, nil
}

// unknown reads the value of a field the schema does not have. Nothing is known of its text, so it is verbatim.
func (w *walker) unknown(id, at int) *Rejection {
	if id <= MaxCritical {
		return reject(PredCritical, int64(at), "unknown field "+strconv.Itoa(id), "a field of the schema")
	}
	return w.value(DataType, nil)
}

// joined appends a run of reserved fields to those kept, without copying when they are neighbours in the input.
func joined(kept Reserved, run []byte) Reserved {
	if len(kept) == 0 {
		return run
	}
	if end := unsafe.Add(unsafe.Pointer(unsafe.SliceData(kept)), len(kept)); end == unsafe.Pointer(unsafe.SliceData(run)) {
		return unsafe.Slice(unsafe.SliceData(kept), len(kept)+len(run))
	}
	return append(kept[:len(kept):len(kept)], run...)
}

// unionCase reads a union whose initial byte is c: a map of exactly one known case.
func (w *walker) unionCase(c byte, t *Type, p unsafe.Pointer) *Rejection {
	at := w.i
	n, r := w.arg(c)
	if r == nil && n != 1 {
		r = reject(PredUnion, int64(at), strconv.FormatUint(n, 10)+" cases", "one")
	}
	if r == nil {
		r = w.open(at, n, 2)
	}
	if r != nil {
		return r
	}
	at = w.i
	id, r := w.fieldID(-1)
	if r != nil {
		return r
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
		if r := w.value(f.Type, v); r != nil {
			return r.under("." + f.Name)
		}
		if p != nil {
			t.union.cases[k].store(p, v)
		}
		w.depth++
		return nil
	}
	return reject(PredUnion, int64(at), "case "+strconv.Itoa(id), "a case of "+t.Schema.Name)
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
