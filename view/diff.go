package view

import (
	"reflect"
	"strconv"
)

// Change is one difference between two folds.
type Change struct {
	Path string `json:"path"`
	From any    `json:"from,omitempty"` // absent: it was added
	To   any    `json:"to,omitempty"`   // absent: it was removed
}

// Compare collects the differences between two readable values.
func Compare(found *[]Change, path string, a, b any) {
	oa, isA := a.(object)
	ob, isB := b.(object)
	la, listA := a.([]any)
	lb, listB := b.([]any)
	switch {
	case reflect.DeepEqual(a, b):
	case isA && isB:
		for _, f := range oa {
			Compare(found, join(path, f.name), f.value, ob.get(f.name))
		}
		for _, f := range ob {
			if oa.get(f.name) == nil {
				Compare(found, join(path, f.name), nil, f.value)
			}
		}
	case listA && listB:
		for i := range max(len(la), len(lb)) {
			var x, y any
			if i < len(la) {
				x = la[i]
			}
			if i < len(lb) {
				y = lb[i]
			}
			Compare(found, path+"["+strconv.Itoa(i)+"]", x, y)
		}
	default:
		*found = append(*found, Change{path, a, b})
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
