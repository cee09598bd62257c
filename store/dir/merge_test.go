package dir

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/storetest"
)

var began = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// author writes memories for tests.
type author struct{ *perdure.Signer }

func newAuthor() author { return author{must(perdure.GenerateSigner("author"))} }

func (w author) genesis(name string) (*perdure.Entry, *perdure.Agent) {
	e := must(w.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: "be kept"},
		Charter: perdure.Charter{Scope: "acme"}}, began))
	return e, must(perdure.Begin(e))
}

func (w author) commit(a *perdure.Agent, names ...string) ([]*perdure.Entry, *perdure.Agent) {
	var drafts []perdure.Draft
	for _, n := range names {
		drafts = append(drafts, perdure.Draft{Body: perdure.Event{Name: n,
			Data: must(perdure.DataOf(strings.Repeat(n, 50)))}})
	}
	es, next, err := w.Commit(a, began, drafts...)
	if err != nil {
		panic(err)
	}
	return es, next
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t testing.TB, s perdure.Store, id perdure.AgentID, entries ...*perdure.Entry) {
	t.Helper()
	if err := s.Put(t.Context(), id, entries...); err != nil {
		t.Fatal(err)
	}
}

// twoBranches is an agent that two places wrote to.
type twoBranches struct {
	id                 perdure.AgentID
	trunk, left, right []*perdure.Entry
	both               perdure.Hash // of the fold
}

func branches(t testing.TB) twoBranches {
	w, v := newAuthor(), newAuthor()
	g, a := w.genesis("Two Ways")
	trunk, a1 := w.commit(a, "trunk", "more")
	left, _ := w.commit(a1, "left", "left")
	right, _ := v.commit(a1, "right", "right")
	both, err := a1.Apply(append(append([]*perdure.Entry{}, left...), right...)...)
	if err != nil {
		t.Fatal(err)
	}
	return twoBranches{g.ID(), append([]*perdure.Entry{g}, trunk...), left, right, must(both.Fold().Hash())}
}

// folds fails unless the folder has one file, whose agent folds to the hash.
func folds(t testing.TB, dir string, id perdure.AgentID, want perdure.Hash) {
	t.Helper()
	s := open(t, dir)
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	if got := must(a.Fold().Hash()); got != want {
		t.Fatalf("fold %s of %d entries, want %s", got.Short(), a.Fold().Count, want.Short())
	}
	if faults := s.Faults(); len(faults) > 0 {
		t.Fatalf("files left alone: %v", faults)
	}
	if files := must(filepath.Glob(filepath.Join(dir, "[^.]*"))); len(files) != 1 {
		t.Fatalf("files %v, want one", files)
	}
}

func TestCopiesThatDivergedAreMerged(t *testing.T) {
	b := branches(t)
	here, there := t.TempDir(), t.TempDir()
	one, two := open(t, here), open(t, there)
	put(t, one, b.id, b.trunk...)
	put(t, two, b.id, b.trunk...)
	put(t, one, b.id, b.left...)
	put(t, two, b.id, b.right...)
	name := capsule.FileName("Two Ways", b.id)
	if !strings.HasPrefix(name, "two-ways-") {
		t.Fatalf("file name %q", name)
	}
	theirs := must(os.ReadFile(filepath.Join(there, name)))
	ours := must(os.ReadFile(filepath.Join(here, name)))
	common := 0
	for common < len(ours) && ours[common] == theirs[common] {
		common++
	}
	common = bytes.LastIndexByte(ours[:common], '\n') + 1
	marked := append(append(append([]byte("<<<<<<< HEAD\n"), ours[common:]...), "=======\n"...), theirs[common:]...)
	for how, arrange := range map[string]func(dir string) error{
		"a copy that Syncthing left": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, strings.TrimSuffix(name, ".agent")+
				".sync-conflict-20260101-120000-ABCDEFG.agent"), theirs, 0o644)
		},
		"a copy under another name": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "a copy.agent"), theirs, 0o644)
		},
		"a copy that was exported": func(dir string) error {
			var buf bytes.Buffer
			if _, err := capsule.Export(t.Context(), &buf, two, b.id, capsule.Options{}); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "exported.agent"), buf.Bytes(), 0o644)
		},
		"a merge by lines": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, name), append(bytes.Clone(ours), theirs[common:]...), 0o644)
		},
		"a merge the other way round": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, name), append(append(bytes.Clone(ours[:common]), theirs[common:]...),
				ours[common:]...), 0o644)
		},
		"both files, one after the other": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, name), append(bytes.Clone(ours), theirs...), 0o644)
		},
		"a merge nobody resolved": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, name), append(append(bytes.Clone(ours[:common]), marked...),
				">>>>>>> theirs\n"...), 0o644)
		},
	} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), ours, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := arrange(dir); err != nil {
				t.Fatal(err)
			}
			folds(t, dir, b.id, b.both)
			s := open(t, dir)
			put(t, s, b.id, append(b.left, b.right...)...) // nothing new
			folds(t, dir, b.id, b.both)
		})
	}
	t.Run("while the store is open", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(here, "late.sync-conflict-1.agent"), theirs, 0o644); err != nil {
			t.Fatal(err)
		}
		for range one.Due(t.Context(), began) {
		}
		folds(t, here, b.id, b.both)
		heads, err := one.Heads(t.Context(), b.id)
		if err != nil || len(heads) != 2 {
			t.Fatalf("heads %v, %v, want two", heads, err)
		}
	})
}

