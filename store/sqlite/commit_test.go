package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/storetest"
)

// hold keeps the committer busy until release is called.
func hold(t *testing.T, s *Store) (release func()) {
	begun, end := make(chan struct{}), make(chan struct{})
	r := &request{relaxed: true, done: make(chan struct{}), apply: func(*writer) error {
		close(begun)
		<-end
		return nil
	}}
	if err := s.hand(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	<-begun
	return func() {
		close(end)
		if <-r.done; r.err != nil {
			t.Error(r.err)
		}
	}
}

func TestNeighboursInABatchHaveTheirOwnOutcome(t *testing.T) {
	s := openBench(t, filepath.Join(t.TempDir(), "store"))
	key := newSigner(t)
	g, a := begin(t, key, "a")
	if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	_, other := begin(t, key, "b")
	good, _ := commit(t, key, a, draft(10))
	rival, _ := commit(t, key, a, draft(10))
	orphan, _ := commit(t, key, other, draft(10))
	late, _ := commit(t, key, a, draft(10))
	h, b := begin(t, key, "c")
	release := hold(t, s)
	cancelled, cancel := context.WithCancel(t.Context())
	calls := []func() error{
		func() error { return s.Append(t.Context(), a.ID(), a.Heads(), good...) },
		func() error { return s.Append(t.Context(), a.ID(), a.Heads(), rival...) },
		func() error { return s.Put(t.Context(), other.ID(), orphan...) },
		func() error { return s.Append(cancelled, a.ID(), a.Heads(), late...) },
		func() error { return s.Append(t.Context(), b.ID(), nil, h) },
	}
	results := make([]chan error, len(calls))
	for i, call := range calls {
		results[i] = make(chan error, 1)
		queued := len(s.queue)
		go func() { results[i] <- call() }()
		for len(s.queue) == queued { // in this order
			runtime.Gosched()
		}
	}
	cancel()
	if err := <-results[3]; !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context ended while it waited: got %v, want context.Canceled", err)
	}
	release()
	var rejection *perdure.Rejection
	for i, check := range map[int]func(error) bool{
		0: func(err error) bool { return err == nil },
		1: func(err error) bool { return errors.Is(err, perdure.ErrConflict) },
		2: func(err error) bool { return errors.As(err, &rejection) && rejection.Predicate == "entry.linked" },
		4: func(err error) bool { return err == nil },
	} {
		if err := <-results[i]; !check(err) {
			t.Errorf("call %d of the batch: %v", i, err)
		}
	}
	if got := count(t, s, a.ID()); got != 2 {
		t.Errorf("entries: %d, want 2", got)
	}
}

func TestALockedFileIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openBench(t, path)
	c, err := dial(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	key := newSigner(t)
	g, a := begin(t, key, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Append(ctx, a.ID(), nil, g); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append while another process holds the file: got %v, want that the time is up", err)
	}
	done := make(chan error, 1)
	h, b := begin(t, key, "b")
	go func() { done <- s.Append(context.Background(), b.ID(), nil, h) }()
	if err := errors.Join(c.exec("ROLLBACK"), c.close()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("append once the file is free: %v", err)
	}
	if _, err := s.Heads(t.Context(), a.ID()); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("an append that was given up: got %v, want that nothing is there", err)
	}
}

func blobFiles(t *testing.T, s *Store) int {
	t.Helper()
	files, err := os.ReadDir(s.folder())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(files)
}

