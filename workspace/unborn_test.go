package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workspace"
)

// secret refuses one text.
type secret struct{}

func (secret) Check(body []byte) error {
	if bytes.Contains(body, []byte("hunter2")) {
		return errors.New("it holds a secret")
	}
	return nil
}

// agents counts what a store has.
func (w *world) agents() (n int) {
	w.t.Helper()
	for _, err := range w.store.(perdure.Lister).List(w.t.Context(), perdure.Filter{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		n++
	}
	return n
}

// TestWhatIsRefusedLeavesNoRole: a role, and the memory its documents go to, begin with the first thing that is
// written, in whichever way, and not with what is refused.
func TestWhatIsRefusedLeavesNoRole(t *testing.T) {
	for _, name := range []string{"mem", "sqlite", "dir"} {
		t.Run(name, func(t *testing.T) { refusesAll(t, newWorld(t, stores[name](t))) })
	}
}

func refusesAll(t *testing.T, w *world) {
	w.Node.Guard = secret{}
	r := w.as("coder")
	scope, public := workspace.Visibility{Tier: workspace.Public, Scope: "../.."}, workspace.Visibility{
		Tier: workspace.Public}
	refused := []workspace.Draft{
		{Path: "../x", Text: "x"}, {Path: "notes/x.md", Text: "x", Kind: "bad/kind"},
		{Path: "notes/x.md", Text: "hunter2"}, {Path: "agents/coder/x.md", Text: "hunter2"},
		{Path: "notes/x.md", Text: "hunter2", Visibility: &public},
		{Path: "notes/x.md", Text: "x", Visibility: &scope}, {Path: "agents/other/x.md", Text: "x"},
		{Path: "notes", Text: "x"}, {Path: "notes/x.md", Text: "x", Base: []perdure.Hash{{1}}},
	}
	for _, d := range refused {
		if _, err := r.Write(t.Context(), d); err == nil {
			t.Errorf("%s was written: %q", d.Path, d.Text)
		}
		if d.Base != nil {
			continue // it would be for nothing there is
		}
		done, err := r.WriteNew(t.Context(), []workspace.Draft{d}, []string{"k"})
		if err != nil || done[0] != nil {
			t.Errorf("new %s: %v, %v", d.Path, done, err)
		}
	}
	if _, err := r.Close(t.Context(), workspace.Closing{Title: "t", Happened: "h"}); err == nil {
		t.Error("a session was closed that was not open")
	}
	w.Allow = func(*perdure.Agent, workspace.Access) perdure.Verdict { return perdure.Verdict{} }
	denied := w.as("coder")
	if _, err := denied.Write(t.Context(), workspace.Draft{Path: "notes/x.md", Text: "x"}); !errors.Is(err,
		perdure.ErrDenied) {
		t.Errorf("write: %v, want %v", err, perdure.ErrDenied)
	}
	if _, err := denied.Open(t.Context()); !errors.Is(err, perdure.ErrDenied) {
		t.Errorf("open: %v, want %v", err, perdure.ErrDenied)
	}
	if n := w.agents(); n > 0 {
		t.Errorf("what was refused left %d agents", n)
	}
}

// TestARoleBeginsWithWhatItWrites, in each way to write, and reads it again.
func TestARoleBeginsWithWhatItWrites(t *testing.T) {
	write := map[string]func(context.Context, *workspace.Reader) error{
		"write": func(ctx context.Context, r *workspace.Reader) error {
			_, err := r.Write(ctx, workspace.Draft{Path: "agents/coder/x.md", Text: "text"})
			return err
		},
		"new": func(ctx context.Context, r *workspace.Reader) error {
			done, err := r.WriteNew(ctx, []workspace.Draft{{Path: "agents/coder/x.md", Text: "text"}}, []string{"k"})
			if err == nil && done[0] == nil {
				err = errors.New("it was not written")
			}
			return err
		},
		"import": func(ctx context.Context, r *workspace.Reader) error {
			private := workspace.Visibility{Tier: workspace.Private}
			_, err := r.ImportAll(ctx, []workspace.Foreign{{Path: "x.md", Text: "text"}, {Path: "y.md", Text: "text"}},
				&private, false)
			return err
		},
		"session": func(ctx context.Context, r *workspace.Reader) error {
			if _, err := r.Open(ctx); err != nil {
				return err
			}
			_, err := r.Write(ctx, workspace.Draft{Path: "agents/coder/x.md", Text: "text"})
			return err
		},
	}
	for name, f := range write {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, new(perdure.MemStore))
			r, beside := w.as("coder"), w.as("coder")
			if _, err := r.Find(t.Context(), workspace.Search{Text: "text"}); err != nil {
				t.Error(err)
			}
			if err := f(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if n := w.agents(); n != 1 {
				t.Errorf("there are %d agents, want the role", n)
			}
			for _, r := range []*workspace.Reader{r, beside, w.as("coder")} {
				if d := w.read(r, "agents/coder/x.md"); d.Text != "text" && d.Text != "text\n" {
					t.Errorf("read %q", d.Text)
				}
			}
			w.write(beside, workspace.Draft{Path: "agents/coder/z.md", Text: "z"})
			if n := w.agents(); n != 1 {
				t.Errorf("there are %d agents, want the role", n)
			}
		})
	}
}

