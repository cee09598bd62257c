package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Appends are the settings of the append workload.
type Appends struct {
	Writers int
	Agents  int // the appends are spread over so many; zero: one a writer
	Each    int // appends of each writer
	Payload int
	Dir     string
	Sync    string // of raw SQLite: full or normal
}

// Baseline is the same work done with nothing but what the store is built on.
type Baseline struct {
	Name string
	Rate func(ctx context.Context, s Appends) (float64, error) // appends per second; nil: there is none

	Others []Contestant
}

// Contestant does about the same in another way.
type Contestant struct {
	Label, Name string
	Rate        func(ctx context.Context, s Appends) (float64, error)
}

// Run appends commits of one entry from several writers at once, and then has the floor do the same.
func (s Appends) Run(ctx context.Context, open Open, floor Baseline) (*Figures, error) {
	store, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }()
	runs, err := s.prepare(ctx, store)
	if err != nil {
		return nil, err
	}
	f := &Figures{Workload: "append", Unit: "append", Settings: map[string]any{"writers": s.Writers, "each": s.Each,
		"payload": s.Payload, "agents": max(s.Agents, s.Writers)}}
	runtime.GC() // what preparing left is not measured
	m := startMeter(store)
	laps := make([][]time.Duration, s.Writers)
	err = each(s.Writers, func(i int) error {
		for _, c := range runs[i] {
			began := time.Now()
			if err := store.Append(ctx, c.id, c.heads, c.entry); err != nil {
				return err
			}
			laps[i] = append(laps[i], time.Since(began))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.stop(f, s.Writers*s.Each)
	var all []time.Duration
	for _, l := range laps {
		all = append(all, l...)
	}
	f.percentiles(all)
	if floor.Rate == nil {
		return f, nil
	}
	f.Floor = floor.Name
	if f.FloorRate, err = floor.Rate(ctx, s); err != nil {
		return nil, err
	}
	f.Ratio = f.FloorRate / f.PerSecond
	for _, c := range floor.Others {
		rate, err := c.Rate(ctx, s)
		if err != nil {
			return nil, err
		}
		f.Others = append(f.Others, Other{Label: c.Label, Name: c.Name, PerSecond: rate, Ratio: rate / f.PerSecond})
	}
	return f, nil
}

// commit is one prepared append.
type commit struct {
	id    perdure.AgentID
	heads []perdure.Hash
	entry *perdure.Entry
}

// prepare writes and signs everything beforehand: what is measured is the store.
func (s Appends) prepare(ctx context.Context, store perdure.Store) ([][]commit, error) {
	key, err := perdure.GenerateSigner("bench")
	if err != nil {
		return nil, err
	}
	payload := make([]byte, s.Payload)
	if _, err := rand.Read(payload); err != nil {
		return nil, err
	}
	data, err := perdure.DataOf(payload)
	if err != nil {
		return nil, err
	}
	perWriter := max(s.Agents/s.Writers, 1)
	runs := make([][]commit, s.Writers)
	err = each(s.Writers, func(w int) error {
		agents := make([]*perdure.Agent, perWriter)
		for i := range agents {
			e, err := key.Genesis(genesis(fmt.Sprintf("append-%d-%d", w, i)), time.Now())
			if err != nil {
				return err
			}
			if agents[i], err = perdure.Begin(e); err != nil {
				return err
			}
			if err := store.Append(ctx, e.ID(), nil, e); err != nil {
				return err
			}
		}
		for i := range s.Each {
			a := agents[i%perWriter]
			heads := a.Heads()
			entries, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "payload",
				Data: data}})
			if err != nil {
				return err
			}
			runs[w] = append(runs[w], commit{a.ID(), heads, entries[0]})
			agents[i%perWriter] = next
		}
		return nil
	})
	return runs, err
}

// each runs f for 0 to n-1 at once and returns the first error.
func each(n int, f func(i int) error) error {
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := f(i); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}
