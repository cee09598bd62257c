package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
)

// shape is a type of the schema, made ready for converting facts to it.
type shape struct {
	typ    resolved.IsType
	elem   *shape  // of a set
	fields []field // of a record, by name
	open   bool    // a record of anything, which is not converted
}

type field struct {
	name     types.String
	optional bool
	*shape
}

func shapeOf(t resolved.IsType) *shape {
	s := &shape{typ: t}
	switch t := t.(type) {
	case resolved.SetType:
		s.elem = shapeOf(t.Element)
	case resolved.RecordType:
		for _, name := range slices.Sorted(maps.Keys(t)) {
			s.fields = append(s.fields, field{name: name, optional: t[name].Optional, shape: shapeOf(t[name].Type)})
		}
	case resolved.StringType, resolved.LongType, resolved.BoolType, resolved.ExtensionType, resolved.EntityType:
	}
	return s
}

// convert is a fact as a value of its type in the schema. What is missing, unknown or of another type is an error: Cedar itself would skip a
// rule that stumbles over it. Integers are clamped. Unless build is set, the fact is only checked.
func (s *shape) convert(v any, build bool) (types.Value, error) {
	switch t := s.typ.(type) {
	case resolved.StringType:
		if text, ok := v.(string); ok {
			return types.String(text), nil
		}
	case resolved.BoolType:
		if b, ok := v.(bool); ok {
			return types.Boolean(b), nil
		}
	case resolved.LongType:
		if n, ok := long(v); ok {
			return types.Long(n), nil
		}
	case resolved.ExtensionType:
		if n, ok := v.(int64); ok && t == "datetime" {
			return types.NewDatetimeFromMillis(clamp(n)), nil
		}
	case resolved.EntityType:
		return convertEntity(cedar.EntityType(t), v)
	case resolved.SetType:
		return s.convertSet(v, build)
	case resolved.RecordType:
		if _, ok := v.(map[string]any); ok && s.open {
			return types.Record{}, nil
		}
		return s.convertRecord(v, build)
	}
	return nil, fmt.Errorf("want %s, got %s", typeName(s.typ), kindOf(v))
}

func convertEntity(t cedar.EntityType, v any) (types.Value, error) {
	id, ok := v.(string)
	uid := cedar.NewEntityUID(t, types.String(id))
	if enum, isEnum := schemaOf().Enums[t]; !ok || (isEnum && !slices.Contains(enum.Values, uid)) {
		return nil, fmt.Errorf("want the name of a %s, got %s", t, kindOf(v))
	}
	return uid, nil
}

func (s *shape) convertSet(v any, build bool) (types.Value, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("want %s, got %s", typeName(s.typ), kindOf(v))
	}
	var values []types.Value
	for i, e := range list {
		c, err := s.elem.convert(e, build)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if build {
			values = append(values, c)
		}
	}
	if !build {
		return nil, nil
	}
	return types.NewSet(values...), nil
}

func (s *shape) convertRecord(v any, build bool) (types.Value, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a record, got %s", kindOf(v))
	}
	if !build {
		return nil, s.fill(nil, m, nil)
	}
	out := make(types.RecordMap, len(m))
	if err := s.fill(out, m, nil); err != nil {
		return nil, err
	}
	return types.NewRecord(out), nil
}

// fill puts the attributes of a record into out; nil: they are only checked. If only is not nil, those it does not name are not put there.
func (s *shape) fill(out types.RecordMap, m map[string]any, only func(name types.String) bool) error {
	seen := 0
	for i := range s.fields {
		f := &s.fields[i]
		e, present := m[string(f.name)]
		if !present && f.optional {
			continue
		}
		if !present {
			return fmt.Errorf("%s is missing", f.name)
		}
		seen++
		build := out != nil && (only == nil || only(f.name))
		c, err := f.convert(e, build)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if build {
			out[f.name] = c
		}
	}
	if seen < len(m) {
		return s.unknown(m)
	}
	return nil
}

// unknown names the first attribute that the record does not have.
func (s *shape) unknown(m map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.ContainsFunc(s.fields, func(f field) bool { return string(f.name) == name }) {
			return fmt.Errorf("%s: no such fact", name)
		}
	}
	return nil
}

// loose is an argument as a value of whatever type it has. What Cedar has no type for is merely there; no rule that reads it gets that far.
func loose(v any, depth int) types.Value {
	switch v := v.(type) {
	case bool:
		return types.Boolean(v)
	case string:
		return types.String(v)
	case int64, uint64, float64:
		if n, ok := long(v); ok {
			return types.Long(n)
		}
	case []any:
		values := make([]types.Value, len(v))
		for i, e := range v {
			values[i] = loose(e, depth+1)
		}
		return types.NewSet(values...)
	case map[string]any:
		if depth > maxDepth {
			break
		}
		out := make(types.RecordMap, len(v))
		for k, e := range v {
			if e != nil {
				out[types.String(k)] = loose(e, depth+1)
			}
		}
		return types.NewRecord(out)
	}
	return types.True
}

// long is v as an integer, if it is a whole number.
func long(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return clamp(n), true
	case uint64: // only above the int64s
		return maxLong, true
	case float64:
		if math.Trunc(n) == n && !math.IsInf(n, 0) {
			return int64(min(max(n, -maxLong), maxLong)), true
		}
	}
	return 0, false
}

func clamp(n int64) int64 { return min(max(n, -maxLong), maxLong) }

// typeName is a type in the words of the schema.
func typeName(t resolved.IsType) string {
	switch t := t.(type) {
	case resolved.StringType:
		return "String"
	case resolved.LongType:
		return "Long"
	case resolved.BoolType:
		return "Bool"
	case resolved.ExtensionType:
		return string(t)
	case resolved.EntityType:
		return string(t)
	case resolved.SetType:
		return "Set<" + typeName(t.Element) + ">"
	case resolved.RecordType:
		return "a record"
	}
	return "nothing"
}

// kindOf is what a fact is, without what it says: arguments may be secret.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a Bool"
	case int64, uint64:
		return "a Long"
	case float64:
		return "a fraction"
	case string:
		return "a String"
	case []byte:
		return "bytes"
	case []any:
		return "a list"
	case map[string]any:
		return "a record"
	}
	return fmt.Sprintf("%T", v)
}
