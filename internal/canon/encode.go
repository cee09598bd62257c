package canon

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unsafe"
)

// encoder appends Go values in binary form, refusing what a walker would refuse.
type encoder struct {
	dst   []byte
	base  int   // where the value starts in dst
	items int64 // left
	depth int   // left
}

func (e *encoder) reject(pred, got, want string) *Rejection {
	return reject(pred, int64(len(e.dst)-e.base), got, want)
}

// value appends the value of type t at p.
func (e *encoder) value(t *Type, p unsafe.Pointer) *Rejection {
	switch t.Kind {
	case Bool:
		e.dst = AppendBool(e.dst, *(*bool)(p))
	case Int:
		v := t.getInt(p)
		if v > maxSafe || v < -maxSafe {
			return e.reject(PredIntSafe, strconv.FormatInt(v, 10), "at most 2^53-1 from zero")
		}
		e.dst = AppendInt(e.dst, v)
	case Uint:
		e.dst = AppendUint(e.dst, *(*uint64)(p))
	case Enum:
		u := t.getEnum(p)
		if _, ok := t.nameOf(u); !ok {
			return e.reject(PredEnum, strconv.FormatUint(u, 10), t.enumWant())
		}
		e.dst = AppendUint(e.dst, u)
	case Float:
		e.dst = AppendFloat(e.dst, *(*float64)(p))
	case Bytes:
		if t.Len > 0 {
			e.dst = AppendBytes(e.dst, unsafe.Slice((*byte)(p), t.Len))
		} else {
			e.dst = AppendBytes(e.dst, *(*[]byte)(p))
		}
	case Text, Verbatim:
		return e.text(*(*string)(p), t.Kind == Verbatim)
	case List:
		return e.list(t, p)
	case Map:
		return e.textMap(t, p)
	case Record:
		return e.record(t.Schema, p)
	case Union:
		return e.unionCase(t, p)
	case DataKind:
		return e.data(*(*Data)(p))
	case Any:
		panic("canon: no Go type is an any")
	}
	return nil
}

func (e *encoder) text(s string, verbatim bool) *Rejection {
	if !ascii(view(s)) {
		if r := textVerdict(view(s), 0, verbatim); r != nil {
			r.Offset = int64(len(e.dst) - e.base)
			return r
		}
	}
	e.dst = AppendText(e.dst, s)
	return nil
}

// open enters a list or map of n elements and appends its head.
func (e *encoder) open(major byte, n int) *Rejection {
	if e.depth == 0 {
		return e.reject(PredDepth, "deeper nesting", "the depth limit")
	}
	if int64(n) > e.items {
		return e.reject(PredItems, strconv.Itoa(n)+" elements", "at most "+strconv.FormatInt(e.items, 10)+" more")
	}
	e.depth--
	e.items -= int64(n)
	e.dst = appendHead(e.dst, major, uint64(n))
	return nil
}

func (e *encoder) list(t *Type, p unsafe.Pointer) *Rejection {
	s := (*slice)(p)
	if r := e.open(majorList, s.len); r != nil {
		return r
	}
	size := t.Elem.size
	for k := range s.len {
		if r := e.value(t.Elem, unsafe.Add(s.data, uintptr(k)*size)); r != nil {
			return r.under(indexSegment(uint64(k)))
		}
	}
	e.depth++
	return nil
}

func (e *encoder) textMap(t *Type, p unsafe.Pointer) *Rejection {
	m := reflect.NewAt(t.goType, p).Elem()
	if r := e.open(majorMap, m.Len()); r != nil {
		return r
	}
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareKeys(a.String(), b.String()) })
	value := reflect.New(t.goType.Elem())
	for _, k := range keys {
		r := e.text(k.String(), false)
		if r == nil {
			value.Elem().Set(m.MapIndex(k))
			r = e.value(t.Elem, value.UnsafePointer())
		}
		if r != nil {
			return r.under(keySegment(k.String()))
		}
	}
	e.depth++
	return nil
}

// compareKeys orders text keys as their encoded bytes: shorter first.
func compareKeys(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

func (e *encoder) record(s *Schema, p unsafe.Pointer) *Rejection {
	n := 0
	var absent uint64 // which of the first fields are not there
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Presence == Required || f.find(p) != nil {
			n++
		} else if i < 64 {
			absent |= 1 << i
		}
	}
	var kept cursor
	if s.keeps {
		kept.b = *(*Reserved)(unsafe.Add(p, s.reserved))
		more, r := e.reserved(s, kept.b)
		if r != nil {
			return r
		}
		n += more
	}
	if r := e.open(majorMap, n); r != nil {
		return r
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		if i < 64 && absent>>i&1 != 0 || i >= 64 && f.Presence != Required && f.find(p) == nil {
			continue
		}
		v := f.at(p)
		if f.ID > MaxCritical {
			e.reservedBelow(&kept, uint64(f.ID))
		}
		e.dst = AppendUint(e.dst, uint64(f.ID))
		if r := e.value(f.Type, v); r != nil {
			return r.under("." + f.Name)
		}
	}
	e.dst = append(e.dst, kept.b[kept.i:]...)
	e.depth++
	return nil
}

// reserved checks kept reserved fields and counts them.
func (e *encoder) reserved(s *Schema, kept Reserved) (int, *Rejection) {
	w := walker{b: kept, items: e.items, depth: max(e.depth-1, 0)}
	n, i, last := 0, 0, MaxCritical
	for i < len(w.b) {
		at := i
		id, value, r := w.fieldID(i, last)
		if r == nil && s.byID(uint64(id)) != nil {
			r = reject(PredKeyDuplicate, int64(at), fmt.Sprintf("field %d among the reserved", id),
				"unknown fields only")
		}
		if r == nil {
			i, r = w.unknown(s, id, at, value, true)
		}
		if r != nil {
			r.Offset += int64(len(e.dst) - e.base)
			return 0, r
		}
		last = id
		n++
	}
	e.items = w.items
	return n, nil
}

// reservedBelow appends the kept fields with ids below id.
func (e *encoder) reservedBelow(kept *cursor, id uint64) {
	for kept.i < len(kept.b) {
		from := kept.i
		if _, k := kept.head(); k > id {
			kept.i = from
			return
		}
		kept.skip()
		e.dst = append(e.dst, kept.b[from:kept.i]...)
	}
}

func (e *encoder) unionCase(t *Type, p unsafe.Pointer) *Rejection {
	if *(*unsafe.Pointer)(p) == nil {
		return e.reject(PredMissing, "nil", "a case of "+t.Schema.Name)
	}
	k, v := t.union.load(p)
	if k < 0 {
		held := reflect.NewAt(t.goType, p).Elem().Elem().Type()
		return e.reject(PredUnion, held.String(), "a struct registered as a case of "+t.Schema.Name)
	}
	if r := e.open(majorMap, 1); r != nil {
		return r
	}
	f := &t.Schema.Fields[k]
	e.dst = AppendUint(e.dst, uint64(f.ID))
	if r := e.value(f.Type, v); r != nil {
		return r.under("." + f.Name)
	}
	e.depth++
	return nil
}

func (e *encoder) data(d Data) *Rejection {
	if len(d) == 0 {
		return e.reject(PredMissing, "empty Data", "a value, such as null")
	}
	w := walker{b: d, items: e.items, depth: e.depth}
	if r := w.whole(DataType, nil, DefaultBytes); r != nil {
		r.Offset += int64(len(e.dst) - e.base)
		return r
	}
	e.items = w.items
	e.dst = append(e.dst, d...)
	return nil
}
