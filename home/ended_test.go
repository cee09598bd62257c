package home_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// What follows an agent goes on when a stranger says that it has ended, and not when its owner does.
func TestAStrangersEndIsNone(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		stranger, err := perdure.GenerateSigner("mallory")
		if err != nil {
			return err
		}
		for _, by := range []*perdure.Signer{stranger, n.Key} {
			a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
				Charter: perdure.Charter{Scope: "home"}})
			if err != nil {
				return err
			}
			end := perdure.Draft{Body: perdure.Event{Name: "end", Notice: perdure.Cancel{}}}
			_, a, err = by.Commit(a, time.Now(), end)
			if err != nil {
				return err
			}
			if got, err := h.Ended(a); got != (by == n.Key) || err != nil {
				t.Errorf("ended by %s: %v, %v", by.Name, got, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
