package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// History gives an agent a history of so many steps and leaves it in the middle of its work, as a killed process would.
// It returns the agent.
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
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	first := &firstAppend{Store: store, done: func() { r.Step = time.Since(began); stop() }}
	w, err := newWork(first, Steps{Agents: 1, Steps: 1 << 40, Payload: payload, Effect: perdure.Read})
	if err != nil {
		return r, err
	}
	if _, err := w.node.RunAgent(ctx, id); !errors.Is(err, context.Canceled) {
		return r, err
	}
	return r, nil
}

// firstAppend is a store that tells when the first append is durable.
type firstAppend struct {
	perdure.Store
	once sync.Once
	done func()
}

func (f *firstAppend) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash,
	entries ...*perdure.Entry) error {
	err := f.Store.Append(ctx, id, heads, entries...)
	if err == nil {
		f.once.Do(f.done)
	}
	return err
}
