package action

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/yamltext"
)

// Item is a value of a script or an advice, and where it stands.
type Item struct {
	V  any    // nil, bool, int64, uint64, float64, string, []byte, []Item or map[string]Item
	At string // the line, or the path
}

// Errorf is an error at the place of the item.
func (i Item) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{i.At}, args...)...)
}

// FromData makes items of data, whose places are paths.
func FromData(v any, at string, depth int) (Item, error) {
	if depth > maxDepth {
		return Item{}, fmt.Errorf("%s: nested deeper than %d", at, maxDepth)
	}
	switch v := v.(type) {
	case []any:
		list := make([]Item, len(v))
		for n := range v {
			var err error
			if list[n], err = FromData(v[n], fmt.Sprintf("%s[%d]", at, n), depth+1); err != nil {
				return Item{}, err
			}
		}
		return Item{list, at}, nil
	case map[string]any:
		m := make(map[string]Item, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			var err error
			if m[k], err = FromData(v[k], at+"."+k, depth+1); err != nil {
				return Item{}, err
			}
		}
		return Item{m, at}, nil
	}
	return Item{v, at}, nil
}

// FromYAML makes items of a YAML document, whose places are lines.
func FromYAML(n *yaml.Node, depth int) (Item, error) {
	i := Item{At: fmt.Sprintf("line %d", n.Line)}
	if depth > maxDepth {
		return i, i.Errorf("nested deeper than %d", maxDepth)
	}
	if tag := n.ShortTag(); n.Kind == yaml.SequenceNode && tag != "!!seq" || n.Kind == yaml.MappingNode &&
		tag != "!!map" {
		return i, i.Errorf("tag %s is not supported", tag)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]Item, len(n.Content))
		for k, c := range n.Content {
			var err error
			if list[k], err = FromYAML(c, depth+1); err != nil {
				return i, err
			}
		}
		i.V = list
		return i, nil
	case yaml.MappingNode:
		return i.mapping(n, depth)
	case yaml.ScalarNode:
		return i.scalar(n)
	case yaml.AliasNode, yaml.DocumentNode:
	}
	return i, i.Errorf("aliases are not supported: write it out")
}

func (i Item) mapping(n *yaml.Node, depth int) (Item, error) {
	m := make(map[string]Item, len(n.Content)/2)
	for k := 0; k+1 < len(n.Content); k += 2 {
		key := n.Content[k]
		at := Item{At: fmt.Sprintf("line %d", key.Line)}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			return i, at.Errorf("a name is expected before the colon")
		}
		if _, dup := m[key.Value]; dup {
			return i, at.Errorf("%s is given twice", key.Value)
		}
		v, err := FromYAML(n.Content[k+1], depth+1)
		if err != nil {
			return i, err
		}
		m[key.Value] = v
	}
	i.V = m
	return i, nil
}

// scalar reads a scalar. A time is text.
func (i Item) scalar(n *yaml.Node) (Item, error) {
	var err error
	switch tag := n.ShortTag(); tag {
	case "!!null":
	case "!!str", "!!timestamp":
		i.V = n.Value
	case "!!bool":
		var v bool
		err = n.Decode(&v)
		i.V = v
	case "!!int":
		var v int64
		if err = n.Decode(&v); err != nil {
			var u uint64
			err = n.Decode(&u)
			i.V = u
			break
		}
		i.V = v
	case "!!float":
		if yamltext.Exact(n) != nil {
			err = yamltext.ErrRounds
			break
		}
		var v float64
		err = n.Decode(&v)
		i.V = v
	case "!!binary":
		var v []byte
		err = n.Decode(&v)
		i.V = v
	default:
		err = fmt.Errorf("tag %s is not supported", tag)
	}
	if err != nil {
		return i, i.Errorf("%q: %v", n.Value, err)
	}
	return i, nil
}

// value is the item as plain Go values, for perdure.DataOf. Texts go through fn.
func (i Item) value(fn func(s string, at Item) (any, error)) (any, error) {
	switch v := i.V.(type) {
	case string:
		return fn(v, i)
	case []Item:
		list := make([]any, len(v))
		for k := range v {
			var err error
			if list[k], err = v[k].value(fn); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]Item:
		m := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			var err error
			if m[k], err = v[k].value(fn); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return i.V, nil
}

// data is the item as Data. Nothing is no data.
func (i Item) data(fn func(string, Item) (any, error)) (perdure.Data, error) {
	v, err := i.value(fn)
	if err != nil {
		return nil, err
	}
	d, err := perdure.DataOf(v)
	if err != nil {
		return nil, i.Errorf("%v", err)
	}
	return d, nil
}

// Object is an item read field by field. The first thing that is wrong is kept, and the rest reads as zero.
type Object struct {
	Item
	Fields map[string]Item
	names  []string
	text   func(string, Item) (any, error) // what becomes of texts that may be templates
	err    *error
}

// Object reads i as an object. fn is what becomes of texts in free values; errors go to err.
func (i Item) Object(fn func(string, Item) (any, error), err *error) *Object {
	o := &Object{Item: i, text: fn, err: err}
	m, ok := i.V.(map[string]Item)
	if !ok {
		o.Fail(i.Errorf("got %s, want an object with fields", KindOf(i.V)))
	}
	o.Fields = m
	return o
}

// Fail keeps what is wrong, if nothing was before.
func (o *Object) Fail(err error) {
	if *o.err == nil {
		*o.err = err
	}
}

// Get is a field, and whether it is there.
func (o *Object) Get(name string) (Item, bool) {
	o.names = append(o.names, name)
	i, ok := o.Fields[name]
	return i, ok && *o.err == nil
}

// Require says that a field must be there.
func (o *Object) Require(names ...string) *Object {
	for _, name := range names {
		if _, ok := o.Fields[name]; !ok {
			o.Fail(o.Errorf("%s is missing", name))
		}
	}
	return o
}

// Done refuses fields nobody asked for.
func (o *Object) Done() {
	for _, k := range slices.Sorted(maps.Keys(o.Fields)) {
		if !slices.Contains(o.names, k) {
			o.Fail(o.Fields[k].Errorf("unknown field %q; there are %s", k, strings.Join(o.names, ", ")))
		}
	}
}

// KindOf is the kind of a value in words.
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a bool"
	case int64, uint64, float64:
		return "a number"
	case string:
		return "text"
	case []byte:
		return "bytes"
	case []Item:
		return "a list"
	}
	return "an object"
}

// Without is an object without some of its fields.
func (i Item) Without(names ...string) Item {
	m, ok := i.V.(map[string]Item)
	if !ok {
		return i
	}
	rest := make(map[string]Item, len(m))
	for k, v := range m {
		rest[k] = v
	}
	for _, name := range names {
		delete(rest, name)
	}
	return Item{rest, i.At}
}
