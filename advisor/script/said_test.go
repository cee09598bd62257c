package script_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// TestAScriptHearsWhatPeopleSay since its last turn, and nothing twice.
func TestAScriptHearsWhatPeopleSay(t *testing.T) {
	s := read(t, `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: pay}
  - when: said.exists(s, s.what == "deny" && s.of == "pay")
    execute: {tool: echo, args: {heard: "${said.0.note}", by: "${said.0.by}", note: "${results.pay.note}", more: "${said.1.note}"}}
    as: other
  - {when: size(said) > 0, end: {signal: failed, note: "heard twice"}}
  - {end: {result: "${results.other.result}"}}
`)
	n := newNode(t, new(perdure.MemStore), s, new(echo))
	asked := false
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if _, ok := r.Action.(perdure.Execute); ok && !asked {
			asked = true
			return perdure.Verdict{Answer: perdure.Ask}
		}
		return perdure.Verdict{Answer: perdure.Allow}
	})
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	q := load(t, n, id).Fold().Asks[0]
	for _, ev := range []perdure.Event{
		{Name: "approval", By: "ann", Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest,
			Note: "too dear"}},
		{Name: "grant", By: "ann", Notice: perdure.Grant{Amount: perdure.Spend{Calls: 1}, Note: "but go on"}},
	} {
		if _, err := n.Tell(t.Context(), id, ev); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, n, id), perdure.OK,
		`{"by":"ann","heard":"too dear","more":"but go on","note":"refused by a person: too dear"}`)
}

// TestWhoDidItKnowsBetterThanWhoLooked holds against an effect that was done again because somebody said that it had
// failed, beside the outcome of the node that had done it.
func TestWhoDidItKnowsBetterThanWhoLooked(t *testing.T) {
	s := read(t, `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: pay}
  - {sleep: {on: go}}
  - {end: {result: "${results.pay.signal}"}}
`)
	n := newNode(t, new(perdure.MemStore), s, new(echo))
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	var paid perdure.Hash
	for e := range load(t, n, id).Recent() {
		if o, ok := e.Content().(perdure.Outcome); ok {
			paid = o.Decision
		}
	}
	for _, ev := range []perdure.Event{{Name: "settle", Notice: perdure.Settle{Decision: paid, Signal: perdure.Failed}},
		{Name: "go"}} {
		if _, err := n.Tell(t.Context(), id, ev); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, n, id), perdure.OK, `"ok"`)
}

// TestAScriptHearsWhoSaysWhatWokeIt: a stranger, under whatever name.
func TestAScriptHearsWhoSaysWhatWokeIt(t *testing.T) {
	s := read(t, `
turns:
  - {sleep: {on: go}, as: told}
  - {end: {result: "${results.told.by}"}}
`)
	n := newNode(t, new(perdure.MemStore), s)
	s.Store = n.Store
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	stranger, err := perdure.GenerateSigner("stranger")
	if err != nil {
		t.Fatal(err)
	}
	said := perdure.Draft{Body: perdure.Event{Name: "go", By: "ann"}}
	entries, _, err := stranger.Commit(load(t, n, id), time.Now(), said)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Store.Put(t.Context(), id, entries...); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Admit(t.Context(), load(t, n, id), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, n, id), perdure.OK, `"a stranger (key `+stranger.Key().Short()+`, under the name ann)"`)
}
