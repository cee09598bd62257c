package script_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// TestAForkGoesOnAtItsTurn of the script, with the results of the turns before. What the agent waited for, the fork
// waits for as well: what comes after the wait is not done before it.
func TestAForkGoesOnAtItsTurn(t *testing.T) {
	s := read(t, `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: first}
  - sleep: {on: go}
  - {execute: {tool: echo, args: {n: 2}}, as: second}
  - end: {result: ["${results.first.result.n}", "${results.second.result.n}"]}
`)
	store, e := new(perdure.MemStore), new(echo)
	s.Store = store
	n := newNode(t, store, s, e)
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	from := load(t, n, id)
	fork, err := n.Fork(t.Context(), from, from.Fold().ForkGenesis(from.Heads()[0], true))
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []*perdure.Agent{fork, nil} { // the second is a fork of the fork, which sleeps
		if again == nil {
			fork = load(t, n, fork.ID())
			again, err = n.Fork(t.Context(), fork, fork.Fold().ForkGenesis(fork.Heads()[0], true))
			if err != nil {
				t.Fatal(err)
			}
			fork = again
		}
		if _, err := n.RunAgent(t.Context(), again.ID()); err != nil {
			t.Fatal(err)
		}
		if f := load(t, n, again.ID()).Fold(); f.Sleep == nil || len(e.calls) != 1 {
			t.Fatalf("got sleep %v and calls %v, want a fork that sleeps as the agent does", f.Sleep, e.calls)
		}
	}
	if _, err := n.Tell(t.Context(), fork.ID(), perdure.Event{Name: "go", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), fork.ID()); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, n, fork.ID()), perdure.OK, "[1,2]")
	if len(e.calls) != 2 {
		t.Errorf("got calls %v, want one each", e.calls)
	}
}

// TestAForkProposesAgainWhatWasOpen where it was forked: nothing of a turn counts as done that came to nothing.
func TestAForkProposesAgainWhatWasOpen(t *testing.T) {
	s := read(t, `
turns:
  - do:
      - {execute: {tool: echo, args: {n: 1}}, as: first}
      - {execute: {tool: echo, args: {n: 2}}, as: second}
  - when: results.second.signal != "ok"
    end: {signal: failed, note: "${results.second.note}"}
  - end: {result: ["${results.first.result.n}", "${results.second.result.n}"]}
`)
	store, e := new(perdure.MemStore), new(echo)
	s.Store = store
	n := newNode(t, store, s, e)
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if x, ok := r.Action.(perdure.Execute); ok && r.Approvals == 0 && strings.Contains(string(x.Args.JSON()), "2") {
			return perdure.Verdict{Answer: perdure.Ask, Quorum: 1}
		}
		return perdure.Verdict{Answer: perdure.Allow}
	})
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	from := load(t, n, id)
	for range 2 { // the second is a fork of the fork, which has not run
		fork, err := n.Fork(t.Context(), from, from.Fold().ForkGenesis(from.Heads()[0], true))
		if err != nil {
			t.Fatal(err)
		}
		from = fork
	}
	if _, err := n.RunAgent(t.Context(), from.ID()); err != nil {
		t.Fatal(err)
	}
	from = load(t, n, from.ID())
	asks := from.Fold().Asks
	if len(asks) != 1 || from.Fold().Ended != nil {
		t.Fatalf("got questions %v, ended %v; want the one that was open", asks, from.Fold().Ended)
	}
	if _, err := n.Approve(t.Context(), from.ID(), asks[0].Digest, 0, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), from.ID()); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, n, from.ID()), perdure.OK, "[1,2]")
	if len(e.calls) != 2 {
		t.Errorf("got calls %v, want one each", e.calls)
	}
}

// TestAForkOfAnOpenCallMakesIt instead of counting it as made.
func TestAForkOfAnOpenCallMakesIt(t *testing.T) {
	s := read(t, `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: first}
  - end: {result: "${results.first.result.n}"}
`)
	store, e := new(perdure.MemStore), new(echo)
	s.Store = store
	n := newNode(t, store, s, e)
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	forks := 0
	for entry, err := range perdure.Memory(t.Context(), store, id) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Kind != perdure.KindAdvice && entry.Kind != perdure.KindDecision {
			continue
		}
		from, err := perdure.AgentAt(perdure.Memory(t.Context(), store, id), entry.Name)
		if err != nil {
			t.Fatal(err)
		}
		if from.Fold().Ended != nil {
			continue
		}
		fork, err := n.Fork(t.Context(), from, from.Fold().ForkGenesis(entry.Name, true))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.RunAgent(t.Context(), fork.ID()); err != nil {
			t.Fatal(err)
		}
		ended(t, load(t, n, fork.ID()), perdure.OK, "1")
		forks++
	}
	if forks < 3 {
		t.Errorf("got %d forks, want one at each advice and at the open decision", forks)
	}
}
