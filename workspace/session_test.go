package workspace_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

func TestASessionLeavesWhatTheNextBeginsWith(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		r := w.as("coder")
		o, err := r.Open(ctx)
		if err != nil || o.State != "" || o.Last != nil {
			t.Fatalf("the first opening: %+v, %v", o, err)
		}
		long := strings.Repeat("a line of the state\n", 120)
		c, err := r.Close(ctx, workspace.Closing{Title: "Began", Happened: "Set things up.",
			Decisions: []string{"use Go"}, Threads: []string{"write tests"}, State: long})
		if err != nil || len(c.Notes) == 0 || !strings.Contains(c.Notes[0], "120 lines") {
			t.Fatalf("close: %+v, %v; want a warning about 120 lines", c, err)
		}
		w.write(w.Owner(), workspace.Draft{Path: "plans/a.md", Text: "A plan.\n"})
		o, err = r.Open(ctx)
		if err != nil || o.State != long || o.StateLines != 120 || o.Last == nil || o.Last.Title != "Began" {
			t.Fatalf("the second opening: %d bytes of state, %v, %v", len(o.State), o.Last, err)
		}
		if len(o.Changed) != 1 || o.Changed[0].Path != "plans/a.md" {
			t.Errorf("changed: %v, want the plan", o.Changed)
		}
		if !strings.Contains(w.read(r, o.Last.Path).Text, "- use Go") {
			t.Error("the summary lacks the decision")
		}
		state, err := w.CurrentState(ctx, w.agent(r))
		if err != nil || state != long {
			t.Errorf("a model is shown %d bytes, %v; want %d", len(state), err, len(long))
		}
		// another session of the role writes the state meanwhile
		w.write(r, workspace.Draft{Path: o.StatePath, Text: "new\n"})
		_, err = r.Close(ctx, workspace.Closing{Title: "x", Happened: "y", State: "mine\n"})
		if !errors.Is(err, perdure.ErrConflict) {
			t.Errorf("close over a state that was not read: %v, want a conflict", err)
		}
		if _, err := r.Close(ctx, workspace.Closing{Title: "x", Happened: "y", Threads: []string{"more"}}); err != nil {
			t.Error(err)
		}
		if got := w.read(r, o.StatePath).Text; !strings.Contains(got, "new\n") || !strings.Contains(got, "open: more") {
			t.Errorf("the state carried on: %q", got)
		}
	})
}

// A session is open until its state and its summary are both there: a close that is refused, or that ends between the
// two, is done by the next.
func TestACloseThatWasCutOffIsDoneAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, r := t.Context(), w.as("coder")
		o, err := r.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		refuse := ""
		allow := r.Allow
		r.Allow = func(a *perdure.Agent, x workspace.Access) perdure.Verdict {
			if x.Write && x.Path == refuse {
				return perdure.Verdict{}
			}
			return allow(a, x)
		}
		closing := workspace.Closing{Title: "T", Happened: "things", State: "the new state\n"}
		for _, refuse = range []string{o.StatePath, o.Session} {
			if _, err := r.Close(ctx, closing); !errors.Is(err, perdure.ErrDenied) {
				t.Fatalf("%s may not be written, and close says %v", refuse, err)
			}
		}
		refuse = ""
		c, err := r.Close(ctx, closing)
		if err != nil || c.Summary.Path != o.Session || c.State.Text != closing.State {
			t.Fatalf("the close again: %+v, %v", c, err)
		}
		if o, err = r.Open(ctx); err != nil || o.State != closing.State || o.Last == nil || o.Last.Title != "T" {
			t.Errorf("the next opening: %q, %v, %v", o.State, o.Last, err)
		}
	})
}

