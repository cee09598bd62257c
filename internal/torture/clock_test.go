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

// clockJumps is how often the clock jumps.
var clockJumps = amount{short: 10, usual: 30, long: 500}

// stopping is a tool of class once whose node stops in the middle of a call now and then: before the effect, or with it done.
type stopping struct {
	*checked
	rng  *rand.Rand
	stop func()
}

func (t *stopping) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	when := t.rng.IntN(4)
	if when == 0 {
		t.stop()
		return perdure.Result{}, ctx.Err()
	}
	res, err := t.checked.Call(ctx, c)
	if when == 1 {
		t.stop()
		return perdure.Result{}, ctx.Err()
	}
	return res, err
}

// era lets a node work on the agents of a store until nothing is left to do, or it is stopped. That an agent is held, or waits for
// another time, is nothing wrong.
func (c child) era(t *testing.T, rng *rand.Rand, ids []perdure.AgentID) {
	t.Helper()
	s, err := sqlite.Open(context.Background(), c.store(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	n := newNode(s, signerOf(c.Name), c.world())
	pay := &stopping{checked: n.Tools[0].(*checked), rng: rng}
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
		if _, err := s.Claim(context.Background(), ids[rng.IntN(len(ids))], signerOf("dead").Key(), time.Minute); err != nil && !errors.Is(err, perdure.ErrConflict) {
			t.Fatal(err)
		}
	}
	last := perdure.Time(0)
	for look, err := range s.Due(context.Background(), time.Now()) {
		if err != nil || look.Due < last || look.Due > perdure.TimeOf(time.Now()) {
			t.Fatalf("at %v agent %s is due at %v, after one at %v: %v", time.Now(), look.Agent.Short(), look.Due, last, err)
		}
		last = look.Due
	}
}

// TestClockJumpsDoubleNothing runs agents while the clock jumps back and forth by years: outside a bubble it is now, within one it is the
// year 2000 and as many years later as the test sleeps.
func TestClockJumpsDoubleNothing(t *testing.T) {
	c := newChild(t, "clock")
	rng := rand.New(rand.NewPCG(seed(), 1<<34))
	s, err := sqlite.Open(t.Context(), c.store(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []perdure.AgentID
	for range 3 {
		a, err := newNode(s, signerOf(c.Name), c.world()).Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "all steps"}, Charter: perdure.Charter{Scope: "torture"}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	at := func(years int) {
		if years < 0 {
			c.era(t, rng, ids)
			return
		}
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(years) * year)
			c.era(t, rng, ids)
		})
	}
	jumps := clockJumps.of(t)
	for range jumps {
		at(rng.IntN(51) - 1)
	}
	for years := 60; years < 200; years++ { // from here on time passes as it should
		at(years)
	}
	sum, found := c.audit(t)
	for _, f := range found {
		t.Errorf("seed %d: %s", seed(), f)
	}
	t.Logf("%d jumps: %v, %d times an entry is a year or more older than the one before it", jumps, sum, c.backwards(t, ids))
}

// backwards counts the entries that are much older, by their author's clock, than what they follow.
func (c child) backwards(t *testing.T, ids []perdure.AgentID) (n int) {
	t.Helper()
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
		t.Error("the clock never jumped back: nothing was tested")
	}
	return n
}

// TestOrderIsNotTheClocks folds memories whose entries have times all over, in any order of arrival, to the same.
func TestOrderIsNotTheClocks(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(seed(), 1<<35))
	key := signerOf("clock")
	jump := func() time.Time { return time.Unix(rng.Int64N(4e9), 0) }
	genesis := must(key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be in order"}, Charter: perdure.Charter{Scope: "torture"}}, jump()))
	a := must(perdure.Begin(genesis))
	left, right := a, a
	all := []*perdure.Entry{genesis}
	for i := range 40 {
		side := &left
		if i%2 == 1 {
			side = &right
		}
		entries, next, err := key.Commit(*side, jump(), perdure.Draft{Body: perdure.Event{Name: "told", Data: must(perdure.DataOf(i)), Set: map[string]perdure.Data{"last": must(perdure.DataOf(i))}}})
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

// arrive puts the entries of two branches into a new store, each in its order, the branches mixed, and returns the hash of the fold.
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