func TestBlobsComeAndGoWithTheirEntries(t *testing.T) {
	s := openBench(t, filepath.Join(t.TempDir(), "store"))
	key := newSigner(t)
	g, a := begin(t, key, "a")
	if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	large, next := commit(t, key, a, draft(100_000), draft(100_000))
	rival, _ := commit(t, key, a, draft(100_000))
	if err := s.Append(t.Context(), a.ID(), a.Heads(), large...); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), a.ID(), a.Heads(), rival...); !errors.Is(err, perdure.ErrConflict) {
		t.Fatal(err)
	}
	if n := blobFiles(t, s); n != 2 {
		t.Fatalf("files after a conflict: %d, want the 2 that are referred to", n)
	}
	if err := s.Put(t.Context(), a.ID(), large...); err != nil {
		t.Fatal(err)
	}
	if n := blobFiles(t, s); n != 2 {
		t.Fatalf("files after a duplicate: %d, want 2", n)
	}
	snap, _ := commit(t, key, next, perdure.Draft{Body: perdure.Snapshot{Fold: *next.Fold()}})
	if err := s.Append(t.Context(), a.ID(), next.Heads(), snap...); err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Prune(t.Context(), s, a.ID(), large[0].Name); err != nil {
		t.Fatal(err)
	}
	if n := blobFiles(t, s); n != 2 { // the snapshot is large, too
		t.Fatalf("files after pruning one of three: %d, want 2", n)
	}
	if err := os.WriteFile(blobPath(s.path, perdure.HashOf([]byte("orphan"))), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reindex(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := blobFiles(t, s); n != 2 {
		t.Fatalf("files after reindex: %d, want 2", n)
	}
	if err := os.Remove(blobPath(s.path, large[1].Body)); err != nil {
		t.Fatal(err)
	}
	var err error
	for _, err = range s.Entries(t.Context(), next.ID(), 0) {
		if err != nil {
			break
		}
	}
	if err == nil {
		t.Fatal("a body that is missing was not noticed")
	}
}

func TestReindexMakesUpForLostIndexes(t *testing.T) {
	path := filled(t)
	s := openBench(t, path)
	key := newSigner(t)
	g, a := begin(t, key, "a")
	left, _ := commit(t, key, a, draft(10))
	right, _ := commit(t, key, a, draft(10))
	both, err := a.Apply(left[0], right[0])
	if err != nil {
		t.Fatal(err)
	}
	snap, _ := commit(t, key, both, perdure.Draft{Body: perdure.Snapshot{Fold: *both.Fold()}})
	tail, _ := commit(t, key, both, draft(100_000))
	if err := s.Put(t.Context(), a.ID(), g, left[0], right[0], snap[0], tail[0]); err != nil {
		t.Fatal(err)
	}
	want := picture(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"places", "recent", "snapshots", "blobs", "listings"} {
		alter(t, path, "DELETE FROM "+table)
	}
	alter(t, path, "UPDATE agents SET due=NULL, node=NULL")
	s = openBench(t, path)
	if err := s.Reindex(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, picture(t, s)); diff != "" {
		t.Errorf("the store after its indexes were lost and rebuilt (-before +after):\n%s", diff)
	}
}

// picture is all that a store says, in order.
func picture(t *testing.T, s *Store) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for l, err := range s.Due(t.Context(), began.AddDate(100, 0, 0)) {
		if err != nil {
			t.Fatal(err)
		}
		id := l.Agent.String()
		heads, err := s.Heads(t.Context(), l.Agent)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range heads {
			out[id] = append(out[id], "head "+h.String())
		}
		for item, err := range s.Entries(t.Context(), l.Agent, 0) {
			if err != nil {
				t.Fatal(err)
			}
			out[id] = append(out[id], item.Name.String())
		}
		for item, err := range s.Snapshots(t.Context(), l.Agent) {
			if err != nil {
				t.Fatal(err)
			}
			out[id] = append(out[id], "snapshot "+item.Name.String())
		}
		out["due"] = append(out["due"], l.Due.String())
	}
	for l, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		out["listed"] = append(out["listed"], l.Agent.String())
	}
	return out
}

