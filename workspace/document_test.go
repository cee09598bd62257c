package workspace_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

func TestDocumentsAreWrittenOverWhatWasRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := w.as("coder")
		first := w.write(r, workspace.Draft{Kind: workspace.KindDecision, Title: "Use SQLite",
			Text: "It is one file.\n"})
		if first.Path != "decisions/use-sqlite.md" || first.Visibility.Tier != workspace.Team ||
			first.Kind != workspace.KindDecision {
			t.Errorf("got %s, %s, %s; want it at decisions/use-sqlite.md, for the team", first.Path, first.Visibility,
				first.Kind)
		}
		second := w.write(r, workspace.Draft{Path: first.Path, Text: "It is one file, and fast.\n",
			Base: []perdure.Hash{first.Version}})
		_, err := r.Write(t.Context(), workspace.Draft{Path: first.Path, Text: "No.\n",
			Base: []perdure.Hash{first.Version}})
		var c *workspace.Conflict
		if !errors.As(err, &c) || len(c.Current) != 1 || c.Current[0] != second.Version ||
			!errors.Is(err, perdure.ErrConflict) {
			t.Errorf("a write over an old version: %v, want a conflict with %s", err, second.Version.Short())
		}
		if _, err := r.Write(t.Context(), workspace.Draft{Path: first.Path, Text: "x", New: true}); !errors.Is(err,
			perdure.ErrConflict) || !strings.Contains(err.Error(), "exists: version "+second.Version.String()) {
			t.Errorf("a new document where one is: %v, want a conflict", err)
		}
		if _, err := r.Write(t.Context(), workspace.Draft{Path: "nothing.md", Text: "x",
			Base: []perdure.Hash{first.Version}}); !errors.Is(err, perdure.ErrConflict) ||
			!strings.Contains(err.Error(), "has no version to replace") {
			t.Errorf("a version of nothing: %v, want a conflict", err)
		}
		got := w.read(r, "/memories/"+first.Path)
		if got.Text != "It is one file, and fast.\n" || got.Version != second.Version ||
			got.Title != "It is one file, and fast." && got.Title != "Use SQLite" {
			t.Errorf("read %q %q", got.Title, got.Text)
		}
		past, err := r.History(t.Context(), first.Path, nil)
		if err != nil || len(past) != 2 || past[1].Version != first.Version || past[1].Current {
			t.Errorf("history: %v, %v; want two versions", past, err)
		}
		old, err := r.ReadVersion(t.Context(), first.Version)
		if err != nil || old.Text != "It is one file.\n" {
			t.Errorf("the first version: %v, %v", old, err)
		}
	})
}

func TestManyWhoAppendLoseNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const writers, lines = 4, 12
		var wait sync.WaitGroup
		for i := range writers {
			other := worldOf(t, w.store, w.key, "")
			r, err := other.As(t.Context(), "coder")
			if err != nil {
				t.Fatal(err)
			}
			wait.Go(func() {
				for j := range lines {
					if _, err := r.Append(t.Context(), workspace.Draft{Path: "log.md",
						Text: fmt.Sprintf("line %d-%d\n", i, j)}); err != nil {
						t.Errorf("append: %v", err)
						return
					}
				}
			})
		}
		wait.Wait()
		text := w.read(w.as("coder"), "log.md").Text
		if n := strings.Count(text, "\n"); n != writers*lines {
			t.Errorf("%d lines, want %d", n, writers*lines)
		}
		for i := range writers {
			last := -1
			for j := range lines {
				at := strings.Index(text, fmt.Sprintf("line %d-%d\n", i, j))
				if at <= last {
					t.Errorf("line %d-%d is lost, or out of order", i, j)
				}
				last = at
			}
		}
	})
}

