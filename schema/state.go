package schema

import (
	"fmt"

	"github.com/perdure/perdure"
)

var _ perdure.StateChecker = (*Registry)(nil)

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
