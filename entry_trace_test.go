package perdure_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/trace"
)

const (
	someTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	someParent = "00-" + someTrace + "-00f067aa0ba902b7-01"
)

// traces are the trace ids of an agent's entries in order.
func traces(t *testing.T, s perdure.Store, id perdure.AgentID) (ids []trace.ID) {
	t.Helper()
	for e, err := range perdure.Memory(t.Context(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Trace.IsZero() {
			t.Errorf("entry %d, %s, has no trace id", e.Seq, e.Kind)
		}
		ids = append(ids, e.Trace)
	}
	return ids
}

// TestEntriesBelongToTheTraceOfTheirCause: everything an event leads to has its trace id, children and what tools send
// on too.
func TestEntriesBelongToTheTraceOfTheirCause(t *testing.T) {
	t.Parallel()
	var sent string
	look := &tool{spec: perdure.Spec{Name: "look", Effect: perdure.Read},
		call: func(ctx context.Context, _ perdure.Call) (perdure.Result, error) {
			sent = trace.Parent(ctx)
			return perdure.Result{}, nil
		}}
	turns := [][]perdure.Action{
		{perdure.Sleep{Trigger: perdure.On{Event: "go"}}},
		{perdure.Execute{Tool: "look"}, perdure.Delegate{Intent: perdure.Intent{Goal: "help"}}},
		{perdure.End{Signal: perdure.OK}},
	}
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		return turns[min(turn, int64(len(turns)-1))]
	}), look)
	id := create(t, n, perdure.Genesis{Charter: perdure.Charter{Depth: 1}})
	run(t, n, id)
	before := traces(t, n.Store, id)
	for _, is := range before {
		if is != before[0] {
			t.Errorf("got trace %s before anything was told, want that of genesis, %s", is, before[0])
		}
	}
	ctx, err := trace.With(t.Context(), someParent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "noise"}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Tell(ctx, id, perdure.Event{Name: "go"}); err != nil {
		t.Fatal(err)
	}
	run(t, n, id)
	all := traces(t, n.Store, id)
	if noise := all[len(before)]; noise == before[0] || noise.String() == someTrace {
		t.Errorf("an event without a trace got %s, want a new one", noise)
	}
	for i, is := range all[len(before)+1:] {
		if is.String() != someTrace {
			t.Errorf("entry %d after the event has trace %s, want %s", i, is, someTrace)
		}
	}
	if !strings.HasPrefix(sent, "00-"+someTrace+"-") || sent == someParent {
		t.Errorf("the tool would send %q, want the trace with a span of its own", sent)
	}
	child := load(t, n.Store, id).Children[0].Agent
	for _, is := range traces(t, n.Store, child) {
		if is.String() != someTrace {
			t.Errorf("an entry of the child has trace %s, want its parent's", is)
		}
	}
}

// TestAWakeBelongsToTheEventThatWoke, not to what was told after it.
func TestAWakeBelongsToTheEventThatWoke(t *testing.T) {
	t.Parallel()
	turns := [][]perdure.Action{{perdure.Sleep{Trigger: perdure.On{Event: "go"}}}, {perdure.End{Signal: perdure.OK}}}
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		return turns[min(turn, 1)]
	}))
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	ctx, err := trace.With(t.Context(), someParent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Tell(ctx, id, perdure.Event{Name: "go"}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "noise"}); err != nil {
		t.Fatal(err)
	}
	run(t, n, id)
	all := traces(t, n.Store, id)
	if end := all[len(all)-1]; end.String() != someTrace {
		t.Errorf("got trace %s at the end, want that of the event that woke it", end)
	}
}

func TestTraceparentsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "00-" + someTrace, strings.ToUpper(someParent), "ff" + someParent[2:], someParent + "-00",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-" + someTrace + "-0000000000000000-01",
		"00_" + someParent[3:], "00-" + someTrace[:31] + "x-00f067aa0ba902b7-01",
	} {
		if _, err := trace.With(t.Context(), bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := trace.With(t.Context(), "cc-"+someParent[3:]+"-what-is-to-come"); err != nil {
		t.Errorf("a later version: %v", err)
	}
}

// Whoever calls chooses the trace id. A secret is none.
func TestASecretIsNoTraceID(t *testing.T) {
	for secret, kept := range map[string]bool{"hunter2hunter2": true, someTrace: false, someTrace[3:20]: false} {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(nothing))
		n.Guard = noSecret(secret)
		ctx, err := trace.With(t.Context(), someParent)
		if err != nil {
			t.Fatal(err)
		}
		a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
			Charter: perdure.Charter{Scope: "test"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Tell(ctx, a.ID(), perdure.Event{Name: "go"}); err != nil {
			t.Fatal(err)
		}
		run(t, n, a.ID())
		for _, id := range traces(t, store, a.ID()) {
			if (id.String() == someTrace) != kept {
				t.Errorf("secret %s: an entry has trace %s", secret, id)
			}
		}
	}
}
