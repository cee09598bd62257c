package advisor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
)

// item is a value of a script or an advice, and where it stands.
type item struct {
	v  any // nil, bool, int64, uint64, float64, string, []byte, []item or map[string]item
	at string
}

// errorf is an error at the place of the item.
func (i item) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{i.at}, args...)...)
}

// fromData makes items of data, whose places are paths.
func fromData(v any, at string, depth int) (item, error) {
	if depth > maxDepth {
		return item{}, fmt.Errorf("%s: nested deeper than %d", at, maxDepth)
	}
	switch v := v.(type) {
	case []any:
		list := make([]item, len(v))
		for n := range v {
			var err error
			if list[n], err = fromData(v[n], fmt.Sprintf("%s[%d]", at, n), depth+1); err != nil {
				return item{}, err
			}
		}
		return item{list, at}, nil
	case map[string]any:
		m := make(map[string]item, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			var err error
			if m[k], err = fromData(v[k], at+"."+k, depth+1); err != nil {
				return item{}, err
			}
		}
		return item{m, at}, nil
	}
	return item{v, at}, nil
}

// fromYAML makes items of a YAML document, whose places are lines.
func fromYAML(n *yaml.Node, depth int) (item, error) {
	i := item{at: fmt.Sprintf("line %d", n.Line)}
	if depth > maxDepth {
		return i, i.errorf("nested deeper than %d", maxDepth)
	}
	if tag := n.ShortTag(); n.Kind == yaml.SequenceNode && tag != "!!seq" || n.Kind == yaml.MappingNode && tag != "!!map" {
		return i, i.errorf("tag %s is not supported", tag)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]item, len(n.Content))
		for k, c := range n.Content {
			var err error
			if list[k], err = fromYAML(c, depth+1); err != nil {
				return i, err
			}
		}
		i.v = list
		return i, nil
	case yaml.MappingNode:
		return i.mapping(n, depth)
	case yaml.ScalarNode:
		return i.scalar(n)
	case yaml.AliasNode, yaml.DocumentNode:
	}
	return i, i.errorf("aliases are not supported: write it out")
}

func (i item) mapping(n *yaml.Node, depth int) (item, error) {
	m := make(map[string]item, len(n.Content)/2)
	for k := 0; k+1 < len(n.Content); k += 2 {
		key := n.Content[k]
		at := item{at: fmt.Sprintf("line %d", key.Line)}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			return i, at.errorf("a name is expected before the colon")
		}
		if _, dup := m[key.Value]; dup {
			return i, at.errorf("%s is given twice", key.Value)
		}
		v, err := fromYAML(n.Content[k+1], depth+1)
		if err != nil {
			return i, err
		}
		m[key.Value] = v
	}
	i.v = m
	return i, nil
}

// scalar reads a scalar. A time is text.
func (i item) scalar(n *yaml.Node) (item, error) {
	var err error
	switch tag := n.ShortTag(); tag {
	case "!!null":
	case "!!str", "!!timestamp":
		i.v = n.Value
	case "!!bool":
		var v bool
		err = n.Decode(&v)
		i.v = v
	case "!!int":
		var v int64
		if err = n.Decode(&v); err != nil {
			var u uint64
			err = n.Decode(&u)
			i.v = u
			break
		}
		i.v = v
	case "!!float":
		var v float64
		err = n.Decode(&v)
		i.v = v
	case "!!binary":
		var v []byte
		err = n.Decode(&v)
		i.v = v
	default:
		err = fmt.Errorf("tag %s is not supported", tag)
	}
	if err != nil {
		return i, i.errorf("%q: %v", n.Value, err)
	}
	return i, nil
}

// value is the item as plain Go values, for perdure.DataOf. Texts go through fn.
func (i item) value(fn func(s string, at item) (any, error)) (any, error) {
	switch v := i.v.(type) {
	case string:
		return fn(v, i)
	case []item:
		list := make([]any, len(v))
		for k := range v {
			var err error
			if list[k], err = v[k].value(fn); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]item:
		m := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			var err error
			if m[k], err = v[k].value(fn); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return i.v, nil
}

// data is the item as Data. Nothing is no data.
func (i item) data(fn func(string, item) (any, error)) (perdure.Data, error) {
	v, err := i.value(fn)
	if err != nil {
		return nil, err
	}
	d, err := perdure.DataOf(v)
	if err != nil {
		return nil, i.errorf("%v", err)
	}
	return d, nil
}

// object is an item read field by field. The first thing that is wrong is kept, and the rest reads as zero.
type object struct {
	item
	fields map[string]item
	names  []string
	text   func(string, item) (any, error) // what becomes of texts that may be templates
	err    *error
}

// object reads i as an object. fn is what becomes of texts in free values; errors go to err.
func (i item) object(fn func(string, item) (any, error), err *error) *object {
	o := &object{item: i, text: fn, err: err}
	m, ok := i.v.(map[string]item)
	if !ok {
		o.fail(i.errorf("got %s, want an object with fields", kindOf(i.v)))
	}
	o.fields = m
	return o
}

func (o *object) fail(err error) {
	if *o.err == nil {
		*o.err = err
	}
}

// get is a field, and whether it is there.
func (o *object) get(name string) (item, bool) {
	o.names = append(o.names, name)
	i, ok := o.fields[name]
	return i, ok && *o.err == nil
}

// require says that a field must be there.
func (o *object) require(names ...string) *object {
	for _, name := range names {
		if _, ok := o.fields[name]; !ok {
			o.fail(o.errorf("%s is missing", name))
		}
	}
	return o
}

// done refuses fields nobody asked for.
func (o *object) done() {
	for _, k := range slices.Sorted(maps.Keys(o.fields)) {
		if !slices.Contains(o.names, k) {
			o.fail(o.fields[k].errorf("unknown field %q; there are %s", k, strings.Join(o.names, ", ")))
		}
	}
}

func kindOf(v any) string {
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
	case []item:
		return "a list"
	}
	return "an object"
}
