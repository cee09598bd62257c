package canon

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// goReflect appends a Go value of a type that goValue does not know by itself. Like encoding/json it asks methods of a
// pointer where there is one to the value.
func (e *encoder) goReflect(v reflect.Value) *Rejection {
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		e.dst = AppendNull(e.dst)
		return nil
	}
	if r, done := e.goMethod(v); done {
		return r
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return e.goPointer(v)
	case reflect.Bool:
		e.dst = AppendBool(e.dst, v.Bool())
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.dst = AppendInt(e.dst, v.Int())
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		e.dst = AppendUint(e.dst, v.Uint())
		return nil
	case reflect.Float32, reflect.Float64:
		e.dst = AppendFloat(e.dst, v.Float())
		return nil
	case reflect.String:
		if v.Type() == reflect.TypeFor[json.Number]() {
			return e.goNumber(json.Number(v.String()))
		}
		return e.text(v.String(), true)
	case reflect.Slice:
		if isBytes(v.Type()) {
			e.dst = AppendBytes(e.dst, v.Bytes())
			return nil
		}
		return e.goElements(v)
	case reflect.Array:
		return e.goElements(v)
	case reflect.Map:
		return e.goEntries(v)
	case reflect.Struct:
		return e.goStruct(v)
	}
	return e.reject(PredType, v.Type().String(), "a value JSON could hold")
}

// goPointer appends what a pointer or an interface leads to. It counts as one level, so that what goes round ends.
func (e *encoder) goPointer(v reflect.Value) *Rejection {
	if e.depth == 0 {
		return e.reject(PredDepth, "deeper nesting", "the depth limit")
	}
	e.depth--
	defer func() { e.depth++ }()
	if v.Kind() == reflect.Interface {
		return e.goValue(v.Elem().Interface())
	}
	return e.goReflect(v.Elem())
}

var (
	marshalsJSON = reflect.TypeFor[json.Marshaler]()
	marshalsText = reflect.TypeFor[encoding.TextMarshaler]()
)

// goMethod appends a value that marshals itself, and Data.
func (e *encoder) goMethod(v reflect.Value) (*Rejection, bool) {
	t := v.Type()
	if t == reflect.TypeFor[Data]() {
		if v.Len() == 0 { // as JSON says it
			e.dst = AppendNull(e.dst)
			return nil, true
		}
		return e.data(v.Bytes()), true
	}
	addressed := t.Kind() != reflect.Pointer && v.CanAddr()
	for _, m := range []reflect.Type{marshalsJSON, marshalsText} {
		switch {
		case addressed && reflect.PointerTo(t).Implements(m):
			return e.goMarshals(v.Addr().Interface()), true
		case t.Kind() != reflect.Interface && t.Implements(m):
			return e.goMarshals(v.Interface()), true
		}
	}
	return nil, false
}

// goMarshals appends what a value says that it is.
func (e *encoder) goMarshals(v any) *Rejection {
	if m, ok := v.(json.Marshaler); ok {
		b, err := m.MarshalJSON()
		if err == nil {
			var d Data
			if d, err = DataFromJSON(b); err == nil {
				return e.data(d)
			}
		}
		return e.reject(PredType, err.Error(), "a value JSON could hold")
	}
	b, err := v.(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return e.reject(PredType, err.Error(), "a value JSON could hold")
	}
	return e.text(string(b), true)
}

// isBytes reports whether encoding/json takes a slice for bytes: unless its elements say themselves what they are.
func isBytes(t reflect.Type) bool {
	p := reflect.PointerTo(t.Elem())
	return t.Elem().Kind() == reflect.Uint8 && !p.Implements(marshalsJSON) && !p.Implements(marshalsText)
}

func (e *encoder) goElements(v reflect.Value) *Rejection {
	if r := e.open(majorList, v.Len()); r != nil {
		return r
	}
	for i := range v.Len() {
		if r := e.goReflect(v.Index(i)); r != nil {
			return r.under(indexSegment(uint64(i)))
		}
	}
	e.depth++
	return nil
}

// goPair is a value under its key.
type goPair struct {
	key    string
	value  reflect.Value
	quoted bool
}

// goEntries appends a map. Its keys are text, whole numbers, or say their own text.
func (e *encoder) goEntries(v reflect.Value) *Rejection {
	pairs := make([]goPair, 0, v.Len())
	for k, x := range v.Seq2() {
		name, err := keyText(k)
		if err != nil {
			return e.reject(PredType, err.Error(), "a value JSON could hold")
		}
		pairs = append(pairs, goPair{key: name, value: x})
	}
	return e.goPairs(pairs)
}

// keyText is a key of a map as text.
func keyText(k reflect.Value) (string, error) {
	if k.Kind() == reflect.String {
		return k.String(), nil
	}
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		if k.Kind() == reflect.Pointer && k.IsNil() {
			return "", nil
		}
		b, err := m.MarshalText()
		return string(b), err
	}
	switch {
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10), nil
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10), nil
	}
	return "", fmt.Errorf("keys of type %s", k.Type())
}

// goStruct appends the fields of a struct as a map.
func (e *encoder) goStruct(v reflect.Value) *Rejection {
	fields := goFields(v.Type())
	pairs := make([]goPair, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		x, err := v.FieldByIndexErr(f.index) // an error: an embedded pointer is nil
		if err != nil || f.leaves(x) {
			continue
		}
		pairs = append(pairs, goPair{f.name, x, f.quoted})
	}
	return e.goPairs(pairs)
}

// goPairs appends a map in canonical order.
func (e *encoder) goPairs(pairs []goPair) *Rejection {
	if r := e.open(majorMap, len(pairs)); r != nil {
		return r
	}
	slices.SortFunc(pairs, func(a, b goPair) int { return compareKeys(a.key, b.key) })
	for i, p := range pairs {
		r := e.text(p.key, true)
		switch {
		case i > 0 && pairs[i-1].key == p.key:
			r = e.reject(PredType, "two keys that are the same text", "a value JSON could hold")
		case r == nil && p.quoted:
			r = e.goQuoted(p.value)
		case r == nil:
			r = e.goReflect(p.value)
		}
		if r != nil {
			return r.under(keySegment(p.key))
		}
	}
	e.depth++
	return nil
}

// goQuoted appends a plain value in a string, for the option string of a json tag. What marshals itself goes on doing
// so.
func (e *encoder) goQuoted(v reflect.Value) *Rejection {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer || v.Type().Implements(marshalsJSON) || v.Type().Implements(marshalsText) {
		return e.goReflect(v)
	}
	inner := encoder{items: 1, depth: 1}
	if r := inner.goReflect(v); r != nil {
		return r
	}
	return e.text(string(Data(inner.dst).JSON()), true)
}
