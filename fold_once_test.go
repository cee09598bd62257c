package perdure_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// untilPaid advises to pay until a payment has come to ok, whatever came of those before.
func untilPaid(a *perdure.Agent, _ int64) []perdure.Action {
	for _, t := range a.Fold().Tools {
		if t.Tool == "pay" && slices.ContainsFunc(t.Last, func(r perdure.SignalRecord) bool {
			return r.Signal == perdure.OK
		}) {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
	}
	return []perdure.Action{perdure.Execute{Tool: "pay"}}
}

// paying is a node with a payment in doubt, which happened, and an author who may write to its agents.
type paying struct {
	t    *testing.T
	node *perdure.Node
	eve  *perdure.Signer
	id   perdure.AgentID
	paid int
}

func newPaying(t *testing.T, g perdure.Genesis) *paying {
	t.Helper()
	eve, err := perdure.GenerateSigner("eve")
	if err != nil {
		t.Fatal(err)
	}
	p := &paying{t: t, eve: eve}
	pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once}}
	pay.call = func(context.Context, perdure.Call) (perdure.Result, error) {
		if p.paid++; p.paid == 1 {
			return perdure.Result{}, perdure.ErrInDoubt // it happened; the answer was lost
		}
		return perdure.Result{}, nil
	}
	p.node = newNode(t, new(perdure.MemStore), scripted(untilPaid), pay)
	p.node.Trust = p.node.Trust.With(perdure.Trustee{Key: eve.Key(), Name: "eve", Rights: perdure.MayAuthor,
		Scope: "test"})
	p.id = create(t, p.node, g)
	run(t, p.node, p.id)
	if f := load(t, p.node.Store, p.id); p.paid != 1 || len(f.Open) != 1 || !f.Open[0].Doubt {
		t.Fatalf("paid %d times, open %+v: want one in doubt", p.paid, f.Open)
	}
	return p
}

// fresh is the node of another process with the same key and store.
func (p *paying) fresh() *perdure.Node {
	n := p.node
	return &perdure.Node{Store: n.Store, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Tools: n.Tools,
		Advisors: n.Advisors}
}

// says writes to the agent as somebody.
func (p *paying) says(who *perdure.Signer, b perdure.Body) {
	p.t.Helper()
	a, err := perdure.Load(p.t.Context(), p.node.Store, p.id)
	if err != nil {
		p.t.Fatal(err)
	}
	more, _, err := who.Commit(a, time.Now(), perdure.Draft{Body: b})
	if err != nil {
		p.t.Fatal(err)
	}
	put(p.t, p.node.Store, p.id, more...)
}

func (p *paying) decision() perdure.Hash { return load(p.t, p.node.Store, p.id).Open[0].Decision }

var notOK = []perdure.Signal{
	perdure.Failed, perdure.Denied, perdure.TimedOut, perdure.Silent, perdure.Partial, perdure.Incapable,
	perdure.Throttled,
}

// An author says that somebody else's payment did not happen; its advisor would pay again. So after a snapshot, after
// its bodies are gone, and in a process that was not there.
func TestAnAuthorsWordDoesNotRepeatAPayment(t *testing.T) {
	says := map[string]func(perdure.Hash, perdure.Signal) perdure.Body{
		"outcome": func(d perdure.Hash, s perdure.Signal) perdure.Body {
			return perdure.Outcome{Decision: d, Signal: s, RetryAfter: 1}
		},
		"reconciled": func(d perdure.Hash, s perdure.Signal) perdure.Body {
			return perdure.Outcome{Decision: d, Signal: s, Reconciled: true}
		},
		"settle": func(d perdure.Hash, s perdure.Signal) perdure.Body {
			return perdure.Event{Name: "settle", Notice: perdure.Settle{Decision: d, Signal: s}}
		},
	}
	then := map[string]func(*testing.T, *paying){
		"at once": func(*testing.T, *paying) {},
		"after a snapshot": func(t *testing.T, p *paying) {
			if _, err := p.node.Snapshot(t.Context(), p.id); err != nil {
				t.Log(err) // an agent that does not count gets none
			}
		},
		"after gc": func(t *testing.T, p *paying) {
			if _, err := p.node.Collect(t.Context(), p.id); err != nil {
				t.Log(err)
			}
		},
	}
	for how, say := range says {
		for _, s := range notOK {
			for when, after := range then {
				t.Run(fmt.Sprint(how, " ", s, " ", when), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						p := newPaying(t, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
						p.says(p.eve, say(p.decision(), s))
						time.Sleep(2 * time.Hour)
						after(t, p)
						idle := run(t, p.fresh(), p.id)
						if !idle.Person {
							t.Errorf("idle %+v, want a person asked", idle)
						}
						time.Sleep(time.Hour)
						run(t, p.node, p.id)
						if f := load(t, p.node.Store, p.id); p.paid != 1 || f.Ended != nil {
							t.Errorf("paid %d times; ended: %v", p.paid, f.Ended)
						}
					})
				})
			}
		}
	}
}

