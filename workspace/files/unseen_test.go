package files

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/workspace"
)

// when has something happen when a sync comes to a point, once.
func (p *person) when(point string, do func()) {
	p.fail = func(at string) error {
		if at == point && do != nil {
			now := do
			do = nil
			now()
		}
		return nil
	}
}

// Who takes a file away takes away what it said: not what somebody else wrote in the last moment.
func TestARemovalTakesAwayOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"notes/a.md": "agents/coder/notes/a.md",
		learnedName: "agents/coder/learnings/2026-11.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "ann", "bob")
			ann, bob := w.person(0), w.person(1)
			bob.write(path, "one\n")
			ann.sync()
			if err := os.Remove(ann.file(name)); err != nil {
				t.Fatal(err)
			}
			ann.Delete = true
			ann.when("removes", func() { bob.write(path, "one\ntwo\n") })
			r := ann.sync()
			if got := bob.read(path).Text; got != "one\ntwo\n" {
				t.Errorf("memory says %q after %v", got, r.Changes)
			}
			ann.sync()
			if got := ann.texts()[name]; !strings.Contains(got, "two") {
				t.Errorf("the file is %q, want what was written meanwhile", got)
			}
			ann.still()
		})
	}
}

// A sync that was killed before it showed a text has shown nobody that text: what an edit lacks of it stays.
func TestAnEditTakesAwayOnlyWhatWasShown(t *testing.T) {
	t.Parallel()
	const path, file = "agents/coder/notes/a.md", "notes/a.md"
	for name, x := range map[string]struct{ was, memory, typed, want string }{
		"another line is gone": {"a\nb\n", "a\nc\n", "a\n", "a\nc\n"},
		"all is new":           {"", "of bob\n", "of ann\n", "of bob\nof ann\n"},
		"all is replaced":      {"a\nb\n", "of bob\nmore\n", "of ann\n", "of bob\nmore\nof ann\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "ann", "bob")
			ann, bob := w.person(0), w.person(1)
			if ann.sync(); x.was != "" {
				bob.write(path, x.was)
				ann.sync()
			}
			bob.write(path, x.memory)
			ann.crashesAt("sends")
			ann.save(file, x.typed)
			ann.sync()
			if got := bob.read(path).Text; got != x.want {
				t.Errorf("memory says %q, want %q", got, x.want)
			}
			ann.still()
		})
	}
}

// A folder that is gone as a whole was taken away by nobody who meant its documents.
func TestALostFolderRemovesNothing(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/notes/a.md", "one\n")
	p.write("plans/b.md", "two\n")
	p.sync()
	if err := os.RemoveAll(p.Dir); err != nil {
		t.Fatal(err)
	}
	p.Adopt, p.Delete = true, true
	if r := p.sync(); len(did(r, Deleted)) > 0 {
		t.Errorf("got %v", r.Changes)
	}
	p.shows("notes/a.md", "one\n")
	p.shows("team/plans/b.md", "two\n")
	p.still()
}

// An editor that has emptied a file and not yet written it, when the file is replaced, writes into the file that people
// see all the same.
func TestAnEditorThatIsWritingLosesNothing(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(p *person){
		"replaced": func(p *person) { p.write("agents/coder/notes/a.md", "one\ntwo\n") },
		"removed": func(p *person) {
			if _, err := p.Reader.Remove(p.w.t.Context(), "agents/coder/notes/a.md", nil, nil); err != nil {
				p.w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newWorld(t, "ann").person(0)
			p.write("agents/coder/notes/a.md", "one\n")
			p.sync()
			last(p)
			var f *os.File
			p.late = func(file string) {
				if f != nil || file != "notes/a.md" {
					return
				}
				var err error
				if f, err = os.OpenFile(p.file(file), os.O_WRONLY|os.O_TRUNC, 0); err != nil {
					t.Error(err)
				}
			}
			p.sync()
			if f == nil {
				t.Fatal("nothing was to be done")
			}
			if _, err := f.WriteString("one\nof ann\n"); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			p.sync()
			if got := p.read("agents/coder/notes/a.md").Text; !strings.Contains(got, "of ann") ||
				name == "replaced" && !strings.Contains(got, "two") {
				t.Errorf("memory says %q", got)
			}
			p.still()
		})
	}
}

// What a killed sync had set aside of a person is taken in, whatever is in the file by now.
func TestWhatAKilledSyncSetAsideIsTakenIn(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/notes/a.md", "one\n")
	p.sync()
	p.write("agents/coder/notes/a.md", "one\ntwo\n")
	p.crashesAt("sends")
	p.save(partOf("notes/a.md"), "one\nof ann\n") // as when it had come to the exchange, and git put the file back
	p.sync()
	got := p.read("agents/coder/notes/a.md").Text
	if !strings.Contains(got, "of ann") || !strings.Contains(got, "two") {
		t.Errorf("memory says %q", got)
	}
	p.still()
}

// A document that policy hides does not get in the way of a sync, and nobody learns that it is there.
func TestWhatPolicyHidesDoesNotStopASync(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ann")
	p := w.person(0)
	set, err := policy.Parse(policy.File{Name: "p.cedar", Text: []byte(`
		@id("all") permit (principal, action, resource);
		@id("no") forbid (principal, action == Action::"document.read", resource) when { context.path like "plans/*" };
		@id("kind") forbid (principal, action == Action::"document.read", resource) when { context.kind == "incident" };`)})
	if err != nil {
		t.Fatal(err)
	}
	p.Reader.Allow = func(a *perdure.Agent, x workspace.Access) perdure.Verdict {
		return set.Document(a, policy.Document{Write: x.Write, Path: x.Path, Kind: x.Kind, Tier: string(x.Tier),
			Scope: x.Scope}, time.Now())
	}
	for _, path := range []string{"plans/is.md", "notes/is.md"} {
		if _, err := p.Reader.Owner().Write(t.Context(), workspace.Draft{Path: path, Kind: "incident",
			Text: "hidden\n"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"team/plans/is.md", "team/plans/no.md", "team/notes/is.md", "team/notes/no.md"} {
		p.save(name, "of ann\n")
	}
	p.Adopt = true
	for range 2 {
		r := p.sync()
		why := map[string]string{}
		for _, c := range r.Changes {
			why[c.File] = c.Status + strings.ReplaceAll(c.Why, "is.md", "no.md")
		}
		for _, dir := range []string{"team/plans/", "team/notes/"} {
			if is, no := why[dir+"is.md"], why[dir+"no.md"]; is != no {
				t.Errorf("%s: what is hidden is told as %q, what is not there as %q", dir, is, no)
			}
		}
	}
	for name, text := range p.texts() {
		if strings.HasPrefix(name, "team/") && text != "of ann\n" {
			t.Errorf("%s is %q", name, text)
		}
	}
	for _, path := range []string{"plans/is.md", "notes/is.md"} {
		if docs, err := p.Reader.Owner().History(t.Context(), path, nil); err != nil ||
			!slices.ContainsFunc(docs, func(d *workspace.Document) bool { return d.Current && d.Kind == "incident" }) {
			t.Errorf("%s is gone: %v, %v", path, docs, err)
		}
	}
}
