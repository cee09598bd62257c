package home

import (
	"context"
	"log/slog"
	"time"

	"github.com/perdure/perdure"
)

// trustEvery is how often a node looks whether the trust file has changed.
const trustEvery = time.Second

// FollowTrust tells a node when the trust file changes: whom to trust is asked now, not when the node was started. What
// it returns ends that.
func (h *Home) FollowTrust(ctx context.Context, n *perdure.Node, log *slog.Logger) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	known, _ := h.Trust() // the node was made with it
	go func() {
		defer close(done)
		tick := time.NewTicker(trustEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now, err := h.Trust()
			switch {
			case err != nil:
				log.Error("read the trust file", "err", err)
			case known == nil || now.String() != known.String():
				known = now
				n.SetTrust(now)
				if s, ok := n.Store.(interface{ SetTrust(*perdure.Trust) }); ok { // a folder merges copies by it
					s.SetTrust(now)
				}
				log.Info("whom to trust has changed")
			}
		}
	}()
	return func() { cancel(); <-done }
}

// Where is the store, for people.
func (h *Home) Where() string {
	if h.Scheme == "mem" {
		return "mem:"
	}
	return h.File
}
