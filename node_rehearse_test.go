package perdure_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
)

// shop is a node whose agents look something up, buy it twice, and remember.
func shop(t *testing.T, s perdure.Store, actions func(turn int64) []perdure.Action) (n *perdure.Node,
	did map[string]int) {
	t.Helper()
	did = map[string]int{}
	var mu sync.Mutex
	make := func(name string, effect perdure.Effect) perdure.Tool {
		return &tool{spec: perdure.Spec{Name: name, Effect: effect},
			call: func(_ context.Context, c perdure.Call) (perdure.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				did[name]++
				data, err := perdure.DataOf(fmt.Sprintf("%s %d", name, did[name]))
				return perdure.Result{Data: data, Set: map[string]perdure.Data{name: data}}, err
			}}
	}
	n = newNode(t, s, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action { return actions(turn) }),
		make("look", perdure.Read), make("buy", perdure.Once), make("put", perdure.Idempotent),
		make("note", perdure.Read))
	n.Parallel = 1
	return n, did
}

func text(s string) perdure.Data {
	d, err := perdure.DataOf(s)
	if err != nil {
		panic(err)
	}
	return d
}

func callOf(tool, args string) perdure.Action { return perdure.Execute{Tool: tool, Args: text(args)} }

// forkAt makes a rehearsing fork at the agent's first entry.
func forkAt(t *testing.T, n *perdure.Node, of perdure.AgentID) perdure.AgentID {
	t.Helper()
	return create(t, n, perdure.Genesis{Lineage: &perdure.Lineage{Parent: of, Cause: perdure.Hash(of),
		Relation: perdure.Fork, Rehearse: true}})
}

func TestARehearsingForkTouchesNothing(t *testing.T) {
	store := new(perdure.MemStore)
	n, did := shop(t, store, func(turn int64) []perdure.Action {
		switch turn {
		case 0:
			return []perdure.Action{callOf("look", "tea"), callOf("buy", "tea"), callOf("buy", "tea"),
				callOf("put", "tea")}
		case 1:
			return []perdure.Action{callOf("note", "bought")}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	})
	first := create(t, n, perdure.Genesis{})
	run(t, n, first)
	if did["buy"] != 2 || did["put"] != 1 {
		t.Fatalf("the first agent did %v", did)
	}
	n.Policy = perdure.PolicyFunc(askWrites) // of what the record answers nobody need be asked
	fork := forkAt(t, n, first)
	run(t, n, fork)
	if did["buy"] != 2 || did["put"] != 1 || did["look"] != 1 {
		t.Errorf("after the rehearsal the tools were called %v times", did)
	}
	got, want := load(t, store, fork), load(t, store, first)
	for _, name := range []string{"look", "buy", "put"} {
		if g, w := got.Vars[name].Value(), want.Vars[name].Value(); g != w {
			t.Errorf("%s: the fork has %v, its parent %v", name, g, w)
		}
	}
	if got.Ended == nil || got.Spent.Calls > 1 {
		t.Errorf("the fork is %s and spent %d calls, want it ended and none spent but its note", got.State(),
			got.Spent.Calls)
	}
	notes := 0
	for e, err := range perdure.Memory(t.Context(), store, fork) {
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := e.Content().(perdure.Outcome); ok && strings.Contains(o.Note, "from the record of "+first.Short()) {
			notes++
		}
	}
	if notes != 5 {
		t.Errorf("%d outcomes say that they are from the record, want 5", notes)
	}
}

func TestARehearsingForkIsRefusedWhatIsNotOnRecord(t *testing.T) {
	store := new(perdure.MemStore)
	actions := []perdure.Action{callOf("buy", "tea")}
	n, did := shop(t, store, func(turn int64) []perdure.Action {
		if turn == 0 {
			return actions
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	})
	first := create(t, n, perdure.Genesis{Charter: perdure.Charter{Scope: "test", Depth: 2}})
	run(t, n, first)
	actions = []perdure.Action{callOf("buy", "tea"), callOf("buy", "tea"), callOf("put", "x"), callOf("look", "new"),
		callOf("note", "x"), perdure.Delegate{Intent: perdure.Intent{Goal: "help"}}}
	for _, parallel := range []int{1, 8} {
		n.Parallel = parallel
		clear(did)
		fork := forkAt(t, n, first)
		run(t, n, fork)
		if did["buy"] != 0 || did["put"] != 0 || did["look"] != 1 || did["note"] != 1 {
			t.Errorf("with %d at once the fork did %v, want one look and one note", parallel, did)
		}
		f := load(t, store, fork)
		if f.Ended == nil || len(f.Children) != 0 {
			t.Errorf("the fork is %s and has %d children, want it ended without any", f.State(), len(f.Children))
		}
	}
}

func TestALiveForkActs(t *testing.T) {
	store := new(perdure.MemStore)
	n, did := shop(t, store, func(turn int64) []perdure.Action {
		if turn == 0 {
			return []perdure.Action{callOf("buy", "tea")}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	})
	first := create(t, n, perdure.Genesis{})
	run(t, n, first)
	run(t, n, create(t, n, perdure.Genesis{Lineage: &perdure.Lineage{Parent: first, Cause: perdure.Hash(first),
		Relation: perdure.Fork}}))
	if did["buy"] != 2 {
		t.Errorf("bought %d times, want once by each", did["buy"])
	}
}

func TestARehearsalNeedsTheMemoryOfItsParent(t *testing.T) {
	n, _ := shop(t, new(perdure.MemStore), func(int64) []perdure.Action {
		return []perdure.Action{callOf("buy", "tea")}
	})
	fork := forkAt(t, n, perdure.AgentID{1})
	if idle := run(t, n, fork); !strings.Contains(idle.Needs, "memory of 0100") {
		t.Errorf("idle: %+v, want it to say whose memory is lacking", idle)
	}
}

func TestARehearsalGoesOnAfterARestart(t *testing.T) {
	store := new(perdure.MemStore)
	turns := func(turn int64) []perdure.Action {
		if turn < 3 {
			return []perdure.Action{callOf("put", "tea")}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	}
	n, _ := shop(t, store, turns)
	first := create(t, n, perdure.Genesis{})
	run(t, n, first)
	fork := forkAt(t, n, first)
	for range 64 { // a node of its own for every cycle
		n, did := shop(t, store, turns)
		if _, err := n.Cycle(t.Context(), fork); err != nil {
			t.Fatal(err)
		}
		if did["put"] != 0 {
			t.Fatal("the fork acted")
		}
		if load(t, store, fork).Ended != nil {
			break
		}
	}
	if got, want := load(t, store, fork).Vars["put"].Value(), load(t, store, first).Vars["put"].Value(); got != want {
		t.Errorf("the fork ends with %v, its parent with %v", got, want)
	}
}
