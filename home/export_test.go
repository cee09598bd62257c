package home_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
)

// within calls f with a home, and ends the test if that goes wrong.
func within(t *testing.T, h *home.Home, f func(ctx context.Context, s perdure.Store) error) {
	t.Helper()
	h.Acts = true
	if err := h.Use(t.Context(), true, f); err != nil {
		t.Fatal(err)
	}
}

// agentIn makes an agent.
func agentIn(ctx context.Context, t *testing.T, h *home.Home, s perdure.Store, name string) *perdure.Agent {
	t.Helper()
	f := home.IntentFile{Goal: "be moved", Name: name}
	g, err := f.Genesis(perdure.Time(1).Go())
	if err != nil {
		t.Fatal(err)
	}
	a, err := h.Create(ctx, s, g)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnAgentMovesBetweenHomes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.agent")
	var notes []string
	one := &home.Home{URL: filepath.Join(dir, "one"), Note: func(text string) { notes = append(notes, text) }}
	var id perdure.AgentID
	within(t, one, func(ctx context.Context, s perdure.Store) error {
		id = agentIn(ctx, t, one, s, "mover").ID()
		if _, err := one.Export(ctx, s, id, home.Export{Options: capsule.Options{Depth: perdure.Full}, File: file,
			Move: true, For: "nobody"}); err == nil {
			t.Error("its seat goes to somebody nobody knows")
		}
		full := capsule.Options{Depth: perdure.Full}
		if _, err := one.Export(ctx, s, id, home.Export{Options: full, File: file}); err != nil {
			return err
		}
		_, err := one.Export(ctx, s, id, home.Export{Options: full, File: file})
		if err == nil || !strings.Contains(err.Error(), "is there already") {
			t.Errorf("a file that is there: got %v", err)
		}
		var last perdure.Depth
		if err := last.UnmarshalText([]byte("headers")); err != nil {
			return err
		}
		r, err := one.Export(ctx, s, id, home.Export{Options: capsule.Options{Depth: last}, File: file, Replace: true,
			Detached: true})
		if err != nil || r.Depth != "headers" {
			t.Errorf("exported %+v, %v", r, err)
		}
		if _, err := os.Stat(file + capsule.SigExt); err != nil {
			t.Error(err)
		}
		for range 2 { // the first may have been killed
			r, err = one.Export(ctx, s, id, home.Export{Options: full, File: file, Replace: true, Move: true})
			if err != nil {
				return err
			}
			if info, err := os.Stat(file); err != nil || info.Size() != r.Bytes || !r.Moved || r.Entries < 2 {
				t.Errorf("exported %+v, %v", r, err)
			}
		}
		_, err = one.Export(ctx, s, id, home.Export{Options: full, File: file, Replace: true})
		if !errors.Is(err, perdure.ErrDenied) {
			t.Errorf("a copy beside the one with the seat: got %v", err)
		}
		return nil
	})
	two := &home.Home{URL: filepath.Join(dir, "two")}
	within(t, two, func(ctx context.Context, s perdure.Store) error {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		r, err := two.Import(ctx, s, f, home.Intake{})
		if err != nil {
			return err
		}
		if r.Agent != id || !r.Held {
			t.Errorf("arrived as %+v; want it held, since its owner is not trusted here", r)
		}
		return nil
	})
}

func TestASetIsWrittenAndTakenIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := filepath.Join(dir, "set")
	one := &home.Home{URL: filepath.Join(dir, "one")}
	within(t, one, func(ctx context.Context, s perdure.Store) error {
		agentIn(ctx, t, one, s, "a")
		agentIn(ctx, t, one, s, "b")
		found, err := one.ExportSet(ctx, s, set, []string{"a", "b"},
			home.Export{Options: capsule.Options{Depth: perdure.Full}}, true)
		if err != nil || len(found) != 2 || found[0].Binding != capsule.WithManifest.String() {
			t.Errorf("exported %+v, %v", found, err)
		}
		return nil
	})
	two := &home.Home{URL: filepath.Join(dir, "two")}
	within(t, two, func(ctx context.Context, s perdure.Store) error {
		var o home.Intake
		found, err := two.ImportSet(ctx, s, set, o)
		if len(found) != 2 {
			t.Errorf("%d arrived, %v", len(found), err)
		}
		if _, err := two.ImportSet(ctx, s, t.TempDir(), o); err == nil {
			t.Error("a folder without capsules is a set")
		}
		return err
	})
}
