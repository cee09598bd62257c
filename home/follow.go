package home

import (
	"context"
	"log/slog"
	"time"

	"github.com/perdure/perdure"
)

// trustEvery is how often a node looks whether the trust file has changed.
const trustEvery = time.Second

// policyEvery is how many of these looks there are to each one at the policies: those are parsed.
const policyEvery = 10

// policyWatch says in a log when the files of policies are not what a node goes by any more: it goes on as it began.
type policyWatch struct {
	h    *Home
	by   perdure.Hash // what the node goes by
	log  *slog.Logger
	told string
}

// watchPolicy is nil for a node that goes by something else than the files say from the beginning.
func (h *Home) watchPolicy(n *perdure.Node, log *slog.Logger) *policyWatch {
	set, err := LoadPolicy(h, nil)
	if err != nil || set.Hash() != n.PolicyHash {
		return nil
	}
	return &policyWatch{h: h, by: n.PolicyHash, log: log}
}

func (w *policyWatch) look() {
	text := ""
	set, err := LoadPolicy(w.h, nil)
	switch {
	case err != nil:
		text = err.Error()
	case set.Hash() != w.by:
		text = set.Hash().Short()
	}
	switch {
	case text == w.told:
	case text == "":
		w.log.Info("the policy files say again what this node goes by", "policy", w.by.Short())
	case err != nil:
		w.log.Error("the policy files have changed and cannot be read; this node goes by what they said when it began",
			"policy", w.by.Short(), "err", err)
	default:
		w.log.Warn("the policy files have changed, and this node goes by what they said when it began: start it again",
			"policy", w.by.Short(), "files", text)
	}
	w.told = text
}

// FollowTrust tells a node when the trust file changes: whom to trust is asked now, not when the node was started. What
// it returns ends that. It logs when the policy files change, which the node does not follow.
func (h *Home) FollowTrust(ctx context.Context, n *perdure.Node, log *slog.Logger) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	known, _ := h.Trust() // the node was made with it
	rules := h.watchPolicy(n, log)
	go func() {
		defer close(done)
		tick := time.NewTicker(trustEvery)
		defer tick.Stop()
		for looks := 1; ; looks++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if rules != nil && looks%policyEvery == 0 {
				rules.look()
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
