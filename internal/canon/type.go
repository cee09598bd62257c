package canon

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// Kind says which values a Type holds. The numbers are part of the described form. Do NOT reorder.
type Kind uint8

const (
	Bool     Kind = 1 + iota
	Int           // integer from -(2^53-1) to 2^53-1
	Uint          // integer from 0 to 2^64-1
	Float         // 64-bit float; -0, the infinities and one NaN are values
	Bytes         // byte string, of exactly Len bytes if Len > 0
	Text          // NFC text
	Verbatim      // any valid UTF-8
	List          // list of Elem
	Map           // map from Text to Elem
	Record        // fields of Schema, keyed by id
	Union         // exactly one field of Schema
	Enum          // one of Names
	Any           // schema-less value, text in NFC
	DataKind      // schema-less value, text and keys verbatim
)

var kindNames = [...]string{"", "bool", "int", "uint", "float", "bytes", "text", "verbatim", "list", "map", "record",
	"union", "enum", "any", "data"}

// String returns the name of the kind as written in the described form.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k != 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Presence says what it means for a field to be absent.
type Presence uint8

const (
	Required Presence = iota // must be present
	Optional                 // absent and present-but-empty are two values
	OmitZero                 // absent is the zero value; a present zero is refused
)

// Field ids up to MaxCritical must be known to the reader. Those above, up to MaxReserved, may be unknown: they are
// checked, kept and passed on. Nothing lies above MaxReserved.
const (
	MaxCritical = 63
	MaxReserved = 127
)

// Type describes a set of values. A Type is immutable once used and may be recursive.
type Type struct {
	Kind   Kind
	Elem   *Type   // List, Map
	Schema *Schema // Record, Union
	Names  []Name  // Enum, ascending by Number
	Len    int     // Bytes: exact length if > 0

	goType reflect.Type // the Go type a codec reads and writes; nil for a Type made by hand
	size   uintptr      // of goType
	union  *union       // Union: the registered Go cases
}

// Name is one value of an enum: its number on the wire and its name in the other forms.
type Name struct {
	Number uint64
	Name   string
}

// Schema is the fields of a record, or the cases of a union, in ascending order of id.
type Schema struct {
	Name   string
	Fields []Field

	reserved uintptr // offset of the Reserved field in the Go struct
	keeps    bool    // the Go struct has a Reserved field
}

// Field is one field of a record or one case of a union.
type Field struct {
	ID       uint16
	Name     string
	Type     *Type
	Presence Presence

	offset uintptr      // in the Go struct
	goElem reflect.Type // the Go field is a pointer to this
}

// The schema-less types.
var (
	AnyType  = &Type{Kind: Any}
	DataType = &Type{Kind: DataKind}
)

// field returns the field named name, or nil.
func (s *Schema) field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// byID returns the field with the given id, or nil.
func (s *Schema) byID(id uint64) *Field {
	for i := range s.Fields {
		if uint64(s.Fields[i].ID) == id {
			return &s.Fields[i]
		}
	}
	return nil
}

// nameOf returns the name of an enum number.
func (t *Type) nameOf(n uint64) (string, bool) {
	if len(t.Names) == 0 {
		return "", false
	}
	if i := n - t.Names[0].Number; i < uint64(len(t.Names)) && t.Names[i].Number == n {
		return t.Names[i].Name, true
	}
	i, ok := slices.BinarySearchFunc(t.Names, n, func(x Name, n uint64) int { return cmp.Compare(x.Number, n) })
	if !ok {
		return "", false
	}
	return t.Names[i].Name, true
}

// Valid reports whether t is a well-formed description: every kind has what it needs and nothing else, ids ascend and
// stay within MaxReserved, names are NFC, unique and do not start with "$", and no record holds itself in a field that
// must be present.
func (t *Type) Valid() error {
	v := typeCheck{seen: map[*Type]bool{}, closed: map[*Type]bool{}}
	return v.walk(t)
}

type typeCheck struct {
	seen   map[*Type]bool // walked
	closed map[*Type]bool // false while the required fields of a record are followed, true when they were found to end
	path   []string       // to what is walked; a name of nothing is a list or map
}

// maxTypePath is how many steps of a path an error names.
const maxTypePath = 16

