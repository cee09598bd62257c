package storetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// resting are the tests of what a store keeps when nobody holds it.
var resting = map[string]func(*testing.T, *suite){
	"EverythingIsThereAfterReopening":   testReopen,
	"TwoHandlesShareAStore":             testTwoHandles,
	"TwoProcessesShareAStore":           testTwoProcesses,
	"WatchSeesAnotherHandle":            testWatchOther,
	"WatchSeesAnotherProcess":           testWatchProcess,
	"AcknowledgedEntriesSurviveAKill":   testKill,
	"AKilledSequenceLeavesNothing":      testKillSequence,
	"BackupOpensAsAStore":               testBackup,
	"ClaimsHoldAcrossHandles":           testClaimHandles,
	"ManyProcessesMayMakeTheSameStore":  testMakeAtOnce,
	"LeasesFromTheFutureAreNotBelieved": testFutureLease,
}

func testReopen(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{Name: "a"}, "acme")
	s.append(t, a.ID(), nil, g)
	es, a := w.commit(a, began, event("x", 10), event("y", 100_000), snapshot(a))
	s.append(t, a.ID(), []perdure.Hash{g.Name}, es...)
	a = s.grow(w, a, began, sleep(began.Add(time.Hour)))
	all := items(t, s, a.ID(), 0)
	if l, ok := s.Store.(perdure.Lister); ok {
		if err := l.Index(t.Context(), a.Heads(), a.Listing(began)); err != nil {
			t.Fatal(err)
		}
	}
	s.reopen()
	var want []*perdure.Entry
	for i, item := range items(t, s, a.ID(), 0) {
		if item.Cursor != all[i].Cursor {
			t.Fatalf("cursor %d after reopening: %d, want %d", i, item.Cursor, all[i].Cursor)
		}
		want = append(want, all[i].Entry)
	}
	holds(t, s, a.ID(), want...)
	hasHeads(t, s, a.ID(), want[len(want)-1])
	if got := due(t, s, began.Add(2*time.Hour)); len(got) != 1 || got[0].Due != perdure.TimeOf(began.Add(time.Hour)) {
		t.Fatalf("due after reopening: %v", got)
	}
	if l, ok := s.Store.(perdure.Lister); ok {
		if got := list(t, l, perdure.Filter{}); len(got) != 1 || got[0].State != phase.Dormant {
			t.Fatalf("listing after reopening: %v", got)
		}
	}
	s.grow(w, a, began, event("goes on", 10))
}

