package perdure

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/phase"
)

// collecting is what a running node remembers between collections of one agent, so that one at rest costs nothing.
type collecting struct {
	seen Cursor        // entries up to here have been looked at
	next Time          // when the first body goes; zero: none does
	wait time.Duration // how long it was left alone when nothing could be dropped
	live bool          // nothing of it goes before its end
}

// collectLooks is how many entries a node looks at in one round: after a start, what is in the store is gone through
// little by little, beside the work.
const collectLooks = 20_000

// maxCollectWait is how long at most an agent is left alone of which nothing could be dropped, though its time is up.
const maxCollectWait = 24 * time.Hour

// collect drops what has expired, now and then, until the loop ends.
func (l *loop) collect() {
	lister, lists := l.n.Store.(Lister)
	pruner, prunes := l.n.Store.(Pruner)
	if l.n.CollectEvery <= 0 || !lists || !prunes {
		return
	}
	l.watchers.Go(func() {
		agents := map[AgentID]*collecting{}
		tick := time.NewTicker(l.n.CollectEvery)
		defer tick.Stop()
		for {
			select {
			case <-l.ctx.Done():
				return
			case <-tick.C:
			}
			looks := collectLooks
			for listed, err := range lister.List(l.ctx, Filter{}) {
				if err == nil {
					err = l.n.collectDue(l.ctx, pruner, &listed, agents, &looks)
				}
				if err != nil && l.ctx.Err() == nil {
					l.n.Log.Error("collect", "agent", listed.Agent.Short(), "err", err)
				}
			}
		}
	})
}

// collectDue collects an agent if the time of one of its bodies is up. Looks is how many entries may still be looked at
// for that.
func (n *Node) collectDue(ctx context.Context, pruner Pruner, l *Listing, agents map[AgentID]*collecting,
	looks *int) error {
	id := l.Agent
	c := agents[id]
	if c == nil {
		c = new(collecting)
		agents[id] = c
	}
	if c.live && l.State != phase.Terminated {
		return nil
	}
	if err := c.look(ctx, n.Store, id, looks); err != nil {
		return err
	}
	now := TimeOf(time.Now())
	if c.next == 0 || now < c.next {
		return nil
	}
	got, err := n.collect(ctx, pruner, id)
	switch {
	case errors.Is(err, ErrConflict):
		return nil // somebody is at work on it: the next time will do
	case errors.Is(err, ErrRejected):
		// it does not count here, and reading all of it to see that is not cheap
		c.next = now + Time(time.Hour.Milliseconds())
		return nil
	}
	if err != nil {
		return err
	}
	c.live, c.next = got.replays, got.next
	c.wait = min(max(2*c.wait, n.CollectEvery), maxCollectWait)
	if got.Entries > 0 {
		c.wait = 0
	}
	if c.next != 0 || got.Entries == 0 { // what could not go now costs a look at all of it each time
		c.next = max(c.next, now.Add(c.wait))
	}
	if got.Entries > 0 {
		n.Log.Info("collected", "agent", id.Short(), "bodies", got.Entries, "bytes", got.Bytes)
	}
	return nil
}

// look finds out when the first body of an agent goes, from the entries that came since the last look.
func (c *collecting) look(ctx context.Context, s Store, id AgentID, looks *int) error {
	ttl, known := int64(0), false
	if *looks <= 0 {
		return nil // the next round goes on with it
	}
	for item, err := range s.Entries(ctx, id, c.seen) {
		if err != nil {
			return err
		}
		if *looks--; *looks < 0 {
			return nil
		}
		if c.seen = item.Cursor; item.content == nil || item.Kind == KindGenesis || item.derived() {
			continue
		}
		if !known {
			a, err := Load(ctx, s, id)
			if err != nil {
				return err
			}
			ttl, known = a.fold.Intent.TTL, true
		}
		if lasts := item.lasts(ttl); lasts > 0 && (c.next == 0 || item.Time+Time(lasts) < c.next) {
			c.next = item.Time + Time(lasts)
		}
	}
	return nil
}
