package home_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

func TestAForkIsMadeOfTheHome(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: t.TempDir()}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		from := agentIn(ctx, t, h, s, "one")
		p, err := home.FindPoint(ctx, h, s, "one")
		if err != nil {
			return err
		}
		dry, err := h.Fork(ctx, s, p, home.Fork{Dry: true})
		if err != nil || !dry.Agent.IsZero() || dry.Name != "one-2" || !dry.Rehearse || dry.From != from.ID() {
			t.Errorf("a dry fork is %+v, %v", dry, err)
		}
		if len(dry.Open) != 0 {
			t.Errorf("it leaves open %v", dry.Open)
		}
		made, err := h.Fork(ctx, s, p, home.Fork{Goal: "another", Live: true})
		if err != nil {
			return err
		}
		a, err := h.Agent(ctx, s, "one-2")
		if err != nil {
			return err
		}
		if f := a.Fold(); a.ID() != made.Agent || f.Intent.Goal != "another" || f.Lineage == nil || f.Lineage.Rehearse {
			t.Errorf("the fork is %+v", f.Intent)
		}
		_, err = h.Fork(ctx, s, p, home.Fork{Over: &home.IntentFile{Deadline: "2001-01-01T00:00:00Z"}})
		if !errors.Is(err, perdure.ErrInvalid) {
			t.Errorf("a fork that would end at once: got %v", err)
		}
		return nil
	})
}

// A fork of an agent that sleeps begins awake, and says what it leaves behind.
func TestAForkSaysThatItBeginsAwake(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: t.TempDir()}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		from := agentIn(ctx, t, h, s, "one")
		key, err := h.Key()
		if err != nil {
			return err
		}
		n := &perdure.Node{Store: s, Key: key, Policy: perdure.PolicyFunc(
			func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
				return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"all"}}
			})}
		n.Advisors = map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(context.Context, *perdure.Agent) (perdure.Advice, error) {
				return perdure.Advice{Actions: []perdure.Action{
					perdure.Sleep{Trigger: perdure.After{Millis: 3_600_000}}}}, nil
			})}
		if _, err := n.RunAgent(ctx, from.ID()); err != nil {
			return err
		}
		p, err := home.FindPoint(ctx, h, s, "one")
		if err != nil {
			return err
		}
		if p.Agent.Fold().Sleep == nil {
			t.Fatal("it does not sleep")
		}
		made, err := h.Fork(ctx, s, p, home.Fork{Live: true})
		if err != nil {
			return err
		}
		if len(made.Open) != 1 || !made.Open[0].Slept || made.Open[0].Asked {
			t.Errorf("it leaves open %+v, want the sleep", made.Open)
		}
		a, err := h.Agent(ctx, s, made.Agent.String())
		if err != nil {
			return err
		}
		if f := a.Fold(); f.Sleep != nil {
			t.Errorf("the fork sleeps: %+v", f.Sleep)
		}
		return nil
	})
}
