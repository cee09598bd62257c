package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// Open opens the store under test; it is called again after each close.
type Open func(ctx context.Context) (perdure.Store, error)

// Steps are the settings of the steps workload.
type Steps struct {
	Agents  int             // at work at once
	Nodes   int             // that share the store and claim the agents; zero: none do
	Steps   int             // of each agent
	Payload int             // bytes each step returns
	Effect  perdure.Effect  // class of the tool that does the step
	Dir     string          // the folder whose size is measured; empty: not measured
	Done    func(steps int) // called now and then
}

// Run runs agents that do durable steps, each an advice, a decision and an outcome, and measures them.
func (s Steps) Run(ctx context.Context, open Open) (*Figures, error) {
	store, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }()
	w, err := newWork(store, s)
	if err != nil {
		return nil, err
	}
	ids := make([]perdure.AgentID, s.Agents)
	for i := range ids {
		a, err := w.node.Create(ctx, genesis(fmt.Sprintf("bench-%d", i)))
		if err != nil {
			return nil, err
		}
		ids[i] = a.ID()
	}
	before, err := s.settle(ctx, store)
	if err != nil {
		return nil, err
	}
	f := &Figures{Workload: "steps", Unit: "step", Settings: map[string]any{"agents": s.Agents, "steps": s.Steps,
		"payload": s.Payload, "effect": s.Effect.String()}}
	runtime.GC()
	m := startMeter(store)
	if s.Nodes > 0 {
		f.Settings["nodes"] = s.Nodes
		err = w.share(ctx, open)
	} else {
		err = w.run(ctx, ids)
	}
	if err != nil {
		return nil, err
	}
	m.stop(f, s.Agents*s.Steps)
	f.percentiles(w.laps)
	after, err := s.settle(ctx, store)
	if err != nil {
		return nil, err
	}
	f.Bytes = float64(after-before) / float64(f.Count)
	return f, nil
}

// settle is the size of the store with nothing left in its log.
func (s Steps) settle(ctx context.Context, store perdure.Store) (int64, error) {
	if s.Dir == "" {
		return 0, nil
	}
	if c, ok := store.(interface{ Checkpoint(context.Context) error }); ok {
		if err := c.Checkpoint(ctx); err != nil {
			return 0, err
		}
	}
	return DiskUse(s.Dir)
}

// stepWork is a node whose agents do steps.
type stepWork struct {
	node *perdure.Node
	set  Steps

	mu   sync.Mutex
	last map[perdure.AgentID]time.Time
	laps []time.Duration

	ended atomic.Int64  // agents that were told to end
	all   chan struct{} // closed when all were
}

func newWork(store perdure.Store, set Steps) (*stepWork, error) {
	key, err := perdure.GenerateSigner("bench")
	if err != nil {
		return nil, err
	}
	w := &stepWork{set: set, all: make(chan struct{}), last: map[perdure.AgentID]time.Time{},
		laps: make([]time.Duration, 0, min(set.Agents*set.Steps, 1<<12))}
	payload := make([]byte, set.Payload)
	if _, err := rand.Read(payload); err != nil {
		return nil, err
	}
	result, err := perdure.DataOf(payload)
	if err != nil {
		return nil, err
	}
	w.node = &perdure.Node{
		Store: store, Key: key, Policy: permit, Tools: []perdure.Tool{&stepTool{w: w, result: result}},
		Advisors: map[string]perdure.Advisor{"": w.advisor()}, Concurrency: max(set.Agents, 1),
	}
	return w, nil
}

// permit allows everything: what is measured is the runtime.
var permit = perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
	return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"bench"}}
})

func genesis(name string) perdure.Genesis {
	return perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: "be measured"},
		Charter: perdure.Charter{Scope: "bench"}}
}

// advisor proposes the next step until there are enough.
func (w *stepWork) advisor() perdure.Advisor {
	return perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		turn := a.Fold().Turns
		if turn >= int64(w.set.Steps) {
			if w.ended.Add(1) == int64(w.set.Agents) {
				close(w.all)
			}
			return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
		}
		args, err := perdure.DataOf(map[string]any{"step": turn})
		return perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "step", Args: args}}}, err
	})
}

// share has nodes of their own work on the agents until all have ended. They claim what is due, as nodes on several
// machines do, and give way to each other.
func (w *stepWork) share(ctx context.Context, open Open) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	errs := make(chan error, w.set.Nodes)
	for range w.set.Nodes {
		store, err := open(ctx)
		if err != nil {
			stop()
			wg.Wait()
			return err
		}
		n := &perdure.Node{Store: store, Key: w.node.Key, Policy: permit, Tools: w.node.Tools,
			Advisors: w.node.Advisors}
		wg.Go(func() { errs <- errors.Join(n.Run(ctx), store.Close()) })
	}
	select {
	case <-w.all:
	case <-ctx.Done():
	}
	err := ctx.Err()
	stop()
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// run works on the agents until all have ended.
func (w *stepWork) run(ctx context.Context, ids []perdure.AgentID) error {
	if len(ids) == 1 {
		_, err := w.node.RunAgent(ctx, ids[0])
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, len(ids))
	for _, id := range ids {
		wg.Go(func() {
			if _, err := w.node.RunAgent(ctx, id); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// stepTool does a step: it returns the payload and notes the time since the agent's last step.
type stepTool struct {
	w      *stepWork
	result perdure.Data
}

func (t *stepTool) Spec() perdure.Spec {
	return perdure.Spec{Name: "step", Effect: t.w.set.Effect}
}

func (t *stepTool) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	now := time.Now()
	w := t.w
	w.mu.Lock()
	if last, ok := w.last[c.Agent]; ok {
		w.laps = append(w.laps, now.Sub(last))
	}
	w.last[c.Agent] = now
	n := len(w.laps)
	w.mu.Unlock()
	if w.set.Done != nil && n%1000 == 0 {
		w.set.Done(n)
	}
	return perdure.Result{Data: t.result}, nil
}
