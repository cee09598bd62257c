// Command review is an agent that has others review a change and decides when it has heard enough: when all of them have ended, when one approves,
// when a quorum does, or at the first refusal.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/examples/internal/demo"
	"github.com/perdure/perdure/policy"
)

// reviewer is somebody who reviews.
type reviewer struct {
	name    string
	pace    int64 // how many minutes it takes
	approve bool
}

var reviewers = []reviewer{{"style", 1, true}, {"tests", 2, true}, {"security", 3, false}, {"speed", 4, true}, {"docs", 5, true}}

func main() {
	rule := flag.String("rule", "quorum:3", "when enough is known: all, any, quorum:N or first-failure")
	minute := flag.Duration("minute", 300*time.Millisecond, "how long a minute takes")
	demo.Main(func(ctx context.Context, store perdure.Store, out io.Writer) error {
		return run(ctx, store, out, *rule, *minute)
	})
}

func run(ctx context.Context, store perdure.Store, out io.Writer, rule string, minute time.Duration) error {
	if _, err := new(perdure.Fold).Gathered(rule); err != nil {
		return err
	}
	key, err := perdure.GenerateSigner("lead")
	if err != nil {
		return err
	}
	set := policy.Default()
	node := &perdure.Node{
		Store: store, Key: key, Policy: set, PolicyHash: set.Hash(),
		Advisors: map[string]perdure.Advisor{"lead": lead(rule), "reviewer": review(out, minute)},
	}
	a, err := node.Create(ctx, perdure.Genesis{
		Intent:  perdure.Intent{Name: "change 12", Goal: "have change 12 reviewed", Advisor: "lead"},
		Charter: perdure.Charter{Scope: "shop/review", Depth: 1},
	})
	if err != nil {
		return err
	}
	if a, err = demo.Until(ctx, node, a.ID(), demo.Ended); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s\n", rule, a.Fold().Ended.Note)
	for _, c := range a.Fold().Children { // those that were still at it are told to stop
		child, err := demo.Until(ctx, node, c.Agent, demo.Ended)
		if err != nil {
			return err
		}
		if !c.Ended {
			fmt.Fprintf(out, "  %s is told to stop: %s\n", child.Fold().Intent.Name, child.Fold().Ended.Note)
		}
	}
	return nil
}

// lead delegates, sleeps until enough is known, and says what was.
func lead(rule string) perdure.Advisor {
	return perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		f := a.Fold()
		var advice perdure.Advice
		switch f.Turns {
		case 0:
			for _, r := range reviewers {
				inputs, err := perdure.DataOf(map[string]any{"minutes": r.pace, "approve": r.approve})
				if err != nil {
					return advice, err
				}
				advice.Actions = append(advice.Actions, perdure.Delegate{Intent: perdure.Intent{Name: r.name, Goal: "review " + r.name, Advisor: "reviewer", Inputs: inputs}})
			}
			enough, err := f.Gathered(rule)
			if err != nil {
				return advice, err
			}
			advice.Actions = append(advice.Actions, perdure.Sleep{Trigger: enough, Note: "reviews are under way"})
		default:
			approved, refused := 0, 0
			for _, c := range f.Children {
				switch {
				case c.Ended && c.Signal == perdure.OK:
					approved++
				case c.Ended:
					refused++
				}
			}
			end := perdure.End{Signal: perdure.OK, Note: fmt.Sprintf("%d approved, %d refused, %d not waited for", approved, refused, len(f.Children)-approved-refused)}
			advice.Actions = []perdure.Action{end}
		}
		return advice, nil
	})
}

// review takes its time, and ends with what it thinks.
func review(out io.Writer, minute time.Duration) perdure.Advisor {
	return perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		f := a.Fold()
		in, _ := f.Intent.Inputs.Value().(map[string]any)
		if f.Turns == 0 {
			pace, _ := in["minutes"].(int64)
			return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: pace * minute.Milliseconds()}}}}, nil
		}
		end := perdure.End{Signal: perdure.OK, Note: "approves"}
		if approve, _ := in["approve"].(bool); !approve {
			end = perdure.End{Signal: perdure.Failed, Note: "refuses"}
		}
		fmt.Fprintf(out, "  %s %s\n", f.Intent.Name, end.Note)
		return perdure.Advice{Actions: []perdure.Action{end}}, nil
	})
}
