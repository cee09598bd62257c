package home_test

import (
	"context"
	"errors"
	"testing"

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
