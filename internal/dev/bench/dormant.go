package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/self"
)

// Dormant are the settings of the dormant workload.
type Dormant struct {
	Agents int
	Rest   time.Duration // how long to watch an idle node
	Done   func(agents int)
}

// Run starts agents that sleep, and then has a process of its own look for the next thousand that are due, and run a
// node among them.
func (s Dormant) Run(ctx context.Context, p *Place) (*Figures, error) {
	store, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	key, err := perdure.GenerateSigner("bench")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	f := &Figures{Workload: "dormant", Unit: "agent", Settings: map[string]any{"agents": s.Agents}}
	if err := errors.Join(s.fill(ctx, p.Dir, store, key, f), store.Close()); err != nil {
		return nil, err
	}
	cmd := self.Command(ctx, "bench", "dormant", "--role", roleRest, "--owner", key.Key().String(),
		"--rest", s.Rest.String(), "--store", p.made())
	out, err := cmd.Output()
	if err != nil {
		return nil, self.Error("rest", err)
	}
	var r Rested
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	f.Rested, f.Note = &r, r.String()
	return f, nil
}

// fill starts the agents, and measures that.
func (s Dormant) fill(ctx context.Context, dir string, store perdure.Store, key *perdure.Signer, f *Figures) error {
	size := Steps{Dir: dir}
	before, err := size.settle(ctx, store)
	if err != nil {
		return err
	}
	m := startMeter(store)
	if err := s.start(ctx, store, key); err != nil {
		return err
	}
	m.stop(f, s.Agents)
	after, err := size.settle(ctx, store)
	f.Bytes = float64(after-before) / float64(s.Agents)
	return err
}

// wakeEvent is what wakes a sleeper before its time.
const wakeEvent = "wake"

// asleep is advice to sleep for a time, or until somebody says to wake.
func asleep(d time.Duration) perdure.Advice {
	until := perdure.Any{Of: []perdure.Trigger{perdure.After{Millis: d.Milliseconds()}, perdure.On{Event: wakeEvent}}}
	return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: until}}}
}

// start starts the agents from many goroutines, so that they share commits.
func (s Dormant) start(ctx context.Context, store perdure.Store, key *perdure.Signer) error {
	n := &perdure.Node{Store: store, Key: key, Policy: permit, CacheSize: -1, Advisors: map[string]perdure.Advisor{
		"": perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
			return asleep(time.Hour), nil
		}),
	}}
	next := make(chan int)
	errs := make(chan error, starters)
	var wg sync.WaitGroup
	for range starters {
		wg.Go(func() {
			for i := range next {
				if _, err := n.Start(ctx, genesis(fmt.Sprintf("sleeper-%d", i))); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for i := range s.Agents {
		select {
		case next <- i:
		case err := <-errs:
			close(next)
			wg.Wait()
			return err
		}
		if s.Done != nil && i%1000 == 0 {
			s.Done(i)
		}
	}
	close(next)
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// starters is how many agents are started at once: enough to share a commit, few enough to stay small.
const starters = 256

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
