package home_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// newHome is a home in a folder of its own, and what its people were told.
func newHome(t *testing.T) (*home.Home, *[]string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var said []string
	return &home.Home{URL: filepath.Join(t.TempDir(), "home"), Note: func(text string) {
		said = append(said, text)
	}}, &said
}

// made are agents made in a home, by name.
func made(t *testing.T, h *home.Home, names ...string) map[string]perdure.AgentID {
	t.Helper()
	ids := map[string]perdure.AgentID{}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		for _, name := range names {
			g := perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: "stand"},
				Charter: perdure.Charter{Scope: "home"}}
			a, err := h.Create(ctx, s, g)
			if err != nil {
				return err
			}
			ids[name] = a.ID()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestAHomeIsMadeOnceAndItsKeyIsNotReplaced(t *testing.T) {
	h, said := newHome(t)
	made(t, h, "news")
	if len(*said) != 1 || !strings.Contains((*said)[0], "made a key") {
		t.Errorf("people were told %q, want that there is a key now", *said)
	}
	first, err := h.Key()
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if err := os.Remove(filepath.Join(h.Dir, home.KeyFile)); err != nil {
		t.Fatal(err)
	}
	again := &home.Home{URL: h.URL}
	err = again.Use(t.Context(), false, func(ctx context.Context, s perdure.Store) error {
		_, err := again.Node(ctx, s)
		return err
	})
	var hint *perdure.Hint
	if !errors.As(err, &hint) || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("without its key: got %v, want to be told that it is gone", err)
	}
	if k, err := again.Key(); k != nil || err != nil {
		t.Errorf("another key was made in its place: %v, %v", k, err)
	}
}

func TestAgentsAreFoundByNameAndByDigits(t *testing.T) {
	h, _ := newHome(t)
	ids := made(t, h, "news", "shop", "twin", "twin")
	err := h.Use(t.Context(), false, func(ctx context.Context, s perdure.Store) error {
		for arg, want := range map[string]perdure.AgentID{"news": ids["news"], ids["shop"].String()[:8]: ids["shop"],
			ids["shop"].String(): ids["shop"]} {
			if got, err := h.FindAgent(ctx, s, arg); err != nil || got != want {
				t.Errorf("%s: got %s, %v, want %s", arg, got.Short(), err, want.Short())
			}
		}
		for arg, want := range map[string]error{"nobody": perdure.ErrNotFound, "": perdure.ErrInvalid,
			"twin": perdure.ErrInvalid, "news@1": perdure.ErrInvalid} {
			if _, err := h.FindAgent(ctx, s, arg); !errors.Is(err, want) {
				t.Errorf("%q: got %v, want one that is %v", arg, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatAFoundHomeSaysCountsOnceSomebodyHasAcceptedIt(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	t.Chdir(dir)
	folder := filepath.Join(dir, home.HomeName)
	if err := os.MkdirAll(filepath.Join(folder, home.PolicyDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, home.NodeFileName), []byte("programs: [sh]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := new(home.Home).Locate(); err != nil {
		t.Fatalf("to look is always possible: %v", err)
	}
	acting := func(ask func([]home.Saying) (bool, bool, error)) error {
		h := &home.Home{Acts: true, Ask: ask}
		return h.Locate()
	}
	if err := acting(nil); err == nil || !strings.Contains(err.Error(), "nobody has accepted it") {
		t.Errorf("where nobody can be asked: got %v", err)
	}
	var shown string
	no := func(parts []home.Saying) (bool, bool, error) {
		for _, p := range parts {
			shown += p.Name + "=" + string(p.Text)
		}
		return true, false, nil
	}
	interrupted := func([]home.Saying) (bool, bool, error) { return true, false, context.Canceled }
	if err := acting(interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v", err)
	}
	if err := acting(no); !errors.Is(err, perdure.ErrDenied) || !strings.Contains(shown, "node.yaml=programs: [sh]") {
		t.Errorf("refused: got %v after %q was shown", err, shown)
	}
	if err := acting(func([]home.Saying) (bool, bool, error) { return true, true, nil }); err != nil {
		t.Errorf("accepted: got %v", err)
	}
	if err := acting(nil); err != nil {
		t.Errorf("it was accepted before: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, home.NodeFileName), []byte("programs: [sh, rm]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := acting(nil); err == nil {
		t.Error("what was accepted said something else")
	}
}

func TestVerifySaysWhatAMemoryIsAndWhoWroteIt(t *testing.T) {
	h, _ := newHome(t)
	ids := made(t, h, "news")
	r, err := h.Verify(t.Context(), "news", home.Verification{})
	if err != nil || !r.OK || r.Agent != ids["news"] || len(r.Signers) != 1 ||
		!strings.Contains(r.Signers[0].Trusted, "own *") {
		t.Errorf("got %+v, %v", r, err)
	}
	other := home.Verification{}
	other.Heads = []perdure.Hash{perdure.HashOf(nil)}
	if r, err := h.Verify(t.Context(), "news", other); r != nil || !errors.Is(err, perdure.ErrRejected) {
		t.Errorf("a memory that ends elsewhere: got %+v, %v", r, err)
	}
	if _, err := h.Verify(t.Context(), "nobody", home.Verification{}); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("an agent that is not there: got %v", err)
	}
}
