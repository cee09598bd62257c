package script

import (
	"context"
	"regexp"
	"slices"

	"github.com/perdure/perdure/advisor/internal/told"

	"github.com/perdure/perdure"
)

// readsHistory finds conditions that need what came of earlier turns.
var readsHistory = regexp.MustCompile(`\b(results|last|said)\b`)

// past is what came of the actions of a script.
type past struct {
	results map[string]any // by name
	last    map[string]any
	said    []any // what people said since the last advice
	woke    []awake
	gone    gone
}

// awake is the events that ended the sleep at a place.
type awake struct {
	place
	by []perdure.Hash
}

// past reads what came of earlier turns, if the script uses it: also those of the agents that a fork descends from, the
// nearest first.
func (s *Advisor) past(ctx context.Context, a *perdure.Agent, before []*perdure.Agent) (*past, error) {
	p := &past{results: map[string]any{}, last: map[string]any{}, said: []any{},
		gone: gone{named: map[string]bool{}}}
	if !s.history && a.Straight() {
		return p, nil
	}
	memory := told.Recent(a) // where only the wake that it goes on from is wanted
	if s.history {
		var err error
		if memory, err = told.Memory(ctx, s.Store, a); err != nil {
			return nil, err
		}
	}
	r := recorder{past: p, proposed: map[perdure.Hash]perdure.Advice{}, decided: map[perdure.Hash]string{},
		children: map[perdure.AgentID]string{}, events: map[perdure.Hash]perdure.Event{},
		happened: map[perdure.Hash]bool{}, came: map[string]bool{}, names: a.SaidBy}
	for _, parent := range slices.Backward(before) {
		for _, e := range told.Recent(parent).Entries {
			r.add(e)
		}
	}
	if len(memory.Entries) > 0 && memory.Entries[0].Kind != perdure.KindGenesis && s.history {
		p.gone.results, p.gone.last = true, true
	}
	for _, e := range memory.Entries {
		if e.Content() == nil {
			r.lose(e)
		}
		if r.ledger.Counts(a.Fold(), e) {
			r.add(e)
		}
	}
	r.wokeLast(a)
	for _, e := range memory.Unheard(a.SaidBy) {
		p.said = append(p.said, r.spoken(e))
	}
	return p, nil
}

// recorder collects a past from entries, oldest first.
type recorder struct {
	*past
	proposed map[perdure.Hash]perdure.Advice
	decided  map[perdure.Hash]string        // decision -> place
	children map[perdure.AgentID]string     // child -> place
	events   map[perdure.Hash]perdure.Event // each said by whom names says
	names    told.Names
	happened map[perdure.Hash]bool // decisions with an outcome that says so
	came     map[string]bool       // places whose last outcome says so
	ledger   perdure.Ledger        // of what came of decisions
	wakes    perdure.Wakes         // which of them count
	waking   *perdure.Wake         // of a sleep that is not here any more, since the last advice
}

func (r *recorder) add(e *perdure.Entry) {
	switch c := e.Content().(type) {
	case perdure.Advice:
		r.proposed[e.Name], r.gone.said, r.waking = c, false, nil
	case perdure.Decision:
		r.decision(e, &c)
	case perdure.Outcome:
		r.happened[c.Decision] = r.happened[c.Decision] || c.Signal == perdure.OK
		r.record(r.decided[c.Decision], c.Signal, c.Result, c.Note, nil)
		r.came[r.decided[c.Decision]] = c.Signal == perdure.OK
		r.took(c.Decision, c.Elapsed().Milliseconds())
	case perdure.Event:
		r.event(e, &c)
	case perdure.Genesis, perdure.Snapshot, nil:
	}
}

func (r *recorder) decision(e *perdure.Entry, d *perdure.Decision) {
	act, of := d.Action, r.proposed[d.Advice]
	if act == nil && d.Index >= 0 && d.Index < int64(len(of.Actions)) {
		act = of.Actions[d.Index]
	}
	seen := of.Seen
	if of.Apart {
		seen = nil
	}
	for _, w := range r.wakes.Decided(e.Name, act, &d.Verdict, seen) {
		r.awoke(w)
	}
	if w, ok := act.(perdure.Wake); ok {
		if d.Verdict.Answer == perdure.Allow && r.decided[w.Sleep] == "" {
			r.waking = &w
		}
		return
	}
	call := callOf(act)
	if d.Verdict.Answer == perdure.Deny && r.came[call] {
		return // a copy proposed it as well, and was told later that it is not done twice
	}
	if d.Verdict.Answer == perdure.Deny {
		r.record(call, perdure.Denied, nil, d.Verdict.Reason, nil)
		return
	}
	r.decided[e.Name] = call
	if len(d.Child) > 0 {
		if child, err := perdure.DecodeEntry(d.Child, perdure.Limits{}); err == nil {
			r.children[child.ID()] = call
			r.record(call, perdure.OK, nil, "", map[string]any{"child": child.ID().String()})
		}
	}
}

