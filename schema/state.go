package schema

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

var (
	_ perdure.StateChecker = (*Registry)(nil)
	_ perdure.Teller       = (*Registry)(nil)
)

// Tell implements perdure.Teller: the .lode text of a schema, which Parse reads.
func (r *Registry) Tell(id perdure.Hash) perdure.Data {
	s, err := r.Lookup(Hash(id))
	if err != nil {
		return nil
	}
	d, err := perdure.DataOf(string(s.JSON()))
	if err != nil {
		return nil // a schema is text
	}
	return d
}

// FromText is the schema with a text that Tell told. An error says that it is not the text of the schema with that id.
func FromText(id perdure.Hash, text perdure.Data) (*Schema, error) {
	src, ok := text.Value().(string)
	if !ok {
		return nil, fmt.Errorf("schema %s: its text is no text", id.Short())
	}
	s, err := Parse([]byte(src), nil)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", id.Short(), err)
	}
	if perdure.Hash(s.ID()) != id {
		return nil, fmt.Errorf("schema %s: the text is that of %.12s", id.Short(), s.ID())
	}
	return s, nil
}

// CheckState holds the variables of an agent against the schema its intent names, in the version it names, however many
// came after. A state comes about variable by variable: as long as required ones are missing, those that are there must
// be right each by itself, and invariants wait. A schema that is not known here is an error that wraps
// perdure.ErrIncapable: another node may know it.
func (r *Registry) CheckState(schema perdure.Hash, vars map[string]perdure.Data) error {
	s, err := r.Lookup(Hash(schema))
	if err != nil {
		return fmt.Errorf("state schema %s is not known here; add its .lode file to those of the node: %w", schema,
			perdure.ErrIncapable)
	}
	if s.lacks(vars) {
		if s, err = r.growing(s); err != nil {
			return fmt.Errorf("state schema %s: %w", schema, err)
		}
	}
	if err := s.CheckState(vars); err != nil {
		return fmt.Errorf("state of %s version %d: %w", s.Name(), s.Version(), err)
	}
	return nil
}

// StateAs is the variables of an agent as a value of s, whatever version of it they were written under: for reading,
// they are not rewritten.
func (r *Registry) StateAs(schema perdure.Hash, vars map[string]perdure.Data, s *Schema) ([]byte, error) {
	from, err := r.Lookup(Hash(schema))
	if err != nil {
		return nil, err
	}
	value, err := from.State(vars)
	if err != nil {
		return nil, err
	}
	return r.Upcast(Hash(schema), value, s)
}

// lacks reports whether a required variable is not there.
func (s *Schema) lacks(vars map[string]perdure.Data) bool {
	return slices.ContainsFunc(s.doc.Fields, func(f field) bool {
		_, ok := vars[f.Name]
		return f.Required && !ok
	})
}

// growing is the schema of states on their way to one of s: nothing is required of them yet, and they have no
// invariants.
func (r *Registry) growing(s *Schema) (*Schema, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.partial[s.id]; g != nil {
		return g, nil
	}
	d := *s.doc
	d.Fields = slices.Clone(d.Fields)
	for i := range d.Fields {
		d.Fields[i].Required = false
	}
	d.Invariants = slices.DeleteFunc(slices.Clone(d.Invariants), func(v invariant) bool { return v.In == "" })
	g, err := compileVersion(&d, s.lib)
	if err != nil {
		return nil, err
	}
	if r.partial == nil {
		r.partial = map[Hash]*Schema{}
	}
	r.partial[s.id] = g
	return g, nil
}
