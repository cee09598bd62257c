package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
)

// convert is a fact as a value of its type in the schema. What is missing, unknown or of another type is an error: Cedar itself would skip a
// rule that stumbles over it. Integers are clamped.
func convert(t resolved.IsType, v any) (types.Value, error) {
	switch t := t.(type) {
	case resolved.StringType:
		if s, ok := v.(string); ok {
			return types.String(s), nil
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
		return convertSet(t, v)
	case resolved.RecordType:
		return convertRecord(t, v)
	}
	return nil, fmt.Errorf("want %s, got %s", typeName(t), kindOf(v))
}

func convertEntity(t cedar.EntityType, v any) (types.Value, error) {
	id, ok := v.(string)
	uid := cedar.NewEntityUID(t, types.String(id))
	if enum, isEnum := schemaOf().Enums[t]; !ok || (isEnum && !slices.Contains(enum.Values, uid)) {
		return nil, fmt.Errorf("want the name of a %s, got %s", t, kindOf(v))
	}
	return uid, nil
}

func convertSet(t resolved.SetType, v any) (types.Value, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("want %s, got %s", typeName(t), kindOf(v))
	}
	values := make([]types.Value, len(list))
	for i, e := range list {
		var err error
		if values[i], err = convert(t.Element, e); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return types.NewSet(values...), nil
}

func convertRecord(t resolved.RecordType, v any) (types.Value, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a record, got %s", kindOf(v))
	}
	out := make(types.RecordMap, len(t))
	seen := 0
	var wrong []string // the least of them is reported, so that the same facts give the same reason
	for name, attr := range t {
		e, present := m[string(name)]
		if !present && attr.Optional {
			continue
		}
		if !present {
			wrong = append(wrong, string(name)+" is missing")
			continue
		}
		seen++
		c, err := convert(attr.Type, e)
		if err != nil {
			wrong = append(wrong, string(name)+": "+err.Error())
			continue
		}
		out[name] = c
	}
	if seen < len(m) {
		for name := range m {
			if _, known := t[types.String(name)]; !known {
				wrong = append(wrong, name+": no such fact")
			}
		}
	}
	if len(wrong) > 0 {
		return nil, errors.New(slices.Min(wrong))
	}
	return types.NewRecord(out), nil
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
