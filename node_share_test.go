package perdure_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// work is a tool that takes a second, and notes of which scope the agents are that call it.
type work struct {
	mu     sync.Mutex
	scopes []string
	at     map[string]int // at work now, by scope
	most   int            // at once, of all scopes
}

func (w *work) tool() *tool {
	return &tool{spec: perdure.Spec{Name: "work", Effect: perdure.Once},
		call: func(_ context.Context, c perdure.Call) (perdure.Result, error) {
			var args struct{ Scope string }
			if err := c.Args.Decode(&args); err != nil {
				return perdure.Result{}, err
			}
			w.mu.Lock()
			w.scopes = append(w.scopes, args.Scope)
			w.at[args.Scope]++
			w.most = max(w.most, w.sum())
			w.mu.Unlock()
			time.Sleep(time.Second)
			w.mu.Lock()
			w.at[args.Scope]--
			w.mu.Unlock()
			return perdure.Result{}, nil
		}}
}

func (w *work) sum() (n int) {
	for _, k := range w.at {
		n += k
	}
	return n
}

// worked has a node with so many places work on agents of scopes, those of each scope due before those of the next, and
// returns the scopes of the calls in their order.
func worked(t *testing.T, s perdure.Store, places int, scopes []string, agents []int) []string {
	t.Helper()
	w := &work{at: map[string]int{}}
	n := newNode(t, s, scripted(func(a *perdure.Agent, turn int64) []perdure.Action {
		if turn > 0 {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
		args, err := perdure.DataOf(map[string]any{"scope": a.Fold().Charter.Scope})
		if err != nil {
			t.Error(err)
		}
		return []perdure.Action{perdure.Execute{Tool: "work", Args: args}}
	}), w.tool())
	n.Concurrency = places
	all := 0
	for i, scope := range scopes {
		for range agents[i] {
			create(t, n, perdure.Genesis{Charter: perdure.Charter{Scope: scope}})
		}
		all += agents[i]
		time.Sleep(time.Second)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	time.Sleep(time.Duration(all) * 2 * time.Second)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(w.scopes) != all || w.most > places {
		t.Fatalf("%d calls, %d at once; want %d, %d at once at most", len(w.scopes), w.most, all, places)
	}
	return w.scopes
}

// TestOneAgentDoesNotWaitForManyOfAnotherScope that are due before it.
func TestOneAgentDoesNotWaitForManyOfAnotherScope(t *testing.T) {
	t.Parallel()
	for _, places := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			got := worked(t, new(perdure.MemStore), places, []string{"big", "small"}, []int{60, 1})
			for i, scope := range got {
				if scope == "small" {
					if i > 2*places {
						t.Errorf("with %d places it came after %d others", places, i)
					}
					return
				}
			}
			t.Error("it never came")
		})
	}
}

// TestScopesShareANode: of two with many agents each gets half of the places, though all of one are due before all of
// the other; what remains when one has none left is for the other.
func TestScopesShareANode(t *testing.T) {
	t.Parallel()
	for _, places := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			got := worked(t, new(perdure.MemStore), places, []string{"first", "second"}, []int{40, 20})
			counts := map[string]int{}
			for _, scope := range got[:20] {
				counts[scope]++
			}
			if counts["first"] < 6 || counts["second"] < 6 {
				t.Errorf("of the first 20 with %d places: %v, want about half each", places, counts)
			}
		})
	}
}

// TestANodeClaimsNoMoreThanItHasPlacesFor: what it cannot begin stays for others to claim.
func TestANodeClaimsNoMoreThanItHasPlacesFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &claims{MemStore: new(perdure.MemStore)}
		gate := make(chan struct{})
		wait := &tool{spec: perdure.Spec{Name: "wait", Effect: perdure.Once},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				<-gate
				return perdure.Result{}, nil
			}}
		adv := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn > 0 {
				return []perdure.Action{perdure.End{Signal: perdure.OK}}
			}
			return []perdure.Action{perdure.Execute{Tool: "wait"}}
		})
		full, other := newNode(t, s, adv, wait), newNode(t, s, adv, wait)
		full.Concurrency, other.Concurrency = 3, 5
		for range 20 {
			create(t, full, perdure.Genesis{})
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- full.Run(ctx) }()
		time.Sleep(time.Minute)
		left := func() (n int) {
			for _, err := range s.Due(t.Context(), time.Now()) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		if made, due := s.made.Load(), left(); made != 3 || due != 17 {
			t.Errorf("%d claims, %d agents left to others; want 3 and 17", made, due)
		}
		go func() { ended <- other.Run(ctx) }()
		time.Sleep(time.Minute)
		if due := left(); due != 12 {
			t.Errorf("%d agents are left with two nodes, want 12", due)
		}
		close(gate)
		time.Sleep(time.Minute)
		if due := left(); due != 0 {
			t.Errorf("%d agents are left although there are places", due)
		}
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
