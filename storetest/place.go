package storetest

import (
	"testing"

	"github.com/perdure/perdure"
)

var placing = map[string]func(*testing.T, *suite){
	"AStoreKnowsItself": testPlace,
}

// place is the id of a store.
func place(t *testing.T, s perdure.Store) perdure.Hash {
	t.Helper()
	at, err := optional[perdure.Placed](t, s).Place(t.Context())
	if err != nil || at.IsZero() {
		t.Fatalf("place: %s, %v", at.ID, err)
	}
	return at.ID
}

// testPlace looks whether a store is the same however it is opened, and no other one. That a copy is another depends on
// how a store is copied: a store tests that itself.
func testPlace(t *testing.T, s *suite) {
	at := place(t, s.Store)
	if again := place(t, s.Store); again != at {
		t.Errorf("the place is %s and then %s", at.Short(), again.Short())
	}
	if other := place(t, s.openAt(s.path+"-other")); other == at {
		t.Error("another store is the same place")
	}
	if s.Volatile {
		return
	}
	if beside := place(t, s.open()); beside != at {
		t.Errorf("a second handle is at %s, want %s", beside.Short(), at.Short())
	}
	s.reopen()
	if again := place(t, s.Store); again != at {
		t.Errorf("after it was opened again it is at %s, want %s", again.Short(), at.Short())
	}
}