// TestStoreAgreesWithOneInMemory puts parts of random memories into both, in random order and more than once.
func TestStoreAgreesWithOneInMemory(t *testing.T) {
	key := newSigner(t)
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		s, err := Open(t.Context(), filepath.Join(dir, "store"), Options{})
		if err != nil {
			r.Fatal(err)
		}
		defer s.Close()
		model := new(perdure.MemStore)
		g, a := begin(t, key, "a")
		branches := []*perdure.Agent{a}
		all := []*perdure.Entry{g}
		for range rapid.IntRange(1, 12).Draw(r, "commits") {
			i := rapid.IntRange(0, len(branches)-1).Draw(r, "branch")
			from := branches[i]
			if rapid.Bool().Draw(r, "join") {
				if from, err = from.Apply(all...); err != nil {
					r.Fatal(err)
				}
			}
			var drafts []perdure.Draft
			for _, size := range rapid.SliceOfN(rapid.IntRange(0, 2000), 1, 4).Draw(r, "sizes") {
				drafts = append(drafts, draft(size))
			}
			if rapid.IntRange(0, 3).Draw(r, "snapshot") == 0 {
				drafts = []perdure.Draft{{Body: perdure.Snapshot{Fold: *from.Fold()}}}
			}
			es, next := commit(t, key, from, drafts...)
			all, branches = append(all, es...), append(branches, next)
		}
		for range rapid.IntRange(3, 25).Draw(r, "calls") {
			from := rapid.IntRange(0, len(all)-1).Draw(r, "from")
			part := all[from:rapid.IntRange(from, len(all)).Draw(r, "to")]
			got, want := s.Put(t.Context(), a.ID(), part...), model.Put(t.Context(), a.ID(), part...)
			if text(got) != text(want) {
				r.Fatalf("put: got %v, want %v", got, want)
			}
			agree(t, r, s, model, a.ID())
		}
	})
}

func text(err error) string {
	var r *perdure.Rejection
	if errors.As(err, &r) {
		return r.Predicate + r.Entry + r.Got
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// agree fails unless two stores say the same of an agent.
func agree(t *testing.T, r *rapid.T, s, model perdure.Store, id perdure.AgentID) {
	say := func(s perdure.Store) (out []string) {
		heads, err := s.Heads(t.Context(), id)
		if err != nil {
			return nil
		}
		for _, h := range heads {
			out = append(out, "head "+h.Short())
		}
		for item, err := range s.Entries(t.Context(), id, 0) {
			if err != nil {
				r.Fatal(err)
			}
			b, _ := item.MarshalBinary()
			out = append(out, perdure.HashOf(b).Short())
		}
		for item, err := range s.Snapshots(t.Context(), id) {
			if err != nil {
				r.Fatal(err)
			}
			out = append(out, "snapshot "+item.Name.Short())
		}
		for l := range s.Due(t.Context(), began.AddDate(100, 0, 0)) {
			out = append(out, "due "+l.Due.String())
		}
		return out
	}
	if diff := cmp.Diff(say(model), say(s)); diff != "" {
		r.Fatalf("the store differs from one in memory (-memory +store):\n%s", diff)
	}
}

// Whoever writes alone commits by itself: what they are given to write may read the store while it is closed.
func TestStoreIsClosedWhileWhatIsWrittenReadsIt(t *testing.T) {
	s := openBench(t, filepath.Join(t.TempDir(), "store"))
	g, a := begin(t, newSigner(t), "a")
	if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	err := s.submit(t.Context(), &request{apply: func(*writer) error {
		go func() { closed <- s.Close() }()
		for s.isOpen() {
			runtime.Gosched()
		}
		_, err := s.Heads(t.Context(), a.ID())
		return err
	}})
	if err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a read of a closed store: got %v, want that it is closed", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// isOpen reports whether nobody has begun to close the store.
func (s *Store) isOpen() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return !s.closed
}

// A panic of what is written leaves nothing behind: others can write at once.
func TestPanicOfWhatIsWrittenLeavesNoTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s, other := openBench(t, path), openBench(t, path)
	func() {
		defer func() { _ = recover() }()
		_ = s.submit(t.Context(), &request{apply: func(*writer) error { panic("no") }})
	}()
	key := newSigner(t)
	for _, s := range []*Store{other, s} {
		g, a := begin(t, key, "a")
		if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
			t.Error(err)
		}
	}
}
