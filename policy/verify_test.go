package policy_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
	"github.com/perdure/perdure/policy"
)

type tool struct{ spec perdure.Spec }

func (t tool) Spec() perdure.Spec { return t.spec }
func (t tool) Call(context.Context, perdure.Call) (perdure.Result, error) {
	time.Sleep(700 * time.Millisecond) // of a synctest bubble: so that entries fall into different seconds
	return perdure.Result{Spend: perdure.Spend{Cost: 10}}, nil
}

// live runs an agent that reads, writes with approval, is refused, sleeps and ends.
func live(t *testing.T, s *policy.Set, own ...perdure.Hash) (*perdure.MemStore, *perdure.Node, perdure.AgentID) {
	t.Helper()
	return liveUnder(t, s, s.Hash(), own...)
}

// silent is a policy that does not tell its text.
type silent struct{ perdure.Policy }

// liveUnder is live under any policy.
func liveUnder(t *testing.T, p perdure.Policy, hash perdure.Hash, own ...perdure.Hash) (*perdure.MemStore,
	*perdure.Node, perdure.AgentID) {
	t.Helper()
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	script := [][]perdure.Action{
		{perdure.Execute{Tool: "read", Args: data(t, map[string]any{"path": "/a"})},
			perdure.Execute{Tool: "read", Args: data(t, map[string]any{"path": "/b"})}},
		{perdure.Execute{Tool: "write", Args: data(t, map[string]any{"path": "/a"})}},
		{perdure.Delegate{Intent: perdure.Intent{Goal: "more"}}},
		{perdure.Sleep{Trigger: perdure.After{Millis: 90_000}}},
		{perdure.Execute{Tool: "read"}, perdure.Execute{Tool: "missing"}, perdure.End{Signal: perdure.OK}},
	}
	advisor := perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		return perdure.Advice{Actions: script[min(a.Fold().Turns, int64(len(script)-1))]}, nil
	})
	store := new(perdure.MemStore)
	n := &perdure.Node{
		Store: store, Key: key, Policy: p, PolicyHash: hash, Advisors: map[string]perdure.Advisor{"": advisor},
		Tools: []perdure.Tool{tool{perdure.Spec{Name: "read", Effect: perdure.Read}},
			tool{perdure.Spec{Name: "write", Effect: perdure.Once}},
			tool{perdure.Spec{Name: "missing", Effect: perdure.Read}}},
	}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "be verified",
		Tools: []string{"read", "write"}}, Charter: perdure.Charter{Scope: "test", Policies: own}})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := n.RunAgent(t.Context(), a.ID()); err != nil {
			t.Fatal(err)
		}
		now, err := perdure.Load(t.Context(), store, a.ID())
		if err != nil {
			t.Fatal(err)
		}
		if now.Fold().Ended != nil {
			return store, n, a.ID()
		}
		for _, q := range now.Fold().Asks {
			if _, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: "approval",
				Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest, Approve: true}}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
	}
	t.Fatal("the agent did not end")
	return nil, nil, perdure.AgentID{}
}

func TestEveryDecisionIsDerivedAgainFromTheAgentAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := parse(t, `@id("no-secrets") forbid (principal, action == Action::"execute", resource) when { context.args has path && context.args.path like "/secret*" };`)
		s := policy.Default().Know(own)
		store, _, id := live(t, s, own.Hash())
		v, err := s.Verify(perdure.Memory(t.Context(), store, id), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range v.Differences {
			t.Errorf("%s\n got %+v\nwant %+v", d, d.Got, d.Want)
		}
		if v.Derived < 7 || v.Runtime < 2 || !v.OK() || v.Decisions != v.Derived+v.Runtime {
			t.Errorf("derived %d and %d of the runtime of %d decisions, want at least 7 and 2", v.Derived, v.Runtime,
				v.Decisions)
		}
		// Who has nothing but the agent can derive the same.
		if v, err := new(policy.Set).Verify(perdure.Memory(t.Context(), store, id), nil); err != nil || !v.OK() ||
			v.Derived < 7 {
			t.Errorf("from the agent alone: got %+v and %v", v, err)
		}
		store, _, id = liveUnder(t, silent{s}, s.Hash(), own.Hash())
		// Without its own policy, where memory does not tell it, nothing can be told.
		if v, err := policy.Default().Verify(perdure.Memory(t.Context(), store, id), nil); err != nil ||
			v.Derived != 0 ||
			len(v.Gaps) < 7 || v.Gaps[0].Policy != own.Hash() {
			t.Errorf("without its own policy: got %+v and %v, want gaps alone", v, err)
		}
		// A set that knows the one it was decided under derives it under that one.
		if v, err := parse(t, `@id("x") permit (principal, action, resource);`).Know(own, policy.Default()).
			Verify(perdure.Memory(t.Context(), store, id), nil); err != nil || !v.OK() {
			t.Errorf("under a set that knows the right one: %v, %v", v, err)
		}
	})
}

