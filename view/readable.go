package view

import (
	"encoding"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

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

// MarshalYAML keeps the order of the fields. What is in them is left to yaml at once, not record by record: each time
// costs a buffer, and what is inside would be written and read again for every record around it.
func (o object) MarshalYAML() (any, error) {
	var l leaves
	top := l.node(o)
	var list yaml.Node
	if err := list.Encode(l.values); err != nil {
		return nil, err
	}
	for i, n := range list.Content {
		*l.places[i] = *n
	}
	return top, nil
}

// leaves are the values that yaml writes, and the nodes they are to become.
type leaves struct {
	values []any
	places []*yaml.Node
}

// node is a value as yaml has it, once the leaves are in their places.
func (l *leaves) node(v any) *yaml.Node {
	n := new(yaml.Node)
	switch x := v.(type) {
	case object:
		n.Kind = yaml.MappingNode
		for _, f := range x {
			n.Content = append(n.Content, l.node(f.name), l.node(f.value))
		}
	case []any:
		n.Kind = yaml.SequenceNode
		for _, one := range x {
			n.Content = append(n.Content, l.node(one))
		}
	default:
		l.values, l.places = append(l.values, v), append(l.places, n)
	}
	return n
}

// Readable is a value of the format as people read it: names in place of numbers, hashes and keys in hex, times as RFC
// 3339, one of several kinds as {kind: …}, and nothing that is absent.
func Readable(v any) any { return new(reading).value(reflect.ValueOf(v)) }

// ReadableBriefly is Readable for a screen: of data that is too much for one it says only how much it is.
func ReadableBriefly(v any) any {
	return (&reading{brief: true, left: screenData}).value(reflect.ValueOf(v))
}

// screenData is how many bytes of data a screen has; a value of shortData bytes is shown all the same.
const screenData, shortData = 1 << 18, 1 << 10

// reading makes one value readable.
type reading struct {
	brief bool
	left  int // how many bytes of data are still shown
}

// data is a value of no schema.
func (r *reading) data(d perdure.Data) any {
	if out := r.leftOut(len(d)); out != "" {
		return out
	}
	return d.Value()
}

// bytes are base64, in YAML as in JSON.
func (r *reading) bytes(b []byte) any {
	if out := r.leftOut(len(b)); out != "" {
		return out
	}
	return base64.StdEncoding.EncodeToString(b)
}

// leftOut says how many bytes are not shown, if a screen has no room for them.
func (r *reading) leftOut(n int) string {
	if !r.brief {
		return ""
	}
	if r.left -= n; r.left >= 0 || n <= shortData {
		return ""
	}
	r.left += n
	return fmt.Sprintf("(%s, left out here: -o yaml has it)", Several(int64(n), "byte"))
}

func (r *reading) value(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if v.CanInterface() {
		if plain, ok := r.leaf(v.Interface()); ok {
			return plain
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		inner := r.value(v.Elem())
		if name := caseName(v); name != "" {
			return object{{name, inner}}
		}
		return inner
	case reflect.Struct:
		return r.record(v)
	case reflect.Slice, reflect.Array:
		if b, ok := v.Interface().([]byte); ok {
			return r.bytes(b)
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Interface() // it says itself what it is in JSON
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = r.value(v.Index(i))
		}
		return list
	case reflect.Map:
		var o object
		for _, k := range v.MapKeys() {
			o = append(o, field{k.String(), r.value(v.MapIndex(k))})
		}
		slices.SortFunc(o, func(a, b field) int { return strings.Compare(a.name, b.name) })
		return o
	}
	return v.Interface()
}

// leaf is a value that is one word for people, if it is.
func (r *reading) leaf(v any) (any, bool) {
	switch x := v.(type) {
	case object: // it is readable already
		return x, true
	case perdure.Data:
		if x == nil {
			return nil, true
		}
		return r.data(x), true
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

// record is the fields of a record that are there.
func (r *reading) record(v reflect.Value) any {
	plan := planOf(v.Type())
	if len(plan) == 0 {
		return object(nil)
	}
	o := make(object, 0, len(plan))
	inside := 0 // fields of records inside
	for i := range plan {
		f := &plan[i]
		value := v.Field(f.index)
		if f.sent {
			if sent, _ := value.Interface().(Sent); sent.JSON != nil {
				return sent.JSON
			}
			continue
		}
		if f.inside {
			if inner, ok := r.value(value).(object); ok {
				own := o
				for _, x := range inner {
					if !slices.ContainsFunc(own, func(y field) bool { return x.name == y.name }) {
						o = append(o, x)
					}
				}
				inside = len(o)
			}
			continue
		}
		if f.absent && value.IsZero() {
			continue
		}
		one := field{f.name, r.value(value)}
		if k := slices.IndexFunc(o[:inside], func(x field) bool { return x.name == f.name }); k >= 0 {
			o[k] = one // it is put over that of a record inside, as in Go
			continue
		}
		o = append(o, one)
	}
	if len(o) == 0 {
		return object(nil)
	}
	return o
}

// planned is a field of a record that people read.
type planned struct {
	index  int
	name   string
	absent bool // its zero value means that it is absent
	inside bool // its fields are those of the record
	sent   bool // it may be the record as somebody sent it
}

// plans are the fields of records, by their type. There are as many types as the program has.
var plans sync.Map

// planOf are the fields of a record.
func planOf(t reflect.Type) []planned {
	if known, ok := plans.Load(t); ok {
		return known.([]planned)
	}
	var out []planned
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[canon.Reserved]() || !f.IsExported() && !f.Anonymous {
			continue
		}
		p := planned{index: i, inside: f.Anonymous, sent: f.Anonymous && f.Type == reflect.TypeFor[Sent]()}
		if !f.Anonymous {
			if p.name, p.absent = fieldName(f); p.name == "" {
				continue
			}
		}
		out = append(out, p)
	}
	plans.Store(t, out)
	return out
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
