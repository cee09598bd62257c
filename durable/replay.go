package durable

import (
	"context"

	"github.com/perdure/perdure"
)

// records is what memory says came of the ops of a function.
type records struct {
	done  map[string]record          // by key
	ended map[perdure.AgentID]record // children
}

// found says what recent entries say of an op.
type found int

const (
	unproposed found = iota // nothing: it has not been proposed
	resolved                // what came of it
	lost                    // it was proposed, but what came of it is further back than the entries at hand
)

// replay reads the records of an agent out of its memory.
func replay(ctx context.Context, s perdure.Store, id perdure.AgentID) (*records, perdure.Data, error) {
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return nil, nil, err
	}
	b := builder{records: &records{done: map[string]record{}, ended: map[perdure.AgentID]record{}}}
	b.reset()
	for e, err := range perdure.Memory(ctx, s, id) {
		if err != nil {
			return nil, nil, err
		}
		b.add(e)
	}
	// What is open or owed has no last word yet, whatever came of earlier attempts.
	for _, o := range a.Fold().Open {
		delete(b.done, perdure.CallOf(o.Action))
	}
	for _, o := range a.Fold().Owed {
		delete(b.done, perdure.CallOf(o.Action))
	}
	return b.records, b.inputs, nil
}

// recent looks for what came of an op among the entries an agent holds, newest first, back to the advice that proposed it.
func recent(a *perdure.Agent, key string, recs *records) (record, found) {
	var after []*perdure.Entry
	for e := range a.Recent() {
		after = append(after, e)
		adv, ok := e.Content().(perdure.Advice)
		if !ok {
			continue
		}
		if len(adv.Actions) != 1 || perdure.CallOf(adv.Actions[0]) != key {
			return record{}, unproposed // the last advice was about something else
		}
		b := builder{records: recs}
		b.reset()
		for _, m := range a.Fold().Inbox { // an event may have come before the wait for it
			b.events[m.Event] = m.Data
		}
		for _, c := range a.Fold().Children { // and a child may have ended before
			if _, known := recs.ended[c.Agent]; c.Ended && !known {
				recs.ended[c.Agent] = record{signal: c.Signal, data: c.Result}
			}
		}
		for i := len(after) - 1; i >= 0; i-- {
			b.add(after[i])
		}
		if rec, ok := recs.done[key]; ok {
			delete(recs.done, key) // the function takes note of it itself
			return rec, resolved
		}
		return record{}, lost
	}
	return record{}, lost
}

// builder collects records from entries, oldest first.
type builder struct {
	*records
	inputs    perdure.Data
	proposed  map[perdure.Hash]string // advice -> key
	decided   map[perdure.Hash]string // decision -> key
	asked     map[perdure.Hash]string // decision that asked -> key
	delegated map[perdure.Hash]perdure.AgentID
	events    map[perdure.Hash]perdure.Data
}

func (b *builder) reset() {
	b.proposed, b.decided, b.asked = map[perdure.Hash]string{}, map[perdure.Hash]string{}, map[perdure.Hash]string{}
	b.delegated, b.events = map[perdure.Hash]perdure.AgentID{}, map[perdure.Hash]perdure.Data{}
}

func (b *builder) add(e *perdure.Entry) {
	switch c := e.Content().(type) {
	case perdure.Genesis:
		b.inputs = c.Intent.Inputs
	case perdure.Advice:
		if len(c.Actions) == 1 {
			b.proposed[e.Name] = perdure.CallOf(c.Actions[0])
		}
	case perdure.Decision:
		b.decision(e, &c)
	case perdure.Outcome:
		b.outcome(&c)
	case perdure.Event:
		b.event(e, &c)
	case perdure.Snapshot, nil:
	}
}

func (b *builder) decision(e *perdure.Entry, d *perdure.Decision) {
	if w, ok := d.Action.(perdure.Wake); ok {
		if d.Verdict.Answer == perdure.Allow {
			b.woken(&w)
		}
		return
	}
	key := b.proposed[d.Advice]
	if key == "" {
		if x, ok := d.Action.(perdure.Execute); ok { // another attempt
			key = x.Call
		}
	}
	if key == "" {
		return
	}
	switch d.Verdict.Answer {
	case perdure.Deny:
		b.done[key] = record{signal: perdure.Denied, note: d.Verdict.Reason}
	case perdure.Ask:
		b.asked[e.Name] = key
	case perdure.Allow:
		b.decided[e.Name] = key
		if len(d.Child) > 0 {
			if child, err := perdure.DecodeEntry(d.Child, perdure.Limits{}); err == nil {
				b.delegated[e.Name] = child.ID()
			}
		}
	}
}

// woken records the end of a sleep, with the data of the event that ended it.
func (b *builder) woken(w *perdure.Wake) {
	key := b.decided[w.Sleep]
	if key == "" {
		return
	}
	rec := record{signal: perdure.OK}
	if len(w.By) > 0 {
		rec.event, rec.data = true, b.events[w.By[0]]
	}
	b.done[key] = rec
}

func (b *builder) outcome(o *perdure.Outcome) {
	if key, ok := b.asked[o.Decision]; ok {
		b.done[key] = record{signal: o.Signal, note: o.Note}
		return
	}
	key, ok := b.decided[o.Decision]
	if !ok {
		return
	}
	b.done[key] = record{signal: o.Signal, data: o.Result, note: o.Note, child: b.delegated[o.Decision]}
}

func (b *builder) event(e *perdure.Entry, ev *perdure.Event) {
	switch n := ev.Notice.(type) {
	case perdure.ChildEnded:
		b.ended[n.Child] = record{signal: n.Signal, data: n.Result, note: n.Note}
	case perdure.Settle:
		b.outcome(&perdure.Outcome{Decision: n.Decision, Signal: n.Signal, Result: n.Result, Note: n.Note})
	case nil:
		b.events[e.Name] = ev.Data
	}
}
