package condition

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// adapter turns Go values into CEL values. It knows a closed set of types, shows times in UTC whatever zone they carry,
// and gives maps an order, so that a value looks the same on every node.
type adapter struct{}

var _ types.Adapter = adapter{}

// NativeToValue returns an error value for a type outside the set.
func (a adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case ref.Val:
		return v
	case nil:
		return types.NullValue
	case time.Time:
		return types.Timestamp{Time: v.UTC()}
	case time.Duration:
		return types.Duration{Duration: v}
	case []byte:
		return types.Bytes(v)
	case map[string]any:
		return orderedMap{types.NewStringInterfaceMap(a, v)}
	case []any:
		return types.NewDynamicList(a, v)
	}
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Bool:
		return types.Bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return types.Int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return types.Uint(v.Uint())
	case reflect.Float32, reflect.Float64:
		return types.Double(v.Float())
	case reflect.String:
		return types.String(v.String())
	case reflect.Slice:
		return types.NewDynamicList(a, value)
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			return orderedMap{types.NewDynamicMap(a, value)}
		}
	}
	return types.NewErr("holds a Go %T, which conditions cannot read", value)
}

// orderedMap is a map that is walked in the order of its keys. Go walks maps in random order, and so would a condition:
// m.map(k, k)[0] would be another key on every node.
type orderedMap struct{ traits.Mapper }

// Iterator walks the keys: first by type, then by value.
func (m orderedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, func(a, b ref.Val) int {
		if byType := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); byType != 0 {
			return byType
		}
		if c, ok := a.(traits.Comparer); ok {
			if order, ok := c.Compare(b).(types.Int); ok {
				return int(order)
			}
		}
		return 0
	})
	return types.NewRefValList(adapter{}, keys).Iterator()
}

// orderLiterals makes map literals ordered maps: the library builds them without asking the adapter.
func orderLiterals(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	if c, ok := i.(interpreter.InterpretableConstructor); ok && c.Type() == types.MapType {
		return orderedLiteral{c}, nil
	}
	return i, nil
}

type orderedLiteral struct {
	interpreter.InterpretableConstructor
}

func (l orderedLiteral) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return ordered(l.InterpretableConstructor.Exec(frame))
}

func (l orderedLiteral) Eval(vars interpreter.Activation) ref.Val {
	return ordered(l.InterpretableConstructor.Eval(vars))
}

func ordered(v ref.Val) ref.Val {
	if m, ok := v.(traits.Mapper); ok {
		return orderedMap{m}
	}
	return v // an error or an unknown
}
