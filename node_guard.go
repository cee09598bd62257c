package perdure

import (
	"errors"
	"fmt"
	"maps"
)

// Guard keeps out of memory what must never be in it, such as the value of a secret: memory cannot forget.
type Guard interface {
	// Check refuses the canonical bytes of a body. The error must not repeat what it found.
	Check(body []byte) error
}

// guarded is a refusal by the guard.
type guarded struct{ error }

func (g guarded) Unwrap() error { return g.error }

// ErrorKind names what sort of error it is, for who tells them apart: what was sent is wrong, and nothing here.
func (guarded) ErrorKind() string { return "guarded" }

// guard refuses an entry this node is about to write.
func (n *Node) guard(e *Entry) error {
	if n.Guard == nil {
		return nil
	}
	if err := n.Guard.Check(e.body); err != nil {
		return guarded{err}
	}
	return nil
}

// unrecordable reports whether an entry was refused for what it holds, so that it can be written without.
func unrecordable(err error) bool {
	if err == nil {
		return false
	}
	var g guarded
	return errors.Is(err, ErrRejected) || errors.As(err, &g)
}

// StateChecker holds the state of agents against the schemas their intents name, and moves it to later versions of
// them.
type StateChecker interface {
	// CheckState refuses variables that are not a state of the schema. An error that wraps ErrIncapable says that it
	// does not know the schema.
	CheckState(schema Hash, vars map[string]Data) error
	// MoveState returns the variables as they are under a later version of their schema. It refuses a schema that is
	// not a later version of the other, and a state that does not fit either. It does not change vars.
	MoveState(from, to Hash, vars map[string]Data) (map[string]Data, error)
}

// checkState refuses a change of an agent's state that its schema does not allow. An agent that has no state yet has
// nothing to hold against it.
func (n *Node) checkState(f *Fold, set map[string]Data) error {
	schema := f.Intent.StateSchema
	if schema.IsZero() {
		return nil
	}
	if n.State == nil {
		return fmt.Errorf("state schema %s: %w: it has no schemas", schema.Short(), ErrIncapable)
	}
	next := Fold{Vars: f.Vars}
	next.setVars(new(Entry), set)
	return n.State.CheckState(schema, maps.Clone(next.Vars))
}

// lacksSchema is the idle step of a node that does not know the schema of the agent's state; nil if it does, or there
// is none.
func (n *Node) lacksSchema(f *Fold) *Idle {
	if f.Intent.StateSchema.IsZero() || f.Ended != nil {
		return nil
	}
	if err := n.checkState(f, nil); !errors.Is(err, ErrIncapable) {
		return nil // what is there was let in; what comes next is checked by itself
	}
	var idle Idle
	idle.lack("state schema " + f.Intent.StateSchema.Short())
	return &idle
}

// checkOutcome leaves out of an outcome a change of state that the schema of the agent does not allow: the effect
// happened all the same.
func (n *Node) checkOutcome(f *Fold, o *Outcome) {
	if len(o.Set) == 0 {
		return
	}
	if err := n.checkState(f, o.Set); err != nil {
		if o.Set = nil; o.Signal == OK {
			o.Signal = Partial
		}
		o.Note = joined(o.Note, "its state stays as it was: "+err.Error())
	}
}

// joined is a note with more said.
func joined(note, more string) string {
	if note == "" {
		return more
	}
	return note + "; " + more
}
