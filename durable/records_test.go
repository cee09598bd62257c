package durable_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// payer does a step, sleeps for five hours and ends.
func payer(n *perdure.Node, once bool, done *int) {
	durable.Handle(n, "f", func(r *durable.Run, _ string) (string, error) {
		step := durable.Step[string]
		if once {
			step = durable.Once[string]
		}
		if _, err := step(r, "pay", func(context.Context) (string, error) { *done++; return "ok", nil }); err != nil {
			return "", err
		}
		return "end", durable.Sleep(r, 5*time.Hour)
	})
}

// A body that has outlived its time is what a function of a new process is told, so it stays until the function has
// ended.
func TestWhatAFunctionDidIsKeptUntilItHasEnded(t *testing.T) {
	for _, once := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := new(perdure.MemStore)
			done := 0
			n := newNode(t, s)
			payer(n, once, &done)
			a, err := n.Create(t.Context(), perdure.Genesis{
				Intent:  perdure.Intent{Goal: "g", Advisor: "f", TTL: time.Hour.Milliseconds()},
				Charter: perdure.Charter{Scope: "durable"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.RunAgent(t.Context(), a.ID()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Hour)
			if c, err := n.Collect(t.Context(), a.ID()); err != nil || c.Entries > 0 {
				t.Errorf("a collection dropped %d bodies of a function under way (%v)", c.Entries, err)
			}
			time.Sleep(4 * time.Hour)
			fresh := newNode(t, s)
			payer(fresh, once, &done)
			if _, err := fresh.RunAgent(t.Context(), a.ID()); err != nil {
				t.Fatal(err)
			}
			if got, err := result[string](t, s, a.ID()); done != 1 || got != "end" {
				t.Errorf("once %v: done %d times, and the function ended with %q (%v)", once, done, got, err)
			}
			time.Sleep(4 * time.Hour)
			if c, err := fresh.Collect(t.Context(), a.ID()); err != nil || c.Entries == 0 {
				t.Errorf("a collection after its end dropped %d bodies (%v)", c.Entries, err)
			}
		})
	}
}

// Where bodies are gone all the same, nobody can tell what was done: nothing is done again.
func TestAFunctionWithoutItsRecordsDoesNotBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(perdure.MemStore)
		done := 0
		n := newNode(t, s)
		payer(n, false, &done)
		id := start(t, n, "f", "x")
		if _, err := n.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		snap, err := n.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		other := new(perdure.MemStore)
		err = other.Replace(t.Context(), id, nil, perdure.Headers, func(yield func(*perdure.Entry, error) bool) {
			for e, err := range perdure.Memory(t.Context(), s, id) {
				if err == nil && e.Kind != perdure.KindGenesis && e.Name != snap.Name {
					e = e.Drop()
				}
				if !yield(e, err) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Hour)
		fresh := newNode(t, other)
		payer(fresh, false, &done)
		idle, err := fresh.RunAgent(t.Context(), id)
		if err != nil || done != 1 || idle.Needs != "advisor:f" {
			t.Errorf("done %d times, idle %+v (%v): want it to lack what it needs to know", done, idle, err)
		}
	})
}

// Two outcomes of one decision, which copies of an agent can have: the fold takes the first, and so does the function.
func TestTheFirstOutcomeIsTheOneAFunctionSees(t *testing.T) {
	eve, err := perdure.GenerateSigner("eve")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by     *perdure.Signer
		signal perdure.Signal
	}{"of its own": {nil, perdure.OK}, "of an author": {eve, perdure.Failed}} {
		s := new(perdure.MemStore)
		handle := func(n *perdure.Node) {
			durable.Handle(n, "f", func(r *durable.Run, _ string) (string, error) {
				v, err := durable.Once(r, "a", func(context.Context) (string, error) { return "first", nil })
				if err != nil {
					return "", err
				}
				_, err = durable.WaitFor[string](r, "go", 0)
				return v, err
			})
		}
		n := newNode(t, s)
		n.Trust = perdure.NewTrust(perdure.Trustee{Key: eve.Key(), Name: "eve", Rights: perdure.MayAuthor,
			Scope: perdure.AnyScope})
		handle(n)
		id := start(t, n, "f", "x")
		if _, err := n.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		a, err := perdure.Load(t.Context(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		var decision perdure.Hash
		for e := range a.Recent() {
			if o, ok := e.Content().(perdure.Outcome); ok {
				decision = o.Decision
			}
		}
		other, err := perdure.DataOf("second")
		if err != nil {
			t.Fatal(err)
		}
		by := c.by
		if by == nil {
			by = n.Key
		}
		more, _, err := by.Commit(a, time.Now(), perdure.Draft{Body: perdure.Outcome{Decision: decision,
			Signal: c.signal, Result: other}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), id, more...); err != nil {
			t.Fatal(err)
		}
		fresh := newNode(t, s)
		fresh.Key, fresh.Trust = n.Key, n.Trust
		handle(fresh)
		if _, err := fresh.Tell(t.Context(), id, perdure.Event{Name: "go"}); err != nil {
			t.Fatal(err)
		}
		if _, err := fresh.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got, err := result[string](t, s, id); got != "first" {
			t.Errorf("%s: the function saw %q (%v), want what came first", name, got, err)
		}
	}
}

// A function may wait for events of any name, also of those that notices have.
func TestAnEventIsNotTakenForANoticeByItsName(t *testing.T) {
	for _, name := range []string{"child-ended", "given-inputs", "settle"} {
		s := new(perdure.MemStore)
		n := newNode(t, s)
		durable.Handle(n, "f", func(r *durable.Run, _ string) (string, error) {
			if _, err := durable.WaitFor[string](r, "first", 0); err != nil {
				return "", err
			}
			return durable.WaitFor[string](r, name, 0)
		})
		id := start(t, n, "f", "x")
		if _, err := n.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		said, err := perdure.DataOf("said")
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{name, "first"} { // before it is waited for
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: what, Data: said}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got, err := result[string](t, s, id); got != "said" {
			t.Errorf("%s: got %q (%v)", name, got, err)
		}
	}
}
