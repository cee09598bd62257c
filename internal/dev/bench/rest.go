package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// roleRest is the process of the dormant workload that looks at a store full of sleepers.
const roleRest = "rest"

const (
	restSettles = 3 * time.Second // by then a node has done what it does at its start
	restWakes   = 20              // how many agents are woken
	restNaps    = 5               // how many agents wake by themselves
	restNap     = 300 * time.Millisecond
)

// Rested is what a process that is new to a store of sleepers came to.
type Rested struct {
	Open   float64 `json:"open_ms"`          // opening the store
	Due    int     `json:"due"`              // how many of the next agents that are due were looked for
	Found  float64 `json:"due_ms"`           // finding them
	RSS    float64 `json:"node_rss_mib"`     // of a node at rest
	CPU    float64 `json:"node_cpu_ms_s"`    // what it takes of a processor, in milliseconds per second
	Told   float64 `json:"wake_by_event_ms"` // from an event to the advisor of the agent, median
	Worst  float64 `json:"wake_worst_ms"`    // of those
	OnTime float64 `json:"wake_by_time_ms"`  // from when an agent was due to its advisor, median

	owner perdure.Key   // of the sleepers
	lasts time.Duration // how long a node is watched at rest
}

// String says it for people.
func (r *Rested) String() string {
	return fmt.Sprintf("opened in %.1f ms; next %d due found in %.1f ms; a node at rest holds %.1f MiB and takes "+
		"%.2f ms of a processor per second; it wakes an agent %.1f ms after an event (worst of %d: %.1f ms) and "+
		"%.1f ms after it is due", r.Open, r.Due, r.Found, r.RSS, r.CPU, r.Told, restWakes, r.Worst, r.OnTime)
}

// rest is a process's view of a store of sleepers that is new to it: opening it, finding the next thousand agents that
// are due, a node that has nothing to do for a while, and agents that wake. What it came to goes to w.
func rest(ctx context.Context, open Open, owner string, lasts time.Duration, w io.Writer) error {
	r := Rested{lasts: lasts}
	if err := r.owner.UnmarshalText([]byte(owner)); err != nil {
		return err
	}
	began := time.Now()
	store, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	r.Open, began = ms(time.Since(began)), time.Now()
	var ids []perdure.AgentID
	for look, err := range store.Due(ctx, began.Add(2*time.Hour)) {
		if err != nil {
			return err
		}
		if ids = append(ids, look.Agent); len(ids) == 1000 {
			break
		}
	}
	r.Due, r.Found = len(ids), ms(time.Since(began))
	if err := r.node(ctx, store, ids); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(&r)
}

// wakes notes when the advisor of an agent is asked.
type wakes struct {
	nap chan time.Time // of agents that woke by themselves

	mu sync.Mutex
	at map[perdure.AgentID]chan time.Time // of those that are woken
}

// expect is where it is told when an agent wakes next.
func (w *wakes) expect(id perdure.AgentID) <-chan time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at[id] = make(chan time.Time, 1)
	return w.at[id]
}

// advise notes that an agent is awake and has it sleep again.
func (w *wakes) advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch c := w.at[a.ID()]; {
	case c != nil:
		c <- now
		delete(w.at, a.ID())
	case a.Fold().Turns == 0:
		return asleep(restNap), nil // it was started to wake soon
	default:
		select {
		case w.nap <- now:
		default: // nobody waits for it
		}
	}
	return asleep(time.Hour), nil
}

// node runs a node on the store: at rest, and while agents wake.
func (r *Rested) node(ctx context.Context, store perdure.Store, ids []perdure.AgentID) error {
	key, err := perdure.GenerateSigner("bench")
	if err != nil {
		return err
	}
	w := &wakes{nap: make(chan time.Time, 1), at: map[perdure.AgentID]chan time.Time{}}
	trust := new(perdure.Trust)
	for _, k := range []perdure.Key{r.owner, key.Key()} {
		trust = trust.With(perdure.Trustee{Key: k, Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	}
	n := &perdure.Node{Store: store, Key: key, Policy: permit, Trust: trust,
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(w.advise)}}
	run, stop := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- n.Run(run) }()
	err = r.watch(ctx, n, w, ids)
	stop()
	return errors.Join(err, <-ran)
}

func (r *Rested) watch(ctx context.Context, n *perdure.Node, w *wakes, ids []perdure.AgentID) error {
	if err := wait(ctx, min(restSettles, r.lasts)); err != nil {
		return err
	}
	cpu := CPUTime()
	if err := wait(ctx, r.lasts); err != nil {
		return err
	}
	r.CPU, r.RSS = ms(CPUTime()-cpu)/r.lasts.Seconds(), RSS()
	var told, late []time.Duration
	for i := range min(restWakes, len(ids)) {
		woken := w.expect(ids[len(ids)-1-i])
		began := time.Now()
		if _, err := n.Tell(ctx, ids[len(ids)-1-i], perdure.Event{Name: wakeEvent}); err != nil {
			return err
		}
		at, err := awake(ctx, woken)
		if err != nil {
			return err
		}
		told = append(told, at.Sub(began))
	}
	for i := range restNaps {
		a, err := n.Start(ctx, genesis(fmt.Sprintf("napper-%d", i)))
		if err != nil {
			return err
		}
		at, err := awake(ctx, w.nap)
		if err != nil {
			return err
		}
		late = append(late, at.Sub(a.Fold().Due(time.Now()).Go()))
	}
	r.Told, r.Worst, r.OnTime = ms(median(told)), 0, ms(median(late))
	for _, d := range told {
		r.Worst = max(r.Worst, ms(d))
	}
	return nil
}

// awake waits until an agent has woken.
func awake(ctx context.Context, woken <-chan time.Time) (time.Time, error) {
	select {
	case at := <-woken:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(time.Minute):
		return time.Time{}, errors.New("an agent that was told to wake did not, for a minute")
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
