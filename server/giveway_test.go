package server_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// A transfer whose sender vanished, so that nobody closes its connection, gives way to the next one of the same sender,
// however long a sender may be silent otherwise.
func TestASenderThatVanishedDoesNotHoldUpTheNextTransfer(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.ReadStall = time.Hour })
	n, id := traveller(t, 20)
	c := &client.Client{URL: w.url, Token: w.token("", home.VerbRead, home.VerbExport, home.VerbImport)}
	ctx, cancel := context.WithCancel(t.Context())
	sent, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = c.Take(ctx, id, stopping(ctx, perdure.Memory(t.Context(), n.Store, id), sent)) // nobody waits for it
	}()
	<-sent
	s, err := exchange.Sync(t.Context(), storePeer{n.Store}, c, id, exchange.Push)
	if err != nil || s.Pushed == nil || !s.Pushed.Created || s.Pushed.Entries != 21 {
		t.Errorf("%+v %v, want all 21 entries", s.Pushed, err)
	}
	cancel()
	<-gone
}

// stopping is the first entries, and then nothing more until ctx ends.
func stopping(ctx context.Context, entries iter.Seq2[*perdure.Entry, error], sent chan<- struct{}) iter.Seq2[
	*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		left := 10
		for e, err := range entries {
			if left--; left == 0 || !yield(e, err) {
				break
			}
		}
		close(sent)
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}