// other is a workspace of the same store and key, in another home, whose roles belong to a scope.
func (w *world) other(scope string) *workspace.Workspace {
	w.t.Helper()
	ix, err := workspace.OpenIndex(w.t.Context(), filepath.Join(w.t.TempDir(), workspace.IndexFile))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = ix.Close() })
	return &workspace.Workspace{Store: w.Store, Node: w.Node, Index: ix, Allow: w.Allow, Scope: scope}
}

// note writes a private note as a role.
func note(t *testing.T, w *workspace.Workspace, role, name string) error {
	t.Helper()
	r, err := w.As(t.Context(), role)
	if err == nil {
		_, err = r.Write(t.Context(), workspace.Draft{Path: "agents/" + role + "/" + name, Text: name})
	}
	return err
}

// TestARoleThatBeganElsewhereIsTheRole has another process begin a role, in another scope, after a reader was made for
// it. Who named a scope is refused once, and told where the role is; who named none goes on as the role.
func TestARoleThatBeganElsewhereIsTheRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stores["sqlite"](t))
	scoped := w.other("home")
	late, err := scoped.As(t.Context(), "coder")
	if err != nil {
		t.Fatal(err)
	}
	later := w.as("coder").SpokenBy("a client")
	if err := note(t, w.other("acme"), "coder", "x.md"); err != nil {
		t.Fatal(err)
	}
	_, err = late.Write(t.Context(), workspace.Draft{Path: "notes/y.md", Text: "y"})
	if err == nil || errors.Is(err, perdure.ErrConflict) || !strings.Contains(err.Error(), "belongs to scope acme") {
		t.Errorf("got %v", err)
	}
	if late.Begun() || !w.as("coder").Begun() {
		t.Error("who has begun is not told from who has not")
	}
	d := w.write(later, workspace.Draft{Path: "agents/coder/z.md", Text: "z"})
	if !later.Begun() || later.Scope() != "acme" || d.By != "a client" {
		t.Errorf("it goes on in scope %s as %s, want acme as a client", later.Scope(), d.By)
	}
	w.read(w.as("coder"), "agents/coder/x.md")
	w.read(w.as("coder"), "agents/coder/z.md")
	if n := w.agents(); n != 1 {
		t.Errorf("there are %d agents, want the role", n)
	}
}

// interrupting is a store where something else happens just before the first entry is stored.
type interrupting struct {
	*sqlite.Store
	first func()
}

func (s *interrupting) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash,
	entries ...*perdure.Entry) error {
	if f := s.first; f != nil {
		s.first = nil
		f()
	}
	return s.Store.Append(ctx, id, heads, entries...)
}

