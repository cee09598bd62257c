package perdure

import (
	"context"
	"errors"
	"time"
)

// collecting is what a running node remembers between collections of one agent, so that one at rest costs nothing.
type collecting struct {
	seen Cursor // entries up to here have been looked at
	next Time   // when the first body goes; zero: none does
}

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
			for listed, err := range lister.List(l.ctx, Filter{}) {
				if err == nil {
					err = l.n.collectDue(l.ctx, pruner, listed.Agent, agents)
				}
				if err != nil && l.ctx.Err() == nil {
					l.n.Log.Error("collect", "agent", listed.Agent.Short(), "err", err)
				}
			}
		}
	})
}

// collectDue collects an agent if the time of one of its bodies is up.
func (n *Node) collectDue(ctx context.Context, pruner Pruner, id AgentID, agents map[AgentID]*collecting) error {
	c := agents[id]
	if c == nil {
		c = new(collecting)
		agents[id] = c
	}
	if err := c.look(ctx, n.Store, id); err != nil {
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
	delete(agents, id) // what is left is looked at anew
	if got.Entries > 0 {
		n.Log.Info("collected", "agent", id.Short(), "bodies", got.Entries, "bytes", got.Bytes)
	}
	return nil
}

// look finds out when the first body of an agent goes, from the entries that came since the last look.
func (c *collecting) look(ctx context.Context, s Store, id AgentID) error {
	ttl, known := int64(0), false
	for item, err := range s.Entries(ctx, id, c.seen) {
		if err != nil {
			return err
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