// at is the path to what is walked. It is put together for an error only: a stranger's description may nest as many
// records as it has bytes.
func (v *typeCheck) at() string {
	path, from := v.path, "$"
	if n := len(path) - maxTypePath; n > 0 {
		path, from = path[n:], "…"
	}
	for _, name := range path {
		if name == "" {
			from += "[]"
		} else {
			from += "." + name
		}
	}
	return from
}

// below walks a type one step further.
func (v *typeCheck) below(t *Type, name string) error {
	v.path = append(v.path, name)
	err := v.walk(t)
	v.path = v.path[:len(v.path)-1]
	return err
}

func (v *typeCheck) walk(t *Type) error {
	if t == nil {
		return fmt.Errorf("type at %s is missing", v.at())
	}
	if v.seen[t] {
		return nil
	}
	v.seen[t] = true
	if (t.Elem != nil) != (t.Kind == List || t.Kind == Map) {
		return fmt.Errorf("%s at %s: an element type belongs to lists and maps, and they need one", t.Kind, v.at())
	}
	if (t.Schema != nil) != (t.Kind == Record || t.Kind == Union) {
		return fmt.Errorf("%s at %s: a schema belongs to records and unions, and they need one", t.Kind, v.at())
	}
	if (len(t.Names) > 0) != (t.Kind == Enum) {
		return fmt.Errorf("%s at %s: names belong to enums, and they need some", t.Kind, v.at())
	}
	if t.Len < 0 || t.Len > 0 && t.Kind != Bytes {
		return fmt.Errorf("%s at %s: a length belongs to bytes and is not negative", t.Kind, v.at())
	}
	switch t.Kind {
	case Bool, Int, Uint, Float, Bytes, Text, Verbatim, Any, DataKind:
		return nil
	case List, Map:
		return v.below(t.Elem, "")
	case Enum:
		return v.names(t)
	case Record, Union:
		return v.fields(t)
	}
	return fmt.Errorf("unknown %s at %s", t.Kind, v.at())
}

func (v *typeCheck) names(t *Type) error {
	seen := map[string]bool{}
	for i, n := range t.Names {
		if i > 0 && n.Number <= t.Names[i-1].Number {
			return fmt.Errorf("enum at %s: number %d is not above the one before it", v.at(), n.Number)
		}
		if err := goodName(n.Name, seen); err != nil {
			return fmt.Errorf("enum at %s: %w", v.at(), err)
		}
	}
	return nil
}

func (v *typeCheck) fields(t *Type) error {
	seen := map[string]bool{}
	for i := range t.Schema.Fields {
		f := &t.Schema.Fields[i]
		if i > 0 && f.ID <= t.Schema.Fields[i-1].ID {
			return fmt.Errorf("%s at %s: id %d is not above the one before it", t.Kind, v.at(), f.ID)
		}
		if f.ID > MaxReserved {
			return fmt.Errorf("%s at %s: id %d is above %d", t.Kind, v.at(), f.ID, MaxReserved)
		}
		if err := goodName(f.Name, seen); err != nil {
			return fmt.Errorf("%s at %s: %w", t.Kind, v.at(), err)
		}
		if f.Presence > OmitZero || t.Kind == Union && f.Presence != Required {
			return fmt.Errorf("%s at %s: field %q has a presence it cannot have", t.Kind, v.at(), f.Name)
		}
		if err := v.below(f.Type, f.Name); err != nil {
			return err
		}
	}
	if v.endless(t) {
		return fmt.Errorf("%s at %s holds itself in a required field: no value can end", t.Kind, v.at())
	}
	return nil
}

// endless reports whether a value of t would have to contain itself.
func (v *typeCheck) endless(t *Type) bool {
	if t == nil || t.Kind != Record {
		return false
	}
	if ends, met := v.closed[t]; met {
		return !ends
	}
	v.closed[t] = false
	for i := range t.Schema.Fields {
		if f := &t.Schema.Fields[i]; f.Presence == Required && v.endless(f.Type) {
			return true
		}
	}
	v.closed[t] = true
	return false
}

func goodName(name string, seen map[string]bool) error {
	switch {
	case name == "":
		return fmt.Errorf("a name is empty")
	case name[0] == '$':
		return fmt.Errorf("name %q starts with $, which marks fields without a name", name)
	case seen[name]:
		return fmt.Errorf("name %q is used twice", name)
	}
	if _, pred := textFault(name); pred != "" {
		return fmt.Errorf("name %q breaks %s", name, pred)
	}
	seen[name] = true
	return nil
}
