package durable

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/turns"
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

	// of agents: had while their function is looked for, or begun again, for a step. One whose function takes long
	// before its next step holds nobody else up
	finding turns.Turns[perdure.AgentID]
}

// Instant is true: asking again costs a look at the records.
func (f *flow) Instant() bool { return true }

// Advise implements perdure.Advisor.
func (f *flow) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	r, err := f.advance(ctx, a)
	if err != nil {
		return perdure.Advice{}, err
	}
	advice := perdure.Advice{Actions: make([]perdure.Action, len(r.waiting)), Seen: []perdure.Hash{}, Replays: true}
	for i := range r.waiting {
		advice.Actions[i] = r.waiting[i].action
	}
	// Only what a wait has taken is seen, and what is not waited for: the function may come to wait for the others yet.
	for _, m := range a.Fold().Inbox {
		if m.Spent || r.records.noted[m.Event] || r.records.taken[m.Event] {
			advice.Seen = append(advice.Seen, m.Event)
		}
	}
	return advice, nil
}

// advance is the function of an agent, waiting for something that has no record yet.
func (f *flow) advance(ctx context.Context, a *perdure.Agent) (*Run, error) {
	r := f.take(a.ID())
	if r != nil && !r.ended() {
		switch recs, found := recent(a, r.waiting, r.records); found {
		case resolved:
			r.answer(recs)
		case unproposed: // the same is to be proposed again
		case lost:
			r.end()
			r = nil
		}
	}
	if r == nil {
		var err error
		if r, err = f.again(ctx, a.Fold(), a); err != nil {
			return nil, err
		}
	}
	f.put(a.ID(), r)
	return r, nil
}

// again begins the function of an agent again from its records: those the agent holds, if it holds all, else those of
// the store.
func (f *flow) again(ctx context.Context, fold *perdure.Fold, a *perdure.Agent) (*Run, error) {
	recs, inputs, err := replay(ctx, f.node.Store, fold, a)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", f.name, err)
	}
	return f.begin(fold.Agent, inputs, recs), nil
}

// Release implements perdure.Releaser: the functions begin again from their records when their agents come back.
func (f *flow) Release(ids ...perdure.AgentID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(ids) == 0 {
		for _, r := range f.runs {
			r.end()
		}
		clear(f.runs)
	}
	for _, id := range ids {
		if r := f.runs[id]; r != nil {
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
	if r.ended() {
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

// step finds the body of a step: in the function under way, or in one begun again from the records.
func (f *flow) step(ctx context.Context, caller *perdure.Fold, args perdure.Data) (*op, error) {
	if o := f.underWay(caller.Agent, args); o != nil {
		return o, nil
	}
	done, err := f.finding.Take(ctx, caller.Agent)
	if err != nil {
		return nil, err
	}
	defer done()
	if o := f.underWay(caller.Agent, args); o != nil { // another step has begun it again
		return o, nil
	}
	f.Release(caller.Agent)
	r, err := f.again(ctx, caller, nil)
	if err != nil {
		return nil, err
	}
	f.put(caller.Agent, r)
	if o := r.find(args); o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("the function no longer comes to step %s: it waits for %q; has the code changed?",
		args.JSON(), r.waiting[0].key)
}

// underWay is the step with these arguments that the function under way waits for.
func (f *flow) underWay(id perdure.AgentID, args perdure.Data) *op {
	f.mu.Lock()
	r := f.runs[id]
	f.mu.Unlock()
	if r == nil {
		return nil
	}
	return r.find(args)
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
	if c.Caller == nil {
		return perdure.Result{}, fmt.Errorf("%s does a step of an agent: only a node can call it", t.name)
	}
	f := t.flows[c.Caller.Intent.Advisor]
	if f == nil {
		return perdure.Result{}, fmt.Errorf("no function is handled under %q: %w", c.Caller.Intent.Advisor,
			perdure.ErrIncapable)
	}
	o, err := f.step(ctx, c.Caller, c.Args)
	if err != nil {
		return perdure.Result{}, err
	}
	return o.step.call(ctx)
}

// stepArgs are the arguments of a step, which policies read: {"step": key}.
func stepArgs(key string) (perdure.Data, error) {
	name, err := perdure.DataOf(key)
	return slices.Concat(beforeName, name), err
}

// beforeName is how the arguments of every step begin: with all but their last value.
var beforeName = func() perdure.Data {
	d, err := perdure.DataOf(map[string]any{"step": ""})
	if err != nil {
		panic(err)
	}
	return d[:len(d)-1]
}()

var _ perdure.Releaser = (*flow)(nil)

// within reports whether all ops are among actions.
func within(ops []op, actions []perdure.Action) bool {
	for i := range ops {
		if !slices.ContainsFunc(actions, func(a perdure.Action) bool { return perdure.CallOf(a) == ops[i].key }) {
			return false
		}
	}
	return true
}
