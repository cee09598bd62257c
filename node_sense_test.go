package perdure_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// What a person cannot mean is refused by the verbs themselves, whoever calls them, and nothing is written.
func TestVerbsRefuseWhatNobodyCanMean(t *testing.T) {
	pay, _ := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 2)), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "shop"}})
	run(t, n, id)
	q, before := load(t, n.Store, id).Asks[0], load(t, n.Store, id).Count
	past, none := perdure.TimeOf(time.Now().Add(-time.Hour)), " "
	edit := func(m perdure.Mutate) func() error {
		return func() error { _, err := n.Edit(t.Context(), id, m, nil); return err }
	}
	begin := func(i perdure.Intent) perdure.Genesis {
		return perdure.Genesis{Intent: i, Charter: perdure.Charter{Scope: "test"}}
	}
	late := begin(perdure.Intent{Goal: "be quick", Deadline: past})
	fork := func(i perdure.Intent) func() error {
		return func() error {
			a, err := n.Load(t.Context(), id)
			if err == nil {
				g := a.Fold().ForkGenesis(a.Heads()[0], false)
				g.Intent.Goal, g.Intent.Deadline = i.Goal, i.Deadline
				_, err = n.Fork(t.Context(), a, g)
			}
			return err
		}
	}
	for name, do := range map[string]func() error{
		"approve until a time that has passed": func() error {
			_, err := n.Approve(t.Context(), id, q.Digest, past, "")
			return err
		},
		"prepare an approval until then": func() error {
			_, err := n.PrepareVote(t.Context(), id, n.Key.Key(), "ann",
				perdure.Approval{Approve: true, Digest: q.Digest, Expires: past})
			return err
		},
		"edit the goal away":               edit(perdure.Mutate{Goal: &none}),
		"edit the deadline to the past":    edit(perdure.Mutate{Deadline: past}),
		"edit the scope to none":           edit(perdure.Mutate{Scope: new(string)}),
		"edit nothing":                     edit(perdure.Mutate{}),
		"edit nothing, and say why":        edit(perdure.Mutate{Note: "why not"}),
		"fork for no goal":                 fork(perdure.Intent{}),
		"fork with a deadline in the past": fork(late.Intent),
		"create for no goal": func() error {
			_, err := n.Create(t.Context(), begin(perdure.Intent{}))
			return err
		},
		"create too late": func() error { _, err := n.Create(t.Context(), late); return err },
		"start too late":  func() error { _, err := n.Start(t.Context(), late); return err },
		"create once too late": func() error {
			_, err := n.CreateOnce(t.Context(), late, nil)
			return err
		},
	} {
		if err := do(); !errors.Is(err, perdure.ErrInvalid) {
			t.Errorf("%s: got %v, want a refusal that wraps ErrInvalid", name, err)
		}
	}
	if now := load(t, n.Store, id).Count; now != before {
		t.Errorf("%d entries, %d before: what was refused was written", now, before)
	}
}

// Whoever asks for an agent once gets the one that is there, also when its deadline has passed since.
func TestCreateOnceFindsTheAgentAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, new(perdure.MemStore), scripted(nil))
		g := perdure.Genesis{Intent: perdure.Intent{Goal: "be quick"}, Charter: perdure.Charter{Scope: "test"}}
		g.Intent.Deadline = perdure.TimeOf(time.Now().Add(time.Second))
		a, err := n.CreateOnce(t.Context(), g, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		again, err := n.CreateOnce(t.Context(), g, nil)
		if err != nil || again.ID() != a.ID() {
			t.Errorf("asked for again: got %v, %v, want %s", again, err, a.ID().Short())
		}
	})
}
