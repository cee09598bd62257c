package perdure_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// reader pays until a payment has come to ok, as it reads that in the memory of its agent: as the advisors of package
// advisor do. Then it sleeps. It notes what it is told.
type reader struct {
	store perdure.Store
	told  []string
	data  []perdure.Data // of that
}

func (r *reader) Advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	for _, m := range a.Fold().Inbox {
		r.told, r.data = append(r.told, m.Name), append(r.data, m.Data)
	}
	if cameTo(r.store, a) == perdure.OK {
		return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "more"}}}}, nil
	}
	return perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "pay"}}}, nil
}

// cameTo is what came of the last payment, to whoever reads the entries of an agent.
func cameTo(s perdure.Store, a *perdure.Agent) (last perdure.Signal) {
	byName := map[perdure.Hash]*perdure.Entry{}
	for e := range perdure.Memory(context.Background(), s, a.ID()) {
		byName[e.Name] = e
	}
	for e := range a.Recent() { // some may not be in the store yet
		byName[e.Name] = e
	}
	entries := slices.SortedFunc(maps.Values(byName), func(x, y *perdure.Entry) int {
		return x.Position().Compare(y.Position())
	})
	var ledger perdure.Ledger
	happened := map[perdure.Hash]bool{}
	for _, e := range entries {
		if !ledger.Counts(a.Fold(), e) {
			continue
		}
		switch b := e.Content().(type) {
		case perdure.Decision:
			if b.Verdict.Answer == perdure.Deny {
				last = perdure.Denied
			}
		case perdure.Outcome:
			last, happened[b.Decision] = b.Signal, happened[b.Decision] || b.Signal == perdure.OK
		case perdure.Event:
			if n, ok := b.Notice.(perdure.Settle); ok && !happened[n.Decision] {
				last, happened[n.Decision] = n.Signal, n.Signal == perdure.OK
			}
		}
	}
	return last
}

// tellTimes tells an agent something so many times.
func tellTimes(t *testing.T, n *perdure.Node, id perdure.AgentID, times int, ev perdure.Event) {
	t.Helper()
	for range times {
		if _, err := n.Tell(t.Context(), id, ev); err != nil {
			t.Fatal(err)
		}
	}
}

// doubtful are two copies of an agent whose payment happened, and the answer was lost.
func doubtful(t *testing.T) (p *payers, adv *reader, decision perdure.Hash) {
	t.Helper()
	p = &payers{here: new(perdure.MemStore), there: new(perdure.MemStore)}
	adv = &reader{store: p.here}
	paid := 0
	p.paid = func() int { return paid }
	pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once}}
	pay.call = func(context.Context, perdure.Call) (perdure.Result, error) {
		if paid++; paid == 1 {
			return perdure.Result{}, perdure.ErrInDoubt
		}
		return perdure.Result{}, nil
	}
	p.a, p.b = newNode(t, p.here, adv, pay), newNode(t, p.there, adv, pay)
	p.id = create(t, p.a, perdure.Genesis{})
	run(t, p.a, p.id)
	merge(t, p.here, p.there, p.id)
	return p, adv, load(t, p.here, p.id).Open[0].Decision
}

// A payment is settled as made where the seat is, and as failed in a copy. Whichever comes first when they are merged,
// it is not made again, and whoever was told otherwise is told.
func TestThatItHappenedOutweighsASettlementInACopy(t *testing.T) {
	for _, first := range []string{"here", "there"} {
		p, adv, decision := doubtful(t)
		late := map[string]*perdure.Node{"here": p.b, "there": p.a}[first] // whose word is folded last
		tellTimes(t, late, p.id, 3, perdure.Event{Name: "hello"})
		settle := func(s perdure.Signal) perdure.Event {
			return perdure.Event{Name: "settle", Notice: perdure.Settle{Decision: decision, Signal: s}}
		}
		tellTimes(t, p.a, p.id, 1, settle(perdure.OK))
		tellTimes(t, p.b, p.id, 1, settle(perdure.Failed))
		p.together(t)
		run(t, p.a, p.id)
		if s := cameTo(p.here, loaded(t, p.here, p.id)); p.paid() != 1 || s != perdure.OK {
			t.Errorf("%s first: paid %d times, which came to %s", first, p.paid(), s)
		}
		if got, want := slices.Contains(adv.told, "happened"), first == "there"; got != want {
			t.Errorf("%s first: the advisor was told that it happened: %v, of %v", first, got, adv.told)
		}
		if again := load(t, p.here, p.id); len(again.Unseen()) > 0 || len(again.Doubles()) > 0 {
			t.Errorf("%s first: unseen %v, doubled %v", first, again.Unseen(), again.Doubles())
		}
	}
}

