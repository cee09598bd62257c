package bench

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure"
)

// History gives an agent a history of so many steps and leaves it in the middle of its work, as a killed process would. It returns the
// agent.
func History(ctx context.Context, store perdure.Store, steps, payload int, done func(int)) (perdure.AgentID, error) {
	w, err := newWork(store, Steps{Agents: 1, Steps: 2 * steps, Payload: payload, Effect: perdure.Read, Done: done})
	if err != nil {
		return perdure.AgentID{}, err
	}
	a, err := w.node.Create(ctx, genesis("history"))
	if err != nil {
		return perdure.AgentID{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	next := w.advisor()
	w.node.Advisors[""] = perdure.AdvisorFunc(func(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
		if a.Fold().Turns >= int64(steps) {
			stop()
			return perdure.Advice{}, ctx.Err()
		}
		return next.Advise(ctx, a)
	})
	if _, err := w.node.RunAgent(ctx, a.ID()); !errors.Is(err, context.Canceled) {
		return perdure.AgentID{}, err
	}
	return a.ID(), nil
}

// Resumption is what resuming an agent took.
type Resumption struct {
	Open time.Duration // opening the store
	Step time.Duration // loading the agent and doing its next step, up to its durable record
}

// Resume opens the store as a new process would, loads the agent and does its next durable step.
func Resume(ctx context.Context, open Open, id perdure.AgentID, payload int) (Resumption, error) {
	var r Resumption
	began := time.Now()
	store, err := open(ctx)
	if err != nil {
		return r, err
	}
	defer func() { _ = store.Close() }()
	r.Open = time.Since(began)
	began = time.Now()
	w, err := newWork(store, Steps{Agents: 1, Steps: 1 << 40, Payload: payload, Effect: perdure.Read})
	if err != nil {
		return r, err
	}
	for done := false; !done; {
		step, err := w.node.Cycle(ctx, id)
		if err != nil {
			return r, err
		}
		_, done = step.(perdure.Decide)
	}
	r.Step = time.Since(began)
	return r, nil
}
