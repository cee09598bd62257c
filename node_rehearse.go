package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A fork that rehearses goes another way from a point in its parent's memory without touching the world again: an
// effect its parent had is answered with the outcome on record, a read nobody recorded is done, and any other effect is
// refused.

// rehearsal is what the parent of a rehearsing fork did, by call, and how much of it the fork has been given.
type rehearsal struct {
	parent AgentID
	calls  map[Hash][]recorded // what was done with the same tool and arguments, in the order to be given
	given  map[Hash]int
}

// recorded is one outcome on record.
type recorded struct {
	key     Hash // of the call
	entry   Hash
	outcome Outcome
}

// rehearses reports whether effects of the agent come from its parent's record.
func (f *Fold) rehearses() bool {
	return f.Lineage != nil && f.Lineage.Relation == Fork && f.Lineage.Rehearse
}

// callKey names a call by what is done.
func callKey(x *Execute) Hash {
	b := append([]byte(x.Tool), 0)
	return HashOf(append(b, x.Args...))
}

// maxRehearsals bounds the records a node keeps at hand. One that is dropped is read again.
const maxRehearsals = 16

// rehearsal is the record an agent rehearses with; nil if it acts for itself. ErrNotFound says that the memory of the
// parent is not here.
func (n *Node) rehearsal(ctx context.Context, a *Agent) (*rehearsal, error) {
	if !a.fold.rehearses() {
		return nil, nil
	}
	n.mu.Lock()
	r := n.rehearsals[a.ID()]
	n.mu.Unlock()
	if r != nil {
		return r, nil
	}
	l := a.fold.Lineage
	r = &rehearsal{parent: l.Parent, calls: map[Hash][]recorded{}, given: map[Hash]int{}}
	if err := r.read(ctx, n.Store, l); err != nil {
		return nil, err
	}
	given, _, err := callsOf(ctx, a, n.Store, Hash{})
	if err != nil {
		return nil, err
	}
	for i := range given {
		r.given[given[i].key]++
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.rehearsals) >= maxRehearsals {
		clear(n.rehearsals)
	}
	n.rehearsals[a.ID()] = r
	return r, nil
}

// read takes the parent's outcomes: what it did after the fork first, as the fork goes the same way again; then what it
// did before.
func (r *rehearsal) read(ctx context.Context, s Store, l *Lineage) error {
	parent, err := Load(ctx, s, l.Parent)
	if err != nil {
		return err
	}
	calls, after, err := callsOf(ctx, parent, s, l.Cause)
	for _, c := range slices.Concat(calls[after:], calls[:after]) {
		r.calls[c.key] = append(r.calls[c.key], c)
	}
	return err
}

// next is the outcome on record for a call, if one is left.
func (r *rehearsal) next(x *Execute) *recorded {
	key := callKey(x)
	if of := r.calls[key]; r.given[key] < len(of) {
		return &of[r.given[key]]
	}
	return nil
}

// has reports whether the record answers an action.
func (r *rehearsal) has(act Action) bool {
	x, ok := act.(Execute)
	return ok && r != nil && r.next(&x) != nil
}

// refuse says why a rehearsing fork may not do something; empty: it may.
func (r *rehearsal) refuse(act Action, spec *Spec) string {
	if r == nil {
		return ""
	}
	switch x := act.(type) {
	case Execute:
		if spec.Effect == Read || r.next(&x) != nil {
			return ""
		}
		return fmt.Sprintf("this fork only rehearses, and %s has no such call of %s on record", r.parent.Short(),
			x.Tool)
	case Delegate:
		return "this fork only rehearses: it has no children of its own"
	case Mutate, Sleep, Wake, End:
	}
	return ""
}

// serve answers an effect from the record; nil: it is a read, and to be done. The caller has the only agent that
// rehearses with r.
func (r *rehearsal) serve(open *Open, n *Node) *Outcome {
	x, _ := open.Action.(Execute)
	rec := r.next(&x)
	spec, _ := n.spec(x.Tool) // what the record was to answer is recorded as a read, whatever its tool does
	switch {
	case rec == nil && spec.Effect == Read:
		return nil
	case rec == nil:
		return &Outcome{Decision: open.Decision, Signal: Denied,
			Note: "this fork only rehearses, and there is no further such call on record"}
	}
	r.given[callKey(&x)]++
	o := rec.outcome
	o.Decision, o.Latency, o.Took, o.Spend, o.Reconciled = open.Decision, 0, 0, nil, false
	o.Note = joined(o.Note, "from the record of "+r.parent.Short()+", entry "+rec.entry.Short())
	return &o
}

// lacksRecord is the idle step of a node without the memory a fork rehearses with.
func (n *Node) lacksRecord(ctx context.Context, a *Agent) (*Idle, error) {
	_, err := n.rehearsal(ctx, a)
	if errors.Is(err, ErrNotFound) {
		var idle Idle
		idle.lack("the memory of " + a.fold.Lineage.Parent.Short())
		return &idle, nil
	}
	return nil, err
}

// callsOf is how the calls of an agent ended, as far as it counts, in the order in which that was first said, and how
// many of them had ended when an entry was written.
func callsOf(ctx context.Context, a *Agent, s Store, at Hash) (ended []recorded, before int, err error) {
	proposed := map[Hash][]Action{}
	calls := map[Hash]Hash{} // the key of the call a decision allowed
	place := map[Hash]int{}  // by decision, in ended
	var ledger Ledger
	for e, err := range a.Reader(s).All(ctx) {
		if err != nil {
			return nil, 0, err
		}
		if b, ok := e.content.(Advice); ok {
			proposed[e.Name] = b.Actions
		}
		if b, ok := e.content.(Decision); ok && b.Verdict.Answer == Allow {
			if x, ok := b.of(proposed[b.Advice]).(Execute); ok {
				calls[e.Name] = callKey(&x)
			}
		}
		if o := ledger.Came(a.fold, e); o != nil && slices.Contains(lasting, o.Signal) {
			key, call := calls[o.Decision]
			if i, known := place[o.Decision]; known { // it happened after all
				ended[i] = recorded{key, e.Name, *o}
			} else if call {
				place[o.Decision] = len(ended)
				ended = append(ended, recorded{key, e.Name, *o})
			}
		}
		if e.Name == at {
			before = len(ended)
		}
	}
	return ended, before, nil
}

// of is what a decision is about: what it says itself, or the proposal it answers; nil: that is not among these.
func (d *Decision) of(proposed []Action) Action {
	if d.Action == nil && d.Index >= 0 && d.Index < int64(len(proposed)) {
		return proposed[d.Index]
	}
	return d.Action
}

// lasting are the signals that say what came of a call, rather than that it is to be tried again.
var lasting = []Signal{OK, Partial, Failed}
