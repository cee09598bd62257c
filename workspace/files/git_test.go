package files

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// git runs git in the folder of a person.
func (p *person) git(args ...string) string {
	p.w.t.Helper()
	c := exec.Command("git", args...)
	c.Dir = p.Dir
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@x", "GIT_COMMITTER_NAME=x",
		"GIT_COMMITTER_EMAIL=x@x")
	out, err := c.CombinedOutput()
	if err != nil {
		p.w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

// committing is a person whose folder is committed to git, in a test beside others.
func committing(t *testing.T) *person {
	t.Helper()
	t.Parallel()
	needGit(t)
	p := newWorld(t, "ann").person(0)
	p.Git = true
	return p
}

// session opens a session of the role and closes it.
func (p *person) session(title string) (path string) {
	p.w.t.Helper()
	o, err := p.Reader.Open(p.w.t.Context())
	if err == nil {
		_, err = p.Reader.Close(p.w.t.Context(), workspace.Closing{Session: o.Session, Title: title,
			Happened: "It floats."})
	}
	if err != nil {
		p.w.t.Fatal(err)
	}
	return o.Session
}

func TestCommitsSayWhatHappened(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\n")
	p.session("Built the boat")
	if r := p.sync(); r.Commit == "" {
		t.Fatalf("nothing was committed: %+v", r)
	}
	log := p.git("log", "-1", "--format=%B")
	if !strings.HasPrefix(log, "coder: 1 session") || !strings.Contains(log, "session closed: Built the boat") {
		t.Errorf("got\n%s", log)
	}
	if got := p.git("status", "--porcelain"); got != "" {
		t.Errorf("not committed: %s", got)
	}
	if r := p.sync(); r.Commit != "" {
		t.Errorf("nothing happened, and %s was committed", r.Commit)
	}
	p.save("a.md", "a\nb\n")
	p.save("a.md~", "an editor's\n")
	p.save("bad.md", "\xff")
	p.sync()
	if log := p.git("log", "-1", "--format=%B"); !strings.HasPrefix(log, "coder: 1 edited file\n") ||
		!strings.Contains(log, "- a.md\n") {
		t.Errorf("got\n%s", log)
	}
	names := strings.Fields(p.git("ls-files"))
	if slices.Contains(names, "a.md~") || slices.Contains(names, "bad.md") || !slices.Contains(names, markerName) {
		t.Errorf("in git: %v", names)
	}
	if n := p.git("rev-list", "--count", "HEAD"); n != "2" {
		t.Errorf("%s commits, want 2", n)
	}
}

// What a commit takes away is named, and who took it away: a person, or memory, be it since the last commit.
func TestCommitsSayWhatWasRemoved(t *testing.T) {
	p := committing(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		p.write("agents/coder/"+name+".md", name+"\n")
	}
	p.sync()
	if _, err := p.Reader.Remove(t.Context(), "agents/coder/a.md", nil, nil); err != nil {
		t.Fatal(err)
	}
	p.watched = true
	if r := p.sync(); r.Commit != "" || len(did(r, Removed)) != 1 {
		t.Fatalf("got %+v, want a.md removed and no commit for that", r)
	}
	if err := os.Remove(p.file("b.md")); err != nil {
		t.Fatal(err)
	}
	p.move("c.md", "e.md")
	p.Delete = true
	p.sync()
	log := p.git("log", "-1", "--format=%B")
	for _, want := range []string{"coder: 1 renamed file, 2 removed files\n",
		"Renamed by a person:\n- e.md, from c.md\n", "Removed by a person, and from memory:\n- b.md\n",
		"Not in memory any more:\n- a.md\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("want %q in\n%s", want, log)
		}
	}
}

// An edit of the summary of a session is told as that, and is one commit with all that is kept of it.
func TestAnEditedSessionIsNotClosedAgain(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched %v", watched), func(t *testing.T) {
			p := committing(t)
			p.write("agents/coder/TASKS.md", "- [ ] one\n")
			file := "sessions/" + path.Base(p.session("Built the boat"))
			p.sync()
			p.save(file, "# Built the ship\n\nIt floats.\n")
			if p.watched = watched; watched {
				p.only = map[string]bool{file: true}
			}
			p.sync()
			log := p.git("log", "-1", "--format=%B")
			if !strings.Contains(log, "session edited: ") || strings.Contains(log, "closed") {
				t.Errorf("got\n%s", log)
			}
			if p.only, p.watched = nil, false; p.sync().Commit != "" {
				t.Errorf("committed once more:\n%s", p.git("show", "--stat", "HEAD"))
			}
			if got := p.texts()[progressName]; !strings.Contains(got, "outcome: closed, ") {
				t.Errorf("last completed:\n%s", got)
			}
		})
	}
}

