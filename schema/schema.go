package schema

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/canon"
)

// Hash is a SHA-256 digest: the id of a schema or the fingerprint of a file. It converts to and from perdure.Hash.
type Hash [32]byte

// String is 64 hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes 64 hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 hex digits.
func (h *Hash) UnmarshalText(b []byte) error {
	v, err := ParseHash(string(b))
	if err == nil {
		*h = v
	}
	return err
}

// Schema is one version of a schema, with all versions before it. It is immutable and safe for concurrent use.
type Schema struct {
	doc       *document
	lib       Library
	canonical []byte
	id        Hash
	typ       *canon.Type
	views     map[string]*view      // by name of the record type; "" is the schema's own
	byType    map[*canon.Type]*view // the same
	asserted  bool                  // there are predicates to evaluate
	past      []*Schema             // versions 1 to this one, itself included
	steps     []*step               // steps[i] moves values between versions i+1 and i+2
}

// view is a record as it is in one version.
type view struct {
	in         string // the name of its type, "" for the schema's own record
	typ        *canon.Type
	fields     []viewField // by id
	byName     map[string]*viewField
	invariants []assertion
}

type viewField struct {
	field
	typ        *canon.Type
	assertions []assertion
}

// Name is the name of the schema, the same for all its versions.
func (s *Schema) Name() string { return s.doc.Name }

// Version counts from 1.
func (s *Schema) Version() int { return int(s.doc.Version) }

// ID is the hash of Canonical. Order and space in the file do not change it, nor do versions that come later.
func (s *Schema) ID() Hash { return s.id }

// Canonical is the binary form of the schema: what FromCanonical reads, and what files embed. It must not be changed.
func (s *Schema) Canonical() []byte { return s.canonical }

// Type describes the values of the schema.
func (s *Schema) Type() *canon.Type { return s.typ }

// JSON returns the schema as a schema file, without descriptions. Parse of it gives the same schema.
func (s *Schema) JSON() []byte {
	d := struct {
		Schema string `json:"schema"`
		*document
	}{"lode", s.doc}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		panic(err) // a document is strings, numbers and checked data
	}
	return b.Bytes()
}

// At returns an earlier version of the schema, or the schema itself.
func (s *Schema) At(version int) (*Schema, error) {
	if version < 1 || version > len(s.past) {
		return nil, refuse(predKnown, "$.version", fmt.Sprintf("version %d of %s", version, s.Name()),
			fmt.Sprintf("a version from 1 to %d", len(s.past)))
	}
	return s.past[version-1], nil
}

// FromCanonical reads the binary form of a schema: Canonical of what it returns is b.
func FromCanonical(b []byte, lib Library) (*Schema, error) {
	d, err := readDocument(b)
	if err != nil {
		return nil, err
	}
	s, err := compile(d, lib)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(s.canonical, b) {
		return nil, refuse(predCanonical, "$.types", "types that no field needs", "none")
	}
	return s, nil
}

// compile checks a document and builds each of its versions and the steps between them.
func compile(d *document, lib Library) (*Schema, error) {
	if r := d.validate(); r != nil {
		return nil, r
	}
	var past []*Schema
	for v := int64(1); v <= d.Version; v++ {
		s, err := compileVersion(d.at(v), lib)
		if err != nil {
			return nil, err
		}
		past = append(past, s)
	}
	var steps []*step
	for i := 1; i < len(past); i++ {
		st, r := newStep(past[i-1], past[i])
		if r != nil {
			return nil, r
		}
		steps = append(steps, st)
	}
	for i, s := range past {
		s.past, s.steps = past[:i+1:i+1], steps[:i:i]
	}
	return past[len(past)-1], nil
}

