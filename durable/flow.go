package durable

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/perdure/perdure"
)

const (
	stepName = "durable.step" // the tool that does a Step
	onceName = "durable.once" // the tool that does a Once
)

// maxRuns is how many functions are kept under way between cycles; the others begin again from their records.
const maxRuns = 1024

// flow is a function as an advisor: it proposes what the function wants done next.
type flow struct {
	name string
	node *perdure.Node
	body func(r *Run, inputs perdure.Data) (perdure.Data, error)

	mu   sync.Mutex
	runs map[perdure.AgentID]*Run
}

// Instant is true: asking again costs a look at the records.
func (f *flow) Instant() bool { return true }

// Advise implements perdure.Advisor.
func (f *flow) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	r, err := f.run(ctx, a.ID(), a)
	if err != nil {
		return perdure.Advice{}, err
	}
	// Only what a wait has taken is seen: the function may come to wait for the others yet.
	seen := []perdure.Hash{}
	for _, m := range a.Fold().Inbox {
		if m.Spent || m.Name == "child-ended" {
			seen = append(seen, m.Event)
		}
	}
	return perdure.Advice{Actions: []perdure.Action{r.waiting.action}, Seen: seen}, nil
}

// run is the function of an agent, waiting for something that has no record yet. With a nil agent the records are those of the store.
func (f *flow) run(ctx context.Context, id perdure.AgentID, a *perdure.Agent) (*Run, error) {
	r := f.take(id)
	if r != nil && a != nil && r.waiting.key != "" {
		switch rec, found := recent(a, r.waiting.key, r.records); found {
		case resolved:
			r.answer(rec)
		case unproposed: // the same is to be proposed again
		case lost:
			r.end()
			r = nil
		}
	}
	if r == nil {
		recs, inputs, err := replay(ctx, f.node.Store, id)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", f.name, err)
		}
		r = f.begin(id, inputs, recs)
	}
	f.put(id, r)
	return r, nil
}

// Release implements perdure.Releaser: the functions begin again from their records when their agents come back.
func (f *flow) Release(ids ...perdure.AgentID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, r := range f.runs {
		if len(ids) == 0 || slices.Contains(ids, id) {
			r.end()
			delete(f.runs, id)
		}
	}
}

// take takes a function out of those under way.
func (f *flow) take(id perdure.AgentID) *Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.runs[id]
	delete(f.runs, id)
	return r
}

// put keeps a function under way until its agent is next looked at. One that has ended is not kept.
func (f *flow) put(id perdure.AgentID, r *Run) {
	if r.waiting.key == "" {
		r.end()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for other, old := range f.runs {
		if len(f.runs) < maxRuns {
			break
		}
		old.end()
		delete(f.runs, other)
	}
	f.runs[id] = r
}

// stepTool does the steps of all functions of a node.
type stepTool struct {
	flows  map[string]*flow
	name   string
	effect perdure.Effect
}

// Spec implements perdure.Tool.
func (t *stepTool) Spec() perdure.Spec {
	return perdure.Spec{Name: t.name, Effect: t.effect, Description: "does a step of a durable function"}
}

// Call implements perdure.Tool.
func (t *stepTool) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	var args struct{ Step string }
	if err := decode(c.Args, &args); err != nil {
		return perdure.Result{}, err
	}
	r, err := t.find(ctx, c.Agent, args.Step)
	if err != nil {
		return perdure.Result{}, err
	}
	data, err := r.waiting.body(context.WithValue(ctx, keyOf{}, c.Key))
	if err != nil {
		return perdure.Result{}, err
	}
	return perdure.Result{Data: data}, nil
}

// find is the function that waits for a step: the one under way, or one begun again from the records.
func (t *stepTool) find(ctx context.Context, id perdure.AgentID, key string) (*Run, error) {
	for _, f := range t.flows {
		f.mu.Lock()
		r := f.runs[id]
		f.mu.Unlock()
		if r != nil && r.waiting.key == key {
			return r, nil
		}
	}
	a, err := perdure.Load(ctx, t.flows0().node.Store, id)
	if err != nil {
		return nil, err
	}
	f := t.flows[a.Fold().Intent.Advisor]
	if f == nil {
		return nil, fmt.Errorf("no function is handled under %q: %w", a.Fold().Intent.Advisor, perdure.ErrIncapable)
	}
	r, err := f.run(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	if r.waiting.key != key || r.waiting.body == nil {
		return nil, fmt.Errorf("the function no longer comes to step %s: it waits for %q; has the code changed?", key, r.waiting.key)
	}
	return r, nil
}

// flows0 is any of the flows: all are of one node and its store.
func (t *stepTool) flows0() *flow {
	for _, f := range t.flows {
		return f
	}
	return nil
}
