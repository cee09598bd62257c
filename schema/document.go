package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/perdure/perdure/internal/canon"
)

// document is what a schema file says, with every type in its canonical spelling. Its binary form is what is hashed and
// embedded. Do NOT renumber.
type document struct {
	Name       string      `canon:"1,name" json:"name"`
	Version    int64       `canon:"2,version" json:"version"`
	Fields     []field     `canon:"3,fields" json:"fields"`
	Types      typeList    `canon:"4,types,omitzero" json:"types,omitempty"`
	Invariants []invariant `canon:"5,invariants,omitzero" json:"invariants,omitempty"`
	Changes    []change    `canon:"6,changes,omitzero" json:"changes,omitempty"`
}

type field struct {
	ID         int64    `canon:"1,id" json:"id"`
	Name       string   `canon:"2,name" json:"name"`
	Type       string   `canon:"3,type" json:"type"`
	Required   bool     `canon:"4,required,omitzero" json:"required,omitempty"`
	Since      int64    `canon:"5,since,omitzero" json:"since,omitempty"` // absent: from version 1
	Until      int64    `canon:"6,until,omitzero" json:"until,omitempty"` // absent: for good
	Predicates []string `canon:"7,predicates,omitzero,verbatim" json:"predicate,omitempty"`

	path string // where it stands in the file
}

// typeDef is a record or an enum; the number of an enum's name is its index.
type typeDef struct {
	Name   string   `canon:"1,name" json:"-"`
	Fields []field  `canon:"2,fields,omitzero" json:"fields,omitempty"`
	Enum   []string `canon:"3,enum,omitzero" json:"enum,omitempty"`
}

type typeList []typeDef

type invariant struct {
	Predicate string `canon:"1,predicate,verbatim" json:"predicate"`
	In        string `canon:"2,in,omitzero" json:"in,omitempty"` // absent: the schema's own record
	Since     int64  `canon:"3,since,omitzero" json:"since,omitempty"`
	Until     int64  `canon:"4,until,omitzero" json:"until,omitempty"`

	path string
}

type change struct {
	To        int64  `canon:"1,to" json:"to"`
	Upgrade   []rule `canon:"2,upgrade,omitzero" json:"upgrade,omitempty"`
	Downgrade []rule `canon:"3,downgrade,omitzero" json:"downgrade,omitempty"`
}

// rule is one of rename, default and drop.
type rule struct {
	In      string     `canon:"1,in,omitzero" json:"in,omitempty"`
	Rename  string     `canon:"2,rename,omitzero" json:"rename,omitempty"`
	To      string     `canon:"3,to,omitzero" json:"to,omitempty"`
	Default string     `canon:"4,default,omitzero" json:"default,omitempty"`
	Value   canon.Data `canon:"5,value,omitzero" json:"value,omitempty"`
	Drop    string     `canon:"6,drop,omitzero" json:"drop,omitempty"`
	When    string     `canon:"7,when,omitzero,verbatim" json:"when,omitempty"`

	path string
}

var documents = canon.For[document]("lode")

// MarshalJSON writes the types as a schema file does: an object, by name.
func (l typeList) MarshalJSON() ([]byte, error) {
	byName := make(map[string]typeDef, len(l))
	for _, t := range l {
		byName[t.Name] = t
	}
	return json.Marshal(byName)
}

// lives reports whether something with these bounds exists in a version.
func lives(since, until, version int64) bool {
	return since <= version && (until == 0 || version < until)
}

// at returns the document as it was when version was the latest: without what came later, and without knowing of it.
func (d *document) at(version int64) *document {
	past := &document{Name: d.Name, Version: version, Fields: fieldsAt(d.Fields, version)}
	for _, c := range d.Changes {
		if c.To <= version {
			past.Changes = append(past.Changes, c)
		}
	}
	for _, t := range d.Types {
		t.Fields = fieldsAt(t.Fields, version)
		past.Types = append(past.Types, t)
	}
	past.Types = past.reachable()
	for _, i := range d.Invariants {
		if i.Since <= version && (i.In == "" || past.typeDef(i.In) != nil) {
			i.Until = boundAt(i.Until, version)
			past.Invariants = append(past.Invariants, i)
		}
	}
	return past
}

func fieldsAt(fields []field, version int64) []field {
	var past []field
	for _, f := range fields {
		if f.Since <= version {
			f.Until = boundAt(f.Until, version)
			past = append(past, f)
		}
	}
	return past
}

// boundAt is the end of something as known in a version.
func boundAt(until, version int64) int64 {
	if until > version {
		return 0
	}
	return until
}

// reachable returns the types the fields need, themselves or through each other.
func (d *document) reachable() typeList {
	used := map[string]bool{}
	var follow func([]field)
	follow = func(fields []field) {
		for _, f := range fields {
			e, bad := parseType(f.Type, 0)
			if bad != "" || e.leaf().name == "" || used[e.leaf().name] {
				continue
			}
			used[e.leaf().name] = true
			if t := d.typeDef(e.leaf().name); t != nil {
				follow(t.Fields)
			}
		}
	}
	follow(d.Fields)
	return slices.DeleteFunc(slices.Clone(d.Types), func(t typeDef) bool { return !used[t.Name] })
}

func (d *document) typeDef(name string) *typeDef {
	for i := range d.Types {
		if d.Types[i].Name == name {
			return &d.Types[i]
		}
	}
	return nil
}

// canonical returns the binary form: fields by id, types by name, changes by version.
func (d *document) canonical() ([]byte, error) {
	c := *d
	byID := func(fields []field) []field {
		fields = slices.Clone(fields)
		slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.ID, b.ID) })
		return fields
	}
	c.Fields = byID(c.Fields)
	c.Types = slices.Clone(c.Types)
	for i := range c.Types {
		c.Types[i].Fields = byID(c.Types[i].Fields)
	}
	slices.SortFunc(c.Types, func(a, b typeDef) int { return cmp.Compare(a.Name, b.Name) })
	c.Changes = slices.Clone(c.Changes)
	slices.SortFunc(c.Changes, func(a, b change) int { return cmp.Compare(a.To, b.To) })
	return documents.Append(nil, &c)
}

// readDocument reads the binary form of a document, which must be spelled as canonical spells it.
func readDocument(b []byte) (*document, error) {
	if len(b) > maxSource {
		return nil, refuse(predLimit, "$", "a longer schema", "at most 1 MiB")
	}
	d := new(document)
	if err := documents.Decode(bytes.Clone(b), d, canon.Limits{Bytes: maxSource}); err != nil {
		return nil, err
	}
	if again, err := d.canonical(); err != nil || !bytes.Equal(again, b) {
		return nil, refuse(predCanonical, "$", "another order", "fields by id, types by name, changes by version")
	}
	return d, nil
}
