package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// In a file with a damaged page each request is committed by itself: an error that ends one says nothing of what was
// committed before it, and one that nobody waits for any more says nothing of the others.
func TestWhatWasCommittedByItselfHasNoErrorOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	openBench(t, path)
	errDisk := errors.New("disk I/O")
	for name, c := range map[string]struct {
		second, want error
		third        bool // it is committed too
	}{
		"of the file": {errDisk, errDisk, false},
		"left":        {heldError{context.Canceled}, context.Canceled, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := openWriter(path, Full, patience{})
			if err != nil {
				t.Fatal(err)
			}
			w.words, w.hub, w.syncs, w.met = new(words), new(hub), new(atomic.Int64), true
			batch := make([]*request, 3)
			for i := range batch {
				batch[i] = &request{done: make(chan struct{}), apply: func(*writer) error { return nil }}
			}
			batch[1].apply = func(*writer) error { return brokenError{c.second} }
			w.commit(batch...)
			if err := batch[0].err; err != nil {
				t.Errorf("what was committed first: %v", err)
			}
			if err := batch[1].err; !errors.Is(err, c.want) {
				t.Errorf("the second: %v, want %v", err, c.want)
			}
			if err := batch[2].err; (err == nil) != c.third {
				t.Errorf("the third: %v; it is to be committed: %t", err, c.third)
			}
			_ = errors.Join(w.side.close(), w.close())
		})
	}
}
