package canon

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// goField is a field of a Go struct under the name encoding/json gives it.
type goField struct {
	name                string
	index               []int
	omitEmpty, omitZero bool
}

var goFieldsOf sync.Map // of reflect.Type: []goField

// goFields are the fields of a struct, by their json tags; those of embedded structs are among them.
func goFields(t reflect.Type) []goField {
	if known, ok := goFieldsOf.Load(t); ok {
		return known.([]goField)
	}
	var fields []goField
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("json") == "-" || !f.IsExported() || f.Anonymous && name == "" && isStruct(f.Type) ||
			!promoted(t, f.Index) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		words := strings.Split(options, ",")
		g := goField{name, f.Index, slices.Contains(words, "omitempty"), slices.Contains(words, "omitzero")}
		i := slices.IndexFunc(fields, func(h goField) bool { return h.name == name })
		switch {
		case i < 0:
			fields = append(fields, g)
		case len(g.index) < len(fields[i].index):
			fields[i] = g
		}
	}
	goFieldsOf.Store(t, fields)
	return fields
}

func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// promoted reports whether the structs around a field are all embedded under no name of their own.
func promoted(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		if t.FieldByIndex(index[:i]).Tag.Get("json") != "" {
			return false
		}
	}
	return true
}

// goReflect appends a Go value of a type that goValue does not know by itself.
func (e *encoder) goReflect(v reflect.Value) *Rejection {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		e.dst = AppendNull(e.dst)
		return nil
	}
	switch m := v.Interface().(type) {
	case json.Marshaler:
		b, err := m.MarshalJSON()
		if err != nil {
			return e.reject(PredType, err.Error(), "a value JSON could hold")
		}
		d, err := DataFromJSON(b)
		if err != nil {
			return e.reject(PredType, err.Error(), "a value JSON could hold")
		}
		return e.data(d)
	case encoding.TextMarshaler:
		b, err := m.MarshalText()
		if err != nil {
			return e.reject(PredType, err.Error(), "a value JSON could hold")
		}
		return e.text(string(b), true)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return e.goValue(v.Elem().Interface())
	case reflect.Bool:
		return e.goValue(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return e.goValue(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return e.goValue(v.Uint())
	case reflect.Float32, reflect.Float64:
		return e.goValue(v.Float())
	case reflect.String:
		return e.goValue(v.String())
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			return e.goValue(v.Bytes())
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = v.Index(i).Interface()
		}
		return goList(e, list)
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			m := make(map[string]any, v.Len())
			for k, x := range v.Seq2() {
				m[k.String()] = x.Interface()
			}
			return goMap(e, m)
		}
	case reflect.Struct:
		return e.goStruct(v)
	}
	return e.reject(PredType, v.Type().String(), "a value JSON could hold")
}

// goStruct appends the fields of a struct as a map.
func (e *encoder) goStruct(v reflect.Value) *Rejection {
	m := map[string]any{}
	for _, f := range goFields(v.Type()) {
		x, err := v.FieldByIndexErr(f.index) // an error: an embedded pointer is nil
		if err != nil || f.omitZero && x.IsZero() || f.omitEmpty && isEmpty(x) {
			continue
		}
		m[f.name] = x.Interface()
	}
	return goMap(e, m)
}

// isEmpty is what encoding/json calls empty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// Decode sets what v points to from d, as encoding/json would from the JSON: structs by their json tags, maps with text
// keys, slices, arrays, pointers and plain values. A null sets the zero value, and a field that d does not name stays
// as it is. An any gets what Value returns, so that whole numbers keep all their digits. An error names the place:
// $.items[2].price.
func (d Data) Decode(v any) error {
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return fmt.Errorf("decode data: want a pointer to decode into, got %T", v)
	}
	if len(d) == 0 {
		return fmt.Errorf("decode data: there is none")
	}
	if err := d.Valid(); err != nil {
		return err
	}
	return fill("$", d.Value(), to.Elem())
}

// fill sets a Go value from what Value returned.
func fill(path string, from any, to reflect.Value) error {
	if done, err := fillSpecial(path, from, to); done || err != nil {
		return err
	}
	switch to.Kind() {
	case reflect.Pointer:
		if to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
		return fill(path, from, to.Elem())
	case reflect.Slice, reflect.Array:
		return fillList(path, from, to)
	case reflect.Map:
		return fillMap(path, from, to)
	case reflect.Struct:
		return fillStruct(path, from, to)
	}
	return fillPlain(path, from, to)
}