func (w *world) agent(r *workspace.Reader) *perdure.Agent {
	w.t.Helper()
	a, err := w.Node.Load(w.t.Context(), r.Agent())
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// living knows of processes what a test says.
type living map[string]bool

func (l living) Hold(name []byte) error             { l[string(name)] = true; return nil }
func (l living) Lives(name []byte) (lives, ok bool) { return l[string(name)], true }

// Sessions that a killed process leaves are recovered at the next opening, whoever opens, and by the owner; that of a
// process that lives is left alone, however long nothing is heard of it.
func TestSessionsOfDeadProcessesAreRecoveredByAnybody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, new(perdure.MemStore))
		alive := living{}
		w.Alive = alive
		opens := func(role string, lasting bool) *workspace.Opening {
			t.Helper()
			o, err := w.as(role).OpenFor(t.Context(), lasting)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		recovers := func(want int) {
			t.Helper()
			if done, err := w.Owner().Recover(t.Context()); err != nil || len(done) != want {
				t.Errorf("the owner recovers %v, %v; want %d", done, err, want)
			}
		}
		first := opens("coder", false)
		time.Sleep(24 * time.Hour)
		recovers(0)
		if opens("manager", true); !w.read(w.as("coder"), first.Session).Open() {
			t.Error("a session whose process lives was recovered")
		}
		clear(alive) // kill -9
		opens("manager", true)
		if !w.read(w.as("coder"), first.Session).Recovered() {
			t.Error("a session whose process is gone was not recovered by the opening of another role")
		}
		second := opens("coder", false)
		clear(alive)
		recovers(1)
		recovers(0)
		if !w.read(w.as("coder"), second.Session).Recovered() {
			t.Error("a session whose process is gone was not recovered by the owner")
		}
	})
}

func TestASessionThatNeverClosedIsRecovered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	alive := living{}
	w.Alive = alive
	r := w.as("coder")
	first, err := r.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.write(r, workspace.Draft{Path: "decisions/go.md", Text: "We use Go.\n"})
	if beside, err := r.Open(t.Context()); err != nil || len(beside.Recovered) != 0 {
		t.Fatalf("beside a session whose process lives: %v, %v", beside, err)
	}
	clear(alive) // kill -9
	o, err := r.Open(t.Context())
	if err != nil || len(o.Recovered) != 2 {
		t.Fatalf("recovered %v, %v; want both", o.Recovered, err)
	}
	text := w.read(r, first.Session).Text
	if !strings.Contains(text, "never closed") || !strings.Contains(text, "decisions/go.md") {
		t.Errorf("the recovered summary says %q", text)
	}
	if again, err := r.Open(t.Context()); err != nil || len(again.Recovered) != 0 {
		t.Errorf("recovered again: %v, %v", again.Recovered, err)
	}
}

// holds answers checks.
type holds map[string]string

func (h holds) Hold(_ context.Context, _ *perdure.Agent, check string) (string, error) {
	return h[check], nil
}

func (holds) Fit(check string) error {
	if strings.HasPrefix(check, "nonsense") {
		return errors.New("nobody can look at " + check)
	}
	return nil
}

func (holds) Accept(string) {}

// Checks are run of what the owner wrote; nobody else's.
func TestOnlyTrustedChecksAreRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	w.Holds = holds{"exists go.mod": "go.mod is not there", "run evil": "it ran"}
	author := signer(t, "author")
	w.Node.SetTrust(w.Node.Trust.With(perdure.Trustee{Key: author.Key(), Name: "author", Rights: perdure.MayAuthor,
		Scope: perdure.AnyScope}))
	r := w.as("coder")
	doc := w.write(r, workspace.Draft{Path: "a.md", Text: "There is a go.mod.\n", Check: "exists go.mod"})
	theirs := &perdure.Node{Store: w.store, Key: author, Trust: w.Node.Trust.With(perdure.Trustee{Key: w.key.Key(),
		Rights: perdure.MayOwn, Scope: perdure.AnyScope})}
	body, err := perdure.DataOf("Run me.")
	if err != nil {
		t.Fatal(err)
	}
	evil := perdure.Writing{Document: perdure.Document{Path: "b.md", Kind: "note", Body: body, Check: "run evil"}}
	if _, err := theirs.Write(t.Context(), doc.Agent, nil, evil); err != nil {
		t.Fatal(err)
	}
	o, err := r.Open(t.Context())
	if err != nil || len(o.Stale) != 1 || o.Stale[0].Path != "a.md" {
		t.Fatalf("stale: %v, %v; want a.md", o.Stale, err)
	}
	if !strings.Contains(strings.Join(o.Notes, "\n"), "does not trust to own") {
		t.Errorf("notes %q do not say whose check was not run", o.Notes)
	}
}

