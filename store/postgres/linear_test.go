package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure"
)

// call is an append, or a look at the heads, as a history has it.
type call struct {
	look     bool
	on, name perdure.Hash // the head it was written on, and the entry
}

// answer is what came of it.
type answer struct {
	added, unknown bool
	head           perdure.Hash // that a look found
}

// register is what a history must be a history of: a head that an append replaces if it is the one the append names. An
// append of which nobody knows what came may have happened or not.
var register = porcupine.NondeterministicModel{
	Init: func() []any { return []any{perdure.Hash{}} },
	Step: func(state, input, output any) []any {
		head, in, out := state.(perdure.Hash), input.(call), output.(answer)
		switch {
		case in.look && out.head == head:
			return []any{head}
		case in.look:
			return nil
		case out.unknown && in.on == head:
			return []any{head, in.name}
		case out.unknown || !out.added && in.on != head:
			return []any{head}
		case out.added && in.on == head:
			return []any{in.name}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

// history records what goroutines do with one agent.
type history struct {
	mu  sync.Mutex
	ops []porcupine.Operation
}

func (h *history) note(client int, in call, began time.Time, out answer) {
	end := time.Now().UnixNano()
	if out.unknown {
		end = 1 << 62 // it may still happen
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops,
		porcupine.Operation{ClientId: client, Input: in, Call: began.UnixNano(), Output: out, Return: end})
}

// race has clients append to one agent, each on the head it saw last, and look at it, through several handles.
func race(t *testing.T, stores []*Store, w *writer, clients, calls int) *history {
	h := &history{}
	root := w.agent
	h.note(1000, call{name: root.Heads()[0]}, time.Now(), answer{added: true})
	var group sync.WaitGroup
	for client := range clients {
		s := stores[client%len(stores)]
		group.Go(func() {
			r, seen := rand.New(rand.NewPCG(uint64(client), 7)), root
			for range calls {
				if began := time.Now(); r.IntN(3) == 0 {
					heads, err := s.Heads(t.Context(), root.ID())
					if err != nil {
						t.Errorf("heads: %v", err)
						return
					}
					if len(heads) != 1 {
						t.Errorf("%d heads after appends that compare them", len(heads))
						return
					}
					h.note(client, call{look: true}, began, answer{head: heads[0]})
				}
				if r.IntN(2) == 0 {
					var err error
					if seen, err = perdure.Load(t.Context(), s, root.ID()); err != nil {
						t.Errorf("load: %v", err)
						return
					}
				}
				seen = h.append(t, s, w, client, seen)
			}
		})
	}
	group.Wait()
	return h
}

// append appends to an agent as it was seen, and returns it as it is known then.
func (h *history) append(t *testing.T, s *Store, w *writer, client int, seen *perdure.Agent) *perdure.Agent {
	draft := perdure.Draft{Body: perdure.Event{Name: fmt.Sprint(client)}}
	entries, next, err := w.Commit(seen, time.Now(), draft)
	if err != nil {
		t.Error(err)
		return seen
	}
	in := call{on: seen.Heads()[0], name: entries[0].Name}
	began := time.Now()
	err = s.Append(t.Context(), seen.ID(), seen.Heads(), entries...)
	switch {
	case err == nil:
		h.note(client, in, began, answer{added: true})
		return next
	case errors.Is(err, perdure.ErrConflict):
		h.note(client, in, began, answer{})
	default:
		h.note(client, in, began, answer{unknown: true})
	}
	return seen
}

// TestAppendsAreLinearizable checks histories of concurrent appends through two handles, with connections that are cut
// meanwhile: there is an order of them in which each compared the heads it found.
func TestAppendsAreLinearizable(t *testing.T) {
	needServer(t)
	p := newProxy(t, shared.Dir+"/.s.PGSQL.5432")
	stores := []*Store{
		open(t, p.url("linear"), Options{Patience: patient}),
		open(t, p.url("linear"), Options{Patience: patient}),
	}
	histories := 100
	switch {
	case os.Getenv("PERDURE_TORTURE") == "long":
		histories = 1000
	case testing.Short():
		histories = 20
	}
	stop, cut := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(cut)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(500+i*50) * time.Millisecond): // some time each call comes through
				p.cut()
			}
		}
	}()
	var group sync.WaitGroup
	slots := make(chan struct{}, 16)
	for range histories {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			w := newWriter(t, stores[0])
			h := race(t, stores, w, 4, 4)
			if result := porcupine.CheckOperations(register.ToModel(), h.ops); !result {
				t.Errorf("a history of %d calls has no order", len(h.ops))
			}
			h.lost(t, stores[1], w.agent.ID())
		})
	}
	group.Wait()
	close(stop)
	<-cut
}

// lost fails where an append that was acknowledged is not there.
func (h *history) lost(t *testing.T, s *Store, id perdure.AgentID) {
	var names []perdure.Hash
	for item, err := range s.Entries(t.Context(), id, 0) {
		if err != nil {
			t.Error(err)
			return
		}
		names = append(names, item.Name)
	}
	for _, op := range h.ops {
		if op.Output.(answer).added && !slices.Contains(names, op.Input.(call).name) {
			t.Errorf("entry %s was acknowledged and is gone", op.Input.(call).name.Short())
		}
	}
}

// TestAHistoryWithoutOrderIsFound proves that the check can fail: two appends on one head that were both acknowledged.
func TestAHistoryWithoutOrderIsFound(t *testing.T) {
	h := &history{}
	a, b, c := perdure.HashOf([]byte("a")), perdure.HashOf([]byte("b")), perdure.HashOf([]byte("c"))
	now := time.Now()
	h.note(0, call{name: a}, now, answer{added: true})
	h.note(1, call{on: a, name: b}, now, answer{added: true})
	h.note(2, call{on: a, name: c}, now, answer{added: true})
	if porcupine.CheckOperations(register.ToModel(), h.ops) {
		t.Fatal("two appends on one head have an order")
	}
}