// Those who can know that it did not happen: whoever began it, a person who may approve, the owner's node that looked,
// and one the charter names.
func TestWhoCanKnowIsBelieved(t *testing.T) {
	other := func(t *testing.T, p *paying, right perdure.Right) *perdure.Signer {
		key, err := perdure.GenerateSigner("other")
		if err != nil {
			t.Fatal(err)
		}
		p.node.SetTrust(p.node.Trust.With(perdure.Trustee{Key: key.Key(), Name: "other", Rights: right, Scope: "test"}))
		return key
	}
	failed := func(p *paying) perdure.Outcome {
		return perdure.Outcome{Decision: p.decision(), Signal: perdure.Failed}
	}
	for what, say := range map[string]func(*testing.T, *paying){
		"whoever began it": func(_ *testing.T, p *paying) { p.says(p.node.Key, failed(p)) },
		"a person": func(t *testing.T, p *paying) {
			p.says(other(t, p, perdure.MayApprove), perdure.Event{Name: "settle",
				Notice: perdure.Settle{Decision: p.decision(), Signal: perdure.Failed}})
		},
		"a delegate who looked": func(_ *testing.T, p *paying) {
			o := failed(p)
			o.Reconciled = true
			p.says(p.eve, o)
		},
	} {
		g := perdure.Genesis{}
		p := newPaying(t, g)
		if what == "a delegate who looked" {
			g.Charter.Delegates = []perdure.Key{p.eve.Key()}
			p.id, p.paid = create(t, p.node, g), 0
			run(t, p.node, p.id)
		}
		say(t, p)
		run(t, p.node, p.id)
		if f := load(t, p.node.Store, p.id); p.paid != 2 || f.Ended == nil {
			t.Errorf("%s: paid %d times, %s; want it paid again", what, p.paid, f.State())
		}
	}
}

// In an agent without a seat, as other programs make them, the fold lets anybody say that a node was incapable. It is
// not tried again on that, and a person says what came of it.
func TestHearsayInAnAgentWithoutASeatIsSettledByAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, new(perdure.MemStore), scripted(untilPaid), pay)
		eve := on(t, nil)
		n.Trust = n.Trust.With(perdure.Trustee{Key: eve.key.Key(), Name: "eve", Rights: perdure.MayAuthor,
			Scope: "test"})
		e, err := n.Key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "pay"},
			Charter: perdure.Charter{Scope: "test"}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		a, err := perdure.Begin(e)
		if err != nil {
			t.Fatal(err)
		}
		more, a, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: open("pay", perdure.Once)})
		if err != nil {
			t.Fatal(err)
		}
		eve.a = a
		eve.write(perdure.Outcome{Decision: more[0].Name, Signal: perdure.Incapable})
		put(t, n.Store, a.ID(), append(append([]*perdure.Entry{e}, more...), eve.all...)...)
		for range 3 {
			idle := run(t, n, a.ID())
			if _, total := calls(seen); total != 0 || !idle.Is(phase.RestDoubt) || !idle.Person {
				t.Fatalf("%d payments, idle %+v: want it in doubt", total, idle)
			}
			time.Sleep(time.Hour)
		}
		if _, err := n.Settle(t.Context(), a.ID(), perdure.Settle{Decision: more[0].Name,
			Signal: perdure.OK}); err != nil {
			t.Fatal(err)
		}
		run(t, n, a.ID())
		if _, total := calls(seen); total != 0 || load(t, n.Store, a.ID()).Ended == nil {
			t.Errorf("%d payments after it was settled as made", total)
		}
	})
}

// Whoever reads a memory entry by entry, as advisors do, takes the outcomes that the fold takes.
func TestALedgerTakesTheOutcomesTheFoldTakes(t *testing.T) {
	type told struct {
		own    bool
		signal perdure.Signal
		want   bool
	}
	for name, all := range map[string][]told{
		"an author after it happened": {{true, perdure.OK, true}, {false, perdure.Failed, false},
			{true, perdure.Failed, false}},
		"an author before": {{false, perdure.Failed, false}, {true, perdure.Failed, true},
			{false, perdure.OK, true}},
		"an author says that it happened": {{false, perdure.OK, true}, {true, perdure.OK, false}},
		"it happened after all": {{true, perdure.Throttled, true}, {true, perdure.OK, true},
			{true, perdure.OK, false}},
	} {
		n := newNode(t, new(perdure.MemStore), scripted(nothing))
		id := create(t, n, perdure.Genesis{})
		a, err := perdure.Load(t.Context(), n.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		owner, eve := &stranger{t: t, key: n.Key, a: a}, on(t, nil)
		owner.write(open("pay", perdure.Once))
		decision := owner.all[0]
		var ledger perdure.Ledger
		ledger.Counts(owner.a.Fold(), decision)
		for i, o := range all {
			by := owner
			if !o.own {
				by, eve.a = eve, owner.a
			}
			by.write(perdure.Outcome{Decision: decision.Name, Signal: o.signal})
			owner.a = by.a
			e := by.all[len(by.all)-1]
			conflict := slices.ContainsFunc(owner.a.Fold().Conflicts, func(c perdure.Conflict) bool {
				return c.Entry == e.Name
			})
			// that it happened counts to who reads the entries even where the fold had it otherwise first
			after := o.want && o.signal == perdure.OK && i > 0
			if got := ledger.Counts(owner.a.Fold(), e); got != o.want || conflict == got && !after {
				t.Errorf("%s: outcome %d counts %v, in the fold %v, want %v", name, i, got, !conflict, o.want)
			}
		}
	}
}
