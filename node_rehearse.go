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
	err := eachOutcome(ctx, n.Store, a.ID(), func(key Hash, _ *Entry, _ *Outcome) { r.given[key]++ }, func(*Entry) {})
	if err != nil {
		return nil, err
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
	before := map[Hash][]recorded{}
	into := before
	err := eachOutcome(ctx, s, l.Parent, func(key Hash, e *Entry, o *Outcome) {
		into[key] = append(into[key], recorded{e.Name, *o})
	}, func(e *Entry) {
		if e.Name == l.Cause {
			into = r.calls
		}
	})
	for key, past := range before {
		r.calls[key] = append(r.calls[key], past...)
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

// eachOutcome yields how the calls of an agent ended, with the entry that says so. Every entry is shown to after once
// it has been dealt with.
func eachOutcome(ctx context.Context, s Store, id AgentID, ended func(key Hash, e *Entry, o *Outcome),
	after func(*Entry)) error {
	c := calls{advice: map[Hash][]Action{}, open: map[Hash]Hash{}}
	for e, err := range Memory(ctx, s, id) {
		if err != nil {
			return err
		}
		if key, o := c.see(e); o != nil {
			ended(key, e, o)
		}
		after(e)
	}
	return nil
}

// calls follows the calls through a memory.
type calls struct {
	advice map[Hash][]Action
	open   map[Hash]Hash // the key of the call a decision allowed
}

// see takes the next entry. If it says how a call ended, see returns the call's key and that.
func (c *calls) see(e *Entry) (Hash, *Outcome) {
	var out *Outcome
	switch b := e.content.(type) {
	case Advice:
		c.advice[e.Name] = b.Actions
	case Decision:
		act := b.Action
		if of := c.advice[b.Advice]; act == nil && b.Index < int64(len(of)) {
			act = of[b.Index]
		}
		if x, ok := act.(Execute); ok && b.Verdict.Answer == Allow {
			c.open[e.Name] = callKey(&x)
		}
	case Outcome:
		out = &b
	case Event:
		if n, ok := b.Notice.(Settle); ok {
			out = &Outcome{Decision: n.Decision, Signal: n.Signal, Result: n.Result, Note: n.Note, Set: b.Set}
		}
	case Genesis, Snapshot, nil:
	}
	if out == nil || !slices.Contains(lasting, out.Signal) {
		return Hash{}, nil
	}
	key, ok := c.open[out.Decision]
	if !ok {
		return Hash{}, nil
	}
	delete(c.open, out.Decision)
	return key, out
}

// lasting are the signals that say what came of a call, rather than that it is to be tried again.
var lasting = []Signal{OK, Partial, Failed}
