// Package storetest is the contract of perdure.Store, as tests that every store passes whole.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Kind{Open: func(ctx context.Context, path string) (perdure.Store, error) {
//			return mystore.Open(ctx, path)
//		}})
//	}
//
// Optional interfaces (perdure.Claimer, Holder, Lister, Watcher, Pruner, Parter, Placed, Feeder, Roster) and methods
// (Backup, Reindex) are tested where a store has them. For a store on disk the suite also runs the calling test in
// processes of its own, which it kills.
package storetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/perdure/perdure"
)

// Kind is a kind of store.
type Kind struct {
	// Open opens the store at a path, making it when there is none. Paths lie in a folder of their own.
	Open func(ctx context.Context, path string) (perdure.Store, error)
	// Volatile is set when every call of Open makes an empty store that nothing outlives. The rest of the suite needs a
	// path to name the same store however often it is opened, from any process.
	Volatile bool
}

// childEnv tells a process that this suite started what to do.
const childEnv = "PERDURE_STORETEST"

// Run tests the contract. Call it from a test of its own that does nothing before it and is not parallel.
func Run(t *testing.T, k Kind) {
	if task := os.Getenv(childEnv); task != "" {
		runChild(k, task) // does not return
	}
	leaks := goleak.IgnoreCurrent()
	t.Run("contract", func(t *testing.T) {
		for _, group := range []map[string]func(*testing.T, *suite){appending, reading, claiming, listing, watching,
			waking, swarming, pruning, loading, parting, placing, feeding, rostering} {
			runGroup(t, k, group)
		}
		if !k.Volatile {
			runGroup(t, k, resting)
			runGroup(t, k, feedResting)
		}
	})
	if err := goleak.Find(leaks); err != nil {
		t.Errorf("goroutines left behind after every store was closed: %v", err)
	}
}

func runGroup(t *testing.T, k Kind, group map[string]func(*testing.T, *suite)) {
	for name, test := range group {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &suite{Kind: k, test: t, path: filepath.Join(t.TempDir(), "store")}
			s.Store = s.open()
			test(t, s)
		})
	}
}

// suite is one test with a store of its own.
type suite struct {
	Kind
	perdure.Store
	test *testing.T
	path string
}

// open returns another handle on the store of this test.
func (s *suite) open() perdure.Store { return s.openAt(s.path) }

// openAt opens the store at path until the test ends.
func (s *suite) openAt(path string) perdure.Store {
	s.test.Helper()
	store, err := s.Open(context.Background(), path)
	if err != nil {
		s.test.Fatalf("open %s: %v", path, err)
	}
	s.test.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.test.Errorf("close: %v", err)
		}
	})
	return store
}

// reopen closes the store of this test and opens it again.
func (s *suite) reopen() {
	s.test.Helper()
	if err := s.Close(); err != nil {
		s.test.Fatalf("close: %v", err)
	}
	s.Store = s.open()
}

// backuper is a store that can write a consistent copy of itself, while in use, to a path that does not exist yet.
type backuper interface {
	Backup(ctx context.Context, path string) error
}

// reindexer is a store that can rebuild every derived index from its entries.
type reindexer interface {
	Reindex(ctx context.Context, progress func(done, total int)) error
}

// optional returns the store as an optional interface, or ends the test when it is not one.
func optional[T any](t *testing.T, s perdure.Store) T {
	t.Helper()
	v, ok := s.(T)
	if !ok {
		t.Skipf("%T is not a %T", s, (*T)(nil))
	}
	return v
}
