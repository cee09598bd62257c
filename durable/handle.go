package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// Handle makes the node run fn for the agents whose intent names it as their advisor. Call it before the node runs. In
// is what Start was given, Out what the agent ends with; both travel as JSON.
func Handle[In, Out any](n *perdure.Node, name string, fn func(r *Run, in In) (Out, error)) {
	f := &flow{name: name, node: n, runs: map[perdure.AgentID]*Run{}}
	f.body = func(r *Run, inputs perdure.Data) (perdure.Data, error) {
		var in In
		if err := decode(inputs, &in); err != nil {
			return nil, fmt.Errorf("input of %s: %w", name, err)
		}
		out, err := fn(r, in)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
	if n.Advisors == nil {
		n.Advisors = map[string]perdure.Advisor{}
	}
	n.Advisors[name] = f
	tools := slices.IndexFunc(n.Tools, func(t perdure.Tool) bool { _, ok := t.(*stepTool); return ok })
	if tools < 0 {
		flows := map[string]*flow{}
		tools = len(n.Tools)
		n.Tools = append(n.Tools, &stepTool{flows: flows, name: stepName, effect: perdure.Idempotent},
			&stepTool{flows: flows, name: onceName, effect: perdure.Once})
	}
	n.Tools[tools].(*stepTool).flows[name] = f
}

// AllowAll is a policy that permits everything, for programs whose own code is all that runs.
var AllowAll perdure.Policy = perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
	return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"durable.allow-all"}}
})

// Start starts an agent that runs the function handled under name. It may Spawn up to eight generations.
func Start(ctx context.Context, n *perdure.Node, name string, in any) (perdure.AgentID, error) {
	inputs, err := encode(in)
	if err != nil {
		return perdure.AgentID{}, fmt.Errorf("input of %s: %w", name, err)
	}
	g := genesis(name, name)
	g.Intent.Inputs = inputs
	a, err := n.Create(ctx, g)
	if err != nil {
		return perdure.AgentID{}, err
	}
	return a.ID(), nil
}

// StartAs is Start for a run that is to exist once: starting it again under the same id, here or in another process
// that signs with the same key and shares the store, returns the run that is there, whatever its input and whether it
// has ended. The agent is called by the id.
func StartAs(ctx context.Context, n *perdure.Node, name, id string, in any) (perdure.AgentID, error) {
	if id == "" {
		return perdure.AgentID{}, fmt.Errorf("start %s: want an id, got none; Start starts a run without one", name)
	}
	inputs, err := encode(in)
	if err != nil {
		return perdure.AgentID{}, fmt.Errorf("input of %s: %w", name, err)
	}
	a, err := n.CreateOnce(ctx, genesis(name, id), inputs)
	if err != nil {
		return perdure.AgentID{}, err
	}
	return a.ID(), nil
}

func genesis(name, called string) perdure.Genesis {
	return perdure.Genesis{
		Intent:  perdure.Intent{Name: called, Goal: "run " + name, Advisor: name},
		Charter: perdure.Charter{Scope: "durable", Depth: maxDepth},
	}
}

// maxDepth is how many generations of children a started agent may have: enough for any sensible division of work, and
// an end to an endless one.
const maxDepth = 8

// Result decodes what an ended agent ended with. An agent that failed is an error; one that has not ended wraps
// perdure.ErrNotFound.
func Result[Out any](a *perdure.Agent) (Out, error) {
	var out Out
	end := a.Fold().Ended
	switch {
	case end == nil:
		return out, fmt.Errorf("agent %s has not ended: %w", a.ID().Short(), perdure.ErrNotFound)
	case end.Signal != perdure.OK:
		return out, &Error{Step: a.Fold().Intent.Name, Signal: end.Signal, Note: end.Note}
	}
	return out, decode(end.Result, &out)
}

// Await waits until a run has ended, here or in another process, and returns what it ended with, as Result does. It
// does not run the agent.
func Await[Out any](ctx context.Context, n *perdure.Node, id perdure.AgentID) (Out, error) {
	a, err := n.Ended(ctx, id)
	if err != nil {
		var none Out
		return none, err
	}
	return Result[Out](a)
}

// encode and decode move Go values through JSON, so that a live step and a recorded one return the same. Text that JSON
// would not change goes without.
func encode(v any) (perdure.Data, error) {
	if text, ok := v.(string); ok && utf8.ValidString(text) {
		return perdure.DataOf(text)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return perdure.DataFromJSON(b)
}

func decode(d perdure.Data, v any) error {
	if len(d) == 0 {
		return nil
	}
	if text, ok := v.(*string); ok {
		if got := d.Text(); got != "" {
			*text = got
			return nil
		}
	}
	return json.Unmarshal(d.JSON(), v)
}