func TestDecisionsUnderAPolicyThatIsNotAtHandAreGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := parse(t, allText)
		store, _, id := liveUnder(t, silent{s}, s.Hash())
		if v, err := policy.Default().Verify(perdure.Memory(t.Context(), store, id), nil); err != nil ||
			v.Derived != 0 ||
			len(v.Gaps) != v.Decisions-v.Runtime || v.Gaps[0].Policy != s.Hash() {
			t.Errorf("without the policy: got %+v and %v, want gaps alone", v, err)
		}
	})
}

func TestATextThatIsNotThatOfThePolicyTeachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, lax := parse(t, allText), parse(t, `@id("other") permit (principal, action, resource);`)
		store, n, id := liveUnder(t, silent{s}, s.Hash())
		for _, text := range []perdure.Data{lax.Tell(lax.Hash()), data(t, "x"), data(t, []any{1}),
			data(t, []any{"permit"})} {
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "enclosed",
				Notice: perdure.Enclosed{Of: s.Hash(), Kind: perdure.EnclosedPolicy, Text: text}}); err != nil {
				t.Fatal(err)
			}
			if _, err := policy.FromText(s.Hash(), text); err == nil {
				t.Errorf("%v is taken for the text of another policy", text)
			}
		}
		v, err := policy.Default().Verify(perdure.Memory(t.Context(), store, id), nil)
		if err != nil || v.Derived != 0 {
			t.Errorf("with a false text: got %+v and %v, want nothing derived", v, err)
		}
	})
}

func TestTheTextOfASetIsThatOfTheSameSet(t *testing.T) {
	s, err := policy.Parse(policy.File{Name: "b", Text: []byte(`@id("b") permit (principal, action, resource);`)},
		policy.File{Name: "a", Text: []byte("// what\n@id(\"a\") forbid (principal, action == Action::\"end\", " +
			"resource);")})
	if err != nil {
		t.Fatal(err)
	}
	got, err := policy.FromText(s.Hash(), s.Tell(s.Hash()))
	if err != nil || got.Hash() != s.Hash() || !slices.Equal(got.Rules(), s.Rules()) {
		t.Errorf("got %v, %v, want %v", got, err, s.Rules())
	}
	if d := policy.Default(); d.Tell(d.Hash()) != nil || s.Tell(d.Hash()) != nil {
		t.Error("the text of the built-in policy is told: everybody has it")
	}
}

// builtInHash names the built-in policy of this version. Decisions made under it are derived again by later versions:
// when default.cedar changes, its old text goes on as default-N.cedar, and this changes with it.
const builtInHash = "6b1c26bad834dac96bbfbc4053753f5b468f84103a30817a2679a03ca76db195"

func TestTheBuiltInPolicyIsTheOneDecisionsName(t *testing.T) {
	if got := policy.Default().Hash().String(); got != builtInHash {
		t.Errorf("the built-in policy is %s, want %s: keep its old text beside the new one", got, builtInHash)
	}
}