// awoke records the end of a sleep.
func (r *recorder) awoke(w perdure.Wake) {
	more := map[string]any{}
	var data perdure.Data
	if len(w.By) > 0 {
		ev := r.events[w.By[0]]
		data, more["event"], more["by"] = ev.Data, ev.Name, ev.By
	}
	call := r.decided[w.Sleep]
	r.record(call, perdure.OK, data, w.Note, more)
	if p, ok := parsePlace(call); ok && len(w.By) > 0 {
		_, known := r.events[w.By[0]]
		r.gone.last, r.gone.named[p.name] = !known, !known
		r.woke = append(slices.DeleteFunc(r.woke, p.is), awake{p, w.By})
	}
}

func (p place) is(w awake) bool { return p.same(w.place) }

func (r *recorder) event(e *perdure.Entry, ev *perdure.Event) {
	switch n := ev.Notice.(type) {
	case perdure.ChildEnded:
		r.events[e.Name] = *ev
		r.record(r.children[n.Child], n.Signal, n.Result, n.Note,
			map[string]any{"child": n.Child.String(), "ended": true})
	case perdure.Settle:
		if !r.happened[n.Decision] { // who did it knows better than who looked
			r.record(r.decided[n.Decision], n.Signal, n.Result, n.Note, nil)
			r.happened[n.Decision] = n.Signal == perdure.OK
		}
	case nil:
		said := *ev
		if ev.By != "" {
			said.By, _ = r.names(e.Origin, ev.By)
		}
		r.events[e.Name] = said
	}
}

// spoken is what a person said as a script reads it.
func (r *recorder) spoken(e *perdure.Entry) map[string]any {
	w, _ := told.WordOf(e, r.names)
	out := map[string]any{"what": w.What, "by": w.By, "note": w.Note, "of": ""}
	if p, ok := parsePlace(r.decided[w.Of]); ok {
		out["of"] = p.name
	}
	return out
}

// took notes how long a call took, in milliseconds.
func (r *recorder) took(decision perdure.Hash, ms int64) {
	p, ok := parsePlace(r.decided[decision])
	if !ok || p.over() {
		return
	}
	if rec, ok := r.results[p.name].(map[string]any); ok && p.name != "" {
		rec["latency"] = ms
	}
	r.last["latency"] = ms
}

// record notes what came of the action at a place.
func (r *recorder) record(call string, signal perdure.Signal, result perdure.Data, note string, more map[string]any) {
	p, ok := parsePlace(call)
	if !ok || p.over() {
		return
	}
	rec := map[string]any{"signal": signal.String(), "result": result.Value(), "note": note}
	if old, ok := r.results[p.name].(map[string]any); ok && old["child"] != nil && more == nil {
		if old["ended"] != nil {
			return // a child that is quick has ended before it is recorded that it was made
		}
		rec["child"] = old["child"] // the outcome of a delegation comes after the decision that has the child
	}
	for k, v := range more {
		rec[k] = v
	}
	r.last, r.gone.last = rec, false
	if delete(r.gone.named, p.name); p.name != "" {
		r.results[p.name] = rec
	}
}

// vars are the variables of conditions and templates.
func (p *past) vars(f *perdure.Fold, turn int, round int64) map[string]any {
	vars := make(map[string]any, len(f.Vars))
	for k, v := range f.Vars {
		vars[k] = v.Value()
	}
	inbox := make([]any, 0, len(f.Inbox))
	for i := range f.Inbox {
		if !f.Inbox[i].Spent {
			inbox = append(inbox, f.Inbox[i].Name)
		}
	}
	return map[string]any{
		"turn": int64(turn), "round": round, "turns": f.Turns, "agent": f.Agent.String(), "goal": f.Intent.Goal,
		"kind":   f.Intent.Kind,
		"inputs": f.Intent.Inputs.Value(),
		"vars":   vars, "results": p.results, "last": p.last, "inbox": inbox, "said": p.said,
	}
}
