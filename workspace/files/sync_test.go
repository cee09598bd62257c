package files

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

func TestDocumentsBecomeFiles(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/current-state.md", "all is well\n")
	p.write("agents/coder/team/x.md", "private, whatever it is called\n")
	p.write("decisions/a.md", "we chose a\n")
	if _, err := p.Reader.Write(t.Context(), workspace.Draft{Path: "notes/all.md", Text: "for all\n",
		Visibility: &workspace.Visibility{Tier: workspace.Public}}); err != nil {
		t.Fatal(err)
	}
	r := p.sync()
	p.shows("current-state.md", "all is well\n")
	p.shows("private/team/x.md", "private, whatever it is called\n")
	p.shows("team/decisions/a.md", "we chose a\n")
	p.shows("public/notes/all.md", "for all\n")
	if len(did(r, Written)) < 4 {
		t.Errorf("got %v", r.Changes)
	}
	p.still()
}

// What a person changes comes back as an entry that their key signed.
func TestEditsComeBackSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ann", "bob")
	ann, bob := w.person(0), w.person(1)
	ann.write("agents/coder/notes/a.md", "one\ntwo\n")
	bob.sync()
	bob.save("notes/a.md", "one\ntwo\nthree, said bob\n")
	bob.save("team/plans/new.md", "# A plan\n")
	if got := did(bob.sync(), Taken); !slices.Equal(got, []string{"notes/a.md", "team/plans/new.md"}) {
		t.Errorf("taken: %v", got)
	}
	d := ann.read("agents/coder/notes/a.md")
	if d.Text != "one\ntwo\nthree, said bob\n" || d.Author != w.keys[1].Key() || d.By != "bob in files" {
		t.Errorf("got %q by %s (%s), want what bob wrote, signed by him", d.Text, d.Author.Short(), d.By)
	}
	if d := ann.read("plans/new.md"); d.Title != "A plan" || d.Visibility.Tier != workspace.Team {
		t.Errorf("got %+v", d)
	}
	bob.still()
	ann.sync()
	ann.shows("notes/a.md", "one\ntwo\nthree, said bob\n")
	ann.shows("team/plans/new.md", "# A plan\n")
}

func TestBothSidesChangeAndMerge(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/TASKS.md", "# Now\n\n- [ ] one\n  - [ ] half\n- [ ] two\n")
	p.sync()
	p.write("agents/coder/TASKS.md", "# Now\n\n- [ ] one\n  - [ ] half\n- [ ] two\n- [ ] three\n")
	p.save("TASKS.md", "# Now\n\n- [ ] one\n  - [x] half\n- [ ] two\n")
	p.sync()
	want := "# Now\n\n- [ ] one\n  - [x] half (" + p.stamp() + ")\n- [ ] two\n- [ ] three\n"
	p.shows("TASKS.md", want)
	if got := p.read("agents/coder/TASKS.md").Text; got != want {
		t.Errorf("in memory: %q", got)
	}
	p.still()
}

func TestConflictsKeepAndShowBoth(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "begin\nwords\nend\n")
	p.sync()
	p.write("agents/coder/a.md", "begin\nagent says\nend\n")
	p.save("a.md", "begin\nperson says\nend\n")
	if got := did(p.sync(), Conflict); !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("conflicts: %v", got)
	}
	p.shows("a.md", "begin\n"+markMemory+"\nagent says\n"+markMiddle+"\nperson says\n"+markFile+"\nend\n")
	p.still()
	p.save("a.md", "begin\nboth say\nend\n")
	p.sync()
	if got := p.read("agents/coder/a.md").Text; got != "begin\nboth say\nend\n" {
		t.Errorf("settled: %q", got)
	}
	p.still()
	p.write("agents/coder/features.json", `[{"id":1}]`+"\n")
	p.sync()
	p.write("agents/coder/features.json", `[{"id":1},{"id":2}]`+"\n")
	p.save("features.json", `[{"id":1},{"id":3}]`+"\n")
	p.sync()
	p.shows("features.json", `[{"id":1},{"id":2}]`+"\n")
	found := false
	for name, text := range p.texts() {
		found = found || strings.HasPrefix(name, "features.conflict-") && text == `[{"id":1},{"id":3}]`+"\n"
	}
	if !found {
		t.Errorf("what the person wrote is not there: %v", p.texts())
	}
	p.sync()
	p.still()
}