func testTwoHandles(t *testing.T, s *suite) {
	other := &suite{Kind: s.Kind, Store: s.open(), test: t, path: s.path}
	w := newAuthor(t)
	a := s.create(w, "a")
	for range 20 {
		a = other.grow(w, a, began, event("other", 10))
		a = s.grow(w, a, began, event("one", 10), event("more", 10))
	}
	if n, m := len(items(t, s, a.ID(), 0)), len(items(t, other, a.ID(), 0)); n != 61 || m != 61 {
		t.Fatalf("entries through the two handles: %d and %d, want 61", n, m)
	}
	var group sync.WaitGroup
	for i, h := range []perdure.Store{s.Store, other.Store, s.Store, other.Store} {
		w := newAuthor(t)
		group.Go(func() {
			for range 25 {
				if err := appendOnTop(t, h, w, a.ID(), i == 3); err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	if n := len(items(t, s, a.ID(), 0)); n != 161 {
		t.Fatalf("entries: %d, want 161", n)
	}
}

func testClaimHandles(t *testing.T, s *suite) {
	one := optional[perdure.Claimer](t, s.Store)
	two := s.open().(perdure.Claimer)
	w := newAuthor(t)
	a := s.create(w, "a")
	node, rival := newAuthor(t).Key(), newAuthor(t).Key()
	c := claim(t, one, a.ID(), node, time.Hour)
	if _, err := two.Claim(t.Context(), a.ID(), rival, time.Hour); err == nil {
		t.Fatal("an agent was claimed through two handles at once")
	}
	a = s.grow(w, a, began, event("x", 10))
	if err := one.Release(t.Context(), c, a.Heads(), perdure.TimeOf(began.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if next := claim(t, two, a.ID(), rival, time.Hour); next.Fence <= c.Fence {
		t.Fatalf("fence through another handle: %d after %d, want higher", next.Fence, c.Fence)
	}
}

// child starts this test binary again to do a task with the store at path, and returns what it prints, line by line.
func child(t *testing.T, task, path string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command(os.Args[0], "-test.run=^"+regexp.QuoteMeta(test)+"$")
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(append([]string{task, path}, args...), "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, bufio.NewScanner(out)
}

// childT is what a child process has for a testing.TB: it prints and exits.
type childT struct {
	testing.TB
}

func (childT) Helper()                  {}
func (childT) Context() context.Context { return context.Background() }
func (c childT) Fatal(args ...any)      { c.Fatalf("%s", fmt.Sprint(args...)) }
func (childT) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "child process: "+format+"\n", args...)
	os.Exit(1)
}

// runChild does what the environment asks, and exits.
func runChild(k Kind, task string) {
	t := childT{}
	args := strings.Split(task, "\n")
	store, err := k.Open(context.Background(), args[1])
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{Kind: k, Store: store}
	w := newAuthor(t)
	switch args[0] {
	case "create": // agents without end, until killed; each acknowledged entry is reported
		for {
			a := s.create(w, "a")
			report(a)
			for i := range 5 {
				a = s.grow(w, a, began, event("x", 10), event("y", 100<<(3*i)))
				report(a)
			}
		}
	case "append": // 40 commits to the agent named, whoever else does so
		var id perdure.AgentID
		if err := id.UnmarshalText([]byte(args[2])); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			if err := appendOnTop(t, store, w, id, false); err != nil {
				t.Fatal(err)
			}
		}
	case "sequence": // a long memory, killed on the way
		g, a := w.genesis(perdure.Intent{}, "acme")
		all := append([]*perdure.Entry{g}, long(w, a)...)
		kept, _ := strconv.Atoi(args[2])
		if kept > 0 {
			s.append(t, a.ID(), nil, all[:kept]...)
		}
		report(a)
		err := putAll(context.Background(), store, a.ID(), func(yield func(*perdure.Entry, error) bool) {
			for _, e := range all[:len(all)-1] {
				if !yield(e, nil) {
					return
				}
			}
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		})
		t.Fatal(err)
	case "make": // one agent
		report(s.create(w, "a"))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

// report prints an acknowledged head.
func report(a *perdure.Agent) { fmt.Printf("acknowledged %s %s\n", a.ID(), a.Heads()[0]) }

// acknowledged reads one report.
func acknowledged(line string) (id perdure.AgentID, name perdure.Hash, ok bool) {
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != "acknowledged" || id.UnmarshalText([]byte(words[1])) != nil ||
		name.UnmarshalText([]byte(words[2])) != nil {
		return id, name, false
	}
	return id, name, true
}

func testTwoProcesses(t *testing.T, s *suite) {
	a := s.create(newAuthor(t), "a")
	one, _ := child(t, "append", s.path, a.ID().String())
	two, _ := child(t, "append", s.path, a.ID().String())
	w := newAuthor(t)
	for range 40 {
		if err := appendOnTop(t, s, w, a.ID(), false); err != nil {
			t.Fatalf("append beside two processes: %v", err)
		}
	}
	for _, cmd := range []*exec.Cmd{one, two} {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("a process that shares the store: %v", err)
		}
	}
	got, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, a.ID()))
	if err != nil {
		t.Fatal(err)
	}
	if got.Fold().Count != 121 || len(got.Heads()) != 1 {
		t.Fatalf("%d entries with %d heads, want 121 with 1", got.Fold().Count, len(got.Heads()))
	}
}

func testWatchProcess(t *testing.T, s *suite) {
	seen := watch(t, optional[perdure.Watcher](t, s.Store))
	w := newAuthor(t)
	a := s.create(w, "a")
	sees(t, seen, a.ID(), func() { a = s.grow(w, a, began, event("begun", 10)) })
	cmd, lines := child(t, "make", s.path)
	var id perdure.AgentID
	for lines.Scan() {
		if got, _, ok := acknowledged(lines.Text()); ok {
			id = got
		}
	}
	if err := cmd.Wait(); err != nil || id.IsZero() {
		t.Fatalf("a process that makes an agent: %v", err)
	}
	timeout := time.After(patience)
	for {
		select {
		case got := <-seen:
			if got == id || got.IsZero() {
				return
			}
		case <-timeout:
			t.Fatal("an agent made by another process was never seen")
		}
	}
}

func testKillSequence(t *testing.T, s *suite) {
	for _, kept := range []int{0, 2} {
		_, lines := child(t, "sequence", s.path, strconv.Itoa(kept))
		var id perdure.AgentID
		for lines.Scan() { // to its end
			if got, _, ok := acknowledged(lines.Text()); ok {
				id = got
			}
		}
		if id.IsZero() {
			t.Fatal("the child reported nothing")
		}
		if kept == 0 {
			absent(t, s, id)
		} else if got := len(items(t, s, id, 0)); got != kept {
			t.Fatalf("%d entries are left of a sequence that was killed, want the %d from before", got, kept)
		}
	}
}

func testKill(t *testing.T, s *suite) {
	for round := range 3 {
		cmd, lines := child(t, "create", s.path)
		heads := map[perdure.AgentID]perdure.Hash{}
		for n := 0; lines.Scan(); {
			id, name, ok := acknowledged(lines.Text())
			if !ok {
				continue
			}
			heads[id] = name
			if n++; n == 40+30*round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		s.reopen()
		for id, name := range heads {
			a, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, id))
			if err != nil {
				t.Fatalf("round %d: agent %s after the kill: %v", round, id.Short(), err)
			}
			found := false
			for e := range a.Recent() {
				found = found || e.Name == name
			}
			if !found {
				t.Fatalf("round %d: entry %s was acknowledged and is gone", round, name.Short())
			}
		}
		s.create(newAuthor(t), "goes on")
	}
}

func testBackup(t *testing.T, s *suite) {
	b := optional[backuper](t, s.Store)
	w := newAuthor(t)
	a := s.create(w, "a")
	a = s.grow(w, a, began, event("x", 10), event("large", 100_000), snapshot(a))
	a = s.grow(w, a, began, sleep(began.Add(time.Hour)))
	var want []*perdure.Entry
	for _, item := range items(t, s, a.ID(), 0) {
		want = append(want, item.Entry)
	}
	path := filepath.Join(t.TempDir(), "copy")
	stop, busy := make(chan struct{}), make(chan struct{})
	go func() { // the store is in use while it is copied
		defer close(busy)
		for other := newAuthor(t); ; {
			select {
			case <-stop:
				return
			default:
				s.create(other, "busy")
			}
		}
	}()
	err := b.Backup(t.Context(), path)
	close(stop)
	<-busy
	if err != nil {
		t.Fatalf("backup: %v", err)
	}
	if err := b.Backup(t.Context(), path); err == nil {
		t.Fatal("a backup overwrote another")
	}
	s.grow(w, a, began, event("after the backup", 10))
	backup := &suite{Kind: s.Kind, Store: s.openAt(path), test: t, path: path}
	holds(t, backup, a.ID(), want...)
	if len(snapshots(t, backup, a.ID())) != 1 {
		t.Fatal("the backup has no snapshot")
	}
	backup.grow(w, a, began, event("the copy goes its own way", 10))
	for l, err := range backup.Due(t.Context(), began.Add(2*time.Hour)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.FoldEntries(perdure.Memory(t.Context(), backup, l.Agent)); err != nil {
			t.Fatalf("agent in the backup: %v", err)
		}
	}
}

func testMakeAtOnce(t *testing.T, s *suite) {
	path := filepath.Join(t.TempDir(), "new")
	type started struct {
		cmd   *exec.Cmd
		lines *bufio.Scanner
	}
	var all []started
	for range 4 {
		cmd, lines := child(t, "make", path)
		all = append(all, started{cmd, lines})
	}
	var ids []perdure.AgentID
	for _, p := range all {
		for p.lines.Scan() {
			if id, _, ok := acknowledged(p.lines.Text()); ok {
				ids = append(ids, id)
			}
		}
		if err := p.cmd.Wait(); err != nil {
			t.Fatalf("one of several processes that make a store: %v", err)
		}
	}
	store := s.openAt(path)
	for _, id := range ids {
		if _, err := store.Heads(t.Context(), id); err != nil {
			t.Fatalf("an agent made by one of several processes: %v", err)
		}
	}
	if len(ids) != 4 {
		t.Fatalf("%d processes made an agent, want 4", len(ids))
	}
}

// testFutureLease lets a node die with a claim while the clock is ahead. In the bubble it is the year 2000.
func testFutureLease(t *testing.T, s *suite) {
	c := optional[perdure.Claimer](t, s.Store)
	a := s.create(newAuthor(t), "a")
	node, next := newAuthor(t).Key(), newAuthor(t).Key()
	claim(t, c, a.ID(), node, 10*time.Second)
	synctest.Test(t, func(t *testing.T) {
		store, err := s.Open(context.Background(), s.path)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := store.(perdure.Holder); ok {
			if err := r.Reclaim(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := due(t, store, time.Now()); len(got) != 1 {
			t.Errorf("due while a node seems to hold the agent for a quarter of a century: %v, want the agent", got)
		}
		if _, err := store.(perdure.Claimer).Claim(t.Context(), a.ID(), next, time.Minute); err != nil {
			t.Errorf("claim of an agent that a node seems to hold for a quarter of a century: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
