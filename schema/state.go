package schema

import (
	"fmt"

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

// CheckState holds the variables of an agent against the schema its intent names, in the version it names, however many came after. A schema
// that is not known here is an error that wraps perdure.ErrIncapable: another node may know it.
func (r *Registry) CheckState(schema perdure.Hash, vars map[string]perdure.Data) error {
	s, err := r.Lookup(Hash(schema))
	if err != nil {
		return fmt.Errorf("state schema %s is not known here; add its .lode file to those of the node: %w", schema, perdure.ErrIncapable)
	}
	if err := s.CheckState(vars); err != nil {
		return fmt.Errorf("state of %s version %d: %w", s.Name(), s.Version(), err)
	}
	return nil
}

// StateAs is the variables of an agent as a value of s, whatever version of it they were written under: for reading, they are not rewritten.
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
