package canon

import (
	"reflect"
	"strconv"
	"strings"
	"unsafe"
)

// Here the walker and the encoder touch Go values. A pointer p always points at a value of the goType of its Type.

// slice is the layout of every Go slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// place returns where the value of f goes in the struct at p, making room behind a pointer.
func (f *Field) place(p unsafe.Pointer) unsafe.Pointer {
	p = unsafe.Add(p, f.offset)
	if f.goElem == nil {
		return p
	}
	v := reflect.New(f.goElem).UnsafePointer()
	*(*unsafe.Pointer)(p) = v
	return v
}

// find returns where the value of f is in the struct at p, or nil when it is absent.
func (f *Field) find(p unsafe.Pointer) unsafe.Pointer {
	p = unsafe.Add(p, f.offset)
	switch f.Presence {
	case Optional:
		first := *(*unsafe.Pointer)(p) // of a pointer, slice, map or interface: nil only when it is nil
		if first == nil {
			return nil
		}
		if f.goElem != nil {
			return first
		}
	case OmitZero:
		if f.Type.zeroGo(p) {
			return nil
		}
	case Required:
	}
	return p
}

// at is find for a value that is there.
func (f *Field) at(p unsafe.Pointer) unsafe.Pointer {
	p = unsafe.Add(p, f.offset)
	if f.Presence == Optional && f.goElem != nil {
		return *(*unsafe.Pointer)(p)
	}
	return p
}

// absent clears the field in the struct at p, or rejects the record at the given offset if the field is required.
func (f *Field) absent(at int, p unsafe.Pointer) *Rejection {
	if f.Presence == Required {
		return reject(PredMissing, int64(at), "no "+f.Name, f.Type.Kind.String()).under("." + f.Name)
	}
	if p == nil {
		return nil
	}
	p = unsafe.Add(p, f.offset)
	if f.goElem != nil {
		*(*unsafe.Pointer)(p) = nil
		return nil
	}
	switch f.Type.Kind {
	case Bool:
		*(*bool)(p) = false
	case Uint, Float:
		*(*uint64)(p) = 0
	case Text, Verbatim:
		*(*string)(p) = ""
	case List, DataKind:
		*(*slice)(p) = slice{}
	case Bytes:
		if f.Type.Len == 0 {
			*(*slice)(p) = slice{}
		} else {
			clear(unsafe.Slice((*byte)(p), f.Type.Len))
		}
	case Map:
		*(*unsafe.Pointer)(p) = nil
	default:
		reflect.NewAt(f.Type.goType, p).Elem().SetZero()
	}
	return nil
}

// zeroGo reports whether the Go value at p is the zero that OmitZero leaves out.
func (t *Type) zeroGo(p unsafe.Pointer) bool {
	switch t.Kind {
	case Bool:
		return !*(*bool)(p)
	case Int:
		return t.getInt(p) == 0
	case Enum:
		return t.getEnum(p) == 0
	case Uint, Float:
		return *(*uint64)(p) == 0
	case Text, Verbatim:
		return *(*string)(p) == ""
	case Bytes:
		if t.Len > 0 {
			return zeroBytes(unsafe.Slice((*byte)(p), t.Len))
		}
		return (*slice)(p).len == 0
	case List, DataKind:
		return (*slice)(p).len == 0
	case Map:
		return reflect.NewAt(t.goType, p).Elem().Len() == 0
	case Union:
		return *(*unsafe.Pointer)(p) == nil
	case Record:
		for i := range t.Schema.Fields {
			f := &t.Schema.Fields[i]
			if v := f.find(p); v != nil && (f.Presence != Required || !f.Type.zeroGo(v)) {
				return false
			}
		}
		return !t.Schema.keeps || len(*(*Reserved)(unsafe.Add(p, t.Schema.reserved))) == 0
	case Any:
	}
	return false
}

// setInt stores v in an int or int64 and reports whether it fits.
func (t *Type) setInt(p unsafe.Pointer, v int64) bool {
	if t.size == 4 {
		*(*int32)(p) = int32(v)
		return int64(int32(v)) == v
	}
	*(*int64)(p) = v
	return true
}

func (t *Type) getInt(p unsafe.Pointer) int64 {
	if t.size == 4 {
		return int64(*(*int32)(p))
	}
	return *(*int64)(p)
}

// setEnum stores u, one of the enum's numbers. Those fit its Go type: compile has seen to it.
func (t *Type) setEnum(p unsafe.Pointer, u uint64) {
	switch t.size {
	case 1:
		*(*uint8)(p) = uint8(u)
	case 2:
		*(*uint16)(p) = uint16(u)
	case 4:
		*(*uint32)(p) = uint32(u)
	default:
		*(*uint64)(p) = u
	}
}

func (t *Type) getEnum(p unsafe.Pointer) uint64 {
	switch t.size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func (t *Type) enumWant() string {
	var names []string
	for _, n := range t.Names {
		names = append(names, strconv.FormatUint(n.Number, 10)+" "+n.Name)
	}
	if len(names) > 12 {
		names = append(names[:12], "…")
	}
	return "one of " + strings.Join(names, ", ")
}

// fillList reads the n elements of a list into the slice at p, in the room it has. Room grows with the elements that
// arrive, not with the count announced.
func (w *walker) fillList(t *Type, i int, p unsafe.Pointer, n int) (int, *Rejection) {
	const burst = 64
	s := (*slice)(p)
	size := t.Elem.size
	if s.data == nil {
		reflect.NewAt(t.goType, p).Elem().Set(reflect.MakeSlice(t.goType, 0, min(n, burst)))
	}
	s.len = 0
	var r *Rejection
	for k := range n {
		if k == s.cap {
			s.len = k
			reflect.NewAt(t.goType, p).Elem().Grow(min(n-k, k+burst))
		}
		if i, r = w.value(t.Elem, i, unsafe.Add(s.data, uintptr(k)*size)); r != nil {
			return i, r.under(indexSegment(uint64(k)))
		}
	}
	s.len = n
	w.depth++
	return i, nil
}

// mapFiller puts pairs into a new Go map. Its zero value puts them nowhere.
type mapFiller struct {
	m, value reflect.Value
}

func newMapFiller(t *Type, p unsafe.Pointer, n int) mapFiller {
	v := reflect.NewAt(t.goType, p).Elem()
	m := reflect.MakeMapWithSize(t.goType, min(n, 64))
	v.Set(m)
	return mapFiller{m: m}
}

func (m *mapFiller) elem() unsafe.Pointer {
	if !m.m.IsValid() {
		return nil
	}
	m.value = reflect.New(m.m.Type().Elem())
	return m.value.UnsafePointer()
}

func (m *mapFiller) put(key []byte) {
	if m.m.IsValid() {
		m.m.SetMapIndex(reflect.ValueOf(str(key)).Convert(m.m.Type().Key()), m.value.Elem())
	}
}
