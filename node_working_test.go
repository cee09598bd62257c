package perdure_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// board is what nodes say they are at work on.
type board struct {
	mu    sync.Mutex
	at    map[string]int
	marks int
}

func (b *board) working(key string) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at == nil {
		b.at = map[string]int{}
	}
	b.at[key]++
	b.marks++
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.at[key]--; b.at[key] == 0 {
			delete(b.at, key)
		}
	})
}

func (b *board) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.at)
}

// marking is a store that looks at a board when decisions and outcomes become durable.
type marking struct {
	*perdure.MemStore
	board    *board
	unmarked []string
}

func (s *marking) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	for _, e := range es {
		d, decides := e.Content().(perdure.Decision)
		_, calls := d.Action.(perdure.Execute)
		if (decides && calls || e.Kind == perdure.KindOutcome) && s.board.count() == 0 {
			s.unmarked = append(s.unmarked, e.Kind.String())
		}
	}
	return s.MemStore.Append(ctx, id, heads, es...)
}

func TestOnceEffectIsMarkedUntilItsOutcomeIsDurable(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]perdure.Effect{"once": perdure.Once, "idempotent": perdure.Idempotent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := new(board)
			store := &marking{MemStore: new(perdure.MemStore), board: b}
			pay, _ := counter("pay", effect)
			n := newNode(t, store, scripted(steps("pay", 3)), pay)
			n.Working = b.working
			id := create(t, n, perdure.Genesis{})
			if run(t, n, id); load(t, store, id).Ended == nil {
				t.Fatal("the agent did not end")
			}
			if left := b.count(); left != 0 {
				t.Errorf("%d effects are still marked when nobody is at work", left)
			}
			switch once := effect == perdure.Once; {
			case once && len(store.unmarked) > 0:
				t.Errorf("became durable while nobody was said to be at work: %v", store.unmarked)
			case once == (b.marks == 0):
				t.Errorf("a %s effect was marked %d times", name, b.marks)
			}
		})
	}
}

func TestEffectThatSomebodyIsStillAtWorkOnIsNotReconciled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		dying, die := context.WithCancel(t.Context())
		looks := 0
		pay := &looker{tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once, Deadline: time.Minute}}}
		pay.call = func(ctx context.Context, _ perdure.Call) (perdure.Result, error) {
			die()
			<-ctx.Done()
			return perdure.Result{}, ctx.Err()
		}
		pay.reconcile = func(perdure.Call) (perdure.Result, error) {
			looks++
			return perdure.Result{Signal: perdure.Failed, Note: "it is not in the ledger"}, nil
		}
		n := newNode(t, store, scripted(steps("pay", 1)), pay)
		id := create(t, n, perdure.Genesis{})
		if _, err := n.RunAgent(dying, id); !errors.Is(err, context.Canceled) {
			t.Fatalf("got error %v, want canceled", err)
		}
		next := newNode(t, store, scripted(steps("pay", 1)), pay)
		key := load(t, store, id).Open[0].Key.String()
		alive := []int{4242}
		next.Survivors = func(k string) []int {
			if k != key {
				t.Errorf("asked about %s, want %s", k, key)
			}
			return alive
		}
		time.Sleep(time.Minute)
		idle, f := run(t, next, id), load(t, store, id)
		if looks != 0 || !idle.Person || !f.Open[0].Doubt {
			t.Fatalf("%d looks, %+v: want it in doubt, and nobody to look before it can be known", looks, idle)
		}
		settle := perdure.Settle{Decision: f.Open[0].Decision, Signal: perdure.Failed}
		_, err := next.Settle(t.Context(), id, settle)
		if err == nil || !strings.Contains(err.Error(), "4242") {
			t.Errorf("settled beside a process at work on it: %v", err)
		}
		alive = nil
		if _, err := next.Settle(t.Context(), id, settle); err != nil {
			t.Errorf("nobody is at work on it any more: %v", err)
		}
	})
}