func TestDenialsForWantOfAPolicyAreDerivedByThoseWhoHaveIt(t *testing.T) {
	first, second := parse(t, `@id("a") forbid (principal, action == Action::"end", resource);`),
		parse(t, `@id("b") forbid (principal, action == Action::"wake", resource);`)
	all := policy.Default().Know(first, second)
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{Charter: perdure.Charter{Scope: "test",
		Policies: []perdure.Hash{first.Hash(), second.Hash()}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	for name, node := range map[string]*policy.Set{"neither": policy.Default(), "one": policy.Default().Know(first),
		"both": all} {
		act := perdure.Sleep{Trigger: perdure.On{Event: "go"}}
		v := node.Decide(a, perdure.Request{Action: act, Node: key.Key()}, now)
		if (v.Answer == perdure.Allow) != (name == "both") {
			t.Fatalf("%s known: got %s", name, v.Answer)
		}
		entries, _, err := key.Commit(a, now, perdure.Draft{Body: perdure.Decision{Action: act, Verdict: v}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := all.Verify(joined(nil, append([]*perdure.Entry{g}, entries...)), nil); err != nil || !got.OK() ||
			got.Derived != 1 {
			t.Errorf("%s known: got %+v, %v, want it derived again", name, got, err)
		}
	}
}

func TestForgedDecisionsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := policy.Default()
		store, n, id := live(t, s)
		a, err := perdure.Load(t.Context(), store, id)
		if err != nil {
			t.Fatal(err)
		}
		write := perdure.Execute{Tool: "write", Args: data(t, map[string]any{"path": "/b"})}
		honest := s.Decide(a, perdure.Request{Action: write, Effect: perdure.Once, Node: n.Key.Key()}, time.Now())
		forge := func(change func(v *perdure.Verdict)) perdure.Decision {
			v := honest
			v.Rules = slices.Clone(v.Rules)
			change(&v)
			return perdure.Decision{Action: write, Effect: perdure.Once, Verdict: v}
		}
		approved := s.Decide(a, perdure.Request{Action: write, Effect: perdure.Once, Approvals: 1, Node: n.Key.Key()},
			time.Now())
		approved.Answer, approved.Rules = perdure.Allow, append(approved.Rules, "runtime.approved")
		for name, d := range map[string]perdure.Decision{
			"proposal": {Advice: perdure.Hash{1}, Index: 2, Effect: perdure.Once, Verdict: honest},
			"answer":   forge(func(v *perdure.Verdict) { v.Answer = perdure.Allow }),
			"rules":    forge(func(v *perdure.Verdict) { v.Rules = []string{"default.read"} }),
			"facts":    forge(func(v *perdure.Verdict) { v.Facts = perdure.Hash{1} }),
			"quorum":   forge(func(v *perdure.Verdict) { v.Quorum = 0 }),
			"expiry":   forge(func(v *perdure.Verdict) { v.Expires++ }),
			"escalation": forge(func(v *perdure.Verdict) {
				v.Escalate = []perdure.Escalation{{At: v.Expires - 1, Asked: []string{"me"}}}
			}),
			"asked":  forge(func(v *perdure.Verdict) { v.Asked = nil }),
			"reason": forge(func(v *perdure.Verdict) { v.Reason = "because" }),
			"runtime": forge(func(v *perdure.Verdict) {
				v.Answer, v.Rules = perdure.Allow, []string{"runtime.wake"}
			}),
			"rest": forge(func(v *perdure.Verdict) {
				v.Answer, v.Rules = perdure.Allow, []string{ruling.Rest}
			}),
			"no rules": forge(func(v *perdure.Verdict) { v.Rules = nil }),
			"approvals": {Action: write, Effect: perdure.Once, Approvals: []perdure.Hash{{1}},
				Verdict: approved},
			"another effect":   {Action: write, Effect: perdure.Read, Verdict: honest},
			"another argument": {Action: perdure.Execute{Tool: "write"}, Effect: perdure.Once, Verdict: honest},
		} {
			entries, _, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: d})
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.Verify(joined(perdure.Memory(t.Context(), store, id), entries), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Differences) != 1 || v.Differences[0].Entry != entries[0].Name ||
				!strings.Contains(v.Differences[0].String(), "decision ") {
				t.Errorf("%s: got %v, want the forged decision alone", name, v.Differences)
			}
		}
		entries, _, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: forge(func(*perdure.Verdict) {})})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.Verify(joined(perdure.Memory(t.Context(), store, id), entries), nil); err != nil || !v.OK() {
			t.Errorf("the honest one: %v, %v", v, err)
		}
	})
}