// TestOneOfTwoWhoBeginARoleAtOnceIsTheRole has another home that shares the store begin a role in another scope while
// this one does: the one that came first is the role, and the other is told, or goes on as it, before anything is
// written.
func TestOneOfTwoWhoBeginARoleAtOnceIsTheRole(t *testing.T) {
	for _, scope := range []string{"home", ""} {
		t.Run("scope "+scope, func(t *testing.T) {
			t.Parallel()
			s := &interrupting{Store: stores["sqlite"](t).(*sqlite.Store)}
			w := newWorld(t, s)
			s.first = func() {
				if err := note(t, w.other("acme"), "coder", "x.md"); err != nil {
					t.Error(err)
				}
			}
			err := note(t, w.other(scope), "coder", "y.md")
			if scope != "" && (err == nil || !strings.Contains(err.Error(), "belongs to scope acme")) {
				t.Errorf("the second got %v, want that the role belongs elsewhere", err)
			}
			if scope == "" {
				if err != nil {
					t.Fatal(err)
				}
				w.read(w.as("coder"), "agents/coder/y.md")
			}
			w.read(w.as("coder"), "agents/coder/x.md")
			if w.as("coder").Scope() != "acme" {
				t.Error("the second is the role")
			}
			open := 0
			for l, err := range s.List(t.Context(), perdure.Filter{Kind: "role"}) {
				if err != nil {
					t.Fatal(err)
				}
				if l.State != phase.Terminated {
					open++
				}
			}
			if open != 1 {
				t.Errorf("%d memories of the role go on, want one", open)
			}
			// a store that gets the one that ended first knows the role, too
			to := worldOf(t, new(perdure.MemStore), w.key, "")
			copyEnded(t, s, to.store)
			copyAll(t, s, to.store)
			to.read(to.as("coder"), "agents/coder/x.md")
		})
	}
}

// copyEnded copies the agents that have ended.
func copyEnded(t *testing.T, from *interrupting, to perdure.Store) {
	t.Helper()
	for l, err := range from.List(t.Context(), perdure.Filter{States: []phase.State{phase.Terminated}}) {
		if err != nil {
			t.Fatal(err)
		}
		var all []*perdure.Entry
		for e, err := range perdure.Memory(t.Context(), from, l.Agent) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		if err := to.Put(t.Context(), l.Agent, all...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhoFindsARoleBegunIsNotTheLoser has a role begin between the look for it and the making of it: in the scope that
// is asked for, but after another.
func TestWhoFindsARoleBegunIsNotTheLoser(t *testing.T) {
	t.Parallel()
	s := &interrupting{Store: stores["sqlite"](t).(*sqlite.Store)}
	w := newWorld(t, s)
	missing := &vanishing{interrupting: s, first: func() {
		if err := note(t, w.other("acme"), "coder", "x.md"); err != nil {
			t.Error(err)
		}
		if _, err := w.Node.CreateAsleep(t.Context(), workspace.RoleGenesis(w.other("home"), "coder")); err != nil {
			t.Error(err)
		}
	}}
	o := w.other("home")
	o.Node = &perdure.Node{Store: missing, Key: w.key, Trust: w.Node.Trust}
	if _, err := o.As(t.Context(), "coder"); err == nil || !strings.Contains(err.Error(), "belongs to scope acme") {
		t.Errorf("got %v, want that the role belongs elsewhere", err)
	}
}

// vanishing is a store where something happens just before it is asked for an agent that is not there.
type vanishing struct {
	*interrupting
	first func()
}

func (s *vanishing) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	s.meet(ctx, id)
	return s.interrupting.Entries(ctx, id, after)
}

func (s *vanishing) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	s.meet(ctx, id)
	return s.interrupting.Snapshots(ctx, id)
}

func (s *vanishing) meet(ctx context.Context, id perdure.AgentID) {
	if _, err := s.Heads(ctx, id); s.first != nil && errors.Is(err, perdure.ErrNotFound) {
		f := s.first
		s.first = nil
		f()
	}
}
