package canon

import (
	"fmt"
	"slices"
	"strings"
)

// WireName is a wire number that has names: CanonNames()[n] is that of n, and "" means that n is not in use. Zero
// without a name is no value at all, which is the empty text.
type WireName interface {
	~uint8
	CanonNames() []string
}

// NameOf is the text of a wire number, or "unknown" when it has none.
func NameOf[T WireName](v T) string {
	if names := v.CanonNames(); int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return "unknown"
}

// MarshalName is the text of a wire number, which JSON shows. It refuses one that has no name.
func MarshalName[T WireName](v T, what string) ([]byte, error) {
	names := v.CanonNames()
	if int(v) < len(names) && (v == 0 || names[v] != "") {
		return []byte(names[v]), nil
	}
	return nil, fmt.Errorf("%s %d has no name", what, v)
}

// UnmarshalName reads what MarshalName writes, and leaves v alone if it refuses it.
func UnmarshalName[T WireName](v *T, what string, b []byte) error {
	names := (*v).CanonNames()
	i := slices.Index(names, string(b))
	if i < 0 {
		return UnknownName(what, string(b), names)
	}
	*v = T(i)
	return nil
}

// UnknownName says which names there are.
func UnknownName(what, got string, names []string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	return fmt.Errorf("%s %.40q: want one of %s", what, got, strings.Join(names, ", "))
}
