package perdure_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// taken is an agent for which an author decided to pay, with the answers of people, and which this node is to take up.
type taken struct {
	*stranger
	store *perdure.MemStore
	n     *perdure.Node
	paid  func() int
	keys  map[string]*perdure.Signer

	expires perdure.Time // of the votes
}

// newTaken is an agent under a policy that asks so many of some people; the author has asked ann.
func newTaken(t *testing.T, quorum int64, asked ...string) *taken {
	t.Helper()
	store := new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Idempotent)
	n := newNode(t, store, scripted(nothing), pay)
	n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
		v := askWrites(a, r, now)
		v.Quorum, v.Asked = quorum, asked
		return v
	})
	w := &taken{stranger: on(t, nil), store: store, n: n, keys: map[string]*perdure.Signer{}, paid: func() int {
		_, total := calls(seen)
		return total
	}}
	for name, right := range map[string]perdure.Right{"author": perdure.MayAuthor, "ann": perdure.MayApprove,
		"bob": perdure.MayApprove} {
		key, err := perdure.GenerateSigner(name)
		if err != nil {
			t.Fatal(err)
		}
		w.keys[name] = key
		n.Trust = n.Trust.With(perdure.Trustee{Key: key.Key(), Name: name, Rights: right, Scope: perdure.AnyScope})
	}
	a, err := perdure.Load(t.Context(), store, create(t, n, perdure.Genesis{}))
	if err != nil {
		t.Fatal(err)
	}
	w.a, w.key = a, w.keys["author"]
	w.ask(0)
	return w
}

// ask has the author ask ann, until a time.
func (w *taken) ask(until perdure.Time) {
	w.t.Helper()
	w.write(perdure.Decision{Action: perdure.Execute{Tool: "pay"},
		Verdict: perdure.Verdict{Answer: perdure.Ask, Asked: []string{"ann"}, Expires: until}})
}

// vote adds somebody's answer to what was asked last.
func (w *taken) vote(who string, approve bool) perdure.Hash {
	w.t.Helper()
	asks := w.a.Fold().Asks
	q := asks[len(asks)-1]
	w.key = w.keys[who]
	w.write(perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest,
		Approve: approve, Expires: w.expires}})
	w.key = w.keys["author"]
	return w.all[len(w.all)-1].Name
}

// decide adds the author's decision, which has no outcome and is late.
func (w *taken) decide(votes ...perdure.Hash) {
	d := open("pay", perdure.Idempotent)
	d.Approvals = votes
	w.write(d)
}

// What an author decided with answers of people is taken up if they are answers to the policy here.
func TestAnAuthorsDecisionIsHeldAgainstTheAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		quorum int64
		asked  []string
		write  func(w *taken)
		want   int
	}{
		"approved": {1, []string{"ann"}, func(w *taken) { w.decide(w.vote("ann", true)) }, 1},
		"approved by somebody the policy here does not ask": {1, []string{"bob"}, func(w *taken) {
			w.decide(w.vote("ann", true))
		}, 0},
		"one approval, named twice": {2, []string{"ann"}, func(w *taken) {
			v := w.vote("ann", true)
			w.decide(v, v)
		}, 0},
		"refused by somebody the author says was not asked": {1, []string{"ann", "bob"}, func(w *taken) {
			w.decide(w.vote("ann", true), w.vote("bob", false))
		}, 0},
		"refused by somebody nobody asked": {1, []string{"ann"}, func(w *taken) {
			w.decide(w.vote("ann", true), w.vote("bob", false))
		}, 1},
		"approved until a time that has passed here, not by the author's clock": {1, []string{"ann"}, func(w *taken) {
			w.at = time.Now().Add(-time.Hour)
			w.expires = perdure.TimeOf(time.Now().Add(-time.Minute))
			w.decide(w.vote("ann", true))
		}, 0},
		"approved when nobody was asked any more, if not by the author's clock": {1, []string{"ann"}, func(w *taken) {
			w.at = time.Now().Add(-time.Hour)
			w.ask(perdure.TimeOf(time.Now().Add(-time.Minute)))
			w.decide(w.vote("ann", true))
		}, 0},
		"approved in time by every clock": {1, []string{"ann"}, func(w *taken) {
			w.at = time.Now().Add(-time.Hour)
			w.ask(perdure.TimeOf(time.Now().Add(time.Hour)))
			w.expires = perdure.TimeOf(time.Now().Add(time.Hour))
			w.decide(w.vote("ann", true))
		}, 1},
		"used by another decision, on another branch": {1, []string{"ann"}, func(w *taken) {
			v := w.vote("ann", true)
			before := w.a
			w.decide(v)
			w.a = before
			w.decide(v)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTaken(t, c.quorum, c.asked...)
			c.write(w)
			put(t, w.store, w.a.ID(), w.all...)
			run(t, w.n, w.a.ID())
			if got := w.paid(); got != c.want {
				t.Errorf("%d payments, want %d", got, c.want)
			}
		})
	}
}

