package files

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/workspace"
)

// What people write into a page that follows from memory is kept below its mark, wherever they wrote it.
func TestNotesOnPagesAreKept(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/TASKS.md", "- [x] zero\n- [ ] one\n- [ ] two\n")
	p.sync()
	text := p.texts()[progressName]
	for _, want := range []string{"ACTIVE\nwhat: one\n", "next: two\n", "BLOCKERS\n- none\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	p.save(progressName, strings.Replace(text, "what: one", "what: one, says ann", 1)+"and this\n")
	p.sync()
	if got := p.texts()[progressName]; got != text+"and this\nwhat: one, says ann\n" {
		t.Errorf("got\n%s", got)
	}
	p.still()
	p.save("TASKS.md", "- [x] zero\n- [x] one\n- [ ] two\n")
	p.sync()
	got := p.texts()[progressName]
	if !strings.Contains(got, "what: two\n") || !strings.HasSuffix(got, "and this\nwhat: one, says ann\n") {
		t.Errorf("got\n%s", got)
	}
	p.still()
	p.save(errorsName, "I deleted everything here\n")
	p.sync()
	if got := p.texts()[errorsName]; !strings.Contains(got, notesMark+"\nI deleted everything here\n") {
		t.Errorf("got\n%s", got)
	}
	p.still()
}

func TestLearningsAreOnePageOfManyDocuments(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/learnings/2026-10.md", "- a\n")
	p.write("agents/coder/learnings/2026-11.md", "- b\n")
	p.sync()
	p.shows(learnedName, "## 2026-10\n\n- a\n\n## 2026-11\n\n- b\n")
	p.write("agents/coder/learnings/2026-11.md", "- b\n- c\n")
	p.save(learnedName, "# Learnings\n\nRead this first.\n\n## 2026-10\n\n- a, really\n\n## 2026-11\n\n- b\n- d\n")
	p.sync()
	p.shows(learnedName,
		"# Learnings\n\nRead this first.\n\n## 2026-10\n\n- a, really\n\n## 2026-11\n\n- b\n- c\n- d\n")
	if got := p.read("agents/coder/learnings/2026-10.md").Text; got != "- a, really\n" {
		t.Errorf("October: %q", got)
	}
	p.still()
}

// What somebody ticked last, and what the list says is blocked, is in progress.txt.
func TestProgressSaysWhatWasTickedAndWhatIsBlocked(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	const list = "# Now\n\n- [x] zero (done 2020-01-02)\n- [ ] one\n- [ ] two\n\n# Blocked\n\n- [ ] wait for paint\n"
	p.write("agents/coder/TASKS.md", list)
	p.session("Built the boat")
	p.sync()
	if text := p.texts()[progressName]; !strings.Contains(text, "LAST COMPLETED\nwhat: Built the boat\n") ||
		!strings.Contains(text, "BLOCKERS\n- wait for paint\n") || !strings.Contains(text, "next: two\n") {
		t.Errorf("got\n%s", text)
	}
	p.save("TASKS.md", strings.Replace(list, "[ ] one", "[x] one", 1))
	p.sync()
	text := p.texts()[progressName]
	if want := "LAST COMPLETED\nwhat: one\nfiles: -\noutcome: done, " + strings.TrimPrefix(p.stamp(),
		"done ") + "\n"; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
	p.save(progressName, strings.Replace(text, "ACTIVE", "- wait for paint\nACTIVE", 1))
	p.save("TASKS.md", "- [ ] wait for paint\n- [x] one\n- [ ] two\n")
	p.sync()
	if text := p.texts()[progressName]; !strings.HasSuffix(text, "BLOCKERS\n- none\n\nNOTES\n") ||
		!strings.Contains(text, "ACTIVE\nwhat: wait for paint\n") {
		t.Errorf("got\n%s", text)
	}
	p.still()
}

// A session that ends is in progress.txt, and its summary a file.
func TestSessionsAreFiles(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	o, err := p.Reader.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.sync()
	if _, err := p.Reader.Close(t.Context(), workspace.Closing{Session: o.Session, Title: "Built the boat",
		Happened: "It floats.", State: "# State\n\nThe boat floats.\n"}); err != nil {
		t.Fatal(err)
	}
	p.sync()
	all := p.texts()
	if !strings.Contains(all[progressName], "LAST COMPLETED\nwhat: Built the boat\n") {
		t.Errorf("got\n%s", all[progressName])
	}
	p.shows("current-state.md", "# State\n\nThe boat floats.\n")
	name := strings.TrimPrefix(o.Session, "agents/coder/")
	if !strings.Contains(all[name], "It floats.") {
		t.Errorf("%s: got %q", name, all[name])
	}
	p.save("current-state.md", "# State\n\nThe boat floats, and is red.\n")
	p.sync()
	next, err := p.Reader.Open(t.Context())
	if err != nil || !strings.Contains(next.State, "is red") {
		t.Errorf("the next session begins with %q, %v", next.State, err)
	}
}

// What somebody else's page says of tasks that memory knows is no note, when git brings their page here.
func TestPagesOfOthersAreNoNotes(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/TASKS.md", "- [ ] one\n- [ ] two\n- [ ] three\n")
	p.sync()
	theirs := strings.Replace(p.texts()[progressName], "what: one", "what: two", 1)
	theirs = strings.Replace(theirs, "next: two", "next: three", 1)
	p.save(progressName, strings.Replace(theirs, "BLOCKERS", "what: one of mine\nBLOCKERS", 1))
	p.sync()
	if got := p.read("agents/coder/progress.txt").Text; got != "what: one of mine\n" {
		t.Errorf("notes: %q, want what a person wrote alone", got)
	}
	p.still()
}
