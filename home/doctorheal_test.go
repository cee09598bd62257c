package home

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
)

// cutHealer writes what it can keep, and fails then.
type cutHealer struct{ perdure.Healer }

func (cutHealer) Heal(context.Context, perdure.AgentID, []*perdure.Entry) (perdure.Healed, error) {
	return perdure.Healed{}, errors.New("no answer")
}

// TestARepairThatFailsLatePausesTheAgent: it can be read again, and the next repair would find nothing wrong with it.
func TestARepairThatFailsLatePausesTheAgent(t *testing.T) {
	t.Parallel()
	h := &Home{URL: filepath.Join(t.TempDir(), "home")}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		h.remote = "nats://127.0.0.1/other"
		for _, sound := range []bool{false, true} {
			a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "stay"},
				Charter: perdure.Charter{Scope: "home"}})
			if err != nil {
				return err
			}
			d := &Doctor{ctx: ctx, h: h}
			d.healOne(ctx, s, cutHealer{}, a.ID(), "", errors.New("lost"), sound)
			a, err = perdure.Load(ctx, s, a.ID())
			if err != nil {
				return err
			}
			if paused := len(a.Fold().Paused) > 0; paused == sound {
				t.Errorf("it was sound before: %t; it is paused: %t; %+v", sound, paused, d.found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
