package schema

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/perdure/perdure/internal/canon"
)

// record is a record taken apart: its fields by id. A field the type does not have is canon.Data. The other values are
// bool, int64, uint64 (enums too), float64, string, []byte, []any and map[string]any.
type record map[uint16]any

// decode takes apart b, which has been checked to be a value of type t.
func decode(t *canon.Type, b []byte) any {
	r := reader{b: b}
	return r.value(t)
}

// reader reads canonical CBOR that has been checked.
type reader struct {
	b []byte
	i int
}

// head reads the initial bytes of an item: its major type and argument, the raw bits of a float.
func (r *reader) head() (byte, uint64) {
	first := r.b[r.i]
	r.i++
	n := uint64(first & 31)
	if n >= 24 {
		var room [8]byte
		size := 1 << (n - 24)
		copy(room[8-size:], r.b[r.i:r.i+size])
		r.i += size
		n = binary.BigEndian.Uint64(room[:])
	}
	return first >> 5, n
}

func (r *reader) take(n uint64) []byte {
	r.i += int(n)
	return r.b[r.i-int(n) : r.i]
}

func (r *reader) value(t *canon.Type) any {
	from := r.i
	if t == canon.DataType {
		r.skip()
		return canon.Data(bytes.Clone(r.b[from:r.i]))
	}
	major, n := r.head()
	switch t.Kind {
	case canon.Bool:
		return n == 21
	case canon.Int:
		if major == 1 {
			return ^int64(n)
		}
		return int64(n)
	case canon.Float:
		return floatOf(r.b[from], n)
	case canon.Bytes:
		return bytes.Clone(r.take(n))
	case canon.Text, canon.Verbatim:
		return string(r.take(n))
	case canon.List:
		list := make([]any, 0, n)
		for range n {
			list = append(list, r.value(t.Elem))
		}
		return list
	case canon.Map:
		m := make(map[string]any, n)
		for range n {
			_, size := r.head()
			key := string(r.take(size))
			m[key] = r.value(t.Elem)
		}
		return m
	case canon.Record:
		rec := make(record, n)
		for range n {
			_, id := r.head()
			rec[uint16(id)] = r.value(fieldType(t, uint16(id)))
		}
		return rec
	}
	return n // u64 and enums
}

// skip moves past one item.
func (r *reader) skip() {
	for left := uint64(1); left > 0; left-- {
		major, n := r.head()
		switch major {
		case 2, 3:
			r.i += int(n)
		case 4:
			left += n
		case 5:
			left += 2 * n
		}
	}
}

// fieldType returns the type of a field of a record: schema-less data if the record does not have it.
func fieldType(t *canon.Type, id uint16) *canon.Type {
	i, ok := slices.BinarySearchFunc(t.Schema.Fields, id, func(f canon.Field, id uint16) int {
		return cmp.Compare(f.ID, id)
	})
	if !ok {
		return canon.DataType
	}
	return t.Schema.Fields[i].Type
}

// floatOf returns the float with an initial byte and raw bits.
func floatOf(first byte, bits uint64) float64 {
	switch first {
	case 0xfb:
		return math.Float64frombits(bits)
	case 0xfa:
		return float64(math.Float32frombits(uint32(bits)))
	}
	exp, man := int(bits>>10&0x1f), float64(bits&0x3ff)
	f := math.Ldexp(1024+man, exp-25)
	switch {
	case exp == 0:
		f = man * 0x1p-24
	case exp == 31 && man != 0:
		return math.NaN()
	case exp == 31:
		f = math.Inf(1)
	}
	if bits&0x8000 != 0 {
		return -f
	}
	return f
}

// encode appends a value of type t. It checks nothing but the order of keys: what comes out has to be checked.
func encode(dst []byte, t *canon.Type, v any) []byte {
	switch v := v.(type) {
	case bool:
		return canon.AppendBool(dst, v)
	case int64:
		return canon.AppendInt(dst, v)
	case uint64:
		return canon.AppendUint(dst, v)
	case float64:
		return canon.AppendFloat(dst, v)
	case string:
		return canon.AppendText(dst, v)
	case []byte:
		return canon.AppendBytes(dst, v)
	case canon.Data:
		return append(dst, v...)
	case []any:
		dst = canon.AppendArray(dst, len(v))
		for _, e := range v {
			dst = encode(dst, t.Elem, e)
		}
	case map[string]any:
		dst = canon.AppendMap(dst, len(v))
		keys := slices.Collect(maps.Keys(v))
		slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		for _, k := range keys {
			dst = encode(canon.AppendText(dst, k), t.Elem, v[k])
		}
	case record:
		dst = canon.AppendMap(dst, len(v))
		for _, id := range slices.Sorted(maps.Keys(v)) {
			dst = encode(canon.AppendUint(dst, uint64(id)), fieldType(t, id), v[id])
		}
	}
	return dst
}

// plain returns a value as predicates see it: records by name, enums by name, fields without a name left out.
func (s *Schema) plain(t *canon.Type, v any) any {
	switch v := v.(type) {
	case uint64:
		if t.Kind == canon.Enum {
			return t.Names[v].Name
		}
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = s.plain(t.Elem, e)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = s.plain(t.Elem, e)
		}
		return m
	case record:
		return s.self(s.byType[t], v)
	}
	return v
}

// self returns a record as predicates see it.
func (s *Schema) self(v *view, rec record) map[string]any {
	m := make(map[string]any, len(rec))
	for i := range v.fields {
		f := &v.fields[i]
		if x, ok := rec[uint16(f.ID)]; ok {
			m[f.Name] = s.plain(f.typ, x)
		}
	}
	return m
}
