package perdure_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// hooked is a store in which something happens right before a write: as when another process comes in between.
type hooked struct {
	*perdure.MemStore
	before func(call string, entries []*perdure.Entry)
}

func (s *hooked) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	s.before("append", es)
	return s.MemStore.Append(ctx, id, heads, es...)
}

func (s *hooked) Put(ctx context.Context, id perdure.AgentID, es ...*perdure.Entry) error {
	s.before("put", es)
	return s.MemStore.Put(ctx, id, es...)
}

func (s *hooked) Prune(ctx context.Context, id perdure.AgentID, heads, names []perdure.Hash,
	es ...*perdure.Entry) (int64, error) {
	s.before("prune", es)
	return s.MemStore.Prune(ctx, id, heads, names, es...)
}

func hasOutcome(entries []*perdure.Entry) bool {
	return slices.ContainsFunc(entries, func(e *perdure.Entry) bool { return e.Kind == perdure.KindOutcome })
}

// lateOutcome has one node at work on an effect for two hours, while another one tells the agent something. Both have
// the same memory, and each its own view of the store, as two processes have.
type lateOutcome struct {
	id            perdure.AgentID
	mem           *perdure.MemStore
	worker, other *hooked
	collector     *perdure.Node
	done          chan struct{}
	ended         chan error
}

func newLateOutcome(t *testing.T) *lateOutcome {
	none := func(string, []*perdure.Entry) {}
	l := &lateOutcome{mem: new(perdure.MemStore), done: make(chan struct{}), ended: make(chan error, 1)}
	l.worker, l.other = &hooked{l.mem, none}, &hooked{l.mem, none}
	slow := &tool{spec: perdure.Spec{Name: "slow", Effect: perdure.Once, Deadline: 24 * time.Hour}}
	slow.call = func(context.Context, perdure.Call) (perdure.Result, error) {
		<-l.done
		return perdure.Result{}, nil
	}
	n := newNode(t, l.worker, slowAdvisor{scripted(steps("slow", 1))}, slow)
	l.collector = newNode(t, l.other, scripted(steps("none", 0)))
	l.id = create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
	go func() {
		_, err := n.RunAgent(t.Context(), l.id)
		l.ended <- err
	}()
	synctest.Wait()
	for range 3 {
		_, err := l.collector.Tell(t.Context(), l.id, perdure.Event{Name: "said", Data: words("sesame")})
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * time.Hour)
	return l
}

// check fails unless the outcome is recorded and the agent has gone on to its end.
func (l *lateOutcome) check(t *testing.T) {
	t.Helper()
	if err := <-l.ended; err != nil {
		t.Fatal(err)
	}
	if f := load(t, l.mem, l.id); f.Ended == nil || len(f.Open) > 0 {
		t.Errorf("ended %v with %d effects open, want the outcome recorded and the agent to go on", f.Ended,
			len(f.Open))
	}
	if _, err := perdure.Verify(perdure.Memory(t.Context(), l.mem, l.id), perdure.VerifyOptions{}); err != nil {
		t.Error(err)
	}
}

func TestAnOutcomeFromAnotherProcessAmidACollectionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLateOutcome(t)
		pruned := 0
		l.other.before = func(call string, _ []*perdure.Entry) {
			if call != "prune" {
				return
			}
			if pruned++; pruned == 1 { // the collection has read everything, and is about to drop
				close(l.done)
				synctest.Wait()
			}
		}
		if _, err := l.collector.Collect(t.Context(), l.id); err != nil {
			t.Fatal(err)
		}
		if pruned < 2 {
			t.Errorf("bodies were dropped %d times, want another try after the first", pruned)
		}
		l.check(t)
	})
}

func TestACollectionByAnotherProcessAmidAnOutcomeLosesNothing(t *testing.T) {
	for _, at := range []int{1, 2} { // the first write fails because of what was told, the second is beside that
		synctest.Test(t, func(t *testing.T) {
			l := newLateOutcome(t)
			writes := 0
			l.worker.before = func(_ string, es []*perdure.Entry) {
				if !hasOutcome(es) {
					return
				}
				if writes++; writes != at {
					return
				}
				if c, err := l.collector.Collect(t.Context(), l.id); err != nil || c.Entries == 0 {
					t.Errorf("collected %+v, %v", c, err)
				}
			}
			close(l.done)
			l.check(t)
			if writes <= at {
				t.Errorf("the outcome was written %d times, want it written again after the collection", writes)
			}
		})
	}
}

func TestACollectionAmidAJoinRefusesTheCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &horizon{t: t, pruned: new(perdure.MemStore), full: new(perdure.MemStore)}
		h.n = newNode(t, h.pruned, scripted(steps("none", 0)))
		h.id = create(t, h.n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		for _, op := range []string{"tell", "copy", "tell", "elsewhere", "snapshot", "tell", "wait 2h"} {
			h.step(op, 0)
		}
		to := &hooked{h.pruned, func(string, []*perdure.Entry) {
			if h.dropped == 0 {
				h.step("collect", 0)
			}
		}}
		trust := &perdure.Trust{}
		_, _, err := trust.Join(t.Context(), to, h.id, perdure.Memory(t.Context(), h.copies[0], h.id))
		if !errors.Is(err, perdure.ErrRejected) || h.dropped == 0 {
			t.Errorf("join after %d bodies were dropped: %v, want it refused", h.dropped, err)
		}
		if h.same(); h.failed != nil {
			t.Error(h.failed)
		}
	})
}
