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

// Compare returns the differences between two values of Readable, in the order of their fields.
func Compare(a, b any) []Change {
	var found []Change
	compare(&found, "", a, b)
	return found
}

// compare adds the differences between what is at a path in two values.
func compare(found *[]Change, path string, a, b any) {
	oa, isA := a.(object)
	ob, isB := b.(object)
	la, listA := a.([]any)
	lb, listB := b.([]any)
	switch {
	case reflect.DeepEqual(a, b):
	case isA && isB:
		for _, f := range oa {
			compare(found, join(path, f.name), f.value, ob.get(f.name))
		}
		for _, f := range ob {
			if oa.get(f.name) == nil {
				compare(found, join(path, f.name), nil, f.value)
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
			compare(found, path+"["+strconv.Itoa(i)+"]", x, y)
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
