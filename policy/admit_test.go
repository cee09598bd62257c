package policy_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// arrive is an agent from elsewhere, and the key of the node it comes to.
func arrive(t *testing.T, g perdure.Genesis) (*perdure.Agent, perdure.Key) {
	t.Helper()
	key, err := perdure.GenerateSigner("here")
	if err != nil {
		t.Fatal(err)
	}
	return begin(t, g), key.Key()
}

func TestBuiltInPolicyAsksAboutEveryArrival(t *testing.T) {
	a, node := arrive(t, perdure.Genesis{Intent: perdure.Intent{Goal: "move"}})
	for _, trusted := range []bool{true, false} {
		v := policy.Default().Admit(a, node, trusted, now)
		if v.Answer != perdure.Ask || !slices.Equal(v.Rules, []string{"default.admit-asks"}) || v.Quorum != 1 ||
			v.Policy != policy.Default().Hash() || v.Facts.IsZero() {
			t.Errorf("trusted %v: got %+v, want ask by default.admit-asks", trusted, v)
		}
	}
	f := policy.AdmitFacts(a, node, true, now)
	f["context"].(map[string]any)["contested"] = true
	if v := policy.Default().DecideFacts(f); v.Answer != perdure.Deny || v.Rules[0] != "default.admit-contested" {
		t.Errorf("contested: got %s by %v, want deny by default.admit-contested", v.Answer, v.Rules)
	}
}

func TestOnlyPermitsThatNameAdmissionAdmit(t *testing.T) {
	a, node := arrive(t, perdure.Genesis{Intent: perdure.Intent{Goal: "move"}})
	const all = `@id("all") permit (principal, action, resource);`
	for _, c := range []struct {
		name, text string
		trusted    bool
		want       perdure.Answer
		rule       string
	}{
		{"no rule about it", all, true, perdure.Ask, "policy.admit"},
		{"a permit of other actions",
			`@id("some") permit (principal, action in [Action::"sleep", Action::"end"], resource);`, true, perdure.Ask,
			"policy.admit"},
		{"a forbid for all actions", all +
			`@id("no") forbid (principal, action, resource) when { context.turns >= 0 };`, true, perdure.Deny, "no"},
		{"a forbid that names it and does not apply",
			all + `@id("no") forbid (principal, action == Action::"admit", resource) when { !context.trusted };`, true,
			perdure.Ask, "policy.admit"},
		{"a forbid that asks",
			all + `@id("two") @obligation("approval:ops;quorum=2") forbid (principal, action == Action::"admit", resource);`, true, perdure.Ask, "two"},
		{"a permit that applies",
			`@id("in") permit (principal, action == Action::"admit", resource) when { context.trusted };`, true,
			perdure.Allow, "in"},
		{"a permit among others", `@id("in") permit (principal, action in [Action::"admit", Action::"end"], resource);`,
			false, perdure.Allow, "in"},
		{"a permit that does not apply",
			`@id("in") permit (principal, action == Action::"admit", resource) when { context.trusted };`, false,
			perdure.Deny, "policy.default"},
	} {
		v := parse(t, c.text).Admit(a, node, c.trusted, now)
		if v.Answer != c.want || len(v.Rules) != 1 || v.Rules[0] != c.rule {
			t.Errorf("%s: got %s by %v (%s), want %s by %s", c.name, v.Answer, v.Rules, v.Reason, c.want, c.rule)
		}
	}
	if v := new(policy.Set).Admit(a, node, true, now); v.Answer != perdure.Deny {
		t.Errorf("the zero set: got %s, want deny", v.Answer)
	}
	f := policy.AdmitFacts(a, node, true, now)
	f["context"].(map[string]any)["contested"] = true
	for _, text := range []string{all, all +
		`@id("asks") @obligation("approval:") forbid (principal, action == Action::"admit", resource);`} {
		if v := parse(t, text).DecideFacts(f); v.Answer != perdure.Deny || v.Rules[0] != "policy.admit" {
			t.Errorf("contested: got %s by %v, want deny by policy.admit", v.Answer, v.Rules)
		}
	}
}

func TestOwnPoliciesOnlyNarrowAdmission(t *testing.T) {
	in := parse(t, `@id("in") permit (principal, action == Action::"admit", resource);`)
	silent := parse(t, `@id("reads") permit (principal, action == Action::"execute", resource);`)
	home := parse(t, `@id("home") forbid (principal, action == Action::"admit", resource);`)
	for _, c := range []struct {
		node *policy.Set
		own  *policy.Set
		want perdure.Answer
	}{
		{in.Know(silent), silent, perdure.Allow},
		{in.Know(home), home, perdure.Deny},
		{in, home, perdure.Ask},  // not known here
		{home, in, perdure.Deny}, // not known here
		{silent.Know(in), in, perdure.Ask},
	} {
		a, node := arrive(t, perdure.Genesis{Charter: perdure.Charter{Policies: []perdure.Hash{c.own.Hash()}}})
		if v := c.node.Admit(a, node, true, now); v.Answer != c.want {
			t.Errorf("%v with its own %v: got %s by %v, want %s", c.node.Rules(), c.own.Rules(), v.Answer, v.Rules,
				c.want)
		}
	}
}

func TestFactsOfAnArrivalAreThoseOfItsFold(t *testing.T) {
	cost := int64(5)
	g := perdure.Genesis{
		Intent: perdure.Intent{Kind: "shop", Advisor: "m", Tools: []string{"a", "b"},
			Budget: &perdure.Budget{Cost: &cost}, Deadline: perdure.TimeOf(now)},
		Charter: perdure.Charter{Scope: "acme/ops", Depth: 2},
		Lineage: &perdure.Lineage{Parent: perdure.AgentID{1}, Cause: perdure.Hash{2}, Relation: perdure.Fork},
	}
	a, node := arrive(t, g)
	got := policy.AdmitFacts(a, node, true, now)
	want := policy.Facts{
		"version": int64(1), "action": "admit", "resource": a.ID().String(), "policies": []any{},
		"agent": map[string]any{"id": a.ID().String(), "name": "", "kind": "shop",
			"owner": a.Fold().Charter.Owner.String(), "scope": "acme/ops", "child": false, "labels": map[string]any{}},
		"context": map[string]any{
			"now": int64(perdure.TimeOf(now)), "weekday": int64(now.Weekday()), "age": int64(3600),
			"node": node.String(), "approvals": int64(0), "depth": int64(2), "tainted": false,
			"turns": int64(0), "denials": int64(0), "trusted": true, "contested": false, "advisor": "m",
			"tools": []any{"a", "b"}, "budget": map[string]any{"cost": int64(5)},
			"spent":    map[string]any{"cost": int64(0), "tokens": int64(0), "calls": int64(0)},
			"deadline": int64(perdure.TimeOf(now)),
			"lineage":  map[string]any{"parent": perdure.AgentID{1}.String(), "relation": "fork"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
	s := parse(t, `@id("in") permit (principal in Scope::"acme", action == Action::"admit", resource) when {
		context.trusted && principal.kind == "shop" && context has tools && ["a", "b"].containsAll(context.tools) && context.budget has cost && context.budget.cost <= 5 &&
		context.spent.cost == 0 && context.depth <= 2 && !context.tainted && context has lineage && context.lineage.relation == "fork" };`)
	if v := s.Admit(a, node, true, now); v.Answer != perdure.Allow {
		t.Errorf("got %s by %v (%s), want allow", v.Answer, v.Rules, v.Reason)
	}
}
