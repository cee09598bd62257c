package home

import "github.com/perdure/perdure"

// Busy says in its own words that another node has the agent.
type Busy string

func (h Busy) Error() string { return string(h) }

func (h Busy) Is(target error) bool { return target == perdure.ErrConflict }
