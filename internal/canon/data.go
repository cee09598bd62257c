package canon

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Data is a schema-less value in binary form whose text and keys are verbatim: tool arguments, results, event data. Nil
// is no value at all, which is not null. JSON, Value and Text are for tools and people; they do not keep everything the
// text form keeps.
type Data []byte

// DataOf returns v as Data, as encoding/json would show it: structs by their json tags, what marshals itself as JSON or
// text does. It differs from encoding/json in this:
//
//   - bytes are bytes, which Data shows as base64;
//   - a float32 keeps its value, not its shortest digits, and NaN and infinities are kept;
//   - a nil slice is an empty list and a nil map an empty map, so that nobody has to ask which it is;
//   - two keys of a map that are the same text are refused.
func DataOf(v any) (Data, error) {
	e := encoder{items: DefaultItems, depth: DefaultDepth}
	if text, ok := v.(string); ok {
		e.dst = make([]byte, 0, maxHead+len(text))
	}
	if r := e.goValue(v); r != nil {
		return nil, rooted(r)
	}
	if len(e.dst) > DefaultBytes {
		return nil, rooted(reject(PredBytes, DefaultBytes, "a longer value", "at most 64 MiB"))
	}
	return e.dst, nil
}

// DataFromJSON returns any JSON text as Data. Numbers spelled as integers become integers where those reach, else
// floats; a number no float can hold, a key given twice and a lone surrogate are refused.
func DataFromJSON(b []byte) (Data, error) {
	lim := Limits{}.withDefaults()
	p := newParser(b, lim)
	p.plain = true
	if r := p.document(DataType, lim); r != nil {
		return nil, rooted(r)
	}
	if err := Check(DataType, p.dst, lim); err != nil {
		return nil, err
	}
	return p.dst, nil
}

// Valid reports whether d holds one canonical value, as an error that says why not.
func (d Data) Valid() error { return Check(DataType, d, Limits{}) }

// JSON returns d as ordinary JSON: integers as digits, bytes as base64, NaN and infinities as null. No value is null.
func (d Data) JSON() []byte {
	if d.Valid() != nil {
		return []byte("null")
	}
	w := textWriter{cursor: cursor{b: d}, plain: true}
	w.free()
	return w.dst
}

// String returns JSON; of no value, nothing.
func (d Data) String() string {
	if len(d) == 0 {
		return ""
	}
	return string(d.JSON())
}

// MarshalJSON returns JSON, or an error if d holds bytes that are not canonical.
func (d Data) MarshalJSON() ([]byte, error) {
	if len(d) > 0 {
		if err := d.Valid(); err != nil {
			return nil, err
		}
	}
	return d.JSON(), nil
}

// UnmarshalJSON sets d as DataFromJSON does.
func (d *Data) UnmarshalJSON(b []byte) error {
	v, err := DataFromJSON(b)
	if err == nil {
		*d = v
	}
	return err
}

// Text returns the string d holds, or "" if it holds something else.
func (d Data) Text() string {
	if len(d) == 0 || d[0]>>5 != majorText || d.Valid() != nil {
		return ""
	}
	c := cursor{b: d}
	_, n := c.head()
	return string(c.take(n))
}

// Value returns d as nil, bool, int64, uint64 (above the int64s), float64, string, []byte, []any and map[string]any.
// Integer keys become decimal strings. It shares no memory with d.
func (d Data) Value() any {
	if d.Valid() != nil {
		return nil
	}
	c := cursor{b: d}
	return c.value()
}

func (c *cursor) value() any {
	first := c.b[c.i]
	major, n := c.head()
	switch major {
	case majorUint:
		if n > math.MaxInt64 {
			return n
		}
		return int64(n)
	case majorNint:
		return ^int64(n)
	case majorBytes:
		return append([]byte{}, c.take(n)...)
	case majorText:
		return string(c.take(n))
	case majorList:
		list := make([]any, 0, n)
		for range n {
			list = append(list, c.value())
		}
		return list
	case majorMap:
		m := make(map[string]any, n)
		for range n {
			major, k := c.head()
			key := strconv.FormatUint(k, 10)
			if major == majorText {
				key = string(c.take(k))
			}
			m[key] = c.value()
		}
		return m
	}
	switch first {
	case cborNull:
		return nil
	case cborFalse, cborTrue:
		return first == cborTrue
	}
	return floatOf(first, n)
}

// goValue appends a Go value as Data.
func (e *encoder) goValue(v any) *Rejection {
	switch v := v.(type) {
	case nil:
		e.dst = AppendNull(e.dst)
	case bool:
		e.dst = AppendBool(e.dst, v)
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		e.goInteger(v)
	case float32:
		e.dst = AppendFloat(e.dst, float64(v))
	case float64:
		e.dst = AppendFloat(e.dst, v)
	case string:
		return e.text(v, true)
	case []byte:
		e.dst = AppendBytes(e.dst, v)
	case json.Number:
		return e.goNumber(v)
	case Data:
		return e.data(v)
	case []any:
		return goList(e, v)
	case []string:
		return goList(e, v)
	case map[string]any:
		return goMap(e, v)
	case map[string]string:
		return goMap(e, v)
	default:
		return e.goReflect(reflect.ValueOf(v))
	}
	return nil
}

func (e *encoder) goInteger(v any) {
	switch v := v.(type) {
	case int:
		e.dst = AppendInt(e.dst, int64(v))
	case int8:
		e.dst = AppendInt(e.dst, int64(v))
	case int16:
		e.dst = AppendInt(e.dst, int64(v))
	case int32:
		e.dst = AppendInt(e.dst, int64(v))
	case int64:
		e.dst = AppendInt(e.dst, v)
	case uint:
		e.dst = AppendUint(e.dst, uint64(v))
	case uint8:
		e.dst = AppendUint(e.dst, uint64(v))
	case uint16:
		e.dst = AppendUint(e.dst, uint64(v))
	case uint32:
		e.dst = AppendUint(e.dst, uint64(v))
	case uint64:
		e.dst = AppendUint(e.dst, v)
	}
}

func (e *encoder) goNumber(v json.Number) *Rejection {
	if v == "" {
		v = "0" // as encoding/json has it
	}
	d, err := DataFromJSON([]byte(v))
	var r *Rejection
	switch {
	case !isNumber(string(v)):
		return e.reject(PredTextNumber, clip(string(v)), "a number")
	case errors.As(err, &r):
		return e.reject(PredTextNumber, r.Got, r.Want)
	}
	e.dst = append(e.dst, d...)
	return nil
}

func goList[T any](e *encoder, v []T) *Rejection {
	if r := e.open(majorList, len(v)); r != nil {
		return r
	}
	for i := range v {
		if r := e.goValue(v[i]); r != nil {
			return r.under(indexSegment(uint64(i)))
		}
	}
	e.depth++
	return nil
}

func goMap[T any](e *encoder, m map[string]T) *Rejection {
	if r := e.open(majorMap, len(m)); r != nil {
		return r
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	for _, k := range keys {
		r := e.text(k, true)
		if r == nil {
			r = e.goValue(m[k])
		}
		if r != nil {
			return r.under(keySegment(k))
		}
	}
	e.depth++
	return nil
}
