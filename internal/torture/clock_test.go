//go:build unix

package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

const year = 365 * 24 * time.Hour

// clockJumps is how often the clock jumps in a round.
const clockJumps = 12

// clockParts turn the clock.
func clockParts() []part {
	return []part{{name: "clocks that jump", round: jumps, sabotage: "once effects repeated", tries: 5}}
}

// stopping is a tool of class once whose node stops in the middle of a call now and then: before the effect, or with it
// done.
type stopping struct {
	perdure.Tool
	rng  *rand.Rand
	stop func()
}

func (t *stopping) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	when := t.rng.IntN(4)
	if when == 0 {
		t.stop()
		return perdure.Result{}, ctx.Err()
	}
	res, err := t.Tool.Call(ctx, c)
	if when == 1 {
		t.stop()
		return perdure.Result{}, ctx.Err()
	}
	return res, err
}

// Reconcile implements perdure.Reconciler.
func (t *stopping) Reconcile(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	return t.Tool.(perdure.Reconciler).Reconcile(ctx, c)
}

// era lets a node work on the agents of a store until nothing is left to do, or it is stopped. That an agent is held,
// or waits for another time, is nothing wrong.
func (c child) era(t *testing.T, rng *rand.Rand, ids []perdure.AgentID) {
	t.Helper()
	s, err := sqlite.Open(context.Background(), c.store(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	n := newNode(s, signerOf(c.Name), c.world())
	pay := &stopping{Tool: n.Tools[0], rng: rng}
	if c.Flaw != "" {
		pay.Tool = &careless{n.Tools[0].(*checked), c.Flaw}
	}
	n.Tools[0] = pay
	for _, id := range ids {
		ctx, stop := context.WithCancel(context.Background())
		pay.stop = stop
		_, err := n.RunAgent(ctx, id)
		stop()
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, perdure.ErrConflict) {
			t.Fatal(err)
		}
		a, err := perdure.Load(context.Background(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		if err := settle(context.Background(), n, c.world(), a); err != nil {
			t.Fatal(err)
		}
	}
	if rng.IntN(3) == 0 { // a node that dies with a claim, at whatever time it thinks it is
		if _, err := s.Claim(context.Background(), ids[rng.IntN(len(ids))], signerOf("dead").Key(),
			time.Minute); err != nil && !errors.Is(err, perdure.ErrConflict) {
			t.Fatal(err)
		}
	}
	last := perdure.Time(0)
	for look, err := range s.Due(context.Background(), time.Now()) {
		if err != nil || look.Due < last || look.Due > perdure.TimeOf(time.Now()) {
			t.Fatalf("at %v agent %s is due at %v, after one at %v: %v", time.Now(), look.Agent.Short(), look.Due, last,
				err)
		}
		last = look.Due
	}
}

// jumps runs agents while the clock jumps back and forth by years: outside a bubble it is now, within one it is the
// year 2000 and as many years later as it sleeps.
func jumps(r *round) {
	c := newChild(r.t, "clock")
	if r.sabotaged {
		c.Flaw = bold
	}
	s, err := sqlite.Open(r.t.Context(), c.store(), sqlite.Options{})
	r.must(err)
	var ids []perdure.AgentID
	for range 2 {
		a, err := newNode(s, signerOf(c.Name), c.world()).Create(r.t.Context(),
			perdure.Genesis{Intent: perdure.Intent{Goal: "all steps"}, Charter: perdure.Charter{Scope: "torture"}})
		r.must(err)
		ids = append(ids, a.ID())
	}
	r.must(s.Close())
	at := func(years int) {
		if years < 0 {
			c.era(r.t, r.rng, ids)
			return
		}
		synctest.Test(r.t, func(t *testing.T) {
			time.Sleep(time.Duration(years) * year)
			c.era(t, r.rng, ids)
		})
	}
	for i := range clockJumps {
		years := r.rng.IntN(51) - 1
		if i == clockJumps/2 {
			years = -1 // now is between the bubbles, whatever the seed
		}
		at(years)
		r.faults++
	}
	for years := 60; years < 200 && !c.over(r, ids); years++ { // from here on time passes as it should
		at(years)
	}
	c.audit(r)
	c.backwards(r, ids)
}

// over reports whether the agents have ended.
func (c child) over(r *round, ids []perdure.AgentID) bool {
	s, err := sqlite.Open(r.t.Context(), c.store(), sqlite.Options{})
	r.must(err)
	defer closed(r.t, s)
	return !slices.ContainsFunc(ids, func(id perdure.AgentID) bool {
		a, err := perdure.Load(r.t.Context(), s, id)
		r.must(err)
		return a.Fold().Ended == nil
	})
}

// backwards counts the entries that are much older, by their author's clock, than what they follow.
func (c child) backwards(r *round, ids []perdure.AgentID) {
	t, n := r.t, 0
	s, err := sqlite.Open(t.Context(), c.store(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	for _, id := range ids {
		times := map[perdure.Hash]perdure.Time{}
		for e, err := range perdure.Memory(t.Context(), s, id) {
			if err != nil {
				t.Fatal(err)
			}
			times[e.Name] = e.Time
			if slices.ContainsFunc(e.Parents, func(p perdure.Hash) bool { return e.Time < times[p].Add(-year) }) {
				n++
			}
		}
	}
	if n == 0 {
		r.Wrong("the clock never jumped back: nothing was tested")
	}
}

// TestOrderIsNotTheClocks folds memories whose entries have times all over, in any order of arrival, to the same.
func TestOrderIsNotTheClocks(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(seed(), 1<<35))
	key := signerOf("clock")
	jump := func() time.Time { return time.Unix(rng.Int64N(4e9), 0) }
	genesis := must(key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be in order"},
		Charter: perdure.Charter{Scope: "torture"}}, jump()))
	a := must(perdure.Begin(genesis))
	left, right := a, a
	all := []*perdure.Entry{genesis}
	for i := range 40 {
		side := &left
		if i%2 == 1 {
			side = &right
		}
		entries, next, err := key.Commit(*side, jump(), perdure.Draft{Body: perdure.Event{Name: "told",
			Data: must(perdure.DataOf(i)), Set: map[string]perdure.Data{"last": must(perdure.DataOf(i))}}})
		if err != nil {
			t.Fatal(err)
		}
		*side, all = next, append(all, entries...)
	}
	var want perdure.Hash
	for round := range 8 {
		hash := arrive(t, rng, genesis, every(all[1:], 0), every(all[1:], 1))
		if round > 0 && hash != want {
			t.Errorf("seed %d: in another order of arrival the fold is %s, not %s", seed(), hash.Short(), want.Short())
		}
		want = hash
	}
}

// arrive puts the entries of two branches into a new store, each in its order, the branches mixed, and returns the hash
// of the fold.
func arrive(t *testing.T, rng *rand.Rand, genesis *perdure.Entry, branches ...[]*perdure.Entry) perdure.Hash {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), storeFile), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	id := genesis.ID()
	if err := s.Append(t.Context(), id, nil, genesis); err != nil {
		t.Fatal(err)
	}
	for len(branches) > 0 {
		i := rng.IntN(len(branches))
		if len(branches[i]) == 0 {
			branches = slices.Delete(branches, i, i+1)
			continue
		}
		if err := s.Put(t.Context(), id, branches[i][0]); err != nil {
			t.Fatal(err)
		}
		branches[i] = branches[i][1:]
	}
	a, err := checkAgent(t.Context(), s, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return must(a.Fold().Hash())
}

// every is every second entry.
func every(entries []*perdure.Entry, from int) (out []*perdure.Entry) {
	for i := from; i < len(entries); i += 2 {
		out = append(out, entries[i])
	}
	return out
}
