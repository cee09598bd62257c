package workspace_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// twins are two homes that each began a memory of one scope and tier. They trust each other.
func twins(t *testing.T) (ann, ben *world) {
	t.Helper()
	ann = newWorld(t, new(perdure.MemStore))
	ben = worldOf(t, new(perdure.MemStore), signer(t, "ben"), "")
	owns := func(w *world) perdure.Trustee {
		return perdure.Trustee{Key: w.key.Key(), Name: w.key.Name, Rights: perdure.MayOwn, Scope: perdure.AnyScope}
	}
	trust := perdure.NewTrust(owns(ann), owns(ben))
	ann.Node.Trust, ben.Node.Trust = trust, trust
	return ann, ben
}

// settle replaces all that stands at a path.
func settle(w *world, r *workspace.Reader, path, text string) {
	w.t.Helper()
	d := w.read(r, path)
	w.write(r, workspace.Draft{Path: path, Text: text, Base: append([]perdure.Hash{d.Version}, d.Beside...)})
}

// What is replaced in one memory of a place is replaced in all of them, whoever asks.
func TestWhatATwinReplacedIsNowhereCurrent(t *testing.T) {
	t.Parallel()
	ann, ben := twins(t)
	ann.write(ann.Owner(), workspace.Draft{Path: "plan.md", Text: "the giraffe of ann, see [[target.md]]\n"})
	ann.write(ann.Owner(), workspace.Draft{Path: "only.md", Text: "only ann has it\n"})
	r := ben.as("coder")
	ben.write(r, workspace.Draft{Path: "plan.md", Text: "the walrus of ben, see [[target.md]]\n"})
	ben.write(r, workspace.Draft{Path: "target.md", Text: "a target\n"})
	ben.write(r, workspace.Draft{Path: "free.md", Text: "free\n"})
	copyAll(t, ann.store, ben.store)
	settle(ben, r, "plan.md", "of both\n")

	for _, word := range []string{"giraffe", "walrus"} {
		if found := ben.find(r, word); len(found) != 0 {
			t.Errorf("a search finds %v, which was replaced", snippets(found))
		}
	}
	if docs, err := r.Linked(t.Context(), "target.md"); err != nil || len(docs) != 0 {
		t.Errorf("%d documents link there, %v; want none", len(docs), err)
	}
	past, err := r.History(t.Context(), "plan.md", nil)
	if err != nil || len(past) != 3 || slices.IndexFunc(past[1:], func(d *workspace.Document) bool {
		return d.Current
	}) >= 0 {
		t.Errorf("the history is %v, %v; want three versions, the last current", past, err)
	}
	o, err := r.Open(t.Context())
	if err != nil || len(o.Conflicts) != 0 || len(o.Changed) != 4 {
		t.Errorf("a session opens with %v, %v; want four changed documents and no conflict", o, err)
	}
	if _, err := r.Rename(t.Context(), "free.md", "only.md", nil); !errors.Is(err, perdure.ErrInvalid) {
		t.Errorf("a rename onto a path that the other memory has: %v, want a refusal", err)
	}
	if _, err := r.Rename(t.Context(), "only.md", "other.md", nil); err != nil {
		t.Errorf("rename what the other memory has: %v", err)
	}
	if d := ben.read(r, "other.md"); d.Text != "only ann has it\n" || len(d.Beside) != 0 {
		t.Errorf("it reads %q", d.Text)
	}
	if docs, err := r.List(t.Context(), workspace.Listed{}); err != nil || len(docs) != 5 { // a session among them
		t.Errorf("%d documents are listed, %v; want 5", len(docs), err)
	}
}

// However many were settled in the other memory, what was not is shown.
func TestConflictsThatWereSettledHideNone(t *testing.T) {
	t.Parallel()
	ann, ben := twins(t)
	r := ben.as("coder")
	const many = 230
	for i := range many {
		path := fmt.Sprintf("notes/%03d.md", i)
		ann.write(ann.Owner(), workspace.Draft{Path: path, Text: "of ann\n"})
		ben.write(r, workspace.Draft{Path: path, Text: "of ben\n"})
	}
	copyAll(t, ann.store, ben.store)
	for i := range many - 1 {
		settle(ben, r, fmt.Sprintf("notes/%03d.md", i), "of both\n")
	}
	o, err := r.Open(t.Context())
	if err != nil || len(o.Conflicts) != 1 || o.Conflicts[0].Path != "notes/229.md" || len(o.Conflicts[0].Beside) != 1 {
		t.Errorf("a session opens with conflicts %v, %v; want that of notes/229.md", o.Conflicts, err)
	}
}

