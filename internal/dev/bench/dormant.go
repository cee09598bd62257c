package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Dormant are the settings of the dormant workload.
type Dormant struct {
	Agents int
	Dir    string
	Done   func(agents int)
}

// Run starts agents that sleep, and then looks for the next thousand that are due.
func (s Dormant) Run(ctx context.Context, open Open) (*Figures, error) {
	store, err := open(ctx)
	if err != nil {
		return nil, err
	}
	size := Steps{Dir: s.Dir}
	before, err := size.settle(ctx, store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	f := &Figures{Workload: "dormant", Unit: "agent", Settings: map[string]any{"agents": s.Agents}}
	m := startMeter(store)
	if err := s.start(ctx, store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	m.stop(f, s.Agents)
	after, err := size.settle(ctx, store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	f.Bytes = float64(after-before) / float64(s.Agents)
	if err := store.Close(); err != nil {
		return nil, err
	}
	return f, s.due(ctx, open, f)
}

// start starts the agents from a few goroutines, so that they share commits.
func (s Dormant) start(ctx context.Context, store perdure.Store) error {
	key, err := perdure.GenerateSigner("bench")
	if err != nil {
		return err
	}
	n := &perdure.Node{Store: store, Key: key, Policy: permit, CacheSize: -1, Advisors: map[string]perdure.Advisor{
		"": perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
			sleep := perdure.Sleep{Trigger: perdure.After{Millis: time.Hour.Milliseconds()}}
			return perdure.Advice{Actions: []perdure.Action{sleep}}, nil
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
const starters = 64

// due measures a fresh process's view: opening the store, and finding the next thousand agents that are due.
func (s Dormant) due(ctx context.Context, open Open, f *Figures) error {
	debug.FreeOSMemory()
	began := time.Now()
	store, err := open(ctx)
	if err != nil {
		return err
	}
	opened := time.Since(began)
	defer func() { _ = store.Close() }()
	runtime.GC()
	began = time.Now()
	found := 0
	for _, err := range store.Due(ctx, time.Now().Add(2*time.Hour)) {
		if err != nil {
			return err
		}
		if found++; found == 1000 {
			break
		}
	}
	f.Note = fmt.Sprintf("opened in %.1f ms; next %d due found in %.1f ms", ms(opened), found, ms(time.Since(began)))
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
