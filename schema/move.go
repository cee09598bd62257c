package schema

import (
	"fmt"

	"github.com/perdure/perdure"
)

var _ perdure.StateChecker = (*Registry)(nil)

// MoveState implements perdure.StateChecker: the variables of an agent as the later version of their schema has them. A
// state that lacks what the earlier version requires cannot be moved; one without any variables can.
func (r *Registry) MoveState(from, to perdure.Hash, vars map[string]perdure.Data) (map[string]perdure.Data, error) {
	later, err := r.Lookup(Hash(to))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", perdure.ErrIncapable, err)
	}
	old, err := r.Lookup(Hash(from))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", perdure.ErrIncapable, err)
	}
	if err := later.Succeeds(old); err != nil {
		return nil, err
	}
	if len(vars) == 0 {
		return nil, nil
	}
	value, err := r.StateAs(from, vars, later)
	if err != nil {
		return nil, err
	}
	moved := map[string]perdure.Data{}
	for name, v := range later.self(later.views[""], decode(later.typ, value).(record)) {
		if moved[name], err = perdure.DataOf(v); err != nil {
			return nil, fmt.Errorf("state variable %s: %w", name, err)
		}
	}
	return moved, nil
}