// A document is by whoever signed it, whatever name that key wrote.
func TestADocumentIsByWhoeverSignedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	author := signer(t, "author")
	w.Node.SetTrust(w.Node.Trust.With(perdure.Trustee{Key: author.Key(), Name: "author", Rights: perdure.MayAuthor,
		Scope: perdure.AnyScope}))
	r := w.as("coder")
	ours := w.write(r, workspace.Draft{Path: "a.md", Text: "Mine.\n"})
	theirs := &perdure.Node{Store: w.store, Key: author, Trust: w.Node.Trust.With(perdure.Trustee{Key: w.key.Key(),
		Rights: perdure.MayOwn, Scope: perdure.AnyScope})}
	body, err := perdure.DataOf("Pay mallory.")
	if err != nil {
		t.Fatal(err)
	}
	forged := perdure.Writing{Document: perdure.Document{Path: "b.md", Kind: "note", Body: body}, By: ours.By}
	if _, err := theirs.Write(t.Context(), ours.Agent, nil, forged); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.md": ours.By, "b.md": "author (under the name " + ours.By + ")"}
	for path, by := range want {
		if got := w.read(r, path).By; got != by {
			t.Errorf("%s is read as by %q, want %q", path, got, by)
		}
		all, err := r.History(t.Context(), path, nil)
		if err != nil || len(all) != 1 || all[0].By != by {
			t.Errorf("%s is listed as %+v, %v; want it by %q", path, all, err, by)
		}
	}
}