// An author dates its question back, so that it would have gone on to more people by now. When a question was asked is
// believed of an owner.
func TestAQuestionDatedBackGoesToNobodyElse(t *testing.T) {
	for right, want := range map[perdure.Right]int{perdure.MayAuthor: 0, perdure.MayOwn: 1} {
		store := new(perdure.MemStore)
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, store, scripted(nothing), pay)
		n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
			v := askWrites(a, r, now)
			if v.Answer == perdure.Ask {
				v.Asked, v.Escalate = []string{"carol"}, []perdure.Escalation{{At: perdure.TimeOf(now.Add(time.Hour)),
					Asked: []string{"dave"}}}
			}
			return v
		})
		author, dave := on(t, nil), on(t, nil)
		n.Trust = n.Trust.With(perdure.Trustee{Key: author.key.Key(), Rights: right, Scope: perdure.AnyScope},
			perdure.Trustee{Key: dave.key.Key(), Name: "dave", Rights: perdure.MayApprove, Scope: perdure.AnyScope})
		a, err := perdure.Load(t.Context(), store, create(t, n, perdure.Genesis{}))
		if err != nil {
			t.Fatal(err)
		}
		asked, next, err := author.key.Commit(a, time.Now().Add(-2*time.Hour), perdure.Draft{Body: perdure.Decision{
			Action: perdure.Execute{Tool: "pay"}, Verdict: perdure.Verdict{Answer: perdure.Ask,
				Asked: []string{"dave"}}, Effect: perdure.Once,
		}})
		if err != nil {
			t.Fatal(err)
		}
		dave.a = next
		q := next.Fold().Asks[0]
		dave.write(perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest,
			Approve: true}})
		put(t, store, a.ID(), append(asked, dave.all...)...)
		// whoever loads it from there asks the store who asked
		if _, err := n.Snapshot(t.Context(), a.ID()); err != nil {
			t.Fatal(err)
		}
		run(t, n, a.ID())
		if _, total := calls(seen); total != want {
			t.Errorf("a question by somebody with the right %s: %d payments, want %d", right, total, want)
		}
	}
}

// A policy that answers what no answer is denies.
func TestAnAnswerThatDoesNotExistDenies(t *testing.T) {
	store := new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Idempotent)
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	n.Policy = perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
		return perdure.Verdict{Answer: perdure.Allow + 1}
	})
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if _, total := calls(seen); total != 0 || load(t, store, id).Tool("pay").Last[0].Signal != perdure.Denied {
		t.Errorf("%d payments, want a denial on record", total)
	}
}

// No policy widens the tools of an intent.
func TestAnAgentHasTheToolsOfItsIntent(t *testing.T) {
	for _, tools := range [][]string{nil, {"pay", "look"}, {"look"}, {}} {
		store := new(perdure.MemStore)
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, store, scripted(steps("pay", 1)), pay)
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Tools: tools}})
		run(t, n, id)
		want := 0
		if tools == nil || len(tools) == 2 {
			want = 1
		}
		if _, total := calls(seen); total != want {
			t.Errorf("tools %q: %d payments, want %d", tools, total, want)
		}
	}
}

