package files

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func (p *person) move(from, to string) {
	p.w.t.Helper()
	if err := os.Rename(p.file(from), p.file(to)); err != nil {
		p.w.t.Fatal(err)
	}
}

// A file that gets another name is one document with another name, not two.
func TestARenamedFileIsARenamedDocument(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	was := p.write("notes/a.md", "one\n")
	p.write("notes/b.md", "two\n")
	p.sync()
	p.move("team/notes/a.md", "team/notes/z.md")
	if r, err := p.Status(t.Context()); err != nil || !slices.Equal(did(r, Renamed), []string{"team/notes/z.md"}) ||
		len(r.Changes) != 1 {
		t.Errorf("the status is %v, %v; want a rename", r, err)
	}
	if r := p.sync(); !slices.Equal(did(r, Renamed), []string{"team/notes/z.md"}) || len(r.Changes) != 1 {
		t.Errorf("got %v, want a rename", r.Changes)
	}
	p.still()
	if got := p.texts(); got["team/notes/z.md"] != "one\n" || got["team/notes/a.md"] != "" {
		t.Errorf("the folder has %q", got)
	}
	d := p.read("notes/z.md")
	if d.From == nil || d.From.Entry != was.Version {
		t.Errorf("it is from %v, want the version it was", d.From)
	}
	if _, err := p.Reader.Read(t.Context(), "notes/a.md", nil); err == nil {
		t.Error("the old name has a document")
	}
}

// The same of a folder, of texts that several files have, and of what memory changed meanwhile.
func TestARenamedFolderIsRenamedInMemory(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("plans/a.md", "the same\n")
	p.write("plans/b.md", "the same\n")
	p.write("plans/deep/c.md", "one\ntwo\n")
	p.sync()
	p.write("plans/deep/c.md", "one\n")
	p.move("team/plans", "team/plots")
	r := p.sync()
	if want := []string{"team/plots/a.md", "team/plots/b.md", "team/plots/deep/c.md"}; !slices.Equal(did(r, Renamed),
		want) {
		t.Errorf("got %v, want %v renamed", r.Changes, want)
	}
	p.still()
	p.shows("team/plots/a.md", "the same\n")
	p.shows("team/plots/deep/c.md", "one\n")
	for name := range p.texts() {
		if strings.HasPrefix(name, "team/plans") {
			t.Errorf("%s is there again", name)
		}
	}
}

// What cannot be told apart, or would have fewer readers, is no rename: nothing is lost; what is missing comes back.
func TestWhatMayBeNoRenameIsNone(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("notes/a.md", "the same\n")
	p.write("notes/b.md", "the same\n")
	p.write("notes/ours.md", "of the team\n")
	p.sync()
	p.move("team/notes/a.md", "team/notes/y.md")
	p.move("team/notes/b.md", "team/notes/z.md")
	p.move("team/notes/ours.md", "ours.md")
	r := p.sync()
	if len(did(r, Renamed)) > 0 || len(did(r, PutBack)) != 3 || len(did(r, Taken)) != 3 {
		t.Errorf("got %v", r.Changes)
	}
	p.still()
}

// A file that is moved to where more see it is promoted.
func TestAFileThatIsMovedToTheTeamIsPromoted(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	was := p.write("agents/coder/mine.md", "for all\n")
	p.write("notes/a.md", "of the team\n")
	p.sync()
	p.move("mine.md", "team/notes/ours.md")
	if r := p.sync(); !slices.Equal(did(r, Renamed), []string{"team/notes/ours.md"}) || len(did(r, PutBack)) > 0 {
		t.Errorf("got %v", r.Changes)
	}
	p.shows("mine.md", "Moved to [[notes/ours.md]] (team).\n")
	p.shows("team/notes/ours.md", "for all\n")
	if d := p.read("notes/ours.md"); d.From == nil || d.From.Entry != was.Version {
		t.Errorf("it is from %v, want the version it was", d.From)
	}
	p.still()
}

// A sync that was killed after the rename ends as one that was not.
func TestAKilledRenameIsDone(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("notes/a.md", "one\n")
	p.sync()
	p.move("team/notes/a.md", "team/notes/z.md")
	p.crashesAt("renamed")
	p.sync()
	p.still()
	if got := p.texts(); got["team/notes/z.md"] != "one\n" || got["team/notes/a.md"] != "" {
		t.Errorf("the folder has %q", got)
	}
}

// A box that is not ticked any more says nothing of a day on which it was done.
func TestAnUntickedBoxLosesItsStamp(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/TASKS.md", "- [ ] one\n- [ ] two (done 2020-01-01)\n")
	p.sync()
	p.save("TASKS.md", "- [x] one\n- [ ] two (done 2020-01-01)\n")
	p.sync()
	p.shows("TASKS.md", "- [x] one ("+p.stamp()+")\n- [ ] two (done 2020-01-01)\n")
	p.save("TASKS.md", "- [ ] one ("+p.stamp()+")\n- [ ] two (done 2020-01-01)\n")
	p.sync()
	p.shows("TASKS.md", "- [ ] one\n- [ ] two (done 2020-01-01)\n") // what somebody else wrote there stays
	p.still()
}

// What is about this machine alone does not show in git.
func TestWhatIsOfThisMachineIsNotShownByGit(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.Store = "a store"
	p.sync()
	b, err := os.ReadFile(p.file(ignoreName))
	if err != nil || !strings.Contains(string(b), "\n/"+ownerName+"\n") || !strings.Contains(string(b),
		"\n/"+ignoreName+"\n") {
		t.Errorf("%s has %q, %v", ignoreName, b, err)
	}
	p.save(ignoreName, "of a person\n")
	p.still()
	p.shows(ignoreName, "of a person\n")
}

// Files that are new are compared with those that went away, and with nothing else: where none did, they are read
// when they are taken in, one at a time.
func TestNewFilesAreNotReadForARenameThatCannotBe(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("notes/old.md", "old\n")
	p.sync()
	for _, name := range []string{"a", "b", "c"} {
		p.save("team/notes/"+name+".md", name+"\n")
	}
	var read []string
	p.mid = func(file string) { read = append(read, file) }
	p.sync()
	slices.Sort(read)
	if once := slices.Compact(slices.Clone(read)); len(once) != len(read) {
		t.Errorf("files were read more than once: %v", read)
	}
}
