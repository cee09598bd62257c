package postgres

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
)

// TestAMemoryThatChangesWhileItIsReadIsNotCalledDamaged writes a memory anew, and takes it out, between the pages of
// who reads it: that says what happened, and not that rows are lost.
func TestAMemoryThatChangesWhileItIsReadIsNotCalledDamaged(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	grown := func() (*enginetest.Writer, []*perdure.Entry) {
		w := enginetest.NewWriter(t, s)
		for range pageRows + 5 { // more than a page
			if err := w.Write(t.Context(), t, s); err != nil {
				t.Fatal(err)
			}
		}
		var all []*perdure.Entry
		for item, err := range s.Entries(t.Context(), w.Agent.ID(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, item.Entry)
		}
		return w, all
	}
	read := func(id perdure.AgentID, change func(context.Context, *transaction) error) error {
		t.Helper()
		next, stop := iter.Pull2(s.Entries(t.Context(), id, 0))
		defer stop()
		if _, err, _ := next(); err != nil {
			t.Fatal(err)
		}
		if err := s.changeFor(t.Context(), 0, id, change); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err, more := next(); err != nil || !more {
				return err
			}
		}
	}
	w, all := grown()
	err := read(w.Agent.ID(), func(ctx context.Context, x *transaction) error {
		return x.replace(ctx, perdure.Full, func(yield func(*perdure.Entry, error) bool) {
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
		})
	})
	if !errors.Is(err, errAnew) || errors.Is(err, errLost) {
		t.Errorf("a memory that was written anew: %v, want %v", err, errAnew)
	}
	w.Kept(t, s)
	w, _ = grown()
	err = read(w.Agent.ID(), func(ctx context.Context, x *transaction) error { return x.forget(ctx) })
	if !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("a memory that was taken out: %v, want ErrNotFound", err)
	}
}