func TestGitMergesAgents(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	b := branches(t)
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c",
			"commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(entries ...*perdure.Entry) {
		t.Helper()
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, b.id, entries...)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		run("add", "-A")
		run("commit", "-q", "-m", "more")
	}
	run("init", "-q", "-b", "main")
	write(b.trunk...)
	run("checkout", "-q", "-b", "side")
	write(b.right...)
	run("checkout", "-q", "main")
	write(b.left...)
	run("merge", "-q", "-m", "merge", "side")
	folds(t, dir, b.id, b.both)
	run("status", "--porcelain")
}

func TestFilesThatAreNoAgentsAreLeftAlone(t *testing.T) {
	b := branches(t)
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, b.id, b.trunk...)
	good := must(os.ReadFile(filepath.Join(dir, capsule.FileName("Two Ways", b.id))))
	bad := map[string][]byte{
		"picture.agent": []byte("\x89PNG"), "empty.agent": nil,
		"newer.agent":   bytes.Replace(good, []byte(`"version":1}`), []byte(`"version":9}`), 1),
		"changed.agent": bytes.Replace(good, []byte("trunktrunk"), []byte("trunktrank"), 1),
		"notes.txt":     []byte("hello"),
	}
	for name, text := range bad {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside.agent")
	if err := os.WriteFile(outside, good, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.agent")); err != nil {
		t.Logf("no symbolic links here: %v", err)
	}
	n := 0
	for l, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil || l.Agent != b.id {
			t.Fatalf("listing %+v, %v", l, err)
		}
		n++
	}
	if n != 1 {
		t.Fatalf("%d agents, want 1", n)
	}
	faults := s.Faults()
	for _, name := range []string{"picture.agent", "empty.agent", "newer.agent", "changed.agent"} {
		if faults[name] == nil {
			t.Errorf("%s is not among the files left alone", name)
		}
		if now := must(os.ReadFile(filepath.Join(dir, name))); !bytes.Equal(now, bad[name]) {
			t.Errorf("%s was changed", name)
		}
	}
	if len(faults) != 4 {
		t.Errorf("files left alone: %v, want four", faults)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("a file outside the folder: %v", err)
	}
	put(t, s, b.id, b.left...)
}

func TestTheIndexCanBeThrownAway(t *testing.T) {
	b := branches(t)
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, b.id, b.trunk...)
	node := newAuthor().Key()
	first := must(s.Claim(t.Context(), b.id, node, time.Hour))
	for range s.List(t.Context(), perdure.Filter{}) {
	}
	if err := os.RemoveAll(filepath.Join(dir, indexDir)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for l, err := range s.Due(t.Context(), began) {
		if err != nil || l.Agent != b.id {
			t.Fatal(l, err)
		}
		n++
	}
	if n != 1 {
		t.Fatalf("%d agents due without an index, want 1: the claim went with it", n)
	}
	if c, err := s.Claim(t.Context(), b.id, newAuthor().Key(), time.Hour); err != nil || c.Fence <= first.Fence {
		t.Fatalf("claim without an index: %+v after %+v, %v", c, first, err)
	}
	if err := os.WriteFile(filepath.Join(dir, indexDir, journalName), []byte("nonsense\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, s, b.id, b.left...)
	if err := s.Reindex(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for l, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil || l.Entries != int64(len(b.trunk)+len(b.left)) {
			t.Fatalf("listing %+v, %v", l, err)
		}
	}
}

func TestAJournalIsCompacted(t *testing.T) {
	b := branches(t)
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	put(t, s, b.id, b.trunk...)
	node := newAuthor().Key()
	var last perdure.Claim
	for i := range 6000 {
		store := s
		if i%2 == 1 {
			store = other
		}
		c, err := store.Claim(t.Context(), b.id, node, time.Hour)
		if err != nil || c.Fence <= last.Fence {
			t.Fatalf("claim %d: %+v after %+v, %v", i, c, last, err)
		}
		last = c
	}
	info, err := os.Stat(filepath.Join(dir, indexDir, journalName))
	if err != nil || info.Size() > compactAbove+4096 {
		t.Fatalf("journal of %d bytes after many claims, %v", info.Size(), err)
	}
}

func TestPrunedInOneCopyIsPruned(t *testing.T) {
	b := branches(t)
	here, there := t.TempDir(), t.TempDir()
	one, two := open(t, here), open(t, there)
	put(t, one, b.id, b.trunk...)
	put(t, two, b.id, append(b.trunk, b.right...)...)
	said, _, err := must(perdure.GenerateSigner("gc")).Commit(must(perdure.Load(t.Context(), one, b.id)), time.Now(),
		perdure.Draft{Body: perdure.Event{
			Name: "pruned", Notice: perdure.Pruned{Rule: "ttl", Through: b.trunk[2].Name, Entries: 1},
		}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, one, b.id, said...)
	if _, err := storetest.Prune(t.Context(), one, b.id, b.trunk[1].Name); err != nil {
		t.Fatal(err)
	}
	name := capsule.FileName("Two Ways", b.id)
	if err := os.WriteFile(filepath.Join(here, "copy.agent"), must(os.ReadFile(filepath.Join(there, name))),
		0o644); err != nil {
		t.Fatal(err)
	}
	if faults := one.Faults(); len(faults) > 0 {
		t.Fatal(faults)
	}
	i := 0
	for item, err := range one.Entries(t.Context(), b.id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if (item.Content() == nil) != (i == 1) {
			t.Fatalf("entry %d: body dropped: %v", i, item.Content() == nil)
		}
		i++
	}
	if want := len(b.trunk) + len(b.right) + len(said); i != want {
		t.Fatalf("%d entries, want %d", i, want)
	}
}