// No marks come into a JSON document: it keeps what memory says, the person's text is beside it, finished or not, and
// the report says where.
func TestJSONHasNoMarks(t *testing.T) {
	t.Parallel()
	for _, mine := range []string{`{"features":["a","c"]}` + "\n", `{"features":[` + "\n"} {
		p := newWorld(t, "ann").person(0)
		p.write("agents/coder/features.json", `{"features":["a"]}`+"\n")
		p.sync()
		theirs := `{"features":["a","b"]}` + "\n"
		p.write("agents/coder/features.json", theirs)
		p.save("features.json", mine)
		r := p.sync()
		if got := p.read("agents/coder/features.json").Text; got != theirs {
			t.Errorf("in memory: %q, want %q", got, theirs)
		}
		p.shows("features.json", theirs)
		aside := did(r, Written)
		i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Status == Conflict })
		if len(aside) != 1 || i < 0 || !strings.Contains(r.Changes[i].Why, aside[0]) ||
			strings.Contains(r.Changes[i].Why, "marks") {
			t.Fatalf("the report says %+v, want where the text is", r.Changes)
		}
		p.shows(aside[0], mine)
		p.still()
	}
}

// Versions of a JSON document that do not go together are both there, and neither has marks: one is in the file, the
// other beside it.
func TestVersionsOfJSONHaveNoMarks(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/features.json", "[\n1,\n2\n]\n")
	p.twice("agents/coder/features.json", "[\n1,\n3\n]\n", "[\n1,\n4\n]\n")
	r := p.sync()
	if got := did(r, Conflict); !slices.Equal(got, []string{"features.json"}) || r.Err() == nil {
		t.Errorf("conflicts: %v, %v", r.Changes, r.Err())
	}
	all := ""
	for name, text := range p.texts() {
		if strings.HasPrefix(name, "features") {
			all += text
		}
		if hasMarks(text) {
			t.Errorf("%s has marks: %q", name, text)
		}
	}
	if !strings.Contains(all, "3\n") || !strings.Contains(all, "4\n") {
		t.Errorf("the folder does not show both: %q", all)
	}
	p.still()
	p.save("features.json", "[\n0,\n3\n]\n")
	p.sync()
	if d := p.read("agents/coder/features.json"); d.Text != "[\n0,\n3\n]\n" || len(d.Beside) > 0 {
		t.Errorf("settled: %q and %d beside it", d.Text, len(d.Beside))
	}
	p.still()
}

// Versions that were written apart are merged with what both were made of.
func TestVersionsAreMergedWithWhatTheyWereMadeOf(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, file, base, one, other, want string }{
		{"lines added at both ends", "a.md", "# head\nb\nc\n", "# head\nb\nc\nend\n", "begin\n# head\nb\nc\n",
			"begin\n# head\nb\nc\nend\n"},
		{"two boxes", "TASKS.md", "- [ ] one\n- [ ] two\n", "- [x] one (done 2026-11-18)\n- [ ] two\n",
			"- [ ] one\n- [x] two (done 2026-11-17)\n", "- [x] one (done 2026-11-18)\n- [x] two (done 2026-11-17)\n"},
		{"two features", "features.json", "[\n{\"id\":1,\"passes\":false},\n{\"id\":2,\"passes\":false}\n]\n",
			"[\n{\"id\":1,\"passes\":true},\n{\"id\":2,\"passes\":false}\n]\n",
			"[\n{\"id\":1,\"passes\":false},\n{\"id\":2,\"passes\":true}\n]\n",
			"[\n{\"id\":1,\"passes\":true},\n{\"id\":2,\"passes\":true}\n]\n"},
		{"a line taken away", "a.md", "a\nb\nc\nd\n", "a\nc\nd\n", "a\nb\nc\nD\n", "a\nc\nD\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			p := newWorld(t, "ann").person(0)
			p.write("agents/coder/"+x.file, x.base)
			p.sync()
			p.twice("agents/coder/"+x.file, x.one, x.other)
			r := p.sync()
			if got := did(r, Written); !slices.Contains(got, x.file) || r.Err() != nil {
				t.Errorf("got %v", r.Changes)
			}
			p.shows(x.file, x.want)
			p.still()
			p.save(x.file, x.want+"\n") // the next edit settles it
			p.sync()
			if d := p.read("agents/coder/" + x.file); d.Text != x.want+"\n" || len(d.Beside) > 0 {
				t.Errorf("settled: %q and %d beside it", d.Text, len(d.Beside))
			}
		})
	}
}

