package dir

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// Two processes make agents in one folder, and one of them claims what it has: whoever makes a file finds those of the
// other meanwhile. If the locks were taken in two orders, all of it would stand still.
func TestAgentsAreMadeAndClaimedInTwoProcesses(t *testing.T) {
	folder := t.TempDir()
	here, there, w := open(t, folder), open(t, folder), newAuthor()
	first, _ := w.genesis("first")
	put(t, here, first.ID(), first)
	done := make(chan struct{})
	var crowd sync.WaitGroup
	for i, s := range []perdure.Store{here, there} {
		crowd.Go(func() {
			for n := range 200 {
				e, _ := w.genesis(fmt.Sprint(i, " ", n))
				if err := s.Put(t.Context(), e.ID(), e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		crowd.Go(func() {
			for range 400 {
				c, err := here.Claim(t.Context(), first.ID(), w.Key(), time.Minute)
				if err == nil {
					err = here.Renew(t.Context(), c, time.Minute)
				}
				if err != nil && !errors.Is(err, perdure.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	go func() { crowd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the store stands still")
	}
}
