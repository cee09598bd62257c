package view

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// object is a record for people: its fields by name, in the order they were declared.
type object []field

type field struct {
	name  string
	value any
}

// get is the value of a field, or nil.
func (o object) get(name string) any {
	for _, f := range o {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// MarshalJSON keeps the order of the fields.
func (o object) MarshalJSON() ([]byte, error) { return readableJSON(o) }

// ReadableJSON is Readable as JSON.
func ReadableJSON(v any) ([]byte, error) { return readableJSON(Readable(v)) }

func readableJSON(v any) ([]byte, error) {
	w := jsonWriter{b: new(bytes.Buffer)}
	w.enc = json.NewEncoder(w.b)
	w.enc.SetEscapeHTML(false)
	err := w.write(v)
	return w.b.Bytes(), err
}

// jsonWriter writes records within records in one go: what json makes of each would be read again by the one around it.
type jsonWriter struct {
	b   *bytes.Buffer
	enc *json.Encoder
}

func (w *jsonWriter) write(v any) error {
	switch x := v.(type) {
	case object:
		return w.list('{', '}', len(x), func(i int) error {
			if err := w.write(x[i].name); err != nil {
				return err
			}
			w.b.WriteByte(':')
			return w.write(x[i].value)
		})
	case []any:
		return w.list('[', ']', len(x), func(i int) error { return w.write(x[i]) })
	}
	err := w.enc.Encode(v)
	if err == nil {
		w.b.Truncate(w.b.Len() - 1) // the end of the line
	}
	return err
}

// list writes n things between two brackets.
func (w *jsonWriter) list(begin, end byte, n int, each func(i int) error) error {
	w.b.WriteByte(begin)
	for i := range n {
		if i > 0 {
			w.b.WriteByte(',')
		}
		if err := each(i); err != nil {
			return err
		}
	}
	w.b.WriteByte(end)
	return nil
}

// MarshalYAML keeps the order of the fields.
func (o object) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range o {
		var key, value yaml.Node
		if err := key.Encode(f.name); err != nil {
			return nil, err
		}
		if err := value.Encode(f.value); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &key, &value)
	}
	return n, nil
}

// Readable is a value of the format as people read it: names in place of numbers, hashes and keys in hex, times as RFC
// 3339, one of several kinds as {kind: …}, and nothing that is absent.
func Readable(v any) any { return readableValue(reflect.ValueOf(v)) }

func readableValue(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if v.CanInterface() {
		if plain, ok := readableLeaf(v.Interface()); ok {
			return plain
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		inner := readableValue(v.Elem())
		if name := caseName(v); name != "" {
			return object{{name, inner}}
		}
		return inner
	case reflect.Struct:
		return readableStruct(v)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Interface() // base64 in JSON
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = readableValue(v.Index(i))
		}
		return list
	case reflect.Map:
		var o object
		for _, k := range v.MapKeys() {
			o = append(o, field{k.String(), readableValue(v.MapIndex(k))})
		}
		slices.SortFunc(o, func(a, b field) int { return strings.Compare(a.name, b.name) })
		return o
	}
	return v.Interface()
}

// readableLeaf is a value that is one word for people, if it is.
func readableLeaf(v any) (any, bool) {
	switch x := v.(type) {
	case perdure.Data:
		if x == nil {
			return nil, true
		}
		return x.Value(), true
	case perdure.Time:
		return x.String(), true
	case [16]byte:
		return perdure.Hash(append(x[:], make([]byte, 16)...)).String()[:32], true
	case encoding.TextMarshaler:
		if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
			return nil, true
		}
		b, err := x.MarshalText()
		if err != nil {
			return err.Error(), true
		}
		return string(b), true
	case interface{ CanonNames() []string }:
		if s, ok := v.(interface{ String() string }); ok {
			return s.String(), true
		}
		names := x.CanonNames()
		if n := reflect.ValueOf(v).Uint(); n < uint64(len(names)) {
			return names[n], true
		}
	}
	return nil, false
}

// readableStruct is the fields of a record that are there.
func readableStruct(v reflect.Value) any {
	var o object
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type == reflect.TypeFor[canon.Reserved]() || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && f.Type == reflect.TypeFor[Sent]() {
			if sent, _ := v.Field(i).Interface().(Sent); sent.JSON != nil {
				return sent.JSON
			}
			continue
		}
		if f.Anonymous {
			if inner, ok := readableValue(v.Field(i)).(object); ok {
				o = append(o, inner...)
			}
			continue
		}
		name, absent := fieldName(f)
		if name == "" || absent && v.Field(i).IsZero() {
			continue
		}
		one := field{name, readableValue(v.Field(i))}
		if k := slices.IndexFunc(o, func(f field) bool { return f.name == name }); k >= 0 {
			o[k] = one // it is put over that of a record inside, as in Go
			continue
		}
		o = append(o, one)
	}
	return o
}

// fieldName is what a field is called in the format, or in JSON, and whether its zero value means that it is absent.
func fieldName(f reflect.StructField) (name string, absent bool) {
	if tag, ok := f.Tag.Lookup("canon"); ok {
		parts := strings.Split(tag, ",")
		if len(parts) < 2 {
			return "", false
		}
		return parts[1], slices.Contains(parts, "omitzero") || slices.Contains(parts, "optional")
	}
	tag, _ := f.Tag.Lookup("json")
	name, rest, _ := strings.Cut(tag, ",")
	if name == "-" {
		return "", false
	}
	if name == "" {
		name = strings.ToLower(f.Name)
	}
	return name, strings.Contains(rest, "omit")
}

// caseName names what one of several kinds a value is: execute, sleep, at, approval.
func caseName(v reflect.Value) string {
	if v.Kind() != reflect.Interface || v.Type().NumMethod() == 0 {
		return ""
	}
	return kebab(v.Elem().Type().Name())
}

// kebab is a Go name as the format writes it: ChildEnded is child-ended.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}
