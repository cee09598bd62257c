package view_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// says is an advisor that proposes the same each time.
type says []perdure.Action

func (s says) Advise(context.Context, *perdure.Agent) (perdure.Advice, error) {
	return perdure.Advice{Actions: s}, nil
}

// slow is an effect nobody can repeat, that ends without an answer.
type slow struct{}

func (slow) Spec() perdure.Spec { return perdure.Spec{Name: "pay", Effect: perdure.Once} }

func (slow) Call(context.Context, perdure.Call) (perdure.Result, error) {
	return perdure.Result{}, errors.New("no answer")
}

// answer is a policy that always says the same.
type answer perdure.Answer

func (a answer) Decide(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
	return perdure.Verdict{Answer: perdure.Answer(a)}
}

// TestAllFacesSayTheSame of where an agent stands: the line of the store, the screen, and the agent itself.
func TestAllFacesSayTheSame(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pause := func(n *perdure.Node, id perdure.AgentID) error { _, err := n.Pause(ctx, id, ""); return err }
	end := func(n *perdure.Node, id perdure.AgentID) error { _, err := n.Cancel(ctx, id, ""); return err }
	none := func(*perdure.Node, perdure.AgentID) error { return nil }
	for name, c := range map[string]struct {
		do     says
		policy perdure.Answer
		then   func(*perdure.Node, perdure.AgentID) error
		runs   bool
		want   phase.Standing
	}{
		"newborn": {nil, perdure.Allow, none, false, "ready"},
		"silent":  {nil, perdure.Allow, none, true, "dormant"},
		"asleep":  {says{perdure.Sleep{Trigger: perdure.On{Event: "x"}}}, perdure.Allow, none, true, "dormant"},
		"timed": {says{perdure.Sleep{Trigger: perdure.After{Millis: 1 << 30}}}, perdure.Allow, none, true,
			"dormant"},
		"asks": {says{perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}}}, perdure.Allow, none, true,
			"waiting"},
		"approval": {says{perdure.Execute{Tool: "pay"}}, perdure.Ask, none, true, "waiting"},
		"refused":  {says{perdure.Execute{Tool: "pay"}}, perdure.Deny, none, true, "waiting"},
		"paused":   {nil, perdure.Allow, pause, false, "waiting"},
		"ended":    {nil, perdure.Allow, end, false, "terminated"},
		"finished": {says{perdure.End{Signal: perdure.OK}}, perdure.Allow, none, true, "terminated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := new(perdure.MemStore)
			key, err := perdure.GenerateSigner("test")
			if err != nil {
				t.Fatal(err)
			}
			trust := new(perdure.Trust).With(perdure.Trustee{
				Key: key.Key(), Name: key.Name, Rights: perdure.MayOwn, Scope: perdure.AnyScope,
			})
			n := &perdure.Node{
				Store: s, Key: key, Trust: trust, Policy: answer(c.policy), Tools: []perdure.Tool{slow{}},
				Advisors: map[string]perdure.Advisor{"": c.do},
			}
			a, err := n.Create(ctx, perdure.Genesis{
				Intent: perdure.Intent{Goal: "stand"}, Charter: perdure.Charter{Scope: "test", Owner: key.Key()},
			})
			if err != nil {
				t.Fatal(err)
			}
			if c.runs {
				if _, err := n.RunAgent(ctx, a.ID()); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.then(n, a.ID()); err != nil {
				t.Fatal(err)
			}
			if a, err = perdure.Load(ctx, s, a.ID()); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			got := map[string]phase.Standing{"agent": a.Standing(trust, perdure.Place{}, now)}
			line := a.Listing(now)
			got["line"] = line.Standing(now)
			for one, err := range s.List(ctx, perdure.Filter{}) {
				if err != nil {
					t.Fatal(err)
				}
				got["store"] = one.Standing(now)
			}
			sum := view.Summarize(a, trust, nil, perdure.Key{}, now)
			got["screen"] = sum.Standing
			sum.Seated(a, trust, perdure.Key{}, perdure.Place{}, now)
			got["seated"] = sum.Standing
			for face, is := range got {
				if is != c.want {
					t.Errorf("the %s says %s, want %s: %s", face, is, c.want, sum.Why)
				}
			}
			if sum.Person != (c.want == "waiting") {
				t.Errorf("a person must act: %t, and it is %s", sum.Person, c.want)
			}
		})
	}
}