// Who leaves marks in a text is told so.
func TestMarksThatStayAreAConflict(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "begin\nwords\nend\n")
	p.twice("agents/coder/a.md", "begin\none says\nend\n", "begin\nanother says\nend\n")
	r := p.sync()
	if got := did(r, Conflict); !slices.Equal(got, []string{"a.md"}) || r.Err() == nil {
		t.Errorf("conflicts: %v, %v", r.Changes, r.Err())
	}
	if r = p.sync(); !slices.Equal(did(r, Conflict), []string{"a.md"}) || r.Err() == nil {
		t.Errorf("synced again: %v, %v", r.Changes, r.Err())
	}
	p.save("a.md", p.texts()["a.md"]+"more\n")
	r = p.sync()
	if got := did(r, Conflict); !slices.Equal(got, []string{"a.md"}) || r.Err() == nil {
		t.Errorf("conflicts: %v, %v", r.Changes, r.Err())
	}
	p.save("a.md", "begin\nwe say\nend\nmore\n")
	if r := p.sync(); r.Err() != nil {
		t.Errorf("brought together: %v", r.Changes)
	}
	p.still()
}

// The marks of git are a conflict like ours; a line of them alone, as below a heading, is not.
func TestMarksOfGitAreAConflict(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.sync()
	for text, want := range map[string]bool{
		"begin\n<<<<<<< HEAD\none\n=======\nanother\n>>>>>>> f05911e (of ann)\nend\n": true,
		"<<<<<<< HEAD\none\n||||||| 1234567\nwas\n=======\nanother\n>>>>>>> main":     true,
		"Heading\n=======\ntext\n":                                                           false,
		"<<<<<<< HEAD\nis how a conflict begins\n":                                           false,
		">>>>>>> quoted seven times\n\nHeading\n=======\n\n<<<<<<< HEAD\n":                   false,
		" <<<<<<< HEAD\n one\n =======\n another\n >>>>>>> f05911e\nis what it looks like\n": false,
	} {
		p.save("notes/a.md", text)
		for range 2 { // it stays one
			r := p.sync()
			if got := did(r, Conflict); (len(got) == 1) != want || (r.Err() != nil) != want {
				t.Errorf("%q: conflicts: %v, %v; want one: %t", text, r.Changes, r.Err(), want)
			}
		}
	}
}

// Unfinished JSON stays in the file, and memory keeps what programs can read, until a person has finished it.
func TestUnfinishedJSONWaitsInTheFile(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/features.json", "[]\n")
	p.sync()
	p.save("features.json", "[\n")
	for range 2 {
		r := p.sync()
		if got := did(r, Refused); !slices.Equal(got, []string{"features.json"}) ||
			!strings.Contains(r.Changes[0].Why, "no JSON") {
			t.Errorf("the report says %+v", r.Changes)
		}
		p.shows("features.json", "[\n")
		if got := p.read("agents/coder/features.json").Text; got != "[]\n" {
			t.Errorf("in memory: %q", got)
		}
	}
	p.save("new.json", "{nope\n")
	r, err := p.Status(t.Context())
	if err != nil || !slices.Equal(did(r, Refused), []string{"features.json", "new.json"}) {
		t.Errorf("status: %+v, %v", r, err)
	}
	if r := p.sync(); !slices.Contains(did(r, Refused), "new.json") || len(did(r, Taken)) > 0 {
		t.Errorf("a new one: %+v", r.Changes)
	}
	p.save("new.json", "{}\n")
	p.save("features.json", "[1]\n")
	p.sync()
	if got := p.read("agents/coder/features.json").Text; got != "[1]\n" {
		t.Errorf("in memory: %q", got)
	}
	p.still()
}

