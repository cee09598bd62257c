package perdure_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func TestLargeEventsDoNotMakeAFoldThatCannotBeWrittenDown(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action { return nil }))
	id := create(t, n, perdure.Genesis{})
	big, err := perdure.DataOf(bytes.Repeat([]byte("x"), 3<<20))
	if err != nil {
		t.Fatal(err)
	}
	for range 30 { // a node refuses it; whoever writes entries of their own does not ask
		a, err := perdure.Load(t.Context(), store, id)
		if err != nil {
			t.Fatal(err)
		}
		entries, _, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "big", Data: big}})
		if err == nil {
			err = store.Put(t.Context(), id, entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f := load(t, store, id)
	if _, err := f.Hash(); err != nil {
		t.Errorf("the fold cannot be written down: %v", err)
	}
	if len(f.Inbox) != 2 || f.Count != 31 {
		t.Errorf("%d events wait of %d entries, want the newest 2 of 31", len(f.Inbox), f.Count)
	}
	if _, err := n.Snapshot(t.Context(), id); err != nil {
		t.Error(err)
	}
}
