package canon

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Named is what an unsigned integer type implements to be an enum: the index of a name is its number on the wire, and
// an empty name is a number not in use.
type Named interface {
	CanonNames() []string
}

var (
	namedType    = reflect.TypeFor[Named]()
	dataGoType   = reflect.TypeFor[Data]()
	reservedType = reflect.TypeFor[Reserved]()
)

// compiler derives Types from Go types. The same Go type gives the same Type, so recursion ends.
type compiler struct {
	done map[compiled]*Type
}

type compiled struct {
	goType   reflect.Type
	verbatim bool
}

func compile[T any](name string) *Type {
	rt := reflect.TypeFor[T]()
	if rt.Kind() != reflect.Struct {
		panic(fmt.Sprintf("canon: %s is described by %v, not by a struct", name, rt))
	}
	c := compiler{done: map[compiled]*Type{}}
	t := c.of(rt, false, name)
	t.Schema.Name = name
	if err := t.Valid(); err != nil {
		panic(fmt.Sprintf("canon: %s: %v", name, err))
	}
	return t
}

// of returns the Type of a Go type met at path.
func (c *compiler) of(rt reflect.Type, verbatim bool, path string) *Type {
	key := compiled{rt, verbatim}
	if t := c.done[key]; t != nil {
		return t
	}
	t := &Type{goType: rt, size: rt.Size()}
	c.done[key] = t
	if verbatim && !holdsText(rt) {
		panic(fmt.Sprintf("canon: %s is verbatim but holds no string", path))
	}
	switch {
	case rt == dataGoType:
		t.Kind = DataKind
	case rt.Implements(namedType) && rt.Kind() >= reflect.Uint && rt.Kind() <= reflect.Uint64:
		c.enum(t, path)
	case rt.Kind() == reflect.Bool:
		t.Kind = Bool
	case rt.Kind() == reflect.Int64 || rt.Kind() == reflect.Int:
		t.Kind = Int
	case rt.Kind() == reflect.Uint64:
		t.Kind = Uint
	case rt.Kind() == reflect.Float64:
		t.Kind = Float
	case rt.Kind() == reflect.String:
		t.Kind = Text
		if verbatim {
			t.Kind = Verbatim
		}
	case isByte(rt, reflect.Slice):
		t.Kind = Bytes
	case isByte(rt, reflect.Array) && rt.Len() > 0:
		t.Kind, t.Len = Bytes, rt.Len()
	case rt.Kind() == reflect.Slice:
		t.Kind, t.Elem = List, c.of(rt.Elem(), verbatim, path+"[]")
	case rt.Kind() == reflect.Map && rt.Key().Kind() == reflect.String:
		t.Kind, t.Elem = Map, c.of(rt.Elem(), verbatim, path+"[]")
	case rt.Kind() == reflect.Struct:
		c.record(t, path)
	case rt.Kind() == reflect.Interface:
		c.union(t, path)
	default:
		panic(fmt.Sprintf("canon: %s has type %v, which has no canonical form", path, rt))
	}
	return t
}

// isByte reports whether rt is a slice or array of plain bytes.
func isByte(rt reflect.Type, kind reflect.Kind) bool {
	return rt.Kind() == kind && rt.Elem().Kind() == reflect.Uint8 && !rt.Elem().Implements(namedType)
}

// holdsText reports whether verbatim means something for rt.
func holdsText(rt reflect.Type) bool {
	switch rt.Kind() {
	case reflect.String:
		return true
	case reflect.Slice, reflect.Map:
		return holdsText(rt.Elem())
	}
	return false
}

func (c *compiler) enum(t *Type, path string) {
	t.Kind = Enum
	names := reflect.Zero(t.goType).Interface().(Named).CanonNames()
	for n, name := range names {
		if name == "" {
			continue
		}
		if reflect.Zero(t.goType).OverflowUint(uint64(n)) {
			panic(fmt.Sprintf("canon: %s: %v cannot hold %d", path, t.goType, n))
		}
		t.Names = append(t.Names, Name{uint64(n), name})
	}
}

func (c *compiler) union(t *Type, path string) {
	unions.Lock()
	u := unions.of[t.goType]
	unions.Unlock()
	if u == nil {
		panic(fmt.Sprintf("canon: %s has type %v: call RegisterUnion for it first", path, t.goType))
	}
	t.Kind, t.union = Union, u
	t.Schema = &Schema{Name: u.name}
	for _, uc := range u.cases {
		f := Field{ID: uc.id, Name: uc.name, Type: c.of(uc.goType, false, path+"."+uc.name)}
		t.Schema.Fields = append(t.Schema.Fields, f)
	}
}

func (c *compiler) record(t *Type, path string) {
	t.Kind = Record
	t.Schema = &Schema{Name: typeName(t.goType)}
	for i := range t.goType.NumField() {
		gf := t.goType.Field(i)
		tag, tagged := gf.Tag.Lookup("canon")
		if tag == "-" || !tagged && !gf.IsExported() {
			continue
		}
		at := path + "." + gf.Name
		if !tagged || !gf.IsExported() {
			panic(fmt.Sprintf(`canon: %s: give exported fields, and only those, a tag canon:"id,name", or canon:"-"`,
				at))
		}
		if tag == ",reserved" {
			if gf.Type != reservedType || t.Schema.keeps {
				panic(fmt.Sprintf("canon: %s: a struct keeps reserved fields in one field of type canon.Reserved", at))
			}
			t.Schema.keeps, t.Schema.reserved = true, gf.Offset
			continue
		}
		t.Schema.Fields = append(t.Schema.Fields, c.field(gf, tag, at))
	}
	slices.SortFunc(t.Schema.Fields, func(a, b Field) int { return int(a.ID) - int(b.ID) })
}

func (c *compiler) field(gf reflect.StructField, tag, at string) Field {
	parts := strings.Split(tag, ",")
	id, err := strconv.ParseUint(parts[0], 10, 16)
	if err != nil || len(parts) < 2 {
		panic(fmt.Sprintf(`canon: %s: tag %q is not "id,name"`, at, tag))
	}
	f := Field{ID: uint16(id), Name: parts[1], offset: gf.Offset}
	verbatim := false
	for _, option := range parts[2:] {
		switch {
		case option == "optional" && f.Presence == Required:
			f.Presence = Optional
		case option == "omitzero" && f.Presence == Required:
			f.Presence = OmitZero
		case option == "verbatim":
			verbatim = true
		default:
			panic(fmt.Sprintf("canon: %s: option %q is unknown or contradicts another", at, option))
		}
	}
	rt := gf.Type
	switch rt.Kind() {
	case reflect.Pointer:
		if f.Presence != Optional {
			panic(fmt.Sprintf("canon: %s: a pointer is for an optional field", at))
		}
		rt = rt.Elem()
		f.goElem = rt
	case reflect.Slice, reflect.Map, reflect.Interface:
	default:
		if f.Presence == Optional {
			panic(fmt.Sprintf("canon: %s: an optional %v cannot be told from its zero; use a pointer or omitzero", at,
				rt))
		}
	}
	f.Type = c.of(rt, verbatim, at)
	return f
}

// typeName is the schema name of a Go type: its own, with a lower-case first letter.
func typeName(rt reflect.Type) string {
	name := []rune(rt.Name())
	if len(name) > 0 {
		name[0] = unicode.ToLower(name[0])
	}
	return string(name)
}
