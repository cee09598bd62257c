package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// Durable are the settings of the durable workload: functions of package durable that do nothing but steps, one after
// the other.
type Durable struct {
	Agents  int    // at work at once
	Steps   int    // of each agent
	Payload int    // bytes each step returns, as text
	Dir     string // the folder whose size is measured; empty: not measured
}

// Run starts the agents on a node that runs, waits for their results and measures the time from the first start to the
// last result.
func (d Durable) Run(ctx context.Context, open Open) (*Figures, error) {
	store, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }()
	key, err := perdure.GenerateSigner("bench")
	if err != nil {
		return nil, err
	}
	raw := make([]byte, (d.Payload+1)/2)
	if _, err := rand.Read(raw); err != nil {
		return nil, err
	}
	payload := hex.EncodeToString(raw)[:d.Payload]
	node := &perdure.Node{Store: store, Key: key, Policy: permit, Concurrency: max(d.Agents, 1)}
	laps := lapTimer{last: map[perdure.AgentID]time.Time{}}
	durable.Handle(node, "steps", func(r *durable.Run, n int) (int, error) {
		for i := range n {
			_, err := durable.Step(r, "step", func(context.Context) (string, error) {
				laps.lap(r.Agent)
				return payload, nil
			})
			if err != nil {
				return i, err
			}
		}
		return n, nil
	})
	f := &Figures{Workload: "durable", Unit: "step", Settings: map[string]any{"agents": d.Agents, "steps": d.Steps,
		"payload": d.Payload}}
	before, err := Steps{Dir: d.Dir}.settle(ctx, store)
	if err != nil {
		return nil, err
	}
	runtime.GC()
	m := startMeter(store)
	if err := d.work(ctx, node); err != nil {
		return nil, err
	}
	m.stop(f, d.Agents*d.Steps)
	f.percentiles(laps.laps)
	after, err := Steps{Dir: d.Dir}.settle(ctx, store)
	if err != nil {
		return nil, err
	}
	f.Bytes = float64(after-before) / float64(f.Count)
	return f, nil
}

// work starts the agents and runs the node until all have ended.
func (d Durable) work(ctx context.Context, node *perdure.Node) error {
	ids := make([]perdure.AgentID, d.Agents)
	for i := range ids {
		var err error
		if ids[i], err = durable.Start(ctx, node, "steps", d.Steps); err != nil {
			return err
		}
	}
	run, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- node.Run(run) }()
	var err error
	for _, id := range ids {
		if _, e := durable.Await[int](ctx, node, id); e != nil {
			err = errors.Join(err, e)
			break
		}
	}
	stop()
	return errors.Join(err, <-ran)
}

// lapTimer notes the time between the steps of each agent.
type lapTimer struct {
	mu   sync.Mutex
	last map[perdure.AgentID]time.Time
	laps []time.Duration
}

func (l *lapTimer) lap(id perdure.AgentID) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last[id]; ok {
		l.laps = append(l.laps, now.Sub(last))
	}
	l.last[id] = now
}