// What a program did of a list is what was completed last.
func TestTicksAreProgress(t *testing.T) {
	p := committing(t)
	if _, err := p.Reader.Write(t.Context(), workspace.Draft{Path: "agents/coder/ralph/x/1.md", Title: "Pay the bill",
		Kind: tasks.KindAttempts, Text: "# Pay the bill\n", Tags: []string{tasks.TickedTag}}); err != nil {
		t.Fatal(err)
	}
	p.sync()
	if got := p.texts()[progressName]; !strings.Contains(got, "LAST COMPLETED\nwhat: Pay the bill\n") {
		t.Errorf("got\n%s", got)
	}
	if log := p.git("log", "-1", "--format=%B"); !strings.HasPrefix(log, "coder: 1 task\n") {
		t.Errorf("got\n%s", log)
	}
}

// Watching, what agents write waits for something that is worth a commit.
func TestCommitsWaitForAReason(t *testing.T) {
	p := committing(t)
	p.watched = true
	p.write("agents/coder/a.md", "a\n")
	if r := p.sync(); r.Commit != "" {
		t.Errorf("a note was committed: %v", r)
	}
	p.save("a.md", "a\nb\n")
	if r := p.sync(); r.Commit == "" {
		t.Error("an edit was not committed")
	}
}

// What people have staged stays theirs, and what is not of memory is never committed.
func TestCommitsAreOfMemoryAlone(t *testing.T) {
	p := committing(t)
	top := filepath.Dir(p.Dir)
	q := &person{&Folder{Dir: top}, p.w}
	q.git("init", "-q")
	q.save("code.go", "package x\n")
	q.git("add", "code.go")
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	if got := q.git("ls-tree", "-r", "--name-only", "HEAD"); strings.Contains(got, "code.go") ||
		!strings.Contains(got, "memory/a.md") {
		t.Errorf("in git: %s", got)
	}
	if got := q.git("diff", "--cached", "--name-only"); got != "code.go" {
		t.Errorf("staged: %q, want code.go", got)
	}
}

// A folder that git put back to an earlier commit is not taken for what people want.
func TestGitMovesNothingInMemory(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	p.write("agents/coder/a.md", "a\nb\n")
	p.sync()
	p.git("checkout", "-q", "HEAD~1")
	if _, err := p.Sync(t.Context()); !errors.Is(err, ErrMoved) {
		t.Errorf("an older commit: %v", err)
	}
	p.git("checkout", "-q", "-")
	p.still()
	p.git("reset", "-q", "--hard", "HEAD~1")
	if _, err := p.Sync(t.Context()); !errors.Is(err, ErrMoved) {
		t.Errorf("put back: %v", err)
	}
	p.Revert = true
	p.sync()
	if got := p.read("agents/coder/a.md").Text; got != "a\n" {
		t.Errorf("reverted on purpose: %q", got)
	}
	p.Revert = false
	p.still()
	p.save("a.md", "a\nc\n")
	p.git("commit", "-q", "-am", "by hand")
	p.sync()
	if got := p.read("agents/coder/a.md").Text; got != "a\nc\n" {
		t.Errorf("a commit by hand: %q", got)
	}
}

// A rebase or an amend gives the commits of syncs other names. What it changes in files are edits.
func TestARewrittenHistoryIsEdits(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\nb\nc\nd\ne\n")
	p.sync()
	p.git("branch", "upstream")
	p.write("agents/coder/a.md", "a\nb\nc\nd\ne by an agent\n")
	p.write("agents/coder/b.md", "b\n")
	p.sync()
	p.git("checkout", "-q", "upstream")
	p.save("a.md", "a by another\nb\nc\nd\ne\n")
	p.git("commit", "-q", "-am", "upstream")
	p.git("checkout", "-q", "-")
	p.git("rebase", "-q", "upstream")
	p.sync()
	want := "a by another\nb\nc\nd\ne by an agent\n"
	if got := p.read("agents/coder/a.md").Text; got != want {
		t.Errorf("rebased: got %q, want %q", got, want)
	}
	p.still()
	p.save("b.md", "b amended\n")
	p.git("commit", "-q", "--amend", "--no-edit", "-a")
	p.sync()
	if got := p.read("agents/coder/b.md").Text; got != "b amended\n" {
		t.Errorf("amended: got %q", got)
	}
	p.still()
	p.write("agents/coder/a.md", "dropped\n")
	p.sync()
	p.git("reset", "-q", "--hard", "HEAD~1")
	p.save("b.md", "b by hand\n")
	p.git("commit", "-q", "-am", "by hand", "--date=2020-01-01T00:00:00Z")
	if _, err := p.Sync(t.Context()); !errors.Is(err, ErrMoved) {
		t.Errorf("a commit was dropped: %v", err)
	}
}

