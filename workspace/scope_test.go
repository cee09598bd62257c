package workspace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// for a scope, the owner sees and writes only what belongs to it.
func (w *world) ownerFor(scope string) *workspace.Reader {
	was := w.Scope
	w.Scope = scope
	defer func() { w.Scope = was }()
	return w.Owner()
}

// says fails unless a reader finds a text at a path.
func (w *world) says(r *workspace.Reader, path, want string) {
	w.t.Helper()
	if got := w.read(r, path).Text; got != want {
		w.t.Errorf("%s in %s reads %q, want %q", path, r.Scope(), got, want)
	}
}

// Who writes a path that another scope has, too, writes it for the own scope: nobody else reads it by having been
// there last.
func TestWritesStayInTheScopeOfWhoWrites(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, home, spy := t.Context(), w.Owner(), w.in("spy", "other")
		coder := w.as("coder")
		w.write(home, workspace.Draft{Path: "plans/p.md", Text: "A\n"})
		w.write(spy, workspace.Draft{Path: "plans/p.md", Text: "B\n"})
		w.write(spy, workspace.Draft{Path: "plans/squat.md", Text: "B\n"})
		w.says(home, "plans/p.md", "A\n")
		w.write(home, workspace.Draft{Path: "plans/p.md", Text: "SECRET\n"})
		w.write(home, workspace.Draft{Path: "plans/squat.md", Text: "SECRET\n"})
		if _, err := home.Append(ctx, workspace.Draft{Path: "plans/p.md", Text: "more\n"}); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{"plans/p.md": "SECRET\nmore\n", "plans/squat.md": "SECRET\n"} {
			w.says(spy, path, "B\n")
			w.says(coder, path, want)
			w.says(home, path, want)
			w.says(w.ownerFor("other"), path, "B\n")
		}
		if _, err := home.Remove(ctx, "plans/p.md", nil, nil); err != nil {
			t.Fatal(err)
		}
		if d, err := home.Rename(ctx, "plans/squat.md", "plans/q.md", nil); err != nil || d.Text != "SECRET\n" {
			t.Errorf("rename: %v, %v; want the own one", d, err)
		}
		w.says(spy, "plans/p.md", "B\n")
		w.says(spy, "plans/squat.md", "B\n")
		w.says(home, "plans/p.md", "B\n") // the owner sees all, and only that is left
	})
}

// What is in other scopes alone is changed by who names the scope, or the version.
func TestOtherScopesAreNamedToBeChanged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, home, spy := t.Context(), w.Owner(), w.in("spy", "other")
		first := w.write(spy, workspace.Draft{Path: "plans/p.md", Text: "B\n"})
		_, err := home.Remove(ctx, "plans/p.md", nil, nil)
		_, renamed := home.Rename(ctx, "plans/p.md", "plans/q.md", nil)
		_, promoted := home.Promote(ctx, "plans/p.md", nil, workspace.Visibility{Tier: workspace.Public}, "")
		for _, err := range []error{err, renamed, promoted} {
			if !errors.Is(err, perdure.ErrInvalid) || !strings.Contains(err.Error(), "team:other") {
				t.Errorf("got %v, want a refusal that says where it is", err)
			}
		}
		w.write(home, workspace.Draft{Path: "plans/p.md", Text: "C\n", Base: []perdure.Hash{first.Version}})
		w.says(spy, "plans/p.md", "C\n")
		w.write(w.ownerFor("other"), workspace.Draft{Path: "plans/p.md", Text: "D\n"})
		w.says(spy, "plans/p.md", "D\n")
		on, err := workspace.ParseVisibility("team:other")
		if err != nil {
			t.Fatal(err)
		}
		w.write(home, workspace.Draft{Path: "plans/p.md", Text: "E\n", Visibility: &on})
		w.says(spy, "plans/p.md", "E\n")
		up, err := w.ownerFor("other").Promote(ctx, "plans/p.md", nil, workspace.Visibility{Tier: workspace.Public}, "")
		if err != nil || up.Visibility.Scope != "other" {
			t.Errorf("promoted: %v, %v; want it public, in its scope", up, err)
		}
	})
}

// A path that several other scopes have, and the own one has not, is not guessed.
func TestAPathInSeveralOtherScopesIsNamed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, home := t.Context(), w.Owner()
		public := &workspace.Visibility{Tier: workspace.Public}
		for _, scope := range []string{"one", "two"} {
			r := w.in("role", scope)
			w.write(r, workspace.Draft{Path: "plans/p.md", Text: scope + "\n"})
			w.write(r, workspace.Draft{Path: "all.md", Text: scope + "\n", Visibility: public})
		}
		for _, x := range []struct {
			r    *workspace.Reader
			path string
			want []string
		}{
			{home, "plans/p.md", []string{"team:one", "team:two"}},
			{w.as("coder"), "all.md", []string{"public:one", "public:two"}},
		} {
			_, err := x.r.Read(ctx, x.path, nil)
			_, past := x.r.History(ctx, x.path, nil)
			for _, err := range []error{err, past} {
				if !errors.Is(err, perdure.ErrInvalid) || !strings.Contains(err.Error(), x.want[0]) ||
					!strings.Contains(err.Error(), x.want[1]) {
					t.Errorf("%s: %v, want that it is in %v", x.path, err, x.want)
				}
			}
			d, err := x.r.ReadArgs(ctx, workspace.ReadArgs{Path: x.path, Visibility: x.want[1]})
			if err != nil || d.Text != "two\n" {
				t.Errorf("%s of %s: %v, %v", x.path, x.want[1], d, err)
			}
		}
		w.says(w.in("reader", "one"), "all.md", "one\n")
		w.says(w.ownerFor("two"), "plans/p.md", "two\n")
		docs, err := w.ownerFor("two").List(ctx, workspace.Listed{})
		if err != nil || len(docs) != 2 {
			t.Errorf("listed %d documents of a scope, %v; want two", len(docs), err)
		}
	})
}

// A role sees what is for the scopes around its own. What it writes anew is for its own alone; what it has read, it
// changes where that is.
func TestRolesChangeAboveOnlyWhatTheyRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, above, below := t.Context(), w.in("above", "acme"), w.in("below", "acme/ops")
		for _, path := range []string{"a.md", "b.md", "c.md"} {
			w.write(above, workspace.Draft{Path: path, Text: "above\n"})
		}
		w.write(below, workspace.Draft{Path: "a.md", Text: "below\n"})
		if _, err := below.Append(ctx, workspace.Draft{Path: "b.md", Text: "more\n"}); err != nil {
			t.Fatal(err)
		}
		edit := workspace.FileCommand{Command: "str_replace", Path: "/memories/team/c.md", OldStr: "above",
			NewStr: "new"}
		if _, err := below.Do(ctx, edit); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{"a.md": "above\n", "b.md": "above\nmore\n", "c.md": "new\n"} {
			w.says(above, path, want)
		}
		w.says(below, "a.md", "below\n")
	})
}
