package files

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// secret is a guard for a word.
type secret string

func (s secret) Check(text []byte) error {
	if bytes.Contains(text, []byte(s)) {
		return perdure.Invalid(errors.New("a secret is in it"))
	}
	return nil
}

// A folder called private is one like any other, unless it stands for a name that shared documents have.
func TestFilesBelowPrivateAreTakenIn(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/team/x.md", "x\n")
	p.write("agents/coder/private/team/y.md", "y\n")
	p.sync()
	p.shows("private/team/x.md", "x\n")
	p.shows("private/private/team/y.md", "y\n")
	p.save("private/thoughts.md", "typed\n")
	p.save("private/deep/thoughts.md", "typed deep\n")
	p.sync()
	if got := p.read("agents/coder/private/thoughts.md").Text; got != "typed\n" {
		t.Errorf("got %q", got)
	}
	p.still()
	p.shows("private/thoughts.md", "typed\n")
	p.shows("private/deep/thoughts.md", "typed deep\n")
}

// What has no place in memory is refused by its name, each time.
func TestFilesWithoutAPlaceAreNamed(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.sync()
	names := []string{"learnings/2026-11.md", "public", "scopes/acme/x.md", "scopes/x.md", "team"}
	for _, name := range names {
		p.save(name, "typed\n")
	}
	for range 2 {
		r := p.sync()
		if got := did(r, Refused); !slices.Equal(got, names) || r.Err() == nil {
			t.Errorf("refused: %v, want %v", r.Changes, names)
		}
	}
	for _, name := range names {
		p.shows(name, "typed\n")
	}
}

// A commit holds what memory has, and nothing else of the folder.
func TestOnlyWhatMemoryHasIsCommitted(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	p.git("commit", "-q", "--allow-empty", "-m", "by hand")
	p.save("picture.md", "by hand\xff")
	p.git("add", "picture.md")
	p.git("commit", "-q", "-m", "a picture")
	p.Reader.Node.Guard = secret("sesame")
	p.save("a.md", "a\nopen sesame\n")
	p.save("private/s.md", "open sesame\n")
	p.save("scopes/x.md", "open sesame\n")
	p.save("team", "open sesame\n")
	p.save("#b.md#", "an editor's\n")
	p.save("picture.md", "\xff\xfe")
	p.save("picture2.md", "\xff\xfe")
	p.save("b.md", "b\n")
	if err := os.Symlink("/etc/hostname", p.file("link.md")); err != nil {
		t.Skip(err)
	}
	r := p.sync()
	if r.Commit == "" {
		t.Fatalf("nothing was committed: %v", r.Changes)
	}
	got := strings.Fields(p.git("ls-files"))
	want := []string{".perdure-folder", "ERRORS.md", "a.md", "b.md", "picture.md", "progress.txt"}
	if !slices.Equal(got, want) {
		t.Errorf("committed: %v, want %v", got, want)
	}
	if text := p.git("show", "HEAD:a.md"); text != "a" {
		t.Errorf("a.md: %q", text)
	}
	if text := p.git("show", "HEAD:picture.md"); text != "by hand\xff" {
		t.Errorf("picture.md: %q", text)
	}
}

// A file that is made again after its document was removed is taken in again.
func TestAFileMadeAgainIsTakenInAgain(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.sync()
	p.save("a.md", "typed\n")
	p.sync()
	p.Delete = true
	if err := os.Remove(p.file("a.md")); err != nil {
		t.Fatal(err)
	}
	p.sync()
	p.save("a.md", "typed\n")
	p.sync()
	p.shows("a.md", "typed\n")
	if got := p.read("agents/coder/a.md").Text; got != "typed\n" {
		t.Errorf("got %q", got)
	}
	p.still()
}

// An edit that memory took back, and that is made again, is another edit.
func TestAnEditMadeAgainIsTakenInAgain(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	for range 2 {
		p.write("agents/coder/TASKS.md", "- [ ] one\n")
		p.write("agents/coder/learnings/2026-11.md", "- it rains\n")
		p.sync()
		p.save("TASKS.md", "- [ ] one\n- [ ] two\n")
		p.save(learnedName, "## 2026-11\n\n- it rains\n- it pours\n")
		p.save(progressName, strings.Replace(p.texts()[progressName], "NOTES\n", "NOTES\nnote\n", 1))
		p.sync()
		if got := p.read("agents/coder/TASKS.md").Text; got != "- [ ] one\n- [ ] two\n" {
			t.Errorf("got %q", got)
		}
		if got := p.read("agents/coder/learnings/2026-11.md").Text; got != "- it rains\n- it pours\n" {
			t.Errorf("learned: %q", got)
		}
		if got := p.read("agents/coder/progress.txt").Text; got != "note\n" {
			t.Errorf("notes: %q", got)
		}
		p.write("agents/coder/progress.txt", "")
	}
}