// Where the charter of an agent names approvers and has a say, nobody else is asked in their place.
func TestAQuestionPastTheApproversIsFound(t *testing.T) {
	s := policy.Default()
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key}
	stranger, err := perdure.GenerateSigner("stranger")
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "ask", Tools: []string{"write"}},
		Charter: perdure.Charter{Scope: "test", Approvers: []perdure.Key{stranger.Key()}}})
	if err != nil {
		t.Fatal(err)
	}
	own := perdure.NewTrust(perdure.Trustee{Key: n.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	other := perdure.NewTrust(perdure.Trustee{Key: stranger.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	admitted, _, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "admitted",
		Notice: perdure.Admitted{}}})
	if err != nil {
		t.Fatal(err)
	}
	write := perdure.Execute{Tool: "write", Args: data(t, map[string]any{"path": "/b"})}
	for _, c := range []struct {
		name  string
		asked []string
		by    *perdure.Trust
		let   bool // somebody of this home let the agent in
		holds bool
	}{
		{name: "as policy says", asked: []string{"owner"}, by: own, holds: true},
		{name: "others", asked: []string{"mallory", "operator"}, by: own},
		{name: "the operator", asked: []string{"operator"}, by: own},
		{name: "the operator, where the charter has no say", asked: []string{"operator"}, by: other, holds: true},
		{name: "the operator, since somebody let it in", asked: []string{"operator"}, by: own, let: true, holds: true},
		{name: "others, where the charter has no say", asked: []string{"mallory", "operator"}, by: other},
		{name: "the operator, as far as nobody can tell", asked: []string{"operator"}, holds: true},
	} {
		at, memory := a, slices.Collect(func(yield func(*perdure.Entry) bool) {
			for e, err := range perdure.Memory(t.Context(), n.Store, a.ID()) {
				if err != nil || !yield(e) {
					return
				}
			}
		})
		if c.let {
			memory = append(memory, admitted...)
			if at, err = perdure.FoldEntries(joined(nil, memory)); err != nil {
				t.Fatal(err)
			}
		}
		v := s.Decide(at, perdure.Request{Action: write, Effect: perdure.Once, Node: n.Key.Key()}, time.Now())
		v.Asked = c.asked
		entries, _, err := n.Key.Commit(at, time.Now(), perdure.Draft{Body: perdure.Decision{Action: write,
			Effect: perdure.Once, Verdict: v}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Verify(joined(nil, append(memory, entries...)), c.by)
		if err != nil || got.OK() != c.holds {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// TestARestThatPolicyForbidsHolds, and the wake that it forbids does not come.
func TestARestThatPolicyForbidsHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := policy.Load(fstest.MapFS{"a.cedar": {Data: []byte(`@id("all") permit (principal, action, resource);
@id("no-rest") forbid (principal, action in [Action::"sleep", Action::"end"], resource);`)}}, "a.cedar")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Idle(); len(got) != 2 || !strings.Contains(got[0], "rule no-rest on sleep has no effect") {
			t.Errorf("got %q, want a note on each action", got)
		}
		store, _, id := live(t, s)
		v, err := s.Verify(perdure.Memory(t.Context(), store, id), nil)
		if err != nil || !v.OK() || v.Runtime < 2 {
			t.Errorf("got %+v, %v, want the sleep and the end to hold as the runtime's", v, err)
		}
	})
}

func TestDecisionsThatCannotBeDerivedAreNamedWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := policy.Default()
		store, _, id := live(t, s)
		var whole, pruned []*perdure.Entry
		dropped := 0
		for e, err := range perdure.Memory(t.Context(), store, id) {
			if err != nil {
				t.Fatal(err)
			}
			whole = append(whole, e)
			if e.Kind == perdure.KindDecision && dropped == 0 {
				dropped, e = len(whole), e.Drop()
			}
			pruned = append(pruned, e)
		}
		v, err := s.Verify(joined(nil, pruned), nil)
		if err != nil || len(v.Differences) > 0 || len(v.Gaps) < 2 || v.Gaps[0].Entry != whole[dropped-1].Name ||
			v.Derived+v.Runtime+len(v.Gaps) != v.Decisions {
			t.Fatalf("got %+v, %v, want gaps from the first decision on", v, err)
		}
		if got := v.Gaps[0].Why + "; " +
			v.Gaps[1].Why; got != "its body is gone; bodies before it are gone, and no snapshot stands for them" {
			t.Errorf("got %q", got)
		}
	})
}

// TestDecisionsBesideOtherBranchesAreDerivedFromTheirOwnPast has an event arrive that the author of a decision had not
// seen.
func TestDecisionsBesideOtherBranchesAreDerivedFromTheirOwnPast(t *testing.T) {
	s := policy.Default()
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{Charter: perdure.Charter{Scope: "test", Depth: 3}}, now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	memory := []*perdure.Entry{g}
	decide := func(a *perdure.Agent, at time.Time) ([]*perdure.Entry, *perdure.Agent) {
		x := perdure.Execute{Tool: "read"}
		asked := at.Add(-3500 * time.Millisecond) // it took its author a while to write it down
		v := s.Decide(a, perdure.Request{Action: x, Effect: perdure.Read, Node: key.Key()}, asked)
		entries, next, err := key.Commit(a, at, perdure.Draft{Body: perdure.Decision{Action: x, Effect: perdure.Read,
			Verdict: v}})
		if err != nil {
			t.Fatal(err)
		}
		return entries, next
	}
	for i := range 4 {
		at := now.Add(time.Duration(i) * time.Minute)
		left, _ := decide(a, at)
		right, tainted, err := key.Commit(a, at, perdure.Draft{Body: perdure.Event{Name: "mail", Taint: true}})
		if err != nil {
			t.Fatal(err)
		}
		beside, _ := decide(tainted, at)
		for _, entries := range [][]*perdure.Entry{left, right, beside} {
			if a, err = a.Apply(entries...); err != nil {
				t.Fatal(err)
			}
			memory = append(memory, entries...)
		}
	}
	v, err := s.Verify(joined(nil, memory), nil)
	if err != nil || !v.OK() || v.Derived != 8 {
		t.Errorf("got %+v, %v, want 8 decisions derived again", v, err)
	}
}

func joined(first iter.Seq2[*perdure.Entry, error], then []*perdure.Entry) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		if first != nil {
			for e, err := range first {
				if !yield(e, err) {
					return
				}
			}
		}
		for _, e := range then {
			if !yield(e, nil) {
				return
			}
		}
	}
}