// compileVersion builds the types and predicates of the version that d is of.
func compileVersion(d *document, lib Library) (*Schema, error) {
	b, err := d.canonical()
	if err != nil {
		return nil, err
	}
	if len(b) > maxSource {
		return nil, refuse(predLimit, "$", "a longer schema", "at most 1 MiB")
	}
	s := &Schema{doc: d, lib: lib, canonical: b, id: sha256.Sum256(b), views: map[string]*view{},
		byType: map[*canon.Type]*view{}}
	types := map[string]*canon.Type{"": {Kind: canon.Record, Schema: &canon.Schema{Name: d.Name}}}
	for _, t := range d.Types {
		if t.Enum == nil {
			types[t.Name] = &canon.Type{Kind: canon.Record, Schema: &canon.Schema{Name: t.Name}}
			continue
		}
		e := &canon.Type{Kind: canon.Enum}
		for n, name := range t.Enum {
			e.Names = append(e.Names, canon.Name{Number: uint64(n), Name: name})
		}
		types[t.Name] = e
	}
	s.typ = types[""]
	s.addView("", d.Fields, types)
	for _, t := range d.Types {
		if t.Enum == nil {
			s.addView(t.Name, t.Fields, types)
		}
	}
	if r := s.endless(); r != nil {
		return nil, r
	}
	if err := s.typ.Valid(); err != nil {
		return nil, refuse(predType, "$", err.Error(), "a type that values can have")
	}
	if r := s.addAssertions(); r != nil {
		return nil, r
	}
	return s, nil
}

func (s *Schema) addView(name string, fields []field, types map[string]*canon.Type) {
	v := &view{in: name, typ: types[name], byName: map[string]*viewField{}}
	for _, f := range fields {
		if lives(f.Since, f.Until, s.doc.Version) {
			v.fields = append(v.fields, viewField{field: f, typ: typeOf(f.Type, types)})
		}
	}
	slices.SortFunc(v.fields, func(a, b viewField) int { return cmp.Compare(a.ID, b.ID) })
	for i := range v.fields {
		f := &v.fields[i]
		v.byName[f.Name] = f
		presence := canon.Optional
		if f.Required {
			presence = canon.Required
		}
		v.typ.Schema.Fields = append(v.typ.Schema.Fields, canon.Field{ID: uint16(f.ID), Name: f.Name, Type: f.typ,
			Presence: presence})
	}
	s.views[name], s.byType[v.typ] = v, v
}

// typeOf builds the type a checked expression describes.
func typeOf(src string, types map[string]*canon.Type) *canon.Type {
	e, _ := parseType(src, 0)
	var build func(e *expr) *canon.Type
	build = func(e *expr) *canon.Type {
		switch {
		case e.name != "":
			return types[e.name]
		case e.elem != nil:
			return &canon.Type{Kind: e.kind, Elem: build(e.elem)}
		}
		return &canon.Type{Kind: e.kind, Len: e.size}
	}
	return build(e)
}

// endless refuses a record that holds itself in required fields.
func (s *Schema) endless() *canon.Rejection {
	ends := map[*view]bool{} // false while the record is being followed
	var follow func(v *view) *canon.Rejection
	follow = func(v *view) *canon.Rejection {
		ends[v] = false
		for i := range v.fields {
			f := &v.fields[i]
			next := s.byType[f.typ]
			if next == nil || !f.Required {
				continue
			}
			if done, met := ends[next]; met && !done {
				return refuse(predCycle, f.path+".type", fmt.Sprintf("required field %s, through which %s holds itself",
					f.Name, next.title()), "an end")
			} else if !met {
				if r := follow(next); r != nil {
					return r
				}
			}
		}
		ends[v] = true
		return nil
	}
	for _, name := range sortedKeys(s.views) {
		if v := s.views[name]; !ends[v] {
			if r := follow(v); r != nil {
				return r
			}
		}
	}
	return nil
}

func (s *Schema) addAssertions() *canon.Rejection {
	for _, name := range sortedKeys(s.views) {
		v := s.views[name]
		for i := range v.fields {
			f := &v.fields[i]
			for _, src := range f.Predicates {
				a, r := s.assert(src, f.path+".predicate", f.typ, v)
				if r != nil {
					return r
				}
				f.assertions = append(f.assertions, a)
				s.asserted = true
			}
		}
	}
	for _, inv := range s.doc.Invariants {
		v := s.views[inv.In]
		if v == nil || !lives(inv.Since, inv.Until, s.doc.Version) {
			continue // ended, or about a type this version does not have yet
		}
		a, r := s.assert(inv.Predicate, inv.path, nil, v)
		if r != nil {
			return r
		}
		v.invariants = append(v.invariants, a)
		s.asserted = true
	}
	return nil
}

// title names the record for messages.
func (v *view) title() string { return v.typ.Schema.Name }

// name is the name of the field with an id.
func (v *view) name(id uint16) string {
	for i := range v.fields {
		if v.fields[i].ID == int64(id) {
			return v.fields[i].Name
		}
	}
	return fmt.Sprintf("$%d", id)
}

// names are the names of the fields.
func (v *view) names() []string { return sortedKeys(v.byName) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