// Stores that were apart bring two versions of one document together: both are kept, shown, and resolved by one that
// names both.
func TestVersionsOfTwoStoresAreBothKept(t *testing.T) {
	t.Parallel()
	here := newWorld(t, new(perdure.MemStore))
	there := worldOf(t, new(perdure.MemStore), here.key, "")
	r := here.as("coder")
	first := here.write(r, workspace.Draft{Path: "plan.md", Text: "one\n"})
	log := here.write(r, workspace.Draft{Path: "log.md", Text: "begun\n"})
	copyAll(t, here.store, there.store)
	other := there.as("coder")
	a := here.write(r, workspace.Draft{Path: "plan.md", Text: "two\n", Base: []perdure.Hash{first.Version}})
	b := there.write(other, workspace.Draft{Path: "plan.md", Text: "three\n", Base: []perdure.Hash{first.Version}})
	for _, x := range []struct {
		r    *workspace.Reader
		text string
	}{{r, "here\n"}, {other, "there\n"}} {
		if _, err := x.r.Append(t.Context(), workspace.Draft{Path: "log.md", Text: x.text}); err != nil {
			t.Fatal(err)
		}
	}
	copyAll(t, there.store, here.store)
	got := here.read(r, "plan.md")
	if len(got.Beside) != 1 {
		t.Fatalf("got %q and %d beside it, want both versions", got.Text, len(got.Beside))
	}
	if _, err := r.Write(t.Context(), workspace.Draft{Path: "plan.md", Text: "mine\n"}); !errors.Is(err,
		perdure.ErrConflict) {
		t.Errorf("a write that names none of them: %v, want a conflict", err)
	}
	o, err := r.Open(t.Context())
	if err != nil || len(o.Conflicts) != 2 {
		t.Errorf("an opening shows %v, %v; want both conflicts", o.Conflicts, err)
	}
	here.write(r, workspace.Draft{Path: "plan.md", Text: "two and three\n", Base: []perdure.Hash{a.Version, b.Version}})
	if got := here.read(r, "plan.md"); len(got.Beside) != 0 || got.Text != "two and three\n" {
		t.Errorf("after the merge: %q, %v", got.Text, got.Beside)
	}
	joined, err := r.Append(t.Context(), workspace.Draft{Path: "log.md", Text: "again\n"})
	if err != nil || joined.Text != "begun\nhere\nthere\nagain\n" && joined.Text != "begun\nthere\nhere\nagain\n" {
		t.Errorf("lines that were added on both sides: %q, %v, after %s", joined.Text, err, log.Version.Short())
	}
}

// copyAll puts everything of one store into another.
func copyAll(t *testing.T, from, to perdure.Store) {
	t.Helper()
	for l, err := range from.(perdure.Lister).List(t.Context(), perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		var all []*perdure.Entry
		for item, err := range from.Entries(t.Context(), l.Agent, 0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, item.Entry)
		}
		if err := to.Put(t.Context(), l.Agent, all...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPromotionKeepsItsSourceAndLeavesALink(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := w.as("coder")
		note := w.write(r, workspace.Draft{Path: "agents/coder/notes/retry.md", Text: "Retry with a budget.\n",
			Tags: []string{"http"}})
		for range 2 {
			up, err := r.Promote(t.Context(), note.Path, nil, workspace.Visibility{Tier: workspace.Team}, "")
			if err != nil {
				t.Fatal(err)
			}
			if up.Path != "notes/retry.md" || up.Text != note.Text || up.From == nil || up.From.Entry != note.Version ||
				up.Visibility.Tier != workspace.Team {
				t.Errorf("promoted to %s %q from %v", up.Path, up.Text, up.From)
			}
		}
		if left := w.read(r, note.Path); !strings.Contains(left.Text, "[[notes/retry.md]]") {
			t.Errorf("what is left says %q", left.Text)
		}
		linked, err := r.Linked(t.Context(), "notes/retry.md")
		if err != nil || len(linked) != 1 || linked[0].Path != note.Path {
			t.Errorf("linked from %v, %v", linked, err)
		}
		if _, err := r.Promote(t.Context(), "notes/retry.md", nil, workspace.Visibility{Tier: workspace.Private},
			""); !errors.Is(err, perdure.ErrInvalid) {
			t.Errorf("downward: %v, want a refusal", err)
		}
		if found := w.find(r, "retry budget"); len(found) == 0 || found[0].Path != "notes/retry.md" {
			t.Errorf("found %v", found)
		}
	})
}

