//go:build unix

package torture

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

const (
	// steps is how many steps an agent has in its life, and childSteps how many one that another agent made has.
	steps, childSteps = 24, 3
	// limit is how long a call may take: short, so that lives end in the middle of calls and others find them in doubt.
	limit = 25 * time.Millisecond
)

// tools are of all classes: pay and post happen once, and of post nobody but a person can find out whether; put can be
// repeated under its key; look changes nothing.
func (w world) tools() []perdure.Tool {
	spec := func(name string, e perdure.Effect) perdure.Spec {
		return perdure.Spec{Name: name, Effect: e, Deadline: limit}
	}
	return []perdure.Tool{
		&checked{tool{spec: spec("pay", perdure.Once), world: w}},
		&tool{spec: spec("post", perdure.Once), world: w},
		&tool{spec: spec("put", perdure.Idempotent), world: w},
		&tool{spec: spec("look", perdure.Read), world: w, big: true},
	}
}

// toolsOf are the tools a step needs.
func toolsOf(step int64) []string {
	switch step % 4 {
	case 0:
		return []string{"pay", "put", "look"}
	case 1:
		return []string{"put"}
	case 2:
		return []string{"pay", "post"}
	}
	return []string{"look", "pay"}
}

// advise proposes what of the next step has not been done, and the end after the last. It depends on the agent alone.
func advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	f := a.Fold()
	last := int64(steps)
	if f.Lineage != nil {
		last = childSteps
	}
	for step := int64(1); step <= last; step++ {
		args := must(perdure.DataOf(step))
		var actions []perdure.Action
		for _, tool := range toolsOf(step) {
			if stepOf(f.Vars[tool]) < step {
				actions = append(actions, perdure.Execute{Tool: tool, Args: args})
			}
		}
		if len(actions) == 0 {
			continue
		}
		if step == 5 && f.Charter.Depth > 0 && len(f.Children) == 0 {
			actions = append(actions, perdure.Delegate{Intent: perdure.Intent{Name: "child of " + f.Intent.Name,
				Goal: "a few steps"}})
		}
		if step%6 == 0 {
			actions = append(actions, perdure.Sleep{Trigger: perdure.After{Millis: 3}})
		}
		return perdure.Advice{Actions: actions}, nil
	}
	return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
}

// newNode is a node for such agents.
func newNode(s perdure.Store, key *perdure.Signer, w world) *perdure.Node {
	trust := new(perdure.Trust) // the nodes are of one owner
	for _, name := range []string{"red", "blue"} {
		trust = trust.With(perdure.Trustee{Key: signerOf(name).Key(), Name: name, Rights: perdure.MayOwn,
			Scope: perdure.AnyScope})
	}
	return &perdure.Node{
		Store: s, Key: key, Trust: trust, Tools: w.tools(), Lease: 20 * time.Millisecond, Concurrency: 8,
		SnapshotEvery: 40, Grace: time.Second,
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(advise)},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}),
	}
}

// settle plays the person who looks what came of a post nobody else can tell of, once its time is over.
func settle(ctx context.Context, n *perdure.Node, w world, a *perdure.Agent) error {
	id := a.ID()
	for _, o := range a.Fold().Open {
		x, ok := o.Action.(perdure.Execute)
		if !ok || x.Tool != "post" || time.Now().Before(o.Deadline.Go()) {
			continue
		}
		happened, err := w.find(id, x.Tool, o.Key.String(), x.Args)
		if err != nil {
			return err
		}
		ev := perdure.Event{Name: "settled", By: "person", ID: o.Decision.String(),
			Notice: perdure.Settle{Decision: o.Decision, Signal: perdure.Failed}}
		if happened {
			ev.Notice, ev.Set = perdure.Settle{Decision: o.Decision, Signal: perdure.OK}, done(x.Tool, x.Args)
		}
		if _, err := n.Tell(ctx, id, ev); err != nil {
			return err
		}
	}
	return nil
}
