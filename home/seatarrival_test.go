package home_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/store/sqlite"
)

// killed is a store whose process ends before it has written that a seat has arrived.
type killed struct{ *sqlite.Store }

var errKilled = errors.New("killed")

func (k killed) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, all ...*perdure.Entry) error {
	for _, e := range all {
		if ev, _ := e.Content().(perdure.Event); ev.Name == "seat-taken" {
			return errKilled
		}
	}
	return k.Store.Append(ctx, id, heads, all...)
}

// inCopy does something in a home that is a copy of another, and trusts a node.
func inCopy(t *testing.T, dir string, do func(ctx context.Context, h *home.Home, s *sqlite.Store) error) {
	t.Helper()
	h := &home.Home{URL: dir, Acts: true}
	err := h.Locate()
	if err == nil {
		err = h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
			return do(ctx, h, s.(*sqlite.Store))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copied is a copy of a home with an agent, which trusts the key of a node.
func copied(t *testing.T, n *perdure.Node) string {
	t.Helper()
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	inCopy(t, first, func(ctx context.Context, h *home.Home, s *sqlite.Store) error {
		_, err := h.Create(ctx, s, perdure.Genesis{Charter: perdure.Charter{Scope: "home"},
			Intent: perdure.Intent{Name: "own", Goal: "be there"}})
		if err == nil {
			trusts(t, home.Local{Desk: &home.Desk{Home: h, Store: s}}, n)
		}
		return err
	})
	if err := os.CopyFS(second, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{second, filepath.Join(second, home.PolicyDir)} {
		if err := os.Chmod(one, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(second, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range files {
		if info, err := os.Stat(one); err == nil && !info.IsDir() {
			if err := os.Chmod(one, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return second
}

// An arrival that was cut off before the seat of the agent was taken is finished: by the same again, or by the next
// node.
func TestASeatArrivesThoughItsArrivalWasCutOff(t *testing.T) {
	t.Parallel()
	for name, finish := range map[string]func(ctx context.Context, h *home.Home, s *sqlite.Store, file string,
		id perdure.AgentID) error{
		"imported again": func(ctx context.Context, h *home.Home, s *sqlite.Store, file string,
			_ perdure.AgentID) error {
			return takesIn(ctx, h, s, file)
		},
		"a node": func(ctx context.Context, h *home.Home, s *sqlite.Store, _ string, _ perdure.AgentID) error {
			_, err := new(home.Powers).Node(ctx, h, s, slog.New(slog.DiscardHandler))
			return err
		},
		"pushed again": func(ctx context.Context, h *home.Home, s *sqlite.Store, _ string, id perdure.AgentID) error {
			v, err := h.Owner()
			if err != nil {
				return err
			}
			n, err := h.Node(ctx, s)
			if err != nil {
				return err
			}
			there := home.Local{Desk: &home.Desk{Home: h, Store: s, Node: n}, Visitor: v}
			_, err = there.Take(ctx, id, func(func(*perdure.Entry, error) bool) {})
			return err
		},
	} {
		here, n := openDesk(t)
		id := newAgent(t, here, 3)
		file := filepath.Join(t.TempDir(), "moved.agent")
		_, err := here.Desk.Home.Export(t.Context(), here.Desk.Store, id, home.Export{File: file, Move: true})
		if err != nil {
			t.Fatal(err)
		}
		dir := copied(t, n)
		seat := func(ctx context.Context, h *home.Home, s perdure.Store) *home.Seated {
			a, err := h.Load(ctx, s, id)
			if err != nil {
				t.Fatal(err)
			}
			at, err := h.Seated(ctx, s, a)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		inCopy(t, dir, func(ctx context.Context, h *home.Home, s *sqlite.Store) error {
			if err := takesIn(ctx, h, killed{s}, file); err != nil {
				return err
			}
			if at := seat(ctx, h, s); at.Here {
				t.Errorf("%s: %s: the seat was taken in a store that could not", name, at.Text)
			}
			return nil
		})
		inCopy(t, dir, func(ctx context.Context, h *home.Home, s *sqlite.Store) error {
			if err := finish(ctx, h, s, file, id); err != nil {
				return err
			}
			if at := seat(ctx, h, s); !at.Here {
				t.Errorf("%s: %s, want its seat here", name, at.Text)
			}
			left, err := filepath.Glob(filepath.Join(dir, "arriving", "*"))
			if len(left) > 0 {
				t.Errorf("%s: %v is left", name, left)
			}
			return err
		})
	}
}

// takesIn imports a file.
func takesIn(ctx context.Context, h *home.Home, s perdure.Store, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	_, err = h.Import(ctx, s, io.ReadSeeker(f), home.Intake{})
	return errors.Join(err, f.Close())
}
