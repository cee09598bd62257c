// Command review is an agent that has others review a change and decides when it has heard enough: when all of them
// have ended, when one approves, when a quorum does, or at the first refusal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/store/sqlite"
)

// reviewer is somebody who reviews.
type reviewer struct {
	name    string
	pace    int64 // how many minutes a review takes
	approve bool
}

var reviewers = []reviewer{
	{"style", 1, true}, {"tests", 2, true}, {"security", 3, false}, {"speed", 4, true}, {"docs", 5, true},
}

func main() {
	file := flag.String("store", "", "keep the agents in this SQLite file (default: in memory)")
	rule := flag.String("rule", "quorum:3", "when enough is known: all, any, quorum:N or first-failure")
	minute := flag.Duration("minute", 300*time.Millisecond, "how long a minute takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := open(ctx, *file)
	if err == nil {
		err = errors.Join(run(ctx, store, os.Stdout, *rule, *minute), store.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// open opens the store in a file, or one in memory if there is no file.
func open(ctx context.Context, file string) (perdure.Store, error) {
	if file == "" {
		return new(perdure.MemStore), nil
	}
	return sqlite.Open(ctx, file, sqlite.Options{})
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
	if a, err = finish(ctx, node, a.ID()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s\n", rule, a.Fold().Ended.Note)
	for _, c := range a.Fold().Children { // those that were still at it are told to stop
		child, err := finish(ctx, node, c.Agent)
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
				intent := perdure.Intent{Name: r.name, Goal: "review " + r.name, Advisor: "reviewer", Inputs: inputs}
				advice.Actions = append(advice.Actions, perdure.Delegate{Intent: intent})
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
			note := fmt.Sprintf("%d approved, %d refused, %d not waited for",
				approved, refused, len(f.Children)-approved-refused)
			advice.Actions = []perdure.Action{perdure.End{Signal: perdure.OK, Note: note}}
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
			sleep := perdure.Sleep{Trigger: perdure.After{Millis: pace * minute.Milliseconds()}}
			return perdure.Advice{Actions: []perdure.Action{sleep}}, nil
		}
		end := perdure.End{Signal: perdure.OK, Note: "approves"}
		if approve, _ := in["approve"].(bool); !approve {
			end = perdure.End{Signal: perdure.Failed, Note: "refuses"}
		}
		fmt.Fprintf(out, "  %s %s\n", f.Intent.Name, end.Note)
		return perdure.Advice{Actions: []perdure.Action{end}}, nil
	})
}

// finish runs a node until an agent has ended. A service would call Node.Run alone, which runs any number of agents.
func finish(ctx context.Context, node *perdure.Node, id perdure.AgentID) (*perdure.Agent, error) {
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() {
		defer stop()
		stopped <- node.Run(ctx)
	}()
	a, err := node.Ended(ctx, id)
	stop()
	return a, errors.Join(err, <-stopped)
}
