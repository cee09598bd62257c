package workspace_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workspace"
)

// world is a workspace over a store of some kind, with the built-in policy.
type world struct {
	*workspace.Workspace
	t     *testing.T
	key   *perdure.Signer
	store perdure.Store
}

// stores are the kinds of store that documents are tested over.
var stores = map[string]func(t *testing.T) perdure.Store{
	"mem": func(*testing.T) perdure.Store { return new(perdure.MemStore) },
	"sqlite": func(t *testing.T) perdure.Store {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	},
	"dir": func(t *testing.T) perdure.Store {
		s, err := dir.Open(t.TempDir(), dir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	},
	"unfed": func(*testing.T) perdure.Store { return unfed{new(perdure.MemStore)} },
}

// unfed is a store without a feed.
type unfed struct{ mem *perdure.MemStore }

func signer(t *testing.T, name string) *perdure.Signer {
	t.Helper()
	s, err := perdure.GenerateSigner(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newWorld(t *testing.T, s perdure.Store) *world {
	t.Helper()
	return worldOf(t, s, signer(t, "ann"), filepath.Join(t.TempDir(), workspace.IndexFile))
}

func worldOf(t *testing.T, s perdure.Store, key *perdure.Signer, index string) *world {
	t.Helper()
	ix, err := workspace.OpenIndex(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	trust := perdure.NewTrust(perdure.Trustee{Key: key.Key(), Name: key.Name, Rights: perdure.MayOwn,
		Scope: perdure.AnyScope})
	n := &perdure.Node{Store: s, Key: key, Trust: trust}
	w := &workspace.Workspace{Store: s, Node: n, Index: ix, Allow: allow(policy.Default())}
	w.Resolve = func(ctx context.Context, arg string, shows func(perdure.AgentID) bool) (perdure.AgentID, error) {
		return new(home.Home).FindAgentShown(ctx, s, arg, shows)
	}
	return &world{w, t, key, s}
}

func allow(set *policy.Set) func(*perdure.Agent, workspace.Access) perdure.Verdict {
	return func(a *perdure.Agent, x workspace.Access) perdure.Verdict {
		return set.Document(a, policy.Document{Write: x.Write, Path: x.Path, Kind: x.Kind, Tier: string(x.Tier),
			Scope: x.Scope, Unnamed: x.Unnamed}, time.Now())
	}
}

func (w *world) as(role string) *workspace.Reader {
	w.t.Helper()
	r, err := w.As(w.t.Context(), role)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// in is a role in a scope.
func (w *world) in(role, scope string) *workspace.Reader {
	w.t.Helper()
	a, err := w.Node.CreateAsleep(w.t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: role, Kind: "role",
		Goal: "x"}, Charter: perdure.Charter{Scope: scope}})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.reader(a)
}

// reader reads as an agent.
func (w *world) reader(a *perdure.Agent) *workspace.Reader {
	w.t.Helper()
	r, err := w.For(w.t.Context(), a)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) write(r *workspace.Reader, d workspace.Draft) *workspace.Document {
	w.t.Helper()
	doc, err := r.Write(w.t.Context(), d)
	if err != nil {
		w.t.Fatalf("write %s: %v", d.Path, err)
	}
	return doc
}

func (w *world) read(r *workspace.Reader, path string) *workspace.Document {
	w.t.Helper()
	doc, err := r.Read(w.t.Context(), path, nil)
	if err != nil {
		w.t.Fatalf("read %s: %v", path, err)
	}
	return doc
}

func (w *world) find(r *workspace.Reader, text string) []*workspace.Found {
	w.t.Helper()
	found, err := r.Find(w.t.Context(), workspace.Search{Text: text})
	if err != nil {
		w.t.Fatalf("find %q: %v", text, err)
	}
	return found
}

// each runs a test over every kind of store.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newWorld(t, open(t)))
		})
	}
}