// fillSpecial fills what does not go by its kind: nothing, anything, Data, and types that read themselves.
func fillSpecial(path string, from any, to reflect.Value) (done bool, err error) {
	if to.Kind() == reflect.Interface && to.NumMethod() == 0 {
		if to.SetZero(); from != nil {
			to.Set(reflect.ValueOf(from))
		}
		return true, nil
	}
	if to.Type() == reflect.TypeFor[Data]() {
		d, err := DataOf(from)
		to.SetBytes(d)
		return true, err
	}
	if from == nil {
		to.SetZero()
		return true, nil
	}
	if to.Kind() == reflect.Pointer {
		return false, nil
	}
	switch u := to.Addr().Interface().(type) {
	case json.Unmarshaler:
		d, err := DataOf(from)
		if err == nil {
			err = u.UnmarshalJSON(d.JSON())
		}
		return true, placed(path, err)
	case encoding.TextUnmarshaler:
		s, ok := from.(string)
		if !ok {
			return true, mismatch(path, from, to)
		}
		return true, placed(path, u.UnmarshalText([]byte(s)))
	}
	return false, nil
}

// fillPlain fills a bool, a number or a string.
func fillPlain(path string, from any, to reflect.Value) error {
	fits := false
	switch x := from.(type) {
	case bool:
		if fits = to.Kind() == reflect.Bool; fits {
			to.SetBool(x)
		}
	case string:
		if fits = to.Kind() == reflect.String; fits {
			to.SetString(x)
		}
	case int64:
		switch {
		case to.CanInt() && !to.OverflowInt(x):
			to.SetInt(x)
			return nil
		case to.CanUint() && x >= 0 && !to.OverflowUint(uint64(x)):
			to.SetUint(uint64(x))
			return nil
		}
		if fits = to.CanFloat(); fits {
			to.SetFloat(float64(x))
		}
	case uint64:
		if fits = to.CanUint() && !to.OverflowUint(x); fits {
			to.SetUint(x)
		} else if fits = to.CanFloat(); fits {
			to.SetFloat(float64(x))
		}
	case float64:
		if fits = to.CanFloat() && !to.OverflowFloat(x); fits {
			to.SetFloat(x)
		}
	}
	if !fits {
		return mismatch(path, from, to)
	}
	return nil
}

// fillList fills a slice, or an array, which must have as many elements.
func fillList(path string, from any, to reflect.Value) error {
	if b, ok := from.([]byte); ok && to.Kind() == reflect.Slice && to.Type().Elem().Kind() == reflect.Uint8 {
		to.SetBytes(b)
		return nil
	}
	if s, ok := from.(string); ok && to.Kind() == reflect.Slice && to.Type().Elem().Kind() == reflect.Uint8 {
		b, err := base64.StdEncoding.DecodeString(s) // as bytes come through JSON
		to.SetBytes(b)
		return placed(path, err)
	}
	list, ok := from.([]any)
	if !ok || to.Kind() == reflect.Array && to.Len() != len(list) {
		return mismatch(path, from, to)
	}
	if to.Kind() == reflect.Slice {
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
	}
	for i := range list {
		if err := fill(path+indexSegment(uint64(i)), list[i], to.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func fillMap(path string, from any, to reflect.Value) error {
	m, ok := from.(map[string]any)
	if !ok || to.Type().Key().Kind() != reflect.String {
		return mismatch(path, from, to)
	}
	to.Set(reflect.MakeMapWithSize(to.Type(), len(m)))
	for k, x := range m {
		value := reflect.New(to.Type().Elem()).Elem()
		if err := fill(path+keySegment(k), x, value); err != nil {
			return err
		}
		to.SetMapIndex(reflect.ValueOf(k).Convert(to.Type().Key()), value)
	}
	return nil
}

func fillStruct(path string, from any, to reflect.Value) error {
	m, ok := from.(map[string]any)
	if !ok {
		return mismatch(path, from, to)
	}
	for _, f := range goFields(to.Type()) {
		x, there := m[f.name]
		if !there {
			continue
		}
		field := to
		for _, i := range f.index {
			if field.Kind() == reflect.Pointer {
				if field.IsNil() && !field.CanSet() {
					return placed(path, fmt.Errorf("%s is embedded, nil and not exported", field.Type()))
				}
				if field.IsNil() {
					field.Set(reflect.New(field.Type().Elem()))
				}
				field = field.Elem()
			}
			field = field.Field(i)
		}
		if err := fill(path+keySegment(f.name), x, field); err != nil {
			return err
		}
	}
	return nil
}

// mismatch says what is at a place, and what was wanted there.
func mismatch(path string, from any, to reflect.Value) error {
	got := "something else"
	switch x := from.(type) {
	case bool, int64, uint64, float64:
		got = fmt.Sprint(x)
	case string:
		got = "the text " + clip(x)
	case []byte:
		got = fmt.Sprint(len(x), " bytes")
	case []any:
		got = fmt.Sprint("a list of ", len(x))
	case map[string]any:
		got = "a map"
	}
	return placed(path, fmt.Errorf("got %s, want %s", got, to.Type()))
}

// placed is an error at a place in a value.
func placed(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("decode data: %s: %w", path, err)
	}
	return err
}