// Whom the home does not trust replaces nothing.
func TestAStrangersTwinReplacesNothing(t *testing.T) {
	t.Parallel()
	ann, other := twins(t)
	ben := worldOf(t, other.store, other.key, "") // who trusts nobody else
	r := ben.as("coder")
	mine := ben.write(r, workspace.Draft{Path: "plan.md", Text: "the walrus of ben\n"})
	ann.write(ann.Owner(), workspace.Draft{Path: "plan.md", Text: "of ann\n"})
	copyAll(t, ben.store, ann.store)
	settle(ann, ann.Owner(), "plan.md", "the giraffe of both\n") // in her own memory
	for l, err := range ann.store.(perdure.Lister).List(t.Context(), perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Agent == mine.Agent {
			continue
		}
		for item, err := range ann.store.Entries(t.Context(), l.Agent, 0) {
			if err == nil {
				err = ben.store.Put(t.Context(), l.Agent, item.Entry)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := ben.read(r, "plan.md"); got.Text != "the walrus of ben\n" {
		t.Errorf("it reads %q", got.Text)
	}
	if found := ben.find(r, "walrus"); len(found) != 1 {
		t.Errorf("found %v", snippets(found))
	}
}

// The memory of a role that another home passed on is that of the role, once somebody admitted it; where the home has
// one of its own, whoever opens a session is told of the other.
func TestARolesMemoryThatAnotherHomePassedOnIsFound(t *testing.T) {
	t.Parallel()
	ann, ben := twins(t)
	theirs := ann.as("coder")
	ann.write(theirs, workspace.Draft{Path: "agents/coder/current-state.md", Text: "half way\n"})
	writer := ben.as("writer")
	if err := errors.Join(writer.Begin(t.Context()), ann.as("writer").Begin(t.Context())); err != nil {
		t.Fatal(err)
	}
	copyAll(t, ann.store, ben.store)
	if _, err := ben.Node.Pause(t.Context(), theirs.Agent(), "it comes from elsewhere"); err != nil { // as imports do
		t.Fatal(err)
	}
	_, err := ben.As(t.Context(), "coder")
	var hint *perdure.Hint
	if !errors.Is(err, perdure.ErrInvalid) || !errors.As(err, &hint) ||
		!strings.Contains(hint.Do, "perdure resume "+theirs.Agent().Short()) {
		t.Errorf("before somebody admits it: %v, want what to do", err)
	}
	if _, err := ben.Node.Resume(t.Context(), theirs.Agent(), "it is mine, too"); err != nil {
		t.Fatal(err)
	}
	o, err := ben.as("coder").Open(t.Context())
	if err != nil || !strings.Contains(o.State, "half way") || len(o.Notes) != 0 {
		t.Errorf("a session opens with %v, %v; want the state that came", o, err)
	}
	if _, err := ben.Node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "coder", Goal: "work"},
		Charter: perdure.Charter{Scope: "home"}}); err != nil {
		t.Fatal(err)
	}
	told := ben.write(ben.Owner(), workspace.Draft{Path: "agents/coder/told.md", Text: "by the owner\n"})
	if told.Agent != theirs.Agent() {
		t.Errorf("what the owner writes for the role is kept by %v, want %v", told.Agent, theirs.Agent())
	}
	o, err = writer.Open(t.Context())
	if err != nil || !strings.Contains(strings.Join(o.Notes, "\n"), "another home passed on its memory of writer") {
		t.Errorf("a session opens with %v, %v; want to be told of the other memory", o, err)
	}
}

// A role and an agent that works under its name are two, and whoever opens a session is told.
func TestARoleBesideAnAgentOfItsNameIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	bot, err := w.Node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "bot", Goal: "work"},
		Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	r := w.as("bot")
	o, err := r.Open(t.Context())
	if err != nil || r.Agent() == bot.ID() || !strings.Contains(strings.Join(o.Notes, "\n"),
		"agent "+bot.ID().Short()+" is called bot, too") {
		t.Errorf("a session opens with %v, %v", o, err)
	}
}
