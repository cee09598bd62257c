package policy_test

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/policy"
)

func ExampleSet_RunTests() {
	s, err := policy.Parse(policy.File{Name: "payments.cedar", Text: []byte(`
		@id("payments")
		permit (principal, action == Action::"execute", resource == Tool::"bank.pay");

		@id("payments-ask")
		@reason("more than a dollar leaves the house")
		@obligation("approval:finance;quorum=2;expires=24h")
		forbid (principal, action == Action::"execute", resource == Tool::"bank.pay")
		unless { context.args has cents && context.args.cents <= 100 };
	`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := s.RunTests(strings.NewReader(`
- {name: small change, resource: bank.pay, context: {args: {cents: 50}}, want: allow}
- {name: more than a dollar, resource: bank.pay, context: {args: {cents: 500}}, want: ask}
- {name: an amount in words, resource: bank.pay, context: {args: {cents: "fifty"}}, want: deny}
- {name: anything else, resource: bank.close, want: ask}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Println(r.Case.Name+":", r.Explanation.Verdict.Answer)
		if r.Wrong != "" {
			fmt.Println("  wrong:", r.Wrong)
		}
	}
	// Output:
	// small change: allow
	// more than a dollar: ask
	// an amount in words: deny
	// anything else: deny
	//   wrong: got deny by policy.default (no rule permits it), want ask
}

func ExampleParse() {
	_, err := policy.Parse(policy.File{Name: "budget.cedar", Text: []byte(`@id("budget")
forbid (principal, action == Action::"execute", resource)
when { context.left.cost < 1000 };`)})
	fmt.Println(err)
	// Output:
	// budget.cedar:3:21: rule budget: `left.cost` may be absent: say `context.left has cost &&` before it is read
}
