package canon

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decode sets what v points to from d, as encoding/json would from the JSON: structs by their json tags, whatever the
// case of a name if no name is the same, maps, slices, arrays, pointers and plain values. A field that d does not name
// stays as it is. An error names the place: $.items[2].price. It differs from encoding/json in this:
//
//   - of several names for one field the one that is the same counts, not the last: Data has no order of keys;
//   - a null sets the zero value, whatever the type, and does not ask UnmarshalJSON;
//   - an any gets what Value returns, so that whole numbers keep all their digits, and never keeps what it led to;
//   - a map is a new one, and keeps nothing that was in it;
//   - an array must have as many elements as the list.
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

var numberType = reflect.TypeFor[json.Number]()

// isNumber reports whether text is a number of JSON.
func isNumber(text string) bool {
	d, err := DataFromJSON([]byte(text))
	return err == nil && (d[0]>>5 == majorUint || d[0]>>5 == majorNint || d[0] >= cborF16)
}

// fillPlain fills a bool, a number or a string.
func fillPlain(path string, from any, to reflect.Value) error {
	if to.Type() == numberType && from != nil {
		if d, err := DataOf(from); err == nil && isNumber(string(d.JSON())) {
			to.SetString(string(d.JSON()))
			return nil
		}
	}
	fits := false
	switch x := from.(type) {
	case bool:
		if fits = to.Kind() == reflect.Bool; fits {
			to.SetBool(x)
		}
	case string:
		if fits = to.Kind() == reflect.String && (to.Type() != numberType || isNumber(x)); fits {
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
	bytes := to.Kind() == reflect.Slice && to.Type().Elem().Kind() == reflect.Uint8
	if b, ok := from.([]byte); ok && bytes {
		to.SetBytes(b)
		return nil
	}
	if s, ok := from.(string); ok && bytes {
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
	if !ok {
		return mismatch(path, from, to)
	}
	to.Set(reflect.MakeMapWithSize(to.Type(), len(m)))
	for k, x := range m {
		key, err := mapKey(k, to.Type().Key())
		if err != nil {
			return placed(path+keySegment(k), err)
		}
		value := reflect.New(to.Type().Elem()).Elem()
		if err := fill(path+keySegment(k), x, value); err != nil {
			return err
		}
		to.SetMapIndex(key, value)
	}
	return nil
}

// mapKey is text as a key of a map.
func mapKey(text string, t reflect.Type) (reflect.Value, error) {
	key := reflect.New(t)
	if u, ok := key.Interface().(encoding.TextUnmarshaler); ok {
		return key.Elem(), u.UnmarshalText([]byte(text))
	}
	switch to := key.Elem(); {
	case t.Kind() == reflect.String:
		to.SetString(text)
		return to, nil
	case to.CanInt():
		n, err := strconv.ParseInt(text, 10, t.Bits())
		to.SetInt(n)
		return to, err
	case to.CanUint():
		n, err := strconv.ParseUint(text, 10, t.Bits())
		to.SetUint(n)
		return to, err
	}
	return reflect.Value{}, fmt.Errorf("got the text %s, want a key of type %s", clip(text), t)
}

func fillStruct(path string, from any, to reflect.Value) error {
	m, ok := from.(map[string]any)
	if !ok {
		return mismatch(path, from, to)
	}
	fields := goFields(to.Type())
	for k, i := range matched(fields, m) {
		f, x := &fields[i], m[k]
		field, err := fieldAt(path, to, f.index)
		if err == nil && f.quoted && x != nil && !unmarshals(field.Type()) {
			x, err = unquoted(path+keySegment(k), x, field)
		}
		if err == nil {
			err = fill(path+keySegment(k), x, field)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// matched says which field each key of a map is for: the one of that name, else the first whose name differs only in
// case. Of several keys for one field the one that is its name counts.
func matched(fields []goField, m map[string]any) map[string]int {
	out := map[string]int{}
	for i := range fields {
		if _, ok := m[fields[i].name]; ok {
			out[fields[i].name] = i
		}
	}
	if len(out) == len(m) {
		return out
	}
	taken := map[int]bool{}
	for _, i := range out {
		taken[i] = true
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if _, ok := out[k]; ok {
			continue
		}
		i := slices.IndexFunc(fields, func(f goField) bool { return strings.EqualFold(f.name, k) })
		if i >= 0 && !taken[i] {
			out[k], taken[i] = i, true
		}
	}
	return out
}

// fieldAt is a field of a struct; embedded pointers on the way to it are set.
func fieldAt(path string, to reflect.Value, index []int) (reflect.Value, error) {
	for _, i := range index {
		if to.Kind() == reflect.Pointer {
			if to.IsNil() && !to.CanSet() {
				return to, placed(path, fmt.Errorf("%s is embedded, nil and not exported", to.Type()))
			}
			if to.IsNil() {
				to.Set(reflect.New(to.Type().Elem()))
			}
			to = to.Elem()
		}
		to = to.Field(i)
	}
	return to, nil
}

// unmarshals reports whether values of a type, or what it points to, read themselves.
func unmarshals(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// unquoted is a plain value that is in a string.
func unquoted(path string, from any, to reflect.Value) (any, error) {
	text, ok := from.(string)
	if !ok {
		return nil, mismatch(path, from, to)
	}
	d, err := DataFromJSON([]byte(text))
	if err != nil {
		return nil, mismatch(path, from, to)
	}
	return d.Value(), nil
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
		got = Count(len(x), "bytes")
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