func TestDocumentsAreRenamedRemovedAndSuperseded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := w.as("coder")
		w.write(r, workspace.Draft{Path: "a.md", Text: "alpha\n"})
		if d, err := r.Rename(t.Context(), "a.md", "b.md", nil); err != nil || d.Path != "b.md" || d.Text != "alpha\n" {
			t.Fatalf("rename: %v, %v", d, err)
		}
		if _, err := r.Read(t.Context(), "a.md", nil); !errors.Is(err, perdure.ErrNotFound) {
			t.Errorf("the old path: %v, want nothing there", err)
		}
		next, err := r.Supersede(t.Context(), "b.md", nil, workspace.Draft{Path: "c.md", Text: "beta\n"})
		if err != nil || next.From == nil {
			t.Fatalf("supersede: %v, %v", next, err)
		}
		if old := w.read(r, "b.md"); old.Text != "alpha\n" || len(old.Links) == 0 || old.Links[0] != "c.md" {
			t.Errorf("what was superseded: %q, links %v", old.Text, old.Links)
		}
		if _, err := r.Remove(t.Context(), "c.md", nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Remove(t.Context(), "c.md", nil, nil); !errors.Is(err, perdure.ErrNotFound) {
			t.Errorf("a second removal: %v", err)
		}
		if found := w.find(r, "beta"); len(found) != 0 {
			t.Errorf("what was removed is found: %v", found[0])
		}
		docs, err := r.List(t.Context(), workspace.Listed{})
		if err != nil || len(docs) != 1 || docs[0].Path != "b.md" {
			t.Errorf("list: %v, %v; want b.md alone", docs, err)
		}
		w.write(r, workspace.Draft{Path: "c.md", Text: "again\n"})
		if got := w.read(r, "c.md"); got.Text != "again\n" {
			t.Errorf("written again: %q", got.Text)
		}
	})
}

// Nobody is ever asked about a workspace: it sleeps from its first commit on, whatever is written to it.
func TestWorkspacesSleepForLife(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.write(w.as("coder"), workspace.Draft{Path: "a.md", Text: "alpha\n"})
		for _, id := range []perdure.AgentID{d.Agent, w.as("coder").Agent()} {
			a, err := w.Node.Load(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Standing(w.Node.Trust, w.Node.Place, a.Fold().Updated.Go()); got != "dormant" {
				t.Errorf("%s is %s, want dormant", a.Fold().Intent.Name, got)
			}
			if due := a.Fold().Due(a.Fold().Updated.Go()); due != 0 {
				t.Errorf("%s is due at %s, want never", a.Fold().Intent.Name, due)
			}
		}
	})
}

// What was promoted is what its path means from then on, for all who see both; what is left leads to it.
func TestAPromotedDocumentIsReadInPlaceOfItsLink(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, coder := t.Context(), w.as("coder")
		w.write(w.Owner(), workspace.Draft{Path: "notes/n.md", Text: "important\n"})
		public := workspace.Visibility{Tier: workspace.Public}
		for range 2 { // a second call changes nothing
			up, err := w.Owner().Promote(ctx, "notes/n.md", nil, public, "")
			if err != nil || up.Text != "important\n" {
				t.Fatalf("promote: %v, %v", up, err)
			}
		}
		if _, err := coder.Append(ctx, workspace.Draft{Path: "notes/n.md", Text: "a fact\n"}); err != nil {
			t.Fatal(err)
		}
		w.write(w.Owner(), workspace.Draft{Path: "see.md", Text: "[[notes/n.md]]\n"})
		for _, r := range []*workspace.Reader{w.Owner(), coder, w.in("outsider", "elsewhere")} {
			if d := w.read(r, "notes/n.md"); d.Text != "important\na fact\n" || d.Visibility.Tier != workspace.Public {
				t.Errorf("%s reads %q, %s", r.Role(), d.Text, d.Visibility)
			}
		}
		links, err := coder.Connections(ctx, "notes/n.md", nil)
		if err != nil || len(links.To) != 0 || len(links.From) != 1 || links.From[0].Path != "see.md" {
			t.Errorf("linked: %+v, %v; want see.md alone", links, err)
		}
		team := &workspace.Visibility{Tier: workspace.Team}
		if links, err = coder.Connections(ctx, "notes/n.md", team); err != nil || len(links.To) != 1 ||
			links.To[0].Visibility.Tier != workspace.Public {
			t.Errorf("what is left leads to %+v, %v; want the public one", links, err)
		}
		if _, err := w.Owner().Remove(ctx, "notes/n.md", nil, nil); err != nil {
			t.Fatal(err)
		}
		if d, err := coder.Read(ctx, "notes/n.md", nil); !errors.Is(err, perdure.ErrNotFound) {
			t.Errorf("what was removed after it was promoted: %v, %v", d, err)
		}
	})
}

// What the owner notes for an agent that works goes to its memory, where it reads it, and makes no second one of its
// name.
func TestNotesForAWorkingAgentGoToItsMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	bot, err := w.Node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "bot", Goal: "work"},
		Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	d := w.write(w.Owner(), workspace.Draft{Path: "agents/bot/hint.md", Text: "for the bot\n"})
	if d.Agent != bot.ID() {
		t.Errorf("the note is in %s, want %s", d.Agent.Short(), bot.ID().Short())
	}
	if got := w.read(w.reader(bot), "agents/bot/hint.md").Text; got != "for the bot\n" {
		t.Errorf("the agent reads %q", got)
	}
}
