package home_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// TestWhatWasDoneIsNoFailure breaks the record of what was seen while a command is at work: whoever was told that it
// failed would do it again.
func TestWhatWasDoneIsNoFailure(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	var notes []string
	h := &home.Home{URL: dir, Note: func(text string) { notes = append(notes, text) }}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, "seen.db"))
		if err != nil {
			return err
		}
		if _, err = db.ExecContext(ctx, "DROP TABLE seen"); err == nil {
			err = db.Close()
		}
		if err != nil {
			return err
		}
		_, err = n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "stay"},
			Charter: perdure.Charter{Scope: "home"}})
		return err
	})
	if err != nil {
		t.Errorf("the agent was made, and the command failed: %v", err)
	}
	if got := strings.Join(notes, "\n"); !strings.Contains(got, "what was done is recorded") {
		t.Errorf("nobody was told what could not be noted: %s", got)
	}
}

// TestNothingLiesBesideWhatWasSeen asks the record of what was seen in the command that writes it, once it has been
// written: a log that stays behind would be read, and its index written, by whoever only looks next.
func TestNothingLiesBesideWhatWasSeen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	h := &home.Home{URL: dir}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "stay"},
			Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			return err
		}
		n.Witness.Sync()
		_, err = h.Behind(ctx, s, a)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "seen.db-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v lie beside the record of what was seen, want nothing: %v", left, err)
	}
}
