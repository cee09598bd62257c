package policy_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

func TestTableOfCasesIsRun(t *testing.T) {
	s := parse(t, `
		@id("all") permit (principal, action, resource);
		@id("nights") forbid (principal, action, resource) when { context.now.toTime() >= duration("22h") };
		@id("payments-ask") @obligation("approval:finance;quorum=2") forbid (principal, action == Action::"execute", resource == Tool::"bank.pay")
		unless { context.args has cents && context.args.cents <= 100 };`)
	for form, table := range map[string]string{
		"YAML": `
- {name: small, resource: bank.pay, context: {args: {cents: 100}}, want: allow}
- name: large
  resource: bank.pay
  context: {effect: once, args: {cents: 500}}
  want: ask
  rules: [payments-ask]
- {name: at night, context: {now: 2026-01-07T23:00:00Z}, want: deny, rules: [nights]}
- {name: a sleeper, action: sleep, agent: {scope: acme/ops, labels: {stage: prod}}, want: allow}
- {name: wrong answer, resource: bank.pay, context: {args: {cents: 5}}, want: deny}
- {name: wrong rule, resource: bank.pay, want: ask, rules: [nights]}
- {name: no such fact, context: {spend: 5}, want: deny, rules: [policy.facts]}
- {name: taken away, context: {spent: {cost: null}}, want: deny, rules: [policy.facts]}
`,
		"JSON": `[
{"name": "small", "resource": "bank.pay", "context": {"args": {"cents": 100}}, "want": "allow"},
{"name": "large", "resource": "bank.pay", "context": {"args": {"cents": 500}}, "want": "ask", "rules": ["payments-ask"]},
{"name": "at night", "context": {"now": "2026-01-07T23:00:00Z"}, "want": "deny", "rules": ["nights"]},
{"name": "wrong answer", "resource": "bank.pay", "want": "deny"}]`,
	} {
		results, err := s.RunTests(strings.NewReader(table))
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		for _, r := range results {
			if wrong := r.Wrong != ""; wrong != strings.HasPrefix(r.Case.Name, "wrong ") {
				t.Errorf("%s, %s: got %q", form, r.Case.Name, r.Wrong)
			}
			if len(r.Explanation.Rules) == 0 && r.Explanation.Verdict.Rules[0] != "policy.facts" {
				t.Errorf("%s, %s: nothing is explained", form, r.Case.Name)
			}
		}
	}
}

func TestTablesThatCannotBeReadAreErrors(t *testing.T) {
	for table, want := range map[string]string{
		"":                                      "no case",
		"- {name: x, wnat: deny}":               "wnat",
		"- {name: x, want: maybe}":              "one of allow, ask, deny",
		"- {name: x, action: run, want: deny}":  "no such action",
		"- {name: x, want: deny, context: [1]}": "got a list, want names and values",
		"name: x":                               "got names with values, want a list of cases",
		"- {want: deny, context: {now: yesterday}}": "parsing time",
	} {
		if _, err := policy.Default().RunTests(strings.NewReader(table)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", table, err, want)
		}
	}
}

func TestSampleFitsTheSchema(t *testing.T) {
	s := parse(t, allText)
	for _, action := range actions {
		if v := s.DecideFacts(policy.Sample(action)); v.Reason != "" || v.Answer != perdure.Allow {
			t.Errorf("%s: got %s by %v (%s), want allow", action, v.Answer, v.Rules, v.Reason)
		}
	}
	if policy.Sample("run") != nil {
		t.Error("an action that does not exist has facts")
	}
}

func TestFactsAreSetByTheirPath(t *testing.T) {
	f := policy.Sample("execute")
	for path, value := range map[string]string{
		"tainted": "true", "context.spent.cost": "5", "args.deep.list": "[a, 1]", "agent.scope": "acme/ops",
		"agent.labels.stage": "prod",
		"deadline":           "2026-01-08T00:00:00Z", "left": "{cost: 9}",
	} {
		if err := f.Set(path, value); err != nil {
			t.Errorf("%s=%s: %v", path, value, err)
		}
	}
	s := parse(t, `@id("yes") permit (principal in Scope::"acme", action == Action::"execute", resource) when {
		context.tainted && context.spent.cost == 5 && context.spent.calls == 0 && context has deadline && context.deadline == datetime("2026-01-08") &&
		context.left has cost && context.left.cost == 9 && principal.hasTag("stage") && principal.getTag("stage") == "prod" };`)
	if v := s.DecideFacts(f); v.Answer != perdure.Allow {
		t.Errorf("got %s by %v (%s), want allow", v.Answer, v.Rules, v.Reason)
	}
	if err := f.Set("deadline", "null"); err != nil || f["context"].(map[string]any)["deadline"] != nil {
		t.Errorf("null: got %v, %v, want the fact gone", f["context"].(map[string]any)["deadline"], err)
	}
	for path, value := range map[string]string{"spend": "1", "spent.money": "1", "agent": "x", "agent.age": "1",
		"": "1", "tainted": "{", "now": "soon", "trusted": "true"} {
		if err := f.Set(path, value); err == nil {
			t.Errorf("%s=%s: got no error", path, value)
		}
	}
	f = policy.Sample("sleep")
	if err := f.Set("spent.cost", "1"); err == nil {
		t.Error("a fact of another action was set")
	}
}
