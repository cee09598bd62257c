package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/home"
)

// TestRoomIsShared has four visitors take all there is: a fifth has what is their own, and more once one has gone.
func TestRoomIsShared(t *testing.T) {
	t.Parallel()
	b := newBodies(maxBodies)
	var all []*hold
	for _, who := range []string{"a", "b", "c", "d"} {
		h := b.begin(who)
		if err := h.more(t.Context(), maxOfOne+1); err != nil { // nobody waits for more than they can ever have
			t.Fatal(err)
		}
		all = append(all, h)
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	fifth := b.begin("e")
	for range 2 {
		if err := fifth.more(t.Context(), ownRoom/2); err != nil {
			t.Fatal(err)
		}
	}
	if err := fifth.more(soon, 1); !errors.Is(err, errTooMuch) {
		t.Errorf("there was no room left: %v", err)
	}
	second := b.begin("a")
	if err := second.more(t.Context(), ownRoom); err != nil {
		t.Error(err)
	}
	if err := second.more(soon, 1); !errors.Is(err, errTooMuch) {
		t.Errorf("one had all that one may have: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := second.more(gone, 1); home.KindOf(err) != home.KindUnavailable {
		t.Errorf("the server stopped while it waited: %v", err)
	}
	second.free()
	all[0].free()
	if err := fifth.more(t.Context(), maxOfOne); err != nil {
		t.Error(err)
	}
	fifth.free()
	for _, h := range all[1:] {
		h.free()
	}
	if len(b.of) > 0 || !b.all.TryAcquire(maxBodies) {
		t.Errorf("room is still taken: %+v", b.of)
	}
}