// Whom a stranger lets approve and run an agent has no say in a fork of it.
func TestAForkHasNoApproversOfAStranger(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(nothing))
	friend := on(t, nil).key.Key()
	g := perdure.Genesis{Charter: perdure.Charter{Approvers: []perdure.Key{friend}, Delegates: []perdure.Key{friend}}}
	s := newStranger(t, g)
	put(t, store, s.a.ID(), s.all...)
	mine, err := perdure.Load(t.Context(), store, create(t, n, g))
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]*perdure.Agent{"own": mine, "a stranger's": s.a} {
		f, err := n.Fork(t.Context(), from, from.Fold().ForkGenesis(from.Heads()[0], true))
		if err != nil {
			t.Fatal(err)
		}
		c := f.Fold().Charter
		if got := len(c.Approvers) + len(c.Delegates); (got > 0) != (name == "own") {
			t.Errorf("a fork of %s agent has %d approvers and delegates of it", name, got)
		}
	}
}

// Of two agents that one calls its relative, both must say so.
func TestRelativesAreThoseBothSayTheyAre(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(nothing))
	author := on(t, nil)
	n.Trust = n.Trust.With(perdure.Trustee{Key: author.key.Key(), Rights: perdure.MayAuthor, Scope: perdure.AnyScope})
	parent := create(t, n, perdure.Genesis{Charter: perdure.Charter{Depth: 1}})
	count := func(id perdure.AgentID) int64 { return load(t, store, id).Count }

	// an author says that a fork of the agent is a child of it
	a, err := perdure.Load(t.Context(), store, parent)
	if err != nil {
		t.Fatal(err)
	}
	g := a.Fold().ForkGenesis(a.Heads()[0], true)
	g.Charter.Depth = 0
	fork, err := n.Fork(t.Context(), a, g)
	if err != nil {
		t.Fatal(err)
	}
	var child []byte
	for e, err := range perdure.Memory(t.Context(), store, fork.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == perdure.KindGenesis {
			child, _ = e.MarshalBinary()
		}
	}
	author.a = a
	d := open("", perdure.Idempotent)
	d.Action, d.Child = perdure.Delegate{Intent: g.Intent}, child
	author.write(d)
	author.write(perdure.Outcome{Decision: author.all[0].Name, Signal: perdure.OK})
	put(t, store, parent, author.all...)
	if c := load(t, store, parent).Children; len(c) != 1 || c[0].Agent != fork.ID() {
		t.Fatalf("children %+v: the attack would prove nothing", c)
	}
	// an agent that says it is a child of one that has another
	liar := create(t, n, perdure.Genesis{Lineage: &perdure.Lineage{Parent: parent, Relation: perdure.Child}})
	before := count(parent)
	tell(t, n, liar, perdure.Cancel{})
	run(t, n, liar)
	if count(parent) != before {
		t.Error("an agent was told of the end of a child it never had")
	}

	tell(t, n, parent, perdure.Cancel{})
	run(t, n, parent)
	if load(t, store, fork.ID()).Ended != nil {
		t.Error("an agent was ended by one that is not its parent")
	}
}

// An older copy goes on by the word of its owner, not of whoever else is trusted to own agents.
func TestOnlyTheOwnerAcceptsAnOlderCopy(t *testing.T) {
	store := new(perdure.MemStore)
	owner := newNode(t, store, scripted(nothing))
	id := create(t, owner, perdure.Genesis{})
	other := newNode(t, store, scripted(nothing))
	if _, err := other.Accept(t.Context(), id, ""); !errors.Is(err, perdure.ErrDenied) {
		t.Errorf("somebody else accepted an older copy: %v", err)
	}
	if _, err := owner.Accept(t.Context(), id, ""); err != nil {
		t.Error(err)
	}
}

// A stranger's pause, put beside an agent at work, does not cut off what is under way.
func TestAStrangersPauseCutsNothingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		var begun atomic.Int64
		n := newNode(t, store, scripted(steps("slow", 1)), slow(perdure.Once, &begun))
		id := create(t, n, perdure.Genesis{})
		go func() {
			time.Sleep(400 * time.Millisecond)
			a, err := perdure.Load(context.Background(), store, id)
			if err != nil {
				t.Error(err)
				return
			}
			s := on(t, a)
			s.write(perdure.Event{Name: "pause", Notice: perdure.Pause{}})
			put(t, store, id, s.all...)
		}()
		if idle := run(t, n, id); !idle.Is(phase.RestHeld) {
			t.Errorf("idle %+v, want it held for what the stranger wrote", idle)
		}
		if out := outcomes(t, store, id); len(out) != 1 || out[0].Signal != perdure.OK {
			t.Errorf("outcomes %+v, want the call to have ended by itself", out)
		}
	})
}
