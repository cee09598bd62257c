package perdure_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// pool is a node of somebody who is trusted as an author, and has begun two generations of children in the name of the
// owner of an agent: in order, the youngest first.
func pool(t *testing.T, owner *perdure.Node) (*perdure.Node, []perdure.AgentID) {
	t.Helper()
	n := newNode(t, owner.Store, scripted(func(a *perdure.Agent, turn int64) []perdure.Action {
		if a.Fold().Charter.Depth == 0 || turn > 0 {
			return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "go"}}}
		}
		depth := a.Fold().Charter.Depth - 1
		return []perdure.Action{perdure.Delegate{Intent: perdure.Intent{Goal: "part"}, Depth: depth},
			perdure.Sleep{Trigger: perdure.On{Event: "go"}}}
	}))
	n.Trust = perdure.NewTrust(perdure.Trustee{Key: owner.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	ids := []perdure.AgentID{create(t, owner, perdure.Genesis{Charter: perdure.Charter{Depth: 2}})}
	for range 2 {
		run(t, n, ids[0])
		ids = append([]perdure.AgentID{load(t, n.Store, ids[0]).Children[0].Agent}, ids...)
	}
	if _, err := n.Tell(t.Context(), ids[0], perdure.Event{Name: "go"}); err != nil {
		t.Fatal(err)
	}
	return n, ids
}

func TestAChildThatCameBeforeItsParentsGoesOnWhenTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, new(perdure.MemStore), scripted(func(a *perdure.Agent, _ int64) []perdure.Action {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}))
		away, ids := pool(t, n)
		here := new(perdure.MemStore)
		place, err := n.Store.(perdure.Placed).Place(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n = &perdure.Node{Store: here, Place: place, Key: n.Key, Policy: n.Policy, Advisors: n.Advisors,
			Trust: perdure.NewTrust(perdure.Trustee{Key: away.Key.Key(), Rights: perdure.MayAuthor,
				Scope: perdure.AnyScope})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		for _, id := range ids {
			if id != ids[0] && load(t, here, ids[0]).Ended != nil {
				t.Fatal("a child goes on whose parents are not all here")
			}
			copyTo(t, away.Store, here, id)
			time.Sleep(3*time.Second + 7*time.Millisecond)
		}
		if load(t, here, ids[0]).Ended == nil {
			t.Error("a child does not go on though its parents are here")
		}
		cancel()
		<-done
	})
}

// Whether a child of thirty generations counts is asked of each of them once: to ask twice would never end.
func TestManyGenerationsAreJudgedOnce(t *testing.T) {
	key, owner := signer(t, "mallory"), signer(t, "owner")
	began := time.Now()
	e, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "pay"},
		Charter: perdure.Charter{Owner: owner.Key(), Scope: "test", Depth: 40},
		Lineage: &perdure.Lineage{Parent: perdure.AgentID(perdure.HashOf([]byte("x"))),
			Cause: perdure.HashOf([]byte("y")), Relation: perdure.Child}}, began)
	if err != nil {
		t.Fatal(err)
	}
	store := new(perdure.MemStore)
	for range 31 {
		a, err := perdure.Begin(e)
		if err != nil {
			t.Fatal(err)
		}
		d := perdure.Delegate{Intent: perdure.Intent{Goal: "pay"}, Depth: a.Fold().Charter.Depth - 1}
		g, err := a.Fold().ChildGenesis(&d, perdure.Hash{})
		if err != nil {
			t.Fatal(err)
		}
		child, err := key.Genesis(g, began)
		if err != nil {
			t.Fatal(err)
		}
		first, err := child.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		entries, _, err := key.Commit(a, began, perdure.Draft{Body: perdure.Decision{Action: d, Child: first,
			Verdict: perdure.Verdict{Answer: perdure.Allow}, Effect: perdure.Idempotent,
			Deadline: perdure.TimeOf(began)}})
		if err != nil {
			t.Fatal(err)
		}
		put(t, store, a.ID(), append([]*perdure.Entry{e}, entries...)...)
		e = child
	}
	put(t, store, e.ID(), e)
	trust := perdure.NewTrust(perdure.Trustee{Key: owner.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	a, err := trust.Load(t.Context(), store, e.ID())
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.Counts(a); err == nil {
		t.Error("a stranger's child counts")
	}
}