// Where memory has two versions and there is no file yet, the marks say nothing of a file.
func TestVersionsInMemoryAreCalledThat(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "words\n")
	p.twice("agents/coder/a.md", "one says\n", "another says\n")
	p.sync()
	got := p.texts()["a.md"]
	if !strings.Contains(got, "one says\n") || !strings.Contains(got, "another says\n") ||
		!strings.Contains(got, "in memory") || strings.Contains(got, "file") {
		t.Errorf("two versions in memory and no file: %q", got)
	}
}

func TestRemovedFilesArePutBack(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	if err := os.Remove(p.file("a.md")); err != nil {
		t.Fatal(err)
	}
	if got := did(p.sync(), PutBack); len(got) != 1 {
		t.Errorf("put back: %v", got)
	}
	p.shows("a.md", "a\n")
	if err := os.Remove(p.file("a.md")); err != nil {
		t.Fatal(err)
	}
	p.Delete = true
	if got := did(p.sync(), Deleted); len(got) != 1 {
		t.Errorf("deleted: %v", got)
	}
	if _, err := p.Reader.Read(t.Context(), "agents/coder/a.md", nil); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("in memory: %v", err)
	}
	p.still()
	p.write("agents/coder/learnings/2026-11.md", "- it rains\n")
	p.sync()
	for _, name := range []string{learnedName, progressName} {
		if err := os.Remove(p.file(name)); err != nil {
			t.Fatal(err)
		}
	}
	r := p.sync()
	if got := did(r, Deleted); !slices.Equal(got, []string{learnedName}) {
		t.Errorf("deleted: %v", r.Changes)
	}
	if got := did(r, PutBack); !slices.Equal(got, []string{progressName}) ||
		strings.Contains(r.Changes[1].Why, "--delete") {
		t.Errorf("put back: %v", r.Changes)
	}
	p.still()
	p.write("agents/coder/b.md", "b\n")
	p.sync()
	if _, err := p.Reader.Remove(t.Context(), "agents/coder/b.md", nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := did(p.sync(), Removed); len(got) != 1 || len(p.texts()) != 2 {
		t.Errorf("removed: %v, files %v", got, p.texts())
	}
	p.still()
}

// A document that was removed while somebody changed its file is there again.
func TestAnEditOutlivesItsDocument(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	if _, err := p.Reader.Remove(t.Context(), "agents/coder/a.md", nil, nil); err != nil {
		t.Fatal(err)
	}
	p.save("a.md", "a\nmine\n")
	p.sync()
	p.shows("a.md", "a\nmine\n")
	if got := p.read("agents/coder/a.md").Text; got != "a\nmine\n" {
		t.Errorf("got %q", got)
	}
	p.still()
}

func TestWhatCannotBeInMemoryStaysInTheFolder(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	p.save("a.md", "\xff\xfe")
	p.save("b.md", "b\n")
	r := p.sync()
	if got := did(r, Refused); !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("refused: %v", r.Changes)
	}
	p.shows("a.md", "\xff\xfe")
	if got := p.read("agents/coder/b.md").Text; got != "b\n" {
		t.Errorf("the others are not taken: %q", got)
	}
	p.write("agents/coder/a.md", "a, and more\n")
	p.sync()
	p.shows("a.md", "\xff\xfe")
}

func TestFoldersOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ann")
	p := w.person(0)
	p.save("main.go", "package main\n")
	if _, err := p.Sync(t.Context()); !errors.Is(err, ErrFolder) {
		t.Errorf("a folder with files: %v", err)
	}
	p.Adopt = true
	p.sync()
	if got := p.read("agents/coder/main.go").Text; got != "package main\n" {
		t.Errorf("adopted: %q", got)
	}
	p.Adopt = false
	if err := os.RemoveAll(p.Dir); err != nil {
		t.Fatal(err)
	}
	p.Delete = true
	if _, err := p.Sync(t.Context()); !errors.Is(err, ErrFolder) {
		t.Errorf("a folder that was emptied: %v", err)
	}
	p.read("agents/coder/main.go")
	other := w.open(0)
	r, err := other.As(t.Context(), "writer")
	if err != nil {
		t.Fatal(err)
	}
	p.Delete, p.Adopt = false, true
	p.sync()
	q := &person{&Folder{Reader: r, State: p.State, Dir: p.Dir}, w}
	if _, err := q.Sync(t.Context()); !errors.Is(err, ErrFolder) {
		t.Errorf("a folder of another role: %v", err)
	}
}

