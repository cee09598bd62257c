package canon

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// goField is a field of a Go struct under the name encoding/json gives it.
type goField struct {
	name      string
	tagged    bool
	index     []int
	omitEmpty bool
	omitZero  bool
	quoted    bool // a bool, a number or a string that is in a string
}

var goFieldsOf sync.Map // of reflect.Type: []goField

// goFields are the fields of a struct that encoding/json knows: by their json tags, those of embedded structs among
// them. Of several with one name the least deep counts, of those the one with a tag, and none if that leaves more.
func goFields(t reflect.Type) []goField {
	if known, ok := goFieldsOf.Load(t); ok {
		return known.([]goField)
	}
	byName := map[string][]goField{}
	var names []string
	for _, f := range allFields(t) {
		if byName[f.name] == nil {
			names = append(names, f.name)
		}
		byName[f.name] = append(byName[f.name], f)
	}
	var fields []goField
	for _, name := range names {
		if f, ok := dominant(byName[name]); ok {
			fields = append(fields, f)
		}
	}
	slices.SortStableFunc(fields, func(a, b goField) int { return slices.Compare(a.index, b.index) })
	goFieldsOf.Store(t, fields)
	return fields
}

// dominant is the field that counts of those with one name.
func dominant(of []goField) (goField, bool) {
	slices.SortStableFunc(of, func(a, b goField) int {
		if c := cmp.Compare(len(a.index), len(b.index)); c != 0 || a.tagged == b.tagged {
			return c
		}
		if a.tagged {
			return -1
		}
		return 1
	})
	if len(of) > 1 && len(of[0].index) == len(of[1].index) && of[0].tagged == of[1].tagged {
		return goField{}, false
	}
	return of[0], true
}

// embedded is a struct whose fields are those of the one it is embedded in.
type embedded struct {
	t     reflect.Type
	index []int
}

// allFields are the fields of a struct and of those embedded in it, level by level. A struct that is embedded in itself
// is looked into once, and one that is embedded twice on one level hides what it has.
func allFields(t reflect.Type) (fields []goField) {
	seen := map[reflect.Type]bool{}
	for level := []embedded{{t: t}}; len(level) > 0; {
		count := map[reflect.Type]int{}
		for _, s := range level {
			count[s.t]++
		}
		var next []embedded
		for _, s := range level {
			if seen[s.t] {
				continue
			}
			seen[s.t] = true
			for i := range s.t.NumField() {
				f, inner := oneField(s, i)
				switch {
				case inner != nil:
					next = append(next, *inner)
					if count[s.t] > 1 {
						next = append(next, *inner) // two of a name: neither counts
					}
				case f != nil:
					fields = append(fields, *f)
					if count[s.t] > 1 {
						fields = append(fields, *f)
					}
				}
			}
		}
		level = next
	}
	return fields
}

// oneField is a field of a struct, or the struct that is embedded there; neither if encoding/json does not see it.
func oneField(s embedded, i int) (*goField, *embedded) {
	f := s.t.Field(i)
	at := f.Type
	if at.Name() == "" && at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	tag := f.Tag.Get("json")
	if tag == "-" || !f.IsExported() && !(f.Anonymous && at.Kind() == reflect.Struct) {
		return nil, nil
	}
	name, options, _ := strings.Cut(tag, ",")
	if !isName(name) {
		name = ""
	}
	index := append(slices.Clone(s.index), i)
	if f.Anonymous && name == "" && at.Kind() == reflect.Struct {
		return nil, &embedded{at, index}
	}
	words := strings.Split(options, ",")
	g := &goField{name: cmp.Or(name, f.Name), tagged: name != "", index: index,
		omitEmpty: slices.Contains(words, "omitempty"), omitZero: slices.Contains(words, "omitzero")}
	g.quoted = slices.Contains(words, "string") && isPlain(at.Kind())
	return g, nil
}

// isName reports whether encoding/json takes a name from a tag.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// isPlain reports whether values of a kind are bools, numbers or strings.
func isPlain(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

// isEmpty is what encoding/json calls empty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isNone is what encoding/json calls zero: as the value itself says, if it does.
func isNone(v reflect.Value) bool {
	type zero interface{ IsZero() bool }
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	if z, ok := v.Interface().(zero); ok && (v.Kind() != reflect.Interface || !v.IsNil()) {
		return z.IsZero()
	}
	if v.CanAddr() {
		if z, ok := v.Addr().Interface().(zero); ok {
			return z.IsZero()
		}
	}
	return v.IsZero()
}

// leaves reports whether a field of this value is left out.
func (f *goField) leaves(x reflect.Value) bool {
	return f.omitEmpty && isEmpty(x) || f.omitZero && isNone(x)
}
