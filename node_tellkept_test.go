package perdure_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

// headsCounted counts how often heads are read, which telling an agent that is held need not do.
type headsCounted struct {
	perdure.Store
	heads int
}

func (c *headsCounted) Heads(ctx context.Context, id perdure.AgentID) ([]perdure.Hash, error) {
	c.heads++
	return c.Store.Heads(ctx, id)
}

func TestWhatANodeHoldsIsToldInOneStepAndWhatHasGoneOnIsReadFirst(t *testing.T) {
	store := new(perdure.MemStore)
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	counted := &headsCounted{Store: store}
	one := &perdure.Node{Store: counted, Key: key}
	two := &perdure.Node{Store: store, Key: key}
	a, err := one.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "listen"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(n *perdure.Node, name, id string) perdure.Hash {
		t.Helper()
		e, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: name, By: "desk", ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return e.Name
	}
	tell(one, "first", "") // reads it
	counted.heads = 0
	for i := range 10 {
		tell(one, fmt.Sprint("more", i), "")
	}
	if counted.heads != 0 {
		t.Errorf("heads were read %d times", counted.heads)
	}
	said := tell(two, "paid", "m1") // by another process
	if got := tell(one, "paid", "m1"); got != said {
		t.Errorf("a message that another process took was taken again, as %s", got.Short())
	}
	tell(one, "last", "")
	now, err := perdure.Load(t.Context(), store, a.ID())
	if err != nil {
		t.Fatal(err)
	}
	if f := now.Fold(); f.Count != 14 || len(now.Heads()) != 1 {
		t.Errorf("there are %d entries and %d heads, want 14 and 1", f.Count, len(now.Heads()))
	}
	if _, err := two.Cancel(t.Context(), a.ID(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Tell(t.Context(), a.ID(), perdure.Event{Name: "late"}); err == nil {
		t.Error("an agent that another process ended was told something")
	}
}
