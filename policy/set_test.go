package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

var now = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

// begin is a new agent.
func begin(t testing.TB, g perdure.Genesis) *perdure.Agent {
	t.Helper()
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	if g.Charter.Scope == "" {
		g.Charter.Scope = "acme/ops"
	}
	e, err := key.Genesis(g, now.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(e)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func data(t testing.TB, v any) perdure.Data {
	t.Helper()
	d, err := perdure.DataOf(v)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// call is a request to call a tool.
func call(t testing.TB, tool string, effect perdure.Effect, args any) perdure.Request {
	t.Helper()
	return perdure.Request{Action: perdure.Execute{Tool: tool, Args: data(t, args)}, Effect: effect}
}

// with is the facts with one of their context changed.
func with(f policy.Facts, key string, v any) policy.Facts {
	f["context"].(map[string]any)[key] = v
	return f
}

func TestDefaultReadsAsksAndRests(t *testing.T) {
	goal, scope, calls := "something else", "acme/ops/eu", int64(3)
	a := begin(t, perdure.Genesis{Charter: perdure.Charter{Depth: 1}})
	flat := begin(t, perdure.Genesis{})
	for _, c := range []struct {
		name  string
		agent *perdure.Agent
		r     perdure.Request
		want  perdure.Answer
		rules []string
	}{
		{"read", a, call(t, "fs.read", perdure.Read, nil), perdure.Allow, []string{"default.read"}},
		{"idempotent", a, call(t, "fs.write", perdure.Idempotent, nil), perdure.Ask, []string{"default.write-asks"}},
		{"once", a, call(t, "mail.send", perdure.Once, nil), perdure.Ask, []string{"default.write-asks"}},
		{"undeclared", a, call(t, "mail.send", 0, nil), perdure.Ask, []string{"default.write-asks"}},
		{"no such effect", a, call(t, "mail.send", 77, nil), perdure.Ask, []string{"default.write-asks"}},
		{"sleep", a, perdure.Request{Action: perdure.Sleep{Trigger: perdure.After{Millis: 1}}}, perdure.Allow,
			[]string{"default.rest"}},
		{"wake", a, perdure.Request{Action: perdure.Wake{}}, perdure.Allow, []string{"default.rest"}},
		{"end", a, perdure.Request{Action: perdure.End{Signal: perdure.OK}}, perdure.Allow, []string{"default.rest"}},
		{"narrow", a, perdure.Request{Action: perdure.Mutate{Budget: &perdure.Budget{Calls: &calls}}}, perdure.Allow,
			[]string{"default.mutate"}},
		{"another scope", a, perdure.Request{Action: perdure.Mutate{Scope: &scope}}, perdure.Ask,
			[]string{"default.mutate-asks"}},
		{"new goal", a, perdure.Request{Action: perdure.Mutate{Goal: &goal}}, perdure.Ask,
			[]string{"default.mutate-asks"}},
		{"new labels", a, perdure.Request{Action: perdure.Mutate{Labels: map[string]string{}}}, perdure.Ask,
			[]string{"default.mutate-asks"}},
		{"delegate", a, perdure.Request{Action: perdure.Delegate{}}, perdure.Allow, []string{"default.delegate"}},
		{"delegate into its scope", a, perdure.Request{Action: perdure.Delegate{Scope: "acme/ops"}}, perdure.Allow,
			[]string{"default.delegate"}},
		{"delegate into another scope", a, perdure.Request{Action: perdure.Delegate{Scope: scope}}, perdure.Ask,
			[]string{"default.delegate-scope-asks"}},
		{"delegate as deep", a, perdure.Request{Action: perdure.Delegate{Depth: 1}}, perdure.Deny,
			[]string{"policy.default"}},
		{"delegate without depth", flat, perdure.Request{Action: perdure.Delegate{}}, perdure.Deny,
			[]string{"policy.default"}},
		{"nothing", a, perdure.Request{}, perdure.Deny, []string{"policy.facts"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := policy.Default().Decide(c.agent, c.r, now)
			if v.Answer != c.want || !slices.Equal(v.Rules, c.rules) {
				t.Errorf("got %s by %v (%s), want %s by %v", v.Answer, v.Rules, v.Reason, c.want, c.rules)
			}
			if v.Policy != policy.Default().Hash() || v.Policy.IsZero() || (v.Facts.IsZero() && c.r.Action != nil) {
				t.Errorf("policy %s and facts %s: want both hashes", v.Policy.Short(), v.Facts.Short())
			}
		})
	}
}

func TestZeroSetDenies(t *testing.T) {
	if v := new(policy.Set).Decide(begin(t, perdure.Genesis{}), call(t, "x", perdure.Read, nil),
		now); v.Answer != perdure.Deny {
		t.Errorf("got %s, want deny", v.Answer)
	}
}

func TestBudgetRulesLeaveSleepAndEndAlone(t *testing.T) {
	s := parse(t, `
		@id("all") permit (principal, action, resource);
		@id("budget") forbid (principal, action in [Action::"execute", Action::"delegate"], resource)
		when { context.spent.cost + context.reserved.cost >= 100 };`)
	spent := func(action string) policy.Facts {
		return with(policy.Sample(action), "spent", map[string]any{"cost": int64(90), "tokens": int64(0),
			"calls": int64(0)})
	}
	if v := s.DecideFacts(with(spent("execute"), "reserved",
		map[string]any{"cost": int64(10), "tokens": int64(0), "calls": int64(0)})); v.Answer != perdure.Deny ||
		v.Rules[0] != "budget" {
		t.Errorf("execute over budget: got %s by %v, want deny by budget", v.Answer, v.Rules)
	}
	if v := s.DecideFacts(spent("execute")); v.Answer != perdure.Allow {
		t.Errorf("execute within budget: got %s (%s), want allow", v.Answer, v.Reason)
	}
	for _, action := range []string{"sleep", "end", "wake", "mutate"} {
		if v := s.DecideFacts(policy.Sample(action)); v.Answer != perdure.Allow {
			t.Errorf("%s: got %s (%s), want allow", action, v.Answer, v.Reason)
		}
	}
}

func TestAskNeedsAPermitAndNoOtherForbid(t *testing.T) {
	const (
		permit = `@id("p") permit (principal, action, resource);`
		ask    = `@id("a") @obligation("approval:ops;quorum=2;expires=90m") @reason("big") forbid (principal, action, resource);`
		forbid = `@id("f") forbid (principal, action, resource);`
	)
	for text, want := range map[string]perdure.Answer{
		ask: perdure.Deny, permit: perdure.Allow, permit + ask: perdure.Ask, permit + ask + forbid: perdure.Deny,
		forbid: perdure.Deny, permit + forbid: perdure.Deny,
	} {
		if v := parse(t, text).DecideFacts(policy.Sample("execute")); v.Answer != want {
			t.Errorf("%s: got %s, want %s", text, v.Answer, want)
		}
	}
	got := parse(t, permit+ask).DecideFacts(policy.Sample("execute"))
	got.Policy, got.Facts = perdure.Hash{}, perdure.Hash{}
	want := perdure.Verdict{
		Answer: perdure.Ask, Rules: []string{"a"}, Reason: "big", Quorum: 2, Asked: []string{"ops"},
		Expires: perdure.TimeOf(time.Date(2026, 1, 7, 13, 30, 0, 0, time.UTC)),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestObligationsJoinRestrictively(t *testing.T) {
	v := parse(t, `
		@id("p") permit (principal, action, resource);
		@id("a1") @obligation("approval:ops;quorum=2;expires=2h") forbid (principal, action, resource);
		@id("a2") @obligation("approval:ops;quorum=3") forbid (principal, action, resource);
		@id("a3") @obligation("approval:security;expires=1h") forbid (principal, action, resource);
	`).DecideFacts(policy.Sample("execute"))
	if v.Quorum != 4 || v.Expires != perdure.TimeOf(time.Date(2026, 1, 7, 13, 0, 0, 0, time.UTC)) ||
		!slices.Equal(v.Asked, []string{"ops", "security"}) {
		t.Errorf("got quorum %d until %s of %v, want 4 until 13:00 of ops and security", v.Quorum, v.Expires, v.Asked)
	}
}

func TestFewerApprovalsThanNowWantedDeny(t *testing.T) {
	s := parse(t, `
		@id("p") permit (principal, action, resource);
		@id("a") @obligation("approval:ops;quorum=2") forbid (principal, action, resource);`)
	for approvals, want := range map[int64]perdure.Answer{0: perdure.Ask, 1: perdure.Deny, 2: perdure.Ask,
		3: perdure.Ask} {
		if v := s.DecideFacts(with(policy.Sample("execute"), "approvals", approvals)); v.Answer != want {
			t.Errorf("%d approvals: got %s (%s), want %s", approvals, v.Answer, v.Reason, want)
		}
	}
}

func TestReasonsComeInOneOrder(t *testing.T) {
	text := ""
	for _, id := range []string{"q", "c", "z", "a", "m", "b", "y", "x"} {
		text += `@id("` + id + `") @reason("` + id + `") forbid (principal, action, resource);`
	}
	s := parse(t, text)
	for range 50 {
		if v := s.DecideFacts(policy.Sample("end")); !slices.Equal(v.Rules,
			[]string{"a", "b", "c", "m", "q", "x", "y", "z"}) || v.Reason != "a; b; c; m; q; x; y; z" {
			t.Fatalf("got %v %q, want them by id", v.Rules, v.Reason)
		}
	}
}

func TestScopesLabelsAndNodesCanBeAskedFor(t *testing.T) {
	a := begin(t, perdure.Genesis{Intent: perdure.Intent{Kind: "deploy", Labels: map[string]string{"stage": "prod"}},
		Charter: perdure.Charter{Scope: "acme/ops/eu", Depth: 2}})
	r := call(t, "fs.read", perdure.Read, nil)
	r.Node = a.Fold().Charter.Owner
	for condition, want := range map[string]perdure.Answer{
		`principal in Scope::"acme/ops"`:                                                           perdure.Allow,
		`principal in Scope::"acme"`:                                                               perdure.Allow,
		`principal in Scope::"acme/op"`:                                                            perdure.Deny,
		`principal.scope == Scope::"acme"`:                                                         perdure.Deny,
		`principal.kind == "deploy"`:                                                               perdure.Allow,
		`context.node == principal.owner`:                                                          perdure.Allow,
		`principal.hasTag("stage") && principal.getTag("stage") == "prod"`:                         perdure.Allow,
		`principal.hasTag("team") && principal.getTag("team") == "prod"`:                           perdure.Deny,
		`context.weekday == 1 && context.now.toTime() == duration("9h30m") && context.age == 3600`: perdure.Allow,
		`resource == Tool::"fs.read" && context.tool like "fs.*" && context.depth == 2`:            perdure.Allow,
		`context has deadline && context.deadline < context.now`:                                   perdure.Deny,
		`context.left has calls && context.left.calls > 0`:                                         perdure.Deny,
	} {
		s := parse(t, `@id("p") permit (principal, action == Action::"execute", resource) when { `+condition+` };`)
		if v := s.Decide(a, r, now.Add(999*time.Millisecond)); v.Answer != want {
			t.Errorf("%s: got %s by %v (%s), want %s", condition, v.Answer, v.Rules, v.Reason, want)
		}
	}
}

func TestOwnPoliciesOnlyNarrow(t *testing.T) {
	local := parse(t, `
		@id("reads") permit (principal, action == Action::"execute", resource) when { context.effect == Effect::"read" };
		@id("writes") permit (principal, action == Action::"execute", resource == Tool::"w");
		@id("writes-ask") @obligation("approval:ops") forbid (principal, action == Action::"execute", resource == Tool::"w");`)
	wide := parse(t, `@id("all") permit (principal, action, resource);`)
	forbids := parse(t, `@id("no-http") forbid (principal, action == Action::"execute", resource == Tool::"http");`)
	asks := parse(t, `@id("me") @obligation("approval:me;quorum=2") forbid (principal, action == Action::"execute", resource);`)
	anyone := parse(t, `@id("any") @obligation("approval:") forbid (principal, action == Action::"execute", resource);`)
	all := local.Know(wide, forbids, asks, anyone)
	for _, c := range []struct {
		name   string
		own    []perdure.Hash
		tool   string
		effect perdure.Effect
		want   perdure.Answer
	}{
		{"a wide one permits nothing more", []perdure.Hash{wide.Hash()}, "other", perdure.Once, perdure.Deny},
		{"a wide one does not take an ask away", []perdure.Hash{wide.Hash()}, "w", perdure.Once, perdure.Ask},
		{"a wide one leaves what is permitted", []perdure.Hash{wide.Hash()}, "r", perdure.Read, perdure.Allow},
		{"only forbids leave the rest", []perdure.Hash{forbids.Hash()}, "r", perdure.Read, perdure.Allow},
		{"only forbids forbid", []perdure.Hash{forbids.Hash()}, "http", perdure.Read, perdure.Deny},
		{"one of two forbids", []perdure.Hash{wide.Hash(), forbids.Hash()}, "http", perdure.Read, perdure.Deny},
		{"an ask of its own", []perdure.Hash{asks.Hash()}, "r", perdure.Read, perdure.Ask},
		{"local again", []perdure.Hash{local.Hash()}, "r", perdure.Read, perdure.Allow},
		{"unknown", []perdure.Hash{{1}}, "r", perdure.Read, perdure.Deny},
		{"unknown beside known", []perdure.Hash{wide.Hash(), {1}}, "r", perdure.Read, perdure.Deny},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := begin(t, perdure.Genesis{Charter: perdure.Charter{Policies: c.own}})
			v := all.Decide(a, call(t, c.tool, c.effect, nil), now)
			if v.Answer != c.want {
				t.Errorf("got %s by %v (%s), want %s", v.Answer, v.Rules, v.Reason, c.want)
			}
		})
	}
	a := begin(t, perdure.Genesis{Charter: perdure.Charter{Policies: []perdure.Hash{asks.Hash()}}})
	if v := all.Decide(a, call(t, "w", perdure.Once, nil), now); v.Quorum != 3 ||
		!slices.Equal(v.Asked, []string{"me", "ops"}) {
		t.Errorf("got quorum %d of %v, want both asked together", v.Quorum, v.Asked)
	}
	a = begin(t, perdure.Genesis{Charter: perdure.Charter{Policies: []perdure.Hash{anyone.Hash()}}})
	if v := all.Decide(a, call(t, "w", perdure.Once, nil), now); v.Quorum != 1 ||
		!slices.Equal(v.Asked, []string{"ops"}) {
		t.Errorf("got quorum %d of %v, want one of those asked here, whom the other takes, too", v.Quorum, v.Asked)
	}
}

func TestExplanationNamesEveryRule(t *testing.T) {
	x := policy.Default().Explain(begin(t, perdure.Genesis{}), call(t, "mail.send", perdure.Once, nil), now)
	if len(x.Rules) != len(policy.Default().Rules()) {
		t.Errorf("%d rules explained, want %d", len(x.Rules), len(policy.Default().Rules()))
	}
	var matched []string
	for _, r := range x.Rules {
		if r.Matched {
			matched = append(matched, r.ID)
		}
		if r.Where == "" || r.Reason == "" {
			t.Errorf("rule %s: at %q because %q, want both", r.ID, r.Where, r.Reason)
		}
	}
	if !slices.Equal(matched, []string{"default.write", "default.write-asks"}) {
		t.Errorf("matched %v", matched)
	}
	if _, err := x.Facts.MarshalJSON(); err != nil {
		t.Error(err)
	}
}

func TestSetsTogetherAreToldWhatEachReads(t *testing.T) {
	local := `@id("all") permit (principal, action, resource);
		@id("cost") forbid (principal, action == Action::"execute", resource) when { context.spent.cost > 5 };
		@id("left") forbid (principal, action == Action::"execute", resource) when { context.left has cost && context.left.cost < 1 };`
	for _, own := range []string{
		`@id("calls") forbid (principal, action == Action::"execute", resource) when { context.spent.calls > 5 };`,
		`@id("same") forbid (principal, action == Action::"execute", resource) when { context.spent == {cost: 0, tokens: 0, calls: 6} };`,
		`@id("has") forbid (principal, action, resource) when { context has spent && context.spent.calls > 5 && context has toolCalls && context.toolCalls.total == 0 };`,
	} {
		other := parse(t, own)
		set := parse(t, local).Know(other)
		f := policy.Sample("execute")
		f["policies"] = []any{other.Hash().String()}
		if v := set.DecideFacts(f); v.Answer != perdure.Allow {
			t.Errorf("%s: got %s by %v (%s), want allow", own, v.Answer, v.Rules, v.Reason)
		}
		with(f, "spent", map[string]any{"cost": int64(0), "tokens": int64(0), "calls": int64(6)})
		if v := set.DecideFacts(f); v.Answer != perdure.Deny || strings.HasPrefix(v.Rules[0], "policy.") {
			t.Errorf("%s: got %s by %v (%s), want deny by its own rule", own, v.Answer, v.Rules, v.Reason)
		}
		with(f, "spent", map[string]any{"cost": int64(6), "tokens": int64(0), "calls": int64(0)})
		if v := set.DecideFacts(f); v.Answer != perdure.Deny || v.Rules[0] != "cost" {
			t.Errorf("%s: got %s by %v (%s), want deny by cost", own, v.Answer, v.Rules, v.Reason)
		}
	}
}