// The advisor was asked before anybody knew better, and paid again: a person is asked about the two, whichever word is
// folded first. If that is the wrong one, the advisor is told.
func TestAPaymentMadeAgainBecauseACopyWasWrongIsFlagged(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		for _, wrongFirst := range []bool{true, false} {
			p, adv, decision := doubtful(t)
			late := p.a
			if wrongFirst {
				late = p.b
			}
			tellTimes(t, late, p.id, 9, perdure.Event{Name: "hello"})
			settle := perdure.Settle{Decision: decision, Signal: perdure.Failed}
			tellTimes(t, p.a, p.id, 1, perdure.Event{Name: "settle", Notice: settle})
			run(t, p.a, p.id)
			if p.paid() != 2 {
				t.Fatalf("paid %d times", p.paid())
			}
			settle.Signal = perdure.OK
			tellTimes(t, p.b, p.id, 1, perdure.Event{Name: "settle", Notice: settle})
			p.together(t)
			if snapshot { // which forgets what is only known from the entries
				if _, err := p.a.Snapshot(t.Context(), p.id); err != nil {
					t.Fatal(err)
				}
				tellTimes(t, p.a, p.id, 2, perdure.Event{Name: "hello"})
			}
			fresh := &perdure.Node{Store: p.here, Key: p.a.Key, Trust: p.a.Trust, Policy: p.a.Policy, Tools: p.a.Tools,
				Advisors: p.a.Advisors}
			run(t, fresh, p.id)
			tellTimes(t, p.a, p.id, 1, perdure.Event{Name: "more"})
			run(t, fresh, p.id)
			what := fmt.Sprintf("snapshot %v, wrong first %v", snapshot, wrongFirst)
			f := load(t, p.here, p.id)
			if p.paid() != 2 || len(f.Doubled) != 1 || f.Doubled[0].First != decision {
				t.Errorf("%s: paid %d times, on record as doubled %+v", what, p.paid(), f.Doubled)
			}
			told := slices.DeleteFunc(slices.Clone(adv.told), func(s string) bool { return s != "happened" })
			if wrongFirst != (len(told) == 1) || len(told) > 1 {
				t.Errorf("%s: the advisor was told %d times that it happened: %v", what, len(told), adv.told)
			}
		}
	}
}

// Once the branches have met, the same payment made again on purpose is another one: nobody is asked about it.
func TestAPaymentMadeAgainByWhoKnowsIsNotFlagged(t *testing.T) {
	p, _, decision := doubtful(t)
	tellTimes(t, p.a, p.id, 9, perdure.Event{Name: "hello"})
	settle := perdure.Settle{Decision: decision, Signal: perdure.Failed}
	tellTimes(t, p.a, p.id, 1, perdure.Event{Name: "settle", Notice: settle})
	settle.Signal = perdure.OK
	tellTimes(t, p.b, p.id, 1, perdure.Event{Name: "settle", Notice: settle})
	p.together(t)
	p.a.Advisors = map[string]perdure.Advisor{"": scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 1 {
			return []perdure.Action{perdure.Execute{Tool: "pay"}}
		}
		return nil
	})}
	run(t, p.a, p.id)
	if f := load(t, p.here, p.id); p.paid() != 2 || len(f.Doubles()) > 0 {
		t.Errorf("paid %d times, doubled %v", p.paid(), f.Doubles())
	}
}