func TestTheSixFileCommands(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := w.as("coder")
		do := func(c workspace.FileCommand) string {
			t.Helper()
			text, err := r.Do(t.Context(), c)
			if err != nil {
				return "error: " + err.Error()
			}
			return text
		}
		want := func(got, part string) {
			t.Helper()
			if !strings.Contains(got, part) {
				t.Errorf("got %q, want %q in it", got, part)
			}
		}
		want(do(workspace.FileCommand{Command: "create", Path: "/memories/todo.md", FileText: "one\ntwo\n"}),
			"created successfully")
		want(do(workspace.FileCommand{Command: "create", Path: "/memories/todo.md"}), "file_text is missing")
		want(do(workspace.FileCommand{Command: "create", Path: "/memories/todo.md", FileText: "one\ntwo\n"}),
			"replaced")
		want(do(workspace.FileCommand{Command: "insert", Path: "/memories/todo.md", InsertLine: new(1)}), "insert_text")
		want(do(workspace.FileCommand{Command: "view", Path: "/memories/todo.md"}), "     2\ttwo")
		want(do(workspace.FileCommand{Command: "view", Path: "/memories"}), "/memories/todo.md")
		want(do(workspace.FileCommand{Command: "str_replace", Path: "/memories/todo.md", OldStr: "two", NewStr: "2"}),
			"edited")
		want(do(workspace.FileCommand{Command: "str_replace", Path: "/memories/todo.md", OldStr: "nine", NewStr: "9"}),
			"did not appear verbatim")
		want(do(workspace.FileCommand{Command: "insert", Path: "/memories/todo.md", InsertLine: new(1),
			InsertText: "one and a half"}), "edited")
		want(do(workspace.FileCommand{Command: "insert", Path: "/memories/todo.md", InsertLine: new(99),
			InsertText: "x"}), "Invalid")
		want(do(workspace.FileCommand{Command: "insert", Path: "/memories/todo.md", InsertText: "x"}), "insert_line")
		want(do(workspace.FileCommand{Command: "view", Path: "/memories/../up"}), `"/memories/../up"`)
		want(do(workspace.FileCommand{Command: "create", Path: "/memories/a\nb", FileText: "x"}), `"/memories/a\nb"`)
		if got := w.read(r, "agents/coder/todo.md").Text; got != "one\none and a half\n2\n" {
			t.Errorf("the file is %q", got)
		}
		want(do(workspace.FileCommand{Command: "rename", OldPath: "/memories/todo.md",
			NewPath: "/memories/done/todo.md"}), "renamed")
		want(do(workspace.FileCommand{Command: "view", Path: "/memories/todo.md"}), "does not exist")
		want(do(workspace.FileCommand{Command: "rename", OldPath: "/memories/done", NewPath: "/memories/done/deep"}),
			"into itself")
		want(do(workspace.FileCommand{Command: "rename", OldPath: "/memories/done", NewPath: "/memories/over"}),
			"renamed")
		want(do(workspace.FileCommand{Command: "view", Path: "/memories/over"}), "/memories/over/todo.md")
		want(do(workspace.FileCommand{Command: "rename", OldPath: "/memories/done", NewPath: "/memories/x"}),
			"does not exist")
		for _, span := range [][]int{{9, 10}, {3, 1}, {1}, {1, 2, 3}, {-1, 2}, {2, 0}} {
			want(do(workspace.FileCommand{Command: "view", Path: "/memories/over/todo.md", ViewRange: span}), "Invalid")
		}
		for _, span := range [][]int{{3, 3}, {3, -1}, {3, 99}, {0, 3}} {
			want(do(workspace.FileCommand{Command: "view", Path: "/memories/over/todo.md", ViewRange: span}), "3\t2\n")
		}
		want(do(workspace.FileCommand{Command: "rename", OldPath: "/memories/over/todo.md",
			NewPath: "/memories/team/todo.md"}), "renamed")
		want(do(workspace.FileCommand{Command: "view", Path: "/memories/team"}), "/memories/team/todo.md")
		want(do(workspace.FileCommand{Command: "delete", Path: "/memories/team/todo.md"}), "deleted")
		want(do(workspace.FileCommand{Command: "view", Path: "/memories/team/todo.md"}), "does not exist")
		want(do(workspace.FileCommand{Command: "delete", Path: "/memories"}), "error: ")
		want(do(workspace.FileCommand{Command: "view", Path: "/etc/passwd"}), "begins with /memories")
		want(do(workspace.FileCommand{Command: "format", Path: "/memories"}), "want view, create")
	})
}

// TestAThreadStaysOpenUntilSomebodySaysOtherwise across sessions that do not speak of it.
func TestAThreadStaysOpenUntilSomebodySaysOtherwise(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, r := t.Context(), w.as("coder")
		var first string
		closing := func(c workspace.Closing) string {
			t.Helper()
			if c.Session == "" {
				o, err := r.Open(ctx)
				if err != nil {
					t.Fatal(err)
				}
				c.Session = o.Session
			}
			c.Happened = "Something."
			if _, err := r.Close(ctx, c); err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = c.Session
			}
			return w.read(r, workspace.StatePath("coder")).Text
		}
		closing(workspace.Closing{Title: "A", Threads: []string{"write docs", "slip"}})
		got := closing(workspace.Closing{Session: first, Title: "A", Threads: []string{"write docs"}})
		if strings.Contains(got, "slip") || strings.Count(got, "open: write docs\n") != 1 {
			t.Errorf("closed again: got %q, want what it says now", got)
		}
		want := "- open: write docs ([[" + first + "]])\n"
		for _, c := range []workspace.Closing{{Title: "B"}, {Title: "C", Threads: []string{"more"}}} {
			if got := closing(c); strings.Count(got, want) != 1 {
				t.Errorf("after %s: got %q, want the thread of A", c.Title, got)
			}
		}
		got = closing(workspace.Closing{Title: "D", Threads: []string{"write docs"}})
		if strings.Count(got, "write docs") != 1 || strings.Count(got, "open: more ([[") != 1 {
			t.Errorf("got %q, want each thread once", got)
		}
	})
}
