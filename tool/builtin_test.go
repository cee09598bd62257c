package tool_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

func TestWhatIsRememberedIsRecalledAndForgotten(t *testing.T) {
	store := new(perdure.MemStore)
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	turns := []perdure.Execute{
		{Tool: "remember", Args: data(t, map[string]any{"name": "city", "value": map[string]any{"name": "Oslo"}})},
		{Tool: "remember", Args: data(t, map[string]any{"name": "count", "value": 3})},
		{Tool: "remember", Args: data(t, map[string]any{"name": "count", "value": nil})},
	}
	node := &perdure.Node{
		Store: store, Key: key, Tools: tool.Builtins(store),
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				if n := a.Fold().Turns; n < int64(len(turns)) {
					return perdure.Advice{Actions: []perdure.Action{turns[n]}}, nil
				}
				return perdure.Advice{}, nil
			})},
	}
	a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "remember"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	recall := named(t, node.Tools, "recall")
	ask := func(args map[string]any) perdure.Result {
		res, err := recall.Call(t.Context(), perdure.Call{Agent: a.ID(), Args: data(t, args)})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if diff := cmp.Diff(map[string]any{"name": "Oslo"}, value(t, ask(map[string]any{"name": "city"}))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"city": map[string]any{"name": "Oslo"}}, value(t, ask(nil))); diff != "" {
		t.Error(diff)
	}
	fails(t, ask(map[string]any{"name": "count"}), `"count"`, `"city"`)
}

func TestAnAgentThatIsNotStoredYetRecallsNothing(t *testing.T) {
	res := call(t, tool.Recall(new(perdure.MemStore)), map[string]any{})
	if diff := cmp.Diff(map[string]any{}, value(t, res)); diff != "" {
		t.Error(diff)
	}
}

func TestStateHasLimits(t *testing.T) {
	remember := tool.Remember()
	fails(t, call(t, remember, map[string]any{"name": "", "value": 1}), "field name")
	fails(t, call(t, remember, map[string]any{"name": strings.Repeat("n", 129), "value": 1}), "field name")
	fails(t, call(t, remember, map[string]any{"name": "n", "value": strings.Repeat("v", 65<<10)}), "field value",
		"file")
	fails(t, call(t, remember, map[string]any{"name": "n"}), "value")
}

func TestNowIsInTheZoneAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock begins at the year 2000
		if got := value(t, call(t, tool.Now(), map[string]any{}))["time"]; got != "2000-01-01T00:00:00Z" {
			t.Errorf("got %v", got)
		}
		if got := value(t, call(t, tool.Now(),
			map[string]any{"zone": "Asia/Tokyo"}))["time"]; got != "2000-01-01T09:00:00+09:00" {
			t.Errorf("got %v", got)
		}
	})
	fails(t, call(t, tool.Now(), map[string]any{"zone": "Mars/Base"}), "zone")
}

func TestOnlyOnesOwnChildrenAreCancelled(t *testing.T) {
	store := new(perdure.MemStore)
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	waits := perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		if a.Fold().Turns == 0 && a.Fold().Charter.Depth > 0 {
			return perdure.Advice{Actions: []perdure.Action{perdure.Delegate{Intent: perdure.Intent{Goal: "wait"},
				Depth: 1}}}, nil
		}
		return perdure.Advice{}, nil
	})
	node := &perdure.Node{Store: store, Key: key, Advisors: map[string]perdure.Advisor{"": waits},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		})}
	cancel := tool.Cancel(node)
	family := func() (ids []perdure.AgentID) {
		a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "wait"},
			Charter: perdure.Charter{Scope: "test", Depth: 2}})
		if err != nil {
			t.Fatal(err)
		}
		for id := a.ID(); ; {
			ids = append(ids, id)
			if _, err := node.RunAgent(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			f := folded(t, store, id)
			if len(f.Children) == 0 {
				return ids
			}
			id = f.Children[0].Agent
		}
	}
	ours, theirs := family(), family()
	say := func(child string) perdure.Result {
		res, err := cancel.Call(t.Context(), perdure.Call{Agent: ours[0], Key: "k",
			Args: data(t, map[string]any{"child": child, "note": "not needed"})})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	fails(t, say(theirs[1].String()), "is not your child")
	fails(t, say(ours[0].String()), "is not your child")
	fails(t, say(ours[2].String()), "is not your child") // a grandchild is its parent's
	fails(t, say("x"), "not the id of an agent")
	fails(t, say(strings.Repeat("ab", 32)), "there is no agent")
	for range 2 { // again is the same
		if res := say(ours[1].String()); res.Signal != 0 {
			t.Errorf("got %s (%s), want ok", res.Signal, res.Note)
		}
	}
	if _, err := node.RunAgent(t.Context(), ours[1]); err != nil { // which tells its relatives
		t.Fatal(err)
	}
	for i, id := range ours[1:] {
		if end := folded(t, store, id).Ended; end == nil || end.Signal != perdure.Denied {
			t.Errorf("generation %d ended %+v, want it cancelled", i+1, end)
		}
	}
	for _, id := range append(theirs, ours[0]) {
		if end := folded(t, store, id).Ended; end != nil {
			t.Errorf("agent %s ended %+v, want it left alone", id.Short(), end)
		}
	}
}

func folded(t *testing.T, s perdure.Store, id perdure.AgentID) *perdure.Fold {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return a.Fold()
}
