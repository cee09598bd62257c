package nats

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/storetest"
)

// TestPruningWhileConnectionsAreCutLosesNothingElse prunes bodies that take pages, and small ones, while connections
// are cut: what was pruned is gone, and everything else is there, headers and all.
func TestPruningWhileConnectionsAreCutLosesNothingElse(t *testing.T) {
	t.Parallel()
	p := enginetest.NewProxy(t, "tcp", shared.Addr())
	s := open(t, through(p, "prunes", shared), Options{Patience: patient})
	w := enginetest.NewWriter(t, s)
	long, err := perdure.DataOf(make([]byte, 900<<10))
	if err != nil {
		t.Fatal(err)
	}
	var all []*perdure.Entry
	for range 3 {
		es, next, err := w.Commit(w.Agent, time.Now(),
			perdure.Draft{Body: perdure.Event{Name: "long", Data: long}},
			perdure.Draft{Body: perdure.Event{Name: "short"}},
			perdure.Draft{Body: perdure.Event{Name: "kept", Data: long}})
		if err == nil {
			err = s.Append(t.Context(), w.Agent.ID(), w.Agent.Heads(), es...)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Agent, all = next, append(all, es...)
	}
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(100+i*30) * time.Millisecond): // some time each message comes through
				p.Cut()
			}
		}
	}()
	var gone []perdure.Hash
	for i := 0; i < len(all); i += 3 {
		for _, e := range []*perdure.Entry{all[i], all[i+1]} { // each makes the same commit smaller
			if _, err := storetest.Prune(t.Context(), s, w.Agent.ID(), e.Name); err != nil {
				t.Fatal(err)
			}
			gone = append(gone, e.Name)
		}
	}
	close(stop)
	<-over
	n := 0
	for e, err := range perdure.Memory(t.Context(), s, w.Agent.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if pruned := slices.Contains(gone, e.Name); pruned != (e.BodyBytes() == nil) {
			t.Errorf("entry %s has %d bytes, pruned: %v", e.Name.Short(), len(e.BodyBytes()), pruned)
		}
	}
	if n != len(all)+1 {
		t.Errorf("%d entries are left, want %d", n, len(all)+1)
	}
	if err := w.Write(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
}
