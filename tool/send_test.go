package tool_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// TestAgentsTellEachOtherWithinTheirScope: parent, child and those in the same scope; others only in a scope that is
// named and holds both.
func TestAgentsTellEachOtherWithinTheirScope(t *testing.T) {
	store := new(perdure.MemStore)
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	delegates := perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		if a.Fold().Turns == 0 && a.Fold().Charter.Depth > 0 {
			return perdure.Advice{Actions: []perdure.Action{perdure.Delegate{Intent: perdure.Intent{Goal: "wait"},
				Scope: "acme/ops/kids"}}}, nil
		}
		return perdure.Advice{}, nil
	})
	node := &perdure.Node{Store: store, Key: key, Advisors: map[string]perdure.Advisor{"": delegates},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		})}
	begin := func(scope string, depth int64) perdure.AgentID {
		a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "wait"},
			Charter: perdure.Charter{Scope: scope, Depth: depth}})
		if err == nil {
			_, err = node.RunAgent(t.Context(), a.ID())
		}
		if err != nil {
			t.Fatal(err)
		}
		return a.ID()
	}
	lead, peer, other, outside := begin("acme/ops", 1), begin("acme/ops/night", 0), begin("acme/sales", 0),
		begin("elsewhere", 0)
	child := folded(t, store, lead).Children[0].Agent
	send := tool.Send(node)
	say := func(from perdure.AgentID, key string, args map[string]any) perdure.Result {
		t.Helper()
		if args["event"] == nil {
			args["event"] = "found"
		}
		res, err := send.Call(t.Context(), perdure.Call{Agent: from, Key: key, Args: data(t, args)})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	ok := func(res perdure.Result) {
		t.Helper()
		if res.Signal != 0 {
			t.Errorf("got %s (%s), want ok", res.Signal, res.Note)
		}
	}
	for range 2 { // again is the same
		ok(say(lead, "1", map[string]any{"to": "child", "agent": child.String(), "data": 7}))
	}
	ok(say(child, "2", map[string]any{"to": "parent", "data": "done"}))
	ok(say(lead, "3", map[string]any{"to": "agent", "agent": peer.String()}))
	ok(say(lead, "4", map[string]any{"to": "agent", "agent": other.String(), "scope": "acme"}))
	inbox := folded(t, store, child).Inbox
	if len(inbox) != 1 || inbox[0].Name != "found" || inbox[0].By != lead.String() ||
		string(inbox[0].Data.JSON()) != "7" {
		t.Errorf("got %+v, want one event of its parent", inbox)
	}
	fails(t, say(lead, "5", map[string]any{"to": "agent", "agent": other.String()}), "is not in scope acme/ops")
	fails(t, say(lead, "6", map[string]any{"to": "agent", "agent": outside.String(), "scope": "elsewhere"}),
		"you are not in scope elsewhere")
	fails(t, say(lead, "7", map[string]any{"to": "agent", "agent": outside.String(), "scope": "acme"}),
		"is not in scope acme")
	fails(t, say(lead, "8", map[string]any{"to": "child", "agent": peer.String()}), "is not your child")
	fails(t, say(lead, "9", map[string]any{"to": "parent"}), "you have no parent")
	fails(t, say(child, "10", map[string]any{"to": "parent", "agent": peer.String()}), "not your parent")
	fails(t, say(lead, "11", map[string]any{"to": "agent", "agent": lead.String()}), "yourself")
	fails(t, say(lead, "12", map[string]any{"to": "child", "agent": child.String(), "event": "answer"}),
		"does not answer for a person")
	fails(t, say(lead, "13", map[string]any{"to": "boss", "agent": child.String()}), "want parent, child or agent")

	// who calls an agent its parent is not its child for that
	liar := *folded(t, store, child)
	liar.Agent = outside
	res, err := send.Call(t.Context(), perdure.Call{Agent: outside, Key: "16", Caller: &liar,
		Args: data(t, map[string]any{"to": "parent", "event": "found"})})
	if err != nil {
		t.Fatal(err)
	}
	fails(t, res, "has no such child")

	// the taint of the sender goes with it
	if _, err := node.Tell(t.Context(), lead, perdure.Event{Name: "mail", Taint: true}); err != nil {
		t.Fatal(err)
	}
	ok(say(lead, "14", map[string]any{"to": "agent", "agent": peer.String()}))
	if folded(t, store, peer).Taint.IsZero() {
		t.Error("the receiver is not tainted, and its sender is")
	}
	if _, err := node.Tell(t.Context(), child, perdure.Event{Name: "cancel", Notice: perdure.Cancel{}}); err != nil {
		t.Fatal(err)
	}
	fails(t, say(lead, "15", map[string]any{"to": "child", "agent": child.String()}), "has ended")
}
