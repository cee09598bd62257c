package durable

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
)

// records is what memory says came of the ops of a function.
type records struct {
	done  map[string]record          // by key
	ended map[perdure.AgentID]record // children
	noted map[perdure.Hash]bool      // events that carry a notice: no wait takes what they say
	taken map[perdure.Hash]bool      // events that a wait has taken, where copies were apart
}

// found says what recent entries say of what a function waits for.
type found int

const (
	unproposed found = iota // nothing: it has not been proposed
	resolved                // what came of it
	lost                    // it was proposed, but what came of it is further back than the entries at hand
)

// replay reads the records of an agent: from the entries that a holds, if it is not nil, and what they do not go back
// to out of the store. What is open or owed has no last word yet, whatever came of earlier attempts.
//
// It refuses, with an error that wraps perdure.ErrIncapable, where entries lack their bodies: what they say would be
// done again.
func replay(ctx context.Context, s perdure.Store, f *perdure.Fold, a *perdure.Agent) (*records, perdure.Data, error) {
	b := builder{fold: f, records: &records{done: map[string]record{}, ended: map[perdure.AgentID]record{},
		noted: map[perdure.Hash]bool{}, taken: map[perdure.Hash]bool{}}}
	memory := f.Reader(s)
	if a != nil {
		memory = a.Reader(s)
	}
	for e, err := range memory.All(ctx) {
		if err != nil {
			return nil, nil, err
		}
		b.add(e)
	}
	if b.gone != nil {
		return nil, nil, perdure.WithHint(
			fmt.Errorf("%w: the body of entry %s is gone, and what it says would be done again", perdure.ErrIncapable,
				b.gone.Name.Short()),
			"import a copy of depth full that has it, or end the agent")
	}
	for _, o := range f.Open {
		delete(b.done, perdure.CallOf(o.Action))
	}
	for _, o := range f.Owed {
		delete(b.done, perdure.CallOf(o.Action))
	}
	return b.records, b.inputs, nil
}

// recent looks for what came of ops among the entries an agent holds, newest first, back to the advice that proposed
// them.
func recent(a *perdure.Agent, ops []op, recs *records) ([]record, found) {
	var room [8]*perdure.Entry
	after := room[:0]
	for e := range a.Counting() {
		after = append(after, e)
		adv, ok := e.Content().(perdure.Advice)
		if !ok {
			continue
		}
		if !within(ops, adv.Actions) {
			return nil, unproposed // the last advice was about something else
		}
		b := builder{fold: a.Fold(), records: recs}
		for _, m := range a.Fold().Inbox { // an event may have come before the wait for it
			b.events.put(m.Event, m.Data)
		}
		for _, c := range a.Fold().Children { // and a child may have ended before
			if _, known := recs.ended[c.Agent]; c.Ended && !known {
				recs.ended[c.Agent] = record{signal: c.Signal, data: c.Result}
			}
		}
		for _, e := range slices.Backward(after) {
			b.add(e)
		}
		return recs.take(ops)
	}
	return nil, lost
}

// take takes out what came of ops: the function takes note of it itself.
func (r *records) take(ops []op) ([]record, found) {
	out := make([]record, len(ops))
	for i := range ops {
		rec, ok := r.done[ops[i].key]
		if !ok {
			return nil, lost
		}
		out[i] = rec
	}
	for i := range ops {
		delete(r.done, ops[i].key)
	}
	return out, resolved
}

// builder collects records from entries that count, oldest first.
type builder struct {
	*records
	fold      *perdure.Fold  // of all of the memory
	ledger    perdure.Ledger // of what came of decisions
	gone      *perdure.Entry // without its body; nil: all are there
	genesis   *perdure.Entry
	inputs    perdure.Data
	proposed  index[proposal] // by advice
	decided   index[*decided]
	delegated index[perdure.AgentID]
	events    index[perdure.Data]
	wakes     perdure.Wakes // which of them count
}

// proposal is what is to be known of an advice.
type proposal struct {
	actions []perdure.Action
	seen    []perdure.Hash // none where a copy without the seat was asked
}

// decided is a decision that something be done, or that a person be asked whether it may.
type decided struct {
	key  string
	asks bool
}

func (b *builder) add(e *perdure.Entry) {
	if o := b.ledger.Came(b.fold, e); o != nil {
		b.outcome(o)
	}
	switch c := e.Content().(type) {
	case perdure.Genesis:
		b.genesis, b.inputs = e, c.Intent.Inputs
	case perdure.Advice:
		of := proposal{actions: c.Actions, seen: c.Seen}
		if c.Apart {
			of.seen = nil
		}
		b.proposed.put(e.Name, of)
	case perdure.Decision:
		b.decision(e, &c)
	case perdure.Event:
		b.event(e, &c)
	case nil:
		if e.Kind != perdure.KindSnapshot && b.gone == nil {
			b.gone = e
		}
	case perdure.Outcome, perdure.Snapshot:
	}
}

