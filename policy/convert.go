package policy

import (
	"fmt"
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
	fields []field // of a record, in the order of canonical bytes
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
		for name, a := range t {
			s.fields = append(s.fields, field{name: name, optional: a.Optional, shape: shapeOf(a.Type)})
		}
		slices.SortFunc(s.fields, func(a, b field) int { return compareNames(string(a.name), string(b.name)) })
	case resolved.StringType, resolved.LongType, resolved.BoolType, resolved.ExtensionType, resolved.EntityType:
	}
	return s
}

// convert is a fact as a value of its type in the schema. What is missing, unknown or of another type is an error:
// Cedar itself would skip a rule that stumbles over it. Integers are clamped. Unless it is read, the fact is only
// checked.
func (s *shape) convert(v *value, reads *reading) (types.Value, error) {
	build := reads != nil
	switch t := s.typ.(type) {
	case resolved.StringType:
		if v.kind == isText {
			return built(types.String(v.text), build)
		}
	case resolved.BoolType:
		if v.kind == isBool {
			return types.Boolean(v.num != 0), nil
		}
	case resolved.LongType:
		if v.kind == isLong {
			return built(types.Long(clamp(v.num)), build)
		}
		if n, ok := long(v.plain()); ok && v.kind == isOther {
			return types.Long(n), nil
		}
	case resolved.ExtensionType:
		if v.kind == isLong && t == "datetime" {
			return built(types.NewDatetimeFromMillis(clamp(v.num)), build)
		}
	case resolved.EntityType:
		return convertEntity(cedar.EntityType(t), v, build)
	case resolved.SetType:
		if v.kind == isList {
			return s.convertSet(v, reads)
		}
	case resolved.RecordType:
		if v.kind == isRecord && !s.open {
			return s.convertRecord(v, reads)
		}
		if s.open && (v.kind == isRecord || v.kind == isOther && v.text != "" && v.text[0]>>5 == 5) { // a map, in CBOR
			return types.Record{}, nil
		}
	}
	return nil, fmt.Errorf("want %s, got %s", typeName(s.typ), kindOf(v.plain()))
}

// built is v if it is wanted: putting it into an interface costs an allocation.
func built[T types.Value](v T, build bool) (types.Value, error) {
	if !build {
		return nil, nil
	}
	return v, nil
}

func convertEntity(t cedar.EntityType, v *value, build bool) (types.Value, error) {
	uid := cedar.NewEntityUID(t, types.String(v.text))
	if enum, isEnum := schemaOf().Enums[t]; v.kind != isText || (isEnum && !slices.Contains(enum.Values, uid)) {
		return nil, fmt.Errorf("want the name of a %s, got %s", t, kindOf(v.plain()))
	}
	return built(uid, build)
}

func (s *shape) convertSet(v *value, reads *reading) (types.Value, error) {
	var values []types.Value
	for i := range v.rec {
		c, err := s.elem.convert(&v.rec[i].value, reads)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		values = append(values, c)
	}
	if reads == nil {
		return nil, nil
	}
	return types.NewSet(values...), nil
}

func (s *shape) convertRecord(v *value, reads *reading) (types.Value, error) {
	if reads == nil {
		return nil, s.fill(nil, v.rec, nil)
	}
	out := make(types.RecordMap, len(v.rec))
	if err := s.fill(out, v.rec, reads); err != nil {
		return nil, err
	}
	return types.NewRecord(out), nil
}

// fill puts the attributes of a record that are read into out, and checks all.
func (s *shape) fill(out types.RecordMap, rec []named, reads *reading) error {
	for i := range s.fields {
		f := &s.fields[i]
		if len(rec) == 0 || rec[0].name != string(f.name) {
			if len(rec) > 0 && compareNames(rec[0].name, string(f.name)) < 0 {
				return fmt.Errorf("%s: no such fact", rec[0].name)
			}
			if !f.optional {
				return fmt.Errorf("%s is missing", f.name)
			}
			continue
		}
		read := reads.of(i)
		c, err := f.convert(&rec[0].value, read)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if read != nil {
			out[f.name] = c
		}
		rec = rec[1:]
	}
	if len(rec) > 0 {
		return fmt.Errorf("%s: no such fact", rec[0].name)
	}
	return nil
}

// loose is an argument as a value of whatever type it has. What Cedar has no type for is merely there; no rule that
// reads it gets that far.
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
			if values[i] = loose(e, depth+1); !plainAlike(values[0], values[i]) {
				return types.True
			}
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

// plainAlike reports whether two values of a list are both texts, numbers or truths. No rule gets as far as a list of
// others, and those may all have one hash: to make a set of them, Cedar compares each with all.
func plainAlike(a, b types.Value) bool {
	switch a.(type) {
	case types.String:
		_, ok := b.(types.String)
		return ok
	case types.Long:
		_, ok := b.(types.Long)
		return ok
	case types.Boolean:
		_, ok := b.(types.Boolean)
		return ok
	}
	return false
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