// Windows line ends, decomposed characters and marks at the beginning are no edits of their own.
func TestSpellingsOfOneTextAreOneText(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "caf\u00e9\nb\n")
	p.sync()
	p.save("a.md", "\ufeffcafe\u0301\r\nb\r\n")
	p.still()
	p.write("agents/coder/a.md", "caf\u00e9\nb\nc\n")
	p.sync()
	p.shows("a.md", "caf\u00e9\nb\nc\n")
}

// An editor that empties a file before it writes is not taken for somebody who removed the text, whenever it does so.
func TestAFileCaughtInASaveIsNotTakenForEmpty(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "one\n")
	p.sync()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(p.file("a.md"), old, old); err != nil {
		t.Fatal(err)
	}
	p.mid = func(file string) {
		if file == "a.md" && p.texts()[file] != "" {
			p.save(file, "")
		}
	}
	if r := p.sync(); !slices.Equal(did(r, Waits), []string{"a.md"}) {
		t.Errorf("got %v", r.Changes)
	}
	p.mid = nil
	p.save("a.md", "one\ntwo\n")
	p.sync()
	past, err := p.Reader.History(t.Context(), "agents/coder/a.md", nil)
	if err != nil || len(past) != 2 {
		t.Errorf("%d versions, %v; want those that somebody wrote", len(past), err)
	}
}

// A text that has Windows line ends in memory comes to rest as well, and is nobody's edit.
func TestLineEndsInMemoryAreNobodysEdit(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "one\r\ntwo\r\n")
	p.sync()
	p.still()
	if past, err := p.Reader.History(t.Context(), "agents/coder/a.md", nil); err != nil || len(past) != 1 {
		t.Errorf("%d versions, %v", len(past), err)
	}
	p.save("a.md", "one\ntwo\nthree\n")
	p.sync()
	if got := p.read("agents/coder/a.md").Text; got != "one\ntwo\nthree\n" {
		t.Errorf("got %q", got)
	}
	p.still()
}

// Where a folder took the place of a file, or a file that of a folder, the sync goes on once the documents do.
func TestAFileInThePlaceOfAFolderIsNotStuck(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/n.md", "n\n")
	p.sync()
	if err := os.Remove(p.file("n.md")); err != nil {
		t.Fatal(err)
	}
	p.save("n.md/in.md", "in\n")
	if got := did(p.sync(), Refused); !slices.Equal(got, []string{"n.md", "n.md/in.md"}) {
		t.Errorf("refused: %v", got)
	}
	p.shows("n.md/in.md", "in\n")
	if err := os.RemoveAll(p.file("n.md")); err != nil {
		t.Fatal(err)
	}
	if r := p.sync(); len(did(r, Refused)) > 0 {
		t.Errorf("got %v", r.Changes)
	}
	p.shows("n.md", "n\n")
	p.still()
}

// What a person changes in a file whose document is promoted meanwhile goes with the document.
func TestAnEditFollowsAPromotion(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("notes/n.md", "text\n")
	p.write("agents/coder/idea.md", "idea\n")
	p.sync()
	p.save("team/notes/n.md", "text\ntyped\n")
	p.save("idea.md", "idea\ntyped, too\n")
	for _, to := range []struct{ from, path, tier string }{{"notes/n.md", "", "public"},
		{"agents/coder/idea.md", "notes/idea.md", "team"}} {
		if _, err := p.Reader.Promote(t.Context(), to.from, nil, workspace.Visibility{Tier: workspace.Tier(to.tier)},
			to.path); err != nil {
			t.Fatal(err)
		}
	}
	p.sync()
	p.shows("public/notes/n.md", "text\ntyped\n")
	p.shows("team/notes/idea.md", "idea\ntyped, too\n")
	if got := p.read("notes/n.md").Text; got != "text\ntyped\n" {
		t.Errorf("got %q", got)
	}
	if got := p.texts()["team/notes/n.md"]; strings.Contains(got, "typed") {
		t.Errorf("what was left: %q", got)
	}
	p.still()
}