func (b *builder) decision(e *perdure.Entry, d *perdure.Decision) {
	act := d.Action
	of, proposed := b.proposed.get(d.Advice)
	if proposed = proposed && d.Index >= 0 && d.Index < int64(len(of.actions)); proposed {
		act = of.actions[d.Index]
	}
	for _, w := range b.wakes.Decided(e.Name, act, &d.Verdict, of.seen) {
		b.awoke(&w)
	}
	key := perdure.CallOf(act)
	if _, tries := act.(perdure.Execute); key == "" || !proposed && !tries { // the runtime's own
		return
	}
	switch d.Verdict.Answer {
	case perdure.Deny:
		if b.did(key) || slices.Equal(d.Verdict.Rules, []string{ruling.Outdated}) {
			return // proposed in a copy, which may not know what was done: nobody refused it, and it is proposed again
		}
		b.done[key] = record{signal: perdure.Denied, note: d.Verdict.Reason}
	case perdure.Ask:
		b.decided.put(e.Name, &decided{key: key, asks: true})
	case perdure.Allow:
		b.decided.put(e.Name, &decided{key: key})
		if len(d.Child) > 0 {
			if child, err := perdure.DecodeEntry(d.Child, perdure.Limits{}); err == nil {
				b.delegated.put(e.Name, child.ID())
			}
		}
	}
}

// awoke records the end of a sleep, with the data of the event that ended it.
func (b *builder) awoke(w *perdure.Wake) {
	d, ok := b.decided.get(w.Sleep)
	if !ok || d.asks {
		return
	}
	rec := record{signal: perdure.OK}
	if len(w.By) > 0 {
		rec.event = true
		rec.data, _ = b.events.get(w.By[0])
	}
	b.done[d.key] = rec
	if branched(b.fold) {
		for _, h := range w.By {
			b.taken[h] = true
		}
	}
}

// branched reports whether copies of an agent were apart.
func branched(f *perdure.Fold) bool { return len(f.Heads) != 1 || f.Heads[0].Seq+1 != f.Count }

// did reports whether an op was done, as far as the entries say so far.
func (b *builder) did(key string) bool {
	rec, known := b.done[key]
	return known && rec.signal == perdure.OK
}

// outcome records what came of a decision.
func (b *builder) outcome(o *perdure.Outcome) {
	d, ok := b.decided.get(o.Decision)
	if !ok || d.asks && b.did(d.key) {
		return // refused in a copy, or not answered there, and done all the same
	}
	if d.asks {
		b.done[d.key] = record{signal: o.Signal, note: o.Note}
		return
	}
	child, _ := b.delegated.get(o.Decision)
	b.done[d.key] = record{signal: o.Signal, data: o.Result, note: o.Note, child: child}
}

func (b *builder) event(e *perdure.Entry, ev *perdure.Event) {
	if ev.Notice == nil {
		b.events.put(e.Name, ev.Data)
		if _, told := ev.Happened(); told {
			b.noted[e.Name] = true // its records say so, too
		}
		return
	}
	b.noted[e.Name] = true
	switch n := ev.Notice.(type) {
	case perdure.ChildEnded:
		if _, known := b.ended[n.Child]; !known { // a child ends once
			b.ended[n.Child] = record{signal: n.Signal, data: n.Result, note: n.Note}
		}
	case perdure.Edit:
		if b.given(e) && len(n.Mutate.Inputs) > 0 {
			b.inputs = n.Mutate.Inputs
		}
	}
}

// given reports whether an edit gives the agent the inputs that StartAs was given: it is by who made the agent, right
// after a genesis that says nothing of the moment. A later edit does not change what the function began with.
func (b *builder) given(e *perdure.Entry) bool {
	return e.Seq == 1 && b.genesis != nil && b.genesis.Time == 0 && b.genesis.Origin == e.Origin
}

// index is a map from entries that costs little while it holds few.
type index[V any] struct {
	few  []named[V]
	many map[perdure.Hash]V
}

type named[V any] struct {
	name  perdure.Hash
	value V
}

// fewest is how many a list finds as fast as a map.
const fewest = 16

func (x *index[V]) put(name perdure.Hash, v V) {
	if len(x.few) < fewest && x.many == nil {
		x.few = append(x.few, named[V]{name, v})
		return
	}
	if x.many == nil {
		x.many = make(map[perdure.Hash]V, 2*fewest)
		for _, n := range x.few {
			x.many[n.name] = n.value
		}
		x.few = nil
	}
	x.many[name] = v
}

func (x *index[V]) get(name perdure.Hash) (V, bool) {
	if x.many != nil {
		v, ok := x.many[name]
		return v, ok
	}
	for i := range x.few {
		if x.few[i].name == name {
			return x.few[i].value, true
		}
	}
	var none V
	return none, false
}
