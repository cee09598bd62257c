package perdure

import (
	"container/heap"
	"context"
	"errors"
	"time"
)

// collector drops what has expired while a node runs. It reads what arrives in the store once, whichever agent it is
// of, and knows from that when something is to be dropped: agents at rest cost nothing, however many there are.
type collector struct {
	n      *Node
	feeder Feeder
	pruner Pruner
	feed   Hash
	read   Cursor // of the feed, up to here
	agents map[AgentID]*collecting
	due    collections
}

// collecting is an agent of which something will be dropped.
type collecting struct {
	next Time          // when the first body goes; zero: not before its end
	wait time.Duration // how long it was left alone when nothing could be dropped
}

// collectLooks is how many entries a node looks at in one round: after a start, what is in the store is gone through
// little by little, beside the work.
const collectLooks = 20_000

// maxCollectWait is how long at most an agent is left alone of which nothing could be dropped, though its time is up.
const maxCollectWait = 24 * time.Hour

// collect drops what has expired, now and then, until the loop ends.
func (l *loop) collect() {
	feeder, feeds := l.n.Store.(Feeder)
	pruner, prunes := l.n.Store.(Pruner)
	if l.n.CollectEvery <= 0 || !feeds || !prunes {
		return
	}
	l.watchers.Go(func() {
		c := &collector{n: l.n, feeder: feeder, pruner: pruner, agents: map[AgentID]*collecting{}}
		tick := time.NewTicker(l.n.CollectEvery)
		defer tick.Stop()
		for {
			select {
			case <-l.ctx.Done():
				return
			case <-tick.C:
			}
			c.round(l.ctx)
		}
	})
}

// round looks at what arrived, and collects the agents of which the time of a body is up.
func (c *collector) round(ctx context.Context) {
	failed := func(id AgentID, err error) {
		if err != nil && ctx.Err() == nil {
			c.n.Log.Error("collect", "agent", id.Short(), "err", err)
		}
	}
	arrived, err := c.arrivals(ctx)
	if err != nil && ctx.Err() == nil {
		c.n.Log.Error("collect: read what arrived", "err", err)
	}
	now := TimeOf(time.Now())
	for i := range arrived {
		failed(arrived[i].agent, c.look(ctx, &arrived[i], now))
	}
	for len(c.due) > 0 && c.due[0].at <= now && ctx.Err() == nil {
		next := heap.Pop(&c.due).(collection)
		if of := c.agents[next.agent]; of != nil && of.next == next.at { // it was not set to another time since
			failed(next.agent, c.collect(ctx, next.agent, of, now))
		}
	}
}

// arrival is what arrived of an agent since the last round.
type arrival struct {
	agent AgentID
	first Time // of the entries whose bodies last as long as the intent says: when the first was written
	goes  Time // of those that have a time of their own: when the first goes
}

// arrivals reads on in the feed: what it costs depends on what is new.
func (c *collector) arrivals(ctx context.Context) (found []arrival, err error) {
	feed, _, err := c.feeder.FeedEnd(ctx)
	if err != nil {
		return nil, err
	}
	if feed != c.feed { // another one, which begins anew
		c.feed, c.read = feed, 0
	}
	looks, index := collectLooks, map[AgentID]int{}
	for item, err := range c.feeder.Feed(ctx, c.read) {
		if err != nil {
			return found, err
		}
		if c.read = item.Cursor; item.content != nil && item.Kind != KindGenesis && !item.derived() {
			i, ok := index[item.Agent]
			if !ok {
				i = len(found)
				index[item.Agent] = i
				found = append(found, arrival{agent: item.Agent})
			}
			if item.TTL > 0 {
				found[i].goes = earliest(found[i].goes, item.Time+Time(item.TTL))
			} else {
				found[i].first = earliest(found[i].first, item.Time)
			}
		}
		if looks--; looks == 0 {
			break // the next round goes on with it
		}
	}
	return found, nil
}

// look notes when the first body goes of what arrived.
func (c *collector) look(ctx context.Context, x *arrival, now Time) (err error) {
	of, next := c.agents[x.agent], x.goes
	live := of != nil && of.next == 0
	if x.first != 0 || live {
		var a *Agent
		switch a, err = Load(ctx, c.n.Store, x.agent); {
		case errors.Is(err, ErrNotFound):
			return nil // it is gone
		case err != nil: // a collection reads all of it: it will find out
			next = earliest(next, now.Add(time.Hour))
		case live && a.fold.Ended == nil:
			return nil
		case live:
			next = now
		case a.fold.Intent.TTL > 0:
			next = earliest(next, x.first+Time(a.fold.Intent.TTL))
		}
	}
	if next != 0 && (of == nil || live || next < of.next) {
		c.set(x.agent, next)
	}
	return err
}

// set has an agent collected at a time.
func (c *collector) set(id AgentID, at Time) {
	of := c.agents[id]
	if of == nil {
		of = new(collecting)
		c.agents[id] = of
	}
	of.next = at
	heap.Push(&c.due, collection{at, id})
}

// collect collects an agent, and notes when the next of its bodies goes.
func (c *collector) collect(ctx context.Context, id AgentID, of *collecting, now Time) error {
	got, err := c.n.collect(ctx, c.pruner, id)
	switch {
	case errors.Is(err, ErrNotFound):
		delete(c.agents, id)
		return nil
	case errors.Is(err, ErrConflict): // somebody is at work on it: the next time will do
		c.set(id, now.Add(c.n.CollectEvery))
		return nil
	case errors.Is(err, ErrRejected): // it does not count here, and reading all of it to see that is not cheap
		c.set(id, now.Add(time.Hour))
		return nil
	case err != nil:
		c.set(id, now.Add(c.n.CollectEvery))
		return err
	case got.replays:
		of.next = 0
		return nil
	}
	of.wait = min(max(2*of.wait, c.n.CollectEvery), maxCollectWait)
	if got.Entries > 0 {
		of.wait = 0
		c.n.Log.Info("collected", "agent", id.Short(), "bodies", got.Entries, "bytes", got.Bytes)
	}
	if got.Entries > 0 && got.next == 0 {
		delete(c.agents, id)
		return nil
	}
	c.set(id, max(got.next, now.Add(of.wait))) // what could not go now costs a look at all of it each time
	return nil
}

// collection is when an agent is to be collected.
type collection struct {
	at    Time
	agent AgentID
}

// collections is a heap of them, the first on top.
type collections []collection

func (q collections) Len() int           { return len(q) }
func (q collections) Less(i, j int) bool { return q[i].at < q[j].at }
func (q collections) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *collections) Push(x any)        { *q = append(*q, x.(collection)) }
func (q *collections) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}
