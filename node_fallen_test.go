package perdure_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// listener is an advisor that notes which events it is shown, and lets its agent sleep again.
type listener struct {
	all   bool // it takes events one by one, and is shown all of them
	shown []string
	most  int
}

func (l *listener) Instant() bool { return l.all }

func (l *listener) Advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	inbox := a.Fold().Inbox
	l.most = max(l.most, len(inbox))
	out := perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "never"}}}}
	for i, m := range inbox {
		if l.all && i >= 700 {
			break // the others it takes another time
		}
		l.shown = append(l.shown, m.Name)
		if l.all {
			out.Seen = append(out.Seen, m.Event)
		}
	}
	if rest := len(inbox) - len(out.Seen); rest > 0 && l.all || len(inbox) >= 1024 {
		out.Actions = []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: 0}}}
	}
	return out, nil
}

// divided are two copies of an agent that sleeps until it is told to go. Each was told as much as its inbox takes, and
// one has been merged into the other.
func divided(t *testing.T, n *perdure.Node, id perdure.AgentID, first string) (told []string) {
	t.Helper()
	store, other := n.Store, new(perdure.MemStore)
	merge(t, store, other, id)
	there := &perdure.Node{Store: other, Key: n.Key, Advisors: n.Advisors, Policy: n.Policy}
	if first != "" {
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: first}); err != nil {
			t.Fatal(err)
		}
		told = append(told, first)
	}
	for i := range 800 {
		for at, copied := range []*perdure.Node{n, there} {
			name := fmt.Sprintf("copy-%d-%d", at, i)
			if _, err := copied.Tell(t.Context(), id, perdure.Event{Name: name}); err != nil {
				t.Fatal(err)
			}
			told = append(told, name)
		}
	}
	merge(t, other, store, id)
	return told
}

// Two copies of an agent were told more than an inbox holds. Together, nothing of it is kept from the advisor, whatever
// node runs the agent and however often it begins anew.
func TestWhatCopiesWereToldIsAllSeen(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		store := new(perdure.MemStore)
		n, id := sleeper(t, store, perdure.On{Event: "go"})
		told := append(divided(t, n, id, ""), "go")
		f := load(t, store, id)
		if len(f.Inbox) != 1024 || len(f.Unseen()) != len(told)-1 {
			t.Fatalf("%d events in the inbox, %d unseen; want 1024 and %d", len(f.Inbox), len(f.Unseen()), len(told)-1)
		}
		l := &listener{all: all}
		node := func() *perdure.Node { // as another process
			return &perdure.Node{Store: store, Key: n.Key, Policy: n.Policy,
				Advisors: map[string]perdure.Advisor{"": l}}
		}
		if _, err := node().Tell(t.Context(), id, perdure.Event{Name: "go"}); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			if _, err := node().Cycle(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		missed := slices.DeleteFunc(slices.Clone(told), func(name string) bool {
			return slices.Contains(l.shown, name)
		})
		if len(missed) > 0 || len(l.shown) != len(told) {
			t.Errorf("all %t: of %d events %d were never seen, such as %v; %d were seen in all", all, len(told),
				len(missed), missed[:min(3, len(missed))], len(l.shown))
		}
		if !all && l.most > 1024 {
			t.Errorf("%d events at once, more than an advice can name", l.most)
		}
		if f := load(t, store, id); len(f.Unseen()) != 0 {
			t.Errorf("all %t: %d events are still unseen", all, len(f.Unseen()))
		}
	}
}

func TestAnEventThatFellOutOfTheInboxWakes(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	n, id := sleeper(t, store, perdure.On{Event: "paid"})
	divided(t, n, id, "paid")
	f := load(t, store, id)
	if slices.ContainsFunc(f.Inbox, func(m perdure.Message) bool { return m.Name == "paid" }) {
		t.Fatal("it is in the inbox: the test shows nothing")
	}
	l := &listener{}
	again := &perdure.Node{Store: store, Key: n.Key, Policy: n.Policy, Advisors: map[string]perdure.Advisor{"": l}}
	if _, err := again.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(l.shown, "paid"); i < 0 || i > 1 { // one of the other copy is as old
		t.Errorf("it was shown %d events, what woke it as number %d", len(l.shown), i)
	}
}
