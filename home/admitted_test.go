package home_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// A node was given a policy in the place of the home's: who comes to it is admitted by that policy, too.
func TestWhoComesToANodeIsAdmittedByThePolicyOfTheNode(t *testing.T) {
	theirs, _ := newHome(t)
	id := made(t, theirs, "a")["a"]
	file := filepath.Join(t.TempDir(), "a.agent")
	err := theirs.Use(t.Context(), false, func(ctx context.Context, s perdure.Store) error {
		_, err := theirs.Export(ctx, s, id, home.Export{File: file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	strict := filepath.Join(t.TempDir(), "strict.cedar")
	if err := os.WriteFile(strict, []byte(`@id("no") forbid (principal, action == Action::"admit", resource);`),
		0o600); err != nil {
		t.Fatal(err)
	}
	ours, _ := newHome(t)
	err = ours.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		if _, err := (&home.Powers{Policies: []string{strict}}).Node(ctx, ours, s, slog.Default()); err != nil {
			return err
		}
		if err := imports(ctx, ours, s, file); !errors.Is(err, perdure.ErrDenied) {
			t.Errorf("got %v, want it denied", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
