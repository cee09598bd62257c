package home

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
)

// A node that starts says nothing of an agent that arrived and is held: its seat waits until somebody admits it.
func TestAnArrivalThatIsHeldIsNoFault(t *testing.T) {
	t.Parallel()
	h := &Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		key, err := perdure.GenerateSigner("stranger")
		if err != nil {
			return err
		}
		a, err := (&perdure.Node{Store: s, Key: key}).Create(ctx, perdure.Genesis{
			Charter: perdure.Charter{Scope: "home"}, Intent: perdure.Intent{Name: "a", Goal: "hear"}})
		if err != nil {
			return err
		}
		at, err := h.PlaceOf(ctx, s)
		if err != nil {
			return err
		}
		name := h.expectFile(at, a.ID())
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(expectEnd), 0o600); err != nil {
			return err
		}
		if err := h.finishArrivals(ctx, n); err != nil {
			t.Errorf("said of an agent that is held: %v", err)
		}
		if _, noted := h.expected(at, a.ID()); !noted {
			t.Error("that it arrived is forgotten")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
