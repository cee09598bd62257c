package view_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// payer is a tool that does nothing, once.
type payer struct{}

func (payer) Spec() perdure.Spec { return perdure.Spec{Name: "pay", Effect: perdure.Once} }

func (payer) Call(context.Context, perdure.Call) (perdure.Result, error) {
	return perdure.Result{}, nil
}

// pays proposes one payment and ends.
type pays struct{}

func (pays) Advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	if a.Fold().Turns > 0 {
		return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
	}
	return perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "pay"}}}, nil
}

// asking is a node whose agent asks two people about a payment.
func asking(t *testing.T) (*perdure.Node, perdure.AgentID) {
	t.Helper()
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key, Tools: []perdure.Tool{payer{}},
		Advisors: map[string]perdure.Advisor{"": pays{}},
		Policy: perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
			if _, calls := r.Action.(perdure.Execute); calls {
				return perdure.Verdict{Answer: perdure.Ask, Quorum: 2}
			}
			return perdure.Verdict{Answer: perdure.Allow}
		})}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "pay"},
		Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	return n, a.ID()
}

// A chat is no question that somebody forgot to answer: its turn is over.
func TestAChatWaitsToBeTalkedTo(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	trust := perdure.NewTrust().With(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	allow := perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
		return perdure.Verdict{Answer: perdure.Allow}
	})
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key, Trust: trust, Policy: allow,
		Advisors: map[string]perdure.Advisor{"": asks{}}}
	for kind, want := range map[string]string{"": view.WaitQuestion, perdure.ChatKind: view.WaitTalk} {
		a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "x", Kind: kind},
			Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Say(t.Context(), a.ID(), "hello"); err != nil {
			t.Fatal(err)
		}
		if _, err := n.RunAgent(t.Context(), a.ID()); err != nil {
			t.Fatal(err)
		}
		if a, err = perdure.Load(t.Context(), n.Store, a.ID()); err != nil {
			t.Fatal(err)
		}
		got, err := view.Waits(t.Context(), n.Store, a, trust, key.Key(), time.Now())
		if err != nil || len(got) != 1 || got[0].Kind != want || (kind != "") != (got[0].Answer == "perdure chat a") {
			t.Errorf("kind %q waits for %+v, %v; want %s", kind, got, err, want)
		}
	}
}

// asks says something to people and waits for their answer.
type asks struct{}

func (asks) Advise(context.Context, *perdure.Agent) (perdure.Advice, error) {
	return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "answer"},
		Note: "hello to you"}}}, nil
}

func TestTheInboxNamesACommandOnlyToThoseWhoseAnswerCounts(t *testing.T) {
	n, id := asking(t)
	trust := perdure.NewTrust().With(perdure.Trustee{Key: n.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	one := func(me perdure.Key) view.Wait {
		t.Helper()
		found, faults, err := view.Inbox(t.Context(), n.Store, trust, perdure.Place{}, me, time.Now())
		if err != nil || faults != nil || len(found) != 1 || found[0].Kind != view.WaitApproval {
			t.Fatalf("got %+v, %v, %v, want one question", found, faults, err)
		}
		return found[0]
	}
	w := one(n.Key.Key())
	if w.Answer != "perdure approve shop "+w.Digest.String() || w.Others != "" {
		t.Errorf("who is asked is told %q, %q", w.Answer, w.Others)
	}
	if w := one(perdure.Key{1}); w.Answer != "" || !strings.Contains(w.Others, "would not count") {
		t.Errorf("who is not asked is told %q, %q", w.Answer, w.Others)
	}
	if w := one(perdure.Key{}); w.Answer == "" {
		t.Error("where no key is known no command is named")
	}
	if _, err := n.Approve(t.Context(), id, w.Digest, 0, ""); err != nil {
		t.Fatal(err)
	}
	if w := one(n.Key.Key()); w.Answer != "" || w.Approved != 1 || !strings.Contains(w.Others, "others have to") {
		t.Errorf("who has approved is told %q, %q after %d approvals", w.Answer, w.Others, w.Approved)
	}
}

func TestEveryViewAgreesWhereAnAgentStands(t *testing.T) {
	n, id := asking(t)
	trust := perdure.NewTrust().With(perdure.Trustee{Key: n.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	check := func(want phase.Standing) {
		t.Helper()
		a, err := perdure.Load(t.Context(), n.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if got := a.Standing(trust, perdure.Place{}, now); got != want {
			t.Errorf("it stands %s, want %s", got, want)
		}
		if got := view.Summarize(a, trust, nil, n.Key.Key(), now).Standing; got != want {
			t.Errorf("the summary says %s, want %s", got, want)
		}
	}
	check("waiting")
	if _, err := n.Pause(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	check("waiting")
	if _, err := n.Cancel(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	check("terminated")
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err           error
		message, hint string
	}{
		{perdure.WithHint(perdure.Missing("there is no agent x"), "see perdure ls"), "there is no agent x",
			"see perdure ls"},
		{perdure.Invalid(perdure.Missing("nothing")), "nothing", "see perdure do --help"},
		{context.Canceled, "interrupted", ""},
		{&fs.PathError{Op: "open", Path: "key", Err: fs.ErrPermission}, "open key: permission denied",
			"give this user the right to it and to its folder (chmod, chown), or name another place"},
	} {
		if message, hint := view.Explain(c.err, "perdure do"); message != c.message || hint != c.hint {
			t.Errorf("%v: got %q, %q, want %q, %q", c.err, message, hint, c.message, c.hint)
		}
	}
}

// brief is a store whose lists break off after some lines.
type brief struct {
	*perdure.MemStore
	lines int
}

var errBroken = errors.New("the disk does not answer")

func (b brief) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		left := b.lines
		for one, err := range b.MemStore.List(ctx, f) {
			if left--; left < 0 {
				yield(perdure.Listing{}, errBroken)
				return
			}
			if !yield(one, err) {
				return
			}
		}
	}
}

func TestAListThatBreaksOffHidesNothingThatCameBefore(t *testing.T) {
	n, _ := asking(t)
	another, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "stall", Goal: "pay"},
		Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), another.ID()); err != nil {
		t.Fatal(err)
	}
	trust := perdure.NewTrust().With(perdure.Trustee{Key: n.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	for lines, want := range []int{0, 1, 2} {
		s := brief{n.Store.(*perdure.MemStore), lines}
		found, faults, err := view.Inbox(t.Context(), s, trust, perdure.Place{}, n.Key.Key(), time.Now())
		if len(found) != want {
			t.Errorf("of a list of %d lines: %d things wait, want %d", lines, len(found), want)
		}
		switch lines {
		case 0:
			if !errors.Is(err, errBroken) {
				t.Errorf("of no list at all: got %v, want that it could not be read", err)
			}
		case 1:
			if err != nil || !errors.Is(faults, errBroken) || !strings.Contains(faults.Error(), "there may be more") {
				t.Errorf("of half a list: got %v, %v, want it among the faults", faults, err)
			}
		case 2:
			if err != nil || faults != nil {
				t.Errorf("of the whole list: got %v, %v", faults, err)
			}
		}
		for _, w := range found {
			if w.Answer == "" {
				t.Errorf("of a list of %d lines: no command is named for %s", lines, w.Name)
			}
		}
	}
}
