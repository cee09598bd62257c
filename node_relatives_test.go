package perdure_test

import (
	"testing"

	"github.com/perdure/perdure"
)

// copyTo puts what a store holds of an agent into another, as an import does.
func copyTo(t *testing.T, from, to perdure.Store, id perdure.AgentID) {
	t.Helper()
	var entries []*perdure.Entry
	for e, err := range perdure.Memory(t.Context(), from, id) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	if err := to.Put(t.Context(), id, entries...); err != nil {
		t.Fatal(err)
	}
}

// family is a parent that has delegated, and its child, in one store.
func family(t *testing.T, s perdure.Store) (n *perdure.Node, parent, child perdure.AgentID) {
	t.Helper()
	n = newNode(t, s, scripted(func(a *perdure.Agent, turn int64) []perdure.Action {
		switch {
		case a.Fold().Lineage != nil:
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		case turn == 0:
			return []perdure.Action{perdure.Delegate{Intent: perdure.Intent{Goal: "part"}},
				perdure.Sleep{Trigger: perdure.When{Condition: "children.open == 0"}}}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	}))
	parent = create(t, n, perdure.Genesis{Charter: perdure.Charter{Depth: 1}})
	run(t, n, parent)
	f := load(t, s, parent)
	if len(f.Children) != 1 {
		t.Fatalf("got %d children, want one", len(f.Children))
	}
	return n, parent, f.Children[0].Agent
}

func TestAParentHearsOfAnEndedChildThatArrives(t *testing.T) {
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	n, parent, child := family(t, here)
	copyTo(t, here, there, child)
	away := &perdure.Node{Store: there, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Advisors: n.Advisors}
	run(t, away, child)
	copyTo(t, there, here, child)
	for range 2 { // saying it again adds nothing
		if err := n.Arrived(t.Context(), child); err != nil {
			t.Fatal(err)
		}
	}
	f := load(t, here, parent)
	if !f.Children[0].Ended || len(f.Inbox) != 1 {
		t.Errorf("the parent was told %d times that its child has ended (%v), want once", len(f.Inbox),
			f.Children[0].Ended)
	}
	if a := load(t, here, child); a.Ended == nil || len(a.Heads) != 1 {
		t.Errorf("the child that arrived has heads %v", a.Heads)
	}
}

func TestAParentThatArrivesHearsOfItsEndedChild(t *testing.T) {
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	n, parent, child := family(t, here)
	copyTo(t, here, there, child)
	away := &perdure.Node{Store: there, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Advisors: n.Advisors}
	run(t, away, child)
	copyTo(t, here, there, parent)
	if err := away.Arrived(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	if f := load(t, there, parent); !f.Children[0].Ended {
		t.Error("the parent that arrived does not know that its child has ended")
	}
}

func TestAChildThatArrivesIsCancelledIfItsParentHasEnded(t *testing.T) {
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	n, parent, child := family(t, here)
	copyTo(t, here, there, parent)
	away := &perdure.Node{Store: there, Key: n.Key, Trust: n.Trust}
	if _, err := away.Tell(t.Context(), parent, perdure.Event{Name: "cancel", Notice: perdure.Cancel{}}); err != nil {
		t.Fatal(err)
	}
	copyTo(t, here, there, child)
	if err := away.Arrived(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	if load(t, there, child).Ended == nil {
		t.Error("a child whose parent has ended here goes on")
	}
}

func TestWhatAStrangerSaysOfItsRelativesTellsNobody(t *testing.T) {
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	n, parent, child := family(t, here)
	copyTo(t, here, there, child)
	stranger, err := perdure.GenerateSigner("stranger")
	if err != nil {
		t.Fatal(err)
	}
	away := &perdure.Node{Store: there, Key: stranger}
	if _, err := away.Tell(t.Context(), child, perdure.Event{Name: "cancel", Notice: perdure.Cancel{}}); err != nil {
		t.Fatal(err)
	}
	copyTo(t, there, here, child)
	if err := n.Arrived(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	if f := load(t, here, parent); f.Children[0].Ended {
		t.Error("a stranger's word ended a child in the eyes of its parent")
	}
}

// A stranger's parent and its child are both here, and somebody has admitted the child alone: what that comes to is
// told to nobody who is held, and to the parent once it is admitted.
func TestAParentThatIsHeldIsToldOfItsChildOnceItIsAdmitted(t *testing.T) {
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	n, parent, child := family(t, there)
	copyTo(t, there, here, parent)
	copyTo(t, there, here, child)
	key, err := perdure.GenerateSigner("admits")
	if err != nil {
		t.Fatal(err)
	}
	trust := new(perdure.Trust).With(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn | perdure.MayAuthor,
		Scope: perdure.AnyScope})
	admits := &perdure.Node{Store: here, Key: key, Trust: trust, Policy: n.Policy, Advisors: n.Advisors}
	admit := func(id perdure.AgentID) {
		t.Helper()
		if was, err := admits.Admit(t.Context(), loaded(t, here, id), "looked at"); err != nil || !was {
			t.Fatalf("admitted: %v, %v", was, err)
		}
	}
	admit(child)
	run(t, admits, child)
	if load(t, here, child).Ended == nil {
		t.Fatal("the child that was admitted did not run, so this proves nothing")
	}
	if f := load(t, here, parent); f.Children[0].Ended {
		t.Error("a parent that is held was told of its child")
	}
	admit(parent)
	if f := load(t, here, parent); !f.Children[0].Ended {
		t.Error("a parent that was admitted does not know that its child has ended")
	}
}