// What agents wrote and nobody committed yet is not lost when a person has git drop what is not committed.
func TestGitTakesNothingBack(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	p.watched = true
	p.write("agents/coder/a.md", "a\nan agent's\n")
	p.sync()
	p.git("checkout", "-q", "--", ".")
	p.shows("a.md", "a\n")
	if got := did(p.sync(), PutBack); !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("put back: %v", got)
	}
	p.shows("a.md", "a\nan agent's\n")
	p.still()
}

// A clone of the repository alone gives back the documents, with what is known of them, to a home that knows nothing.
func TestACloneGivesTheDocumentsBack(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/TASKS.md", "# Now\n\n- [x] one\n- [ ] two\n")
	p.write("agents/coder/current-state.md", "all is well\n")
	p.write("agents/coder/learnings/2026-10.md", "- a\n")
	p.write("agents/coder/learnings/2026-11.md", "- b\n")
	p.write("plans/sail.md", "# Sail\n\nat noon\n")
	if _, err := p.Reader.Write(t.Context(), workspace.Draft{Path: "decisions/x.md", Text: "we chose x\n",
		Title: "Of x and y", Tags: []string{"xy", "import:abc"}, Kind: "verdict",
		Visibility: &workspace.Visibility{Tier: workspace.Public}}); err != nil {
		t.Fatal(err)
	}
	session := p.session("Built the boat")
	p.sync()
	p.save(progressName, p.texts()[progressName]+"a note of ann\n")
	p.sync()
	q := newWorld(t, "bob").person(0)
	if out, err := exec.Command("git", "clone", "-q", p.Dir, q.Dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	q.sync()
	for _, path := range []string{"agents/coder/TASKS.md", "agents/coder/current-state.md", "plans/sail.md",
		"agents/coder/learnings/2026-10.md", "agents/coder/learnings/2026-11.md", "decisions/x.md", session} {
		was, is := p.read(path), q.read(path)
		if is.Text != was.Text || is.Title != was.Title && was.Title != "Learnings" ||
			is.Kind != was.Kind && !strings.Contains(path, "learnings/") || is.Visibility.Tier != was.Visibility.Tier {
			t.Errorf("%s came back as %+v, was %+v", path, is, was)
		}
	}
	if d := q.read("decisions/x.md"); !slices.Equal(d.Tags, []string{"xy"}) || d.Author != q.w.keys[0].Key() {
		t.Errorf("came back with tags %v by %s", d.Tags, d.Author.Short())
	}
	if got := q.texts()[progressName]; !strings.Contains(got, "a note of ann\n") {
		t.Errorf("got\n%s", got)
	}
	q.still()
}

// Whoever can write to the folder of memory is not who syncs it: what git would run there is not run.
func TestNoProgramOfTheRepositoryIsRun(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	ran := filepath.Join(t.TempDir(), "ran")
	touch := func(by string) string { return "echo " + by + " >> " + ran }
	p.git("config", "core.fsmonitor", touch("fsmonitor")+"; false")
	p.git("config", "filter.x.clean", touch("filter")+"; cat")
	p.git("config", "filter.x.required", "true")
	p.git("config", "filter.y.process", touch("process"))
	for name, text := range map[string]string{".git/info/attributes": "a.md filter=x\nb.md filter=y\n",
		".git/hooks/post-index-change":     "#!/bin/sh\n" + touch("hook"),
		".git/hooks/reference-transaction": "#!/bin/sh\n" + touch("hook")} {
		path := filepath.Join(p.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	before := p.git("-c", "core.fsmonitor=false", "rev-list", "--count", "HEAD")
	if err := os.RemoveAll(ran); err != nil {
		t.Fatal(err)
	}
	p.write("agents/coder/a.md", "more\n")
	p.write("agents/coder/b.md", "b\n")
	p.sync()
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("ran: %s", b)
	}
	if after := p.git("-c", "core.fsmonitor=false", "rev-list", "--count", "HEAD"); after == before {
		t.Errorf("nothing was committed: %s commits before and after", after)
	}
	for name, value := range map[string]string{"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin",
		"remote.origin.promisor": "true", "remote.origin.url": t.TempDir(),
		"remote.origin.uploadpack": touch("uploadpack") + ";"} { // what is missing would be fetched by it
		p.git("config", name, value)
	}
	tree := p.git("-c", "core.fsmonitor=false", "rev-parse", "HEAD^{tree}")
	if err := os.Remove(filepath.Join(p.Dir, ".git", "objects", tree[:2], tree[2:])); err != nil {
		t.Fatal(err)
	}
	p.write("agents/coder/a.md", "still more\n")
	if _, err := p.Sync(t.Context()); err == nil {
		t.Error("a repository of which something is missing was committed to")
	}
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("ran: %s", b)
	}
}

// Of a file that was written in the same moment as the index, git finds out whether it differs by what is in it.
func TestNoFilterIsRunOnWhatChangedTogetherWithTheIndex(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	ran, file := filepath.Join(t.TempDir(), "ran"), filepath.Join(p.Dir, "current-state.md")
	p.save("current-state.md", "here\n")
	p.sync()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	p.git("update-index", "--refresh")
	if err := os.Chtimes(filepath.Join(p.Dir, ".git", "index"), at, at); err != nil {
		t.Fatal(err)
	}
	p.git("config", "filter.x.clean", "echo filter >> "+ran+"; cat")
	attributes := filepath.Join(p.Dir, ".git", "info", "attributes")
	if err := os.WriteFile(attributes, []byte("*.md filter=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("agents/coder/b.md", "b\n")
	p.sync()
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("ran: %s", b)
	}
	if staged := p.git("-c", "filter.x.clean=cat", "diff", "--cached", "--name-only"); staged != "" {
		t.Errorf("staged: %s", staged)
	}
}

// A repository inside the folder has settings of its own: git does not look into it.
func TestNoProgramOfARepositoryInsideIsRun(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	ran := filepath.Join(t.TempDir(), "ran")
	p.save("sub/x.md", "x\n")
	in := func(args ...string) { p.git(append([]string{"-C", "sub"}, args...)...) }
	in("init", "-q")
	in("add", "x.md")
	in("commit", "-q", "-m", "a submodule")
	p.git("update-index", "--add", "--cacheinfo", "160000,"+p.git("-C", "sub", "rev-parse", "HEAD")+",sub")
	p.git("commit", "-q", "-m", "with a submodule")
	in("config", "filter.x.clean", "echo filter >> "+ran+"; cat")
	if err := os.WriteFile(p.file("sub/.git/info/attributes"), []byte("* filter=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.save("sub/x.md", "y\n")
	for _, name := range []string{".perdure-about/x", "agents"} { // where it has files of its own, too
		if err := os.MkdirAll(p.file(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(p.file("sub/.git"), p.file(name+"/.git")); err != nil {
			t.Fatal(err)
		}
		p.git("update-index", "--add", "--cacheinfo", "160000,"+p.git("-C", "sub", "rev-parse", "HEAD")+","+name)
	}
	p.git("commit", "-q", "-m", "more of it")
	if err := os.RemoveAll(ran); err != nil {
		t.Fatal(err)
	}
	p.write("agents/coder/a.md", "more\n")
	p.sync()
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("ran: %s", b)
	}
	if got := p.git("show", "HEAD:a.md"); got != "more" {
		t.Errorf("committed: %q", got)
	}
}

// Git takes some names for its own folder and refuses them: one document of such a name must not keep the others from
// being committed.
func TestNameThatGitRefusesKeepsNothingFromBeingCommitted(t *testing.T) {
	p := committing(t)
	p.write("agents/coder/a.md", "a\n")
	p.sync()
	for _, name := range []string{"git~1/x.md", "b/GIT~1.md", "Git~1"} {
		p.write("agents/coder/"+name, "x\n")
	}
	p.save("git~1/own.md", "x\n")
	p.write("agents/coder/a.md", "more\n")
	p.sync()
	if got := p.git("show", "HEAD:a.md"); got != "more" {
		t.Errorf("committed: %q", got)
	}
}
