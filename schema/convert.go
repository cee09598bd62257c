package schema

import (
	"strconv"

	"github.com/perdure/perdure/internal/canon"
)

// conversion turns a value of one type into one of another. do reports false for a value the other type cannot hold;
// that never happens if total.
type conversion struct {
	total bool
	do    func(w *work, v any, path string) (any, bool, *canon.Rejection)
}

// conversion returns how values go from one type to another, or one without do if they cannot.
func (d *direction) conversion(from, to *canon.Type) conversion {
	if sameType(from, to) {
		return conversion{true, func(w *work, v any, path string) (any, bool, *canon.Rejection) {
			x, r := d.value(w, from, to, v, path)
			return x, true, r
		}}
	}
	if to.Kind == canon.List && sameType(from, to.Elem) {
		return conversion{true, func(w *work, v any, path string) (any, bool, *canon.Rejection) {
			x, r := d.value(w, from, to.Elem, v, path)
			return []any{x}, true, r
		}}
	}
	if from.Kind == canon.List && sameType(from.Elem, to) {
		return conversion{false, func(w *work, v any, path string) (any, bool, *canon.Rejection) {
			list := v.([]any)
			if len(list) != 1 {
				return nil, false, nil
			}
			x, r := d.value(w, from.Elem, to, list[0], path)
			return x, true, r
		}}
	}
	total, do := scalar(from, to)
	if do == nil {
		return conversion{}
	}
	return conversion{total, func(_ *work, v any, _ string) (any, bool, *canon.Rejection) {
		x, ok := do(v)
		return x, ok, nil
	}}
}

// sameType reports whether two types, of two versions of one schema, are written the same.
func sameType(a, b *canon.Type) bool {
	if a.Kind != b.Kind || a.Len != b.Len {
		return false
	}
	switch a.Kind {
	case canon.List, canon.Map:
		return sameType(a.Elem, b.Elem)
	case canon.Record:
		return a.Schema.Name == b.Schema.Name
	case canon.Enum:
		for i, n := range a.Names {
			if i >= len(b.Names) || b.Names[i] != n {
				return false
			}
		}
		return len(a.Names) == len(b.Names)
	}
	return true
}

// scalar returns the conversion between two types without parts, and whether it never fails.
func scalar(from, to *canon.Type) (bool, func(any) (any, bool)) {
	switch [2]canon.Kind{from.Kind, to.Kind} {
	case [2]canon.Kind{canon.Int, canon.Float}:
		return true, func(v any) (any, bool) { return float64(v.(int64)), true }
	case [2]canon.Kind{canon.Float, canon.Int}:
		return false, func(v any) (any, bool) {
			f := v.(float64)
			return int64(f), f >= -maxSafe && f <= maxSafe && f == float64(int64(f))
		}
	case [2]canon.Kind{canon.Int, canon.Uint}:
		return false, func(v any) (any, bool) { return uint64(v.(int64)), v.(int64) >= 0 }
	case [2]canon.Kind{canon.Uint, canon.Int}:
		return false, func(v any) (any, bool) { return int64(v.(uint64)), v.(uint64) <= maxSafe }
	case [2]canon.Kind{canon.Verbatim, canon.Text}:
		return false, func(v any) (any, bool) {
			return v, canon.Check(to, canon.AppendText(nil, v.(string)), canon.Limits{}) == nil
		}
	case [2]canon.Kind{canon.Enum, canon.Enum}:
		return false, func(v any) (any, bool) { return number(to, from.Names[v.(uint64)].Name) }
	case [2]canon.Kind{canon.Bytes, canon.Bytes}:
		return to.Len == 0, func(v any) (any, bool) { return v, to.Len == 0 || len(v.([]byte)) == to.Len }
	}
	switch {
	case to.Kind == canon.Text || to.Kind == canon.Verbatim:
		return toText(from)
	case from.Kind == canon.Text || from.Kind == canon.Verbatim:
		return false, fromText(to)
	}
	return false, nil
}

func toText(from *canon.Type) (bool, func(any) (any, bool)) {
	switch from.Kind {
	case canon.Text:
		return true, func(v any) (any, bool) { return v, true }
	case canon.Bool:
		return true, func(v any) (any, bool) { return strconv.FormatBool(v.(bool)), true }
	case canon.Int:
		return true, func(v any) (any, bool) { return strconv.FormatInt(v.(int64), 10), true }
	case canon.Uint:
		return true, func(v any) (any, bool) { return strconv.FormatUint(v.(uint64), 10), true }
	case canon.Enum:
		return true, func(v any) (any, bool) { return from.Names[v.(uint64)].Name, true }
	}
	return false, nil
}

// fromText is the inverse of toText: only what that writes is read.
func fromText(to *canon.Type) func(any) (any, bool) {
	switch to.Kind {
	case canon.Bool:
		return func(v any) (any, bool) { return v == "true", v == "true" || v == "false" }
	case canon.Int:
		return func(v any) (any, bool) {
			i, err := strconv.ParseInt(v.(string), 10, 64)
			return i, err == nil && i <= maxSafe && i >= -maxSafe && strconv.FormatInt(i, 10) == v
		}
	case canon.Uint:
		return func(v any) (any, bool) {
			u, err := strconv.ParseUint(v.(string), 10, 64)
			return u, err == nil && strconv.FormatUint(u, 10) == v
		}
	case canon.Enum:
		return func(v any) (any, bool) { return number(to, v.(string)) }
	}
	return nil
}

// number returns the number of an enum's name.
func number(t *canon.Type, name string) (any, bool) {
	for _, n := range t.Names {
		if n.Name == name {
			return n.Number, true
		}
	}
	return nil, false
}
