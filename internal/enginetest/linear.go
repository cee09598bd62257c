package enginetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
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
	calls *atomic.Int64 // of all histories
	mu    sync.Mutex
	ops   []porcupine.Operation
}

func (h *history) note(client int, in call, began time.Time, out answer) {
	end := time.Now().UnixNano()
	if out.unknown {
		end = 1 << 62 // it may still happen
	}
	h.calls.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops,
		porcupine.Operation{ClientId: client, Input: in, Call: began.UnixNano(), Output: out, Return: end})
}

// race has clients append to one agent, each on the head it saw last, and look at it, through several handles.
func race(t *testing.T, stores []perdure.Store, w *Writer, clients, calls int, made *atomic.Int64) *history {
	h := &history{calls: made}
	root := w.Agent
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
func (h *history) append(t *testing.T, s perdure.Store, w *Writer, client int, seen *perdure.Agent) *perdure.Agent {
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

// Histories is how many histories are checked: few, or many where PERDURE_TORTURE is long.
func Histories(t *testing.T, few, many int) int {
	switch {
	case os.Getenv("PERDURE_TORTURE") == "long":
		return many
	case testing.Short():
		return few / 4
	}
	return few
}

const (
	perFault = 25  // how many histories begin before something has to go wrong again
	between  = 100 // how many calls come to an end before that: on a slow machine it takes long to get over a fault
)

// Linearizable races clients on so many agents, while something goes wrong again and again, and checks each history:
// there is an order of its calls in which each compared the heads it found, and nothing that was acknowledged is gone.
func Linearizable(t *testing.T, stores []perdure.Store, n int, every time.Duration, wrong func()) {
	stop, over := make(chan struct{}), make(chan struct{})
	pace, faults, next := make(chan struct{}, n+perFault), 0, int64(0)
	var calls, refused, unknown, faulty atomic.Int64
	allow := func() {
		for range perFault {
			select {
			case pace <- struct{}{}:
			default:
			}
		}
	}
	allow()
	go func() {
		defer close(over)
		for {
			select {
			case <-stop:
				return
			case <-time.After(every):
			}
			if calls.Load() < next {
				continue
			}
			next = calls.Load() + between
			allow() // those that are hit
			wrong()
			faults++
		}
	}()
	var group sync.WaitGroup
	slots := make(chan struct{}, 16)
	for range n {
		<-pace
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			w := NewWriter(t, stores[0])
			h := race(t, stores, w, 4, 4, &calls)
			if result := porcupine.CheckOperations(register.ToModel(), h.ops); !result {
				faulty.Add(1)
				t.Errorf("a history of %d calls has no order", len(h.ops))
			}
			for _, op := range h.ops {
				out := op.Output.(answer)
				if !op.Input.(call).look && !out.added && !out.unknown {
					refused.Add(1)
				}
				if out.unknown {
					unknown.Add(1)
				}
			}
			h.lost(t, stores[len(stores)-1], w.Agent.ID())
		})
	}
	group.Wait()
	close(stop)
	<-over
	t.Logf("%d histories, %d calls, %d faults: %d refused, %d unknown, %d histories without an order", n, calls.Load(),
		faults, refused.Load(), unknown.Load(), faulty.Load())
	if faults < max(1, n/perFault-1) {
		t.Errorf("%d faults: this test is out of date", faults)
	}
}

// lost fails where an append that was acknowledged is not there.
func (h *history) lost(t *testing.T, s perdure.Store, id perdure.AgentID) {
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
