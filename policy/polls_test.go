package policy_test

import (
	"context"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// status is a tool that always says the same.
type status struct{ asked int }

func (*status) Spec() perdure.Spec { return perdure.Spec{Name: "status", Effect: perdure.Read} }

func (s *status) Call(context.Context, perdure.Call) (perdure.Result, error) {
	s.asked++
	data, err := perdure.DataOf(map[string]any{"ready": false})
	return perdure.Result{Data: data}, err
}

// Polls that learn nothing are not recorded, but where a rule counts them.
func TestPollsCountForRulesAboutRates(t *testing.T) {
	for rule, c := range map[string]struct {
		counts       bool
		fewest, most int // calls in five minutes
	}{
		"": {false, 290, 301},
		`@id("rate") forbid (principal, action == Action::"execute", resource) when { context.toolCalls.minute >= 3 };`: {true, 3, 20},
		`@id("rate") forbid (principal, action == Action::"execute", resource) when { context.calls.hour >= 7 };`:       {true, 7, 7},
		`@id("rate") forbid (principal, action == Action::"execute", resource) when { context.spent.calls >= 9 };`:      {true, 9, 9},
		`@id("rate") forbid (principal, action == Action::"execute", resource) when { context.spent.cost >= 9 };`:       {false, 290, 301},
	} {
		synctest.Test(t, func(t *testing.T) {
			set, err := policy.Load(fstest.MapFS{"p.cedar": {Data: []byte("@id(\"all\") permit (principal, action, " +
				"resource);\n" + rule)}})
			if err != nil {
				t.Fatal(err)
			}
			key, err := perdure.GenerateSigner("node")
			if err != nil {
				t.Fatal(err)
			}
			s := new(status)
			n := &perdure.Node{Store: new(perdure.MemStore), Key: key, Policy: set, Tools: []perdure.Tool{s},
				Advisors: map[string]perdure.Advisor{
					"": perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
						poll := perdure.Every{Millis: 1000, Poll: perdure.Execute{Tool: "status"},
							Until: "result.ready"}
						return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: poll}}}, nil
					}),
				}}
			a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "wait"},
				Charter: perdure.Charter{Scope: "test"}})
			if err != nil {
				t.Fatal(err)
			}
			if set.Counts(a) != c.counts {
				t.Errorf("%s: it counts: %v", rule, set.Counts(a))
			}
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			_ = n.Run(ctx) // it was stopped
			if s.asked < c.fewest || s.asked > c.most {
				t.Errorf("%s: %d calls in five minutes, want %d to %d", rule, s.asked, c.fewest, c.most)
			}
		})
	}
}