// Who may write to an agent says something of their own under the name and the id of what a node says of itself. It
// does not take its place: the advisor is told what happened, once, whenever the other is told.
func TestNobodyKeepsTheAdvisorFromHearingThatItHappened(t *testing.T) {
	for _, lie := range []perdure.Event{{Name: "lie"}, {Name: "happened"}} {
		for _, early := range []bool{true, false} {
			p, adv, decision := doubtful(t)
			eve := on(t, nil)
			fresh := &perdure.Node{Store: p.here, Key: p.a.Key, Policy: p.a.Policy, Tools: p.a.Tools,
				Advisors: p.a.Advisors, Trust: p.a.Trust.With(perdure.Trustee{Key: eve.key.Key(), Name: "eve",
					Rights: perdure.MayAuthor, Scope: perdure.AnyScope})}
			lie.By, lie.ID = "runtime", "happened/"+decision.String()
			lie.Data, _ = perdure.DataOf("it did not happen")
			forge := func() {
				eve.a, eve.all = loaded(t, p.here, p.id), nil
				eve.write(lie)
				put(t, p.here, p.id, eve.all...)
			}
			if early {
				forge()
			}
			tellTimes(t, fresh, p.id, 3, perdure.Event{Name: "hello"}) // its word is folded last
			tellTimes(t, fresh, p.id, 1, perdure.Event{Name: "settle",
				Notice: perdure.Settle{Decision: decision, Signal: perdure.OK}})
			tellTimes(t, p.b, p.id, 1, perdure.Event{Name: "settle",
				Notice: perdure.Settle{Decision: decision, Signal: perdure.Failed}})
			p.together(t)
			if !early {
				forge()
			}
			run(t, fresh, p.id)
			said := 0
			for _, m := range adv.data {
				if m != nil && strings.Contains(string(m.JSON()), "but it did happen") {
					said++
				}
			}
			if said != 1 {
				t.Errorf("%s, early %v: the advisor was told %d times that it happened: %v", lie.Name, early, said,
					adv.told)
			}
		}
	}
}

// A question is approved, and the payment made, where the seat is; in a copy it is refused. Merged, it was made,
// whichever comes first, and nobody is asked again.
func TestARefusalInACopyDoesNotUndoAPayment(t *testing.T) {
	for _, refused := range []bool{true, false} { // or nobody has closed the question there
		for first := range 6 {
			adv := &reader{}
			other := &reader{}
			p := newPayers(t, func(p *payers) {
				adv.store, other.store = p.here, p.there
				p.a.Advisors, p.b.Advisors = map[string]perdure.Advisor{"": adv}, map[string]perdure.Advisor{"": other}
				p.a.Policy, p.b.Policy = perdure.PolicyFunc(askWrites), perdure.PolicyFunc(askWrites)
			})
			run(t, p.a, p.id)
			merge(t, p.here, p.there, p.id)
			q := load(t, p.here, p.id).Asks[0]
			tellTimes(t, p.a, p.id, first, perdure.Event{Name: "hello"})
			approve(t, p.a, p.id, &q)
			run(t, p.a, p.id)
			tellTimes(t, p.b, p.id, 5-first, perdure.Event{Name: "hello"})
			tellTimes(t, p.b, p.id, 1, perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: q.Decision,
				Digest: q.Digest}})
			if refused {
				p.b.Advisors = map[string]perdure.Advisor{"": scripted(nothing)}
				run(t, p.b, p.id)
			}
			p.together(t)
			adv.told = nil
			run(t, p.a, p.id)
			tellTimes(t, p.a, p.id, 1, perdure.Event{Name: "more"})
			run(t, p.a, p.id)
			what := fmt.Sprintf("refused %v, %d events first", refused, first)
			f := load(t, p.here, p.id)
			if s := cameTo(p.here, loaded(t, p.here, p.id)); p.paid() != 1 || s != perdure.OK || len(f.Asks) > 0 {
				t.Errorf("%s: paid %d times, which came to %s; asked: %d", what, p.paid(), s, len(f.Asks))
			}
			void := slices.ContainsFunc(f.Conflicts, func(c perdure.Conflict) bool {
				return c.What == "a second outcome of one decision"
			})
			if told := slices.Contains(adv.told, "happened"); void && !told && len(f.Tools) > 0 &&
				!paidByFold(f) {
				t.Errorf("%s: the payment does not count, and the advisor was not told: %v", what, adv.told)
			}
			if len(f.Doubles()) > 0 {
				t.Errorf("%s: doubled %v", what, f.Doubles())
			}
		}
	}
}

// paidByFold reports whether the fold itself has it that a payment was made.
func paidByFold(f *perdure.Fold) bool {
	i := slices.IndexFunc(f.Tools, func(r perdure.ToolRecord) bool { return r.Tool == "pay" })
	return i >= 0 && slices.ContainsFunc(f.Tools[i].Last, func(r perdure.SignalRecord) bool {
		return r.Signal == perdure.OK
	})
}
