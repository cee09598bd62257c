package workspace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// A path is a document or a folder, in every face: else no folder could show both.
func TestAPathIsADocumentOrAFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	r := w.as("coder")
	w.write(r, workspace.Draft{Path: "plans/a", Text: "a document\n"})
	w.write(r, workspace.Draft{Path: "agents/coder/x/y.md", Text: "in a folder\n"})
	w.write(r, workspace.Draft{Path: "notes/free.md", Text: "to be moved\n"})
	team := workspace.Visibility{Tier: workspace.Team}
	for name, write := range map[string]func() error{
		"below a document": func() error {
			_, err := r.Write(t.Context(), workspace.Draft{Path: "plans/a/b/c.md", Text: "x"})
			return err
		},
		"in the place of a folder": func() error {
			_, err := r.Write(t.Context(), workspace.Draft{Path: "agents/coder/x", Text: "x"})
			return err
		},
		"by a model": func() error {
			_, err := r.Do(t.Context(), workspace.FileCommand{Command: "create", Path: "/memories/x", FileText: "x"})
			return err
		},
		"by a tool": func() error {
			_, err := r.WriteArgs(t.Context(), workspace.WriteArgs{Path: "plans/a/b.md", Text: "x"})
			return err
		},
		"appended": func() error {
			_, err := r.Append(t.Context(), workspace.Draft{Path: "plans", Text: "x"})
			return err
		},
		"renamed": func() error {
			_, err := r.Rename(t.Context(), "notes/free.md", "plans/a/free.md", nil)
			return err
		},
		"the folder of a kind": func() error {
			_, err := w.Owner().Write(t.Context(), workspace.Draft{Path: "decisions", Text: "oops"})
			return err
		},
		"the folder of a kind, by a model": func() error {
			_, err := r.Do(t.Context(), workspace.FileCommand{Command: "create", Path: "/memories/bugs", FileText: "x"})
			return err
		},
		"promoted": func() error {
			_, err := r.Promote(t.Context(), "agents/coder/x/y.md", nil, team, "plans/a/y.md")
			return err
		},
	} {
		if err := write(); !errors.Is(err, perdure.ErrInvalid) || !strings.Contains(err.Error(), "not both") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Remove(t.Context(), "plans/a", nil, nil); err != nil {
		t.Fatal(err)
	}
	w.write(r, workspace.Draft{Path: "plans/a/b.md", Text: "now it is a folder\n"})
	if _, err := r.Rename(t.Context(), "plans/a/b.md", "plans/a", nil); err != nil {
		t.Errorf("the only document of a folder takes its name: %v", err)
	}
}

// A folder that cannot be renamed as a whole says how far that came.
func TestARenamedFolderThatStopsSaysWhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	r := w.as("coder")
	for _, name := range []string{"a", "b", "c"} {
		w.write(r, workspace.Draft{Path: "agents/coder/old/" + name + ".md", Text: name})
	}
	allow := w.Allow
	w.Allow = func(a *perdure.Agent, x workspace.Access) perdure.Verdict {
		if x.Write && x.Path == "agents/coder/new/b.md" {
			return perdure.Verdict{Answer: perdure.Deny}
		}
		return allow(a, x)
	}
	_, err := r.Do(t.Context(), workspace.FileCommand{Command: "rename", OldPath: "/memories/old",
		NewPath: "/memories/new"})
	if !errors.Is(err, perdure.ErrDenied) || !strings.Contains(err.Error(), "the first 1 of 3 files in /memories/old") {
		t.Errorf("got %v, want how far it came", err)
	}
	w.write(r, workspace.Draft{Path: "agents/coder/file", Text: "x"})
	if _, err = r.Do(t.Context(), workspace.FileCommand{Command: "rename", OldPath: "/memories/old",
		NewPath: "/memories/file"}); !errors.Is(err, perdure.ErrInvalid) {
		t.Errorf("a folder in the place of a file: %v", err)
	}
}

// A scope that documents are written for is words that people can read and folders can be named after.
func TestANewScopeIsWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	for _, scope := range []string{"a b", "a\u00a0b", "a\u202eb", "a\u200bb", "a\u0085b", "..", "a/./b", "a//b", "/a",
		strings.Repeat("x", 300)} {
		_, err := w.Owner().Write(t.Context(), workspace.Draft{Path: "x.md", Text: "x",
			Visibility: &workspace.Visibility{Tier: workspace.Custom, Scope: scope}})
		if !errors.Is(err, perdure.ErrInvalid) {
			t.Errorf("%q: %v", scope, err)
		}
	}
	w.write(w.Owner(), workspace.Draft{Path: "x.md", Text: "x",
		Visibility: &workspace.Visibility{Tier: workspace.Custom, Scope: "größe/日本.1"}})
}

// A note of a role's own may be called as shared ones are: it is shown, and taken, below private.
func TestNotesCalledAsSharedOnesAreShownBelowPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	r := w.as("coder")
	w.write(r, workspace.Draft{Path: "agents/coder/team/x.md", Text: "mine\n"})
	w.write(r, workspace.Draft{Path: "agents/coder/private/team/y.md", Text: "mine, too\n"})
	w.write(r, workspace.Draft{Path: "agents/coder/private/z.md", Text: "plain\n"})
	w.write(r, workspace.Draft{Path: "team/x.md", Text: "ours\n"})
	do := func(c workspace.FileCommand, want ...string) {
		t.Helper()
		got, err := r.Do(t.Context(), c)
		for _, text := range want {
			if err != nil || !strings.Contains(got, text) {
				t.Errorf("%+v: got %s, %v, want %q", c, got, err, text)
			}
		}
	}
	do(workspace.FileCommand{Command: "view", Path: "/memories"}, "\t/memories/private/team/x.md\t",
		"\t/memories/private/private/team/y.md\t", "\t/memories/private/z.md\t", "\t/memories/team/team/x.md\t")
	do(workspace.FileCommand{Command: "view", Path: "/memories/private/team"}, "\t/memories/private/team/x.md\t")
	do(workspace.FileCommand{Command: "view", Path: "/memories/private/team/x.md"}, "mine\n")
	do(workspace.FileCommand{Command: "view", Path: "/memories/private/private/team/y.md"}, "mine, too")
	do(workspace.FileCommand{Command: "view", Path: "/memories/private/z.md"}, "plain")
	do(workspace.FileCommand{Command: "str_replace", Path: "/memories/private/team/x.md", OldStr: "mine",
		NewStr: "my own"})
	if d, err := r.Read(t.Context(), "agents/coder/team/x.md", nil); err != nil || d.Text != "my own\n" {
		t.Errorf("got %+v, %v", d, err)
	}
}
