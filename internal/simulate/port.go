package simulate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// life is somebody who uses a store, from start to end: a node until it dies, or a person who does one thing.
type life struct {
	name   string
	store  *stock
	dead   atomic.Bool
	died   chan struct{} // closed when it is dead
	ended  atomic.Bool
	inline bool            // not scheduled: it does what it does at once
	loop   context.Context // of the loop of a node, which looks for what is due
	cancel context.CancelFunc

	frozen time.Time // nothing of it goes on before
	cut    time.Time // it cannot reach its store before
	crash  int       // dies at this call from now; zero: at none
	how    int       // before, after or in the middle of it
	writes bool      // of those that change something
	fail   int       // so many calls fail
	late   bool      // after they were done

	told  []perdure.AgentID // what it has still to be told of by its watch
	tells chan struct{}
	polls bool // its watch has ended: it looks every second
}

func (l *life) over() bool { return l.dead.Load() }

// gone reports whether nothing of it is left to be done.
func (l *life) gone() bool { return l.dead.Load() || l.ended.Load() }

var (
	errCut  = errors.New("the store cannot be reached")
	errLost = errors.New("the answer of the store was lost")
)

// The moments of a call at which its caller may die.
const (
	before = iota
	after
	torn
)

// writing are the calls that change something.
var writing = []string{"append", "put", "claim", "release", "index", "prune"}

// port is somebody's way to a store.
type port struct {
	r   *run
	who *life
	s   *stock
}

var (
	_ perdure.Store   = (*port)(nil)
	_ perdure.Claimer = (*port)(nil)
	_ perdure.Lister  = (*port)(nil)
	_ perdure.Watcher = (*port)(nil)
	_ perdure.Pruner  = (*port)(nil)
	_ perdure.Placed  = (*port)(nil)
)

// Place implements perdure.Placed.
func (p *port) Place(ctx context.Context) (perdure.Place, error) {
	return p.s.inner.(perdure.Placed).Place(ctx)
}

// call is one call of the store, when its time has come, with what goes wrong about it. Acked is called when the caller
// gets to know that it was done.
func (p *port) call(what string, id perdure.AgentID, do func(torn bool) error, acked func()) error {
	r, who := p.r, p.who
	r.sched.park(who, fmt.Sprintf("%s %s %s %s", who.name, what, p.s.name, r.short(id)))
	if time.Now().Before(who.cut) {
		r.faults["cut"]++
		return errCut
	}
	die := false
	if who.crash > 0 && (!who.writes || slices.Contains(writing, what)) {
		who.crash--
		die = who.crash == 0
	}
	if die && who.how == before {
		r.kill(who, "crash before "+what)
	}
	fails := who.fail > 0
	if fails {
		who.fail--
		r.faults["fail"]++
		if !who.late {
			return errCut
		}
	}
	err := do(die && who.how == torn)
	if die {
		r.kill(who, [...]string{after: "crash after ", torn: "crash amid "}[who.how]+what)
	}
	if err == nil && fails {
		return errLost
	}
	if err == nil && acked != nil {
		acked()
	}
	return err
}

// kill ends a life at the call it is in.
func (r *run) kill(who *life, why string) {
	r.faults[why]++
	r.end(who)
	runtime.Goexit()
}

// end ends a life.
func (r *run) end(who *life) {
	r.sched.note("dies " + who.name)
	if who.dead.Swap(true) {
		return
	}
	close(who.died)
	if who.cancel != nil {
		who.cancel()
	}
	r.sched.drop(who)
}

// Append implements perdure.Store.
func (p *port) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) error {
	entries = slices.Clone(entries)
	return p.call("append", id, func(bool) error {
		if p.r.sabotaged("drop") && p.r.sched.steps%7 == 0 && len(heads) > 0 {
			return nil
		}
		if p.r.sabotaged("deaf") {
			return p.wrote(id, entries, p.s.inner.Put(ctx, id, entries...), true)
		}
		return p.wrote(id, entries, p.s.inner.Append(ctx, id, heads, entries...), onTop(entries, heads))
	}, func() { p.r.ack(p.s, id, entries) })
}

// onTop reports whether entries were written on these heads: their author has seen all there was. Others are added
// beside what was written meanwhile.
func onTop(entries []*perdure.Entry, heads []perdure.Hash) bool {
	among, below := map[perdure.Hash]bool{}, map[perdure.Hash]bool{}
	for _, e := range entries {
		among[e.Name] = true
		for _, p := range e.Parents {
			if !among[p] {
				below[p] = true
			}
		}
	}
	return len(below) == len(heads) && !slices.ContainsFunc(heads, func(h perdure.Hash) bool { return !below[h] })
}

// Put implements perdure.Store.
func (p *port) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	entries = slices.Clone(entries)
	return p.call("put", id, func(bool) error {
		return p.wrote(id, entries, p.s.inner.Put(ctx, id, entries...), false)
	}, func() { p.r.ack(p.s, id, entries) })
}

// wrote keeps the books of what a store has got.
func (p *port) wrote(id perdure.AgentID, entries []*perdure.Entry, err error, cas bool) error {
	if err == nil {
		p.r.wrote(p.s, id, entries, cas)
	}
	return err
}

// Entries implements perdure.Store.
func (p *port) Entries(ctx context.Context, id perdure.AgentID, from perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return all(p, "entries", id, func() iter.Seq2[perdure.Item, error] { return p.s.inner.Entries(ctx, id, from) })
}

// Snapshots implements perdure.Store.
func (p *port) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return all(p, "snapshots", id, func() iter.Seq2[perdure.Item, error] { return p.s.inner.Snapshots(ctx, id) })
}

// Due implements perdure.Store. It is no step: a node that is woken by its clock and by its store at once looks once or
// twice, as chance has it. To look again changes nothing.
func (p *port) Due(_ context.Context, now time.Time) iter.Seq2[perdure.Look, error] {
	if p.who.over() {
		runtime.Goexit()
	}
	if p.unreachable() {
		return func(yield func(perdure.Look, error) bool) { yield(perdure.Look{}, errCut) }
	}
	return p.r.dues(p.s, now)
}

// unreachable reports whether the store cannot be reached now by who is not let wait for it.
func (p *port) unreachable() bool {
	now := time.Now()
	return now.Before(p.who.cut) || now.Before(p.who.frozen)
}

// dues is when a store says that agents are due.
func (r *run) dues(s *stock, now time.Time) iter.Seq2[perdure.Look, error] {
	return func(yield func(perdure.Look, error) bool) {
		for l, err := range s.inner.Due(context.Background(), now) {
			if r.sabotaged("forget") && err == nil && r.number(l.Agent) == 0 {
				continue
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// List implements perdure.Lister.
func (p *port) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return all(p, "list", perdure.AgentID{}, func() iter.Seq2[perdure.Listing, error] {
		return p.s.inner.(perdure.Lister).List(ctx, f)
	})
}

// all is a sequence out of a store in one call.
func all[T any](p *port, what string, id perdure.AgentID, from func() iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var items []T
		err := p.call(what, id, func(bool) (err error) {
			for item, e := range from() {
				if e != nil {
					return e
				}
				items = append(items, item)
			}
			return nil
		}, nil)
		for _, item := range items {
			if err == nil && !yield(item, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// Heads implements perdure.Store.
func (p *port) Heads(ctx context.Context, id perdure.AgentID) (heads []perdure.Hash, err error) {
	if p.who.loop != nil && ctx == p.who.loop && !p.who.over() { // to know what is due: no step, as Due is none
		if p.unreachable() {
			return nil, errCut
		}
		return p.s.inner.Heads(ctx, id)
	}
	err = p.call("heads", id, func(bool) (err error) {
		heads, err = p.s.inner.Heads(ctx, id)
		if p.r.sabotaged("deaf") && err == nil {
			if was := p.r.book(p.s, id).stale[p.who]; was != nil {
				heads = was
			}
			p.r.book(p.s, id).stale[p.who] = heads
		}
		return err
	}, nil)
	return heads, err
}

// Close implements perdure.Store.
func (p *port) Close() error { return nil }

// Claim implements perdure.Claimer.
func (p *port) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (c perdure.Claim,
	err error) {
	err = p.call("claim", id, func(bool) (err error) {
		if c, err = p.s.inner.(perdure.Claimer).Claim(ctx, id, node, lease); err == nil {
			b := p.r.book(p.s, id)
			if sub := p.r.subject(id); sub != nil && !b.claimed.IsZero() && b.claim.Node != node {
				sub.overdue++
			}
			b.claim, b.claimed = c, time.Now().Add(min(lease, perdure.MaxLease))
		}
		return err
	}, nil)
	return c, err
}

// Renew implements perdure.Claimer. It is no step: it is called under a lock that others wait for.
func (p *port) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	if p.who.over() {
		runtime.Goexit()
	}
	now := time.Now()
	p.r.sched.note(fmt.Sprintf("%s renew %s %s", p.who.name, p.s.name, p.r.short(c.Agent)))
	if p.unreachable() {
		return errCut
	}
	err := p.s.inner.(perdure.Claimer).Renew(ctx, c, lease)
	if err == nil {
		p.r.book(p.s, c.Agent).claimed = now.Add(min(lease, perdure.MaxLease))
	}
	return err
}

// Release implements perdure.Claimer.
func (p *port) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	return p.call("release", c.Agent, func(bool) error {
		if p.r.sabotaged("undue") {
			due = 0
		}
		if b := p.r.book(p.s, c.Agent); b.claim == c {
			b.claimed = time.Time{}
		}
		return p.s.inner.(perdure.Claimer).Release(ctx, c, heads, due)
	}, nil)
}

// Index implements perdure.Lister.
func (p *port) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	return p.call("index", l.Agent, func(bool) error { return p.s.inner.(perdure.Lister).Index(ctx, heads, l) }, nil)
}

// Prune implements perdure.Pruner. Who dies in the middle of it has pruned a part.
func (p *port) Prune(ctx context.Context, id perdure.AgentID, heads, names []perdure.Hash,
	entries ...*perdure.Entry) (n int64, err error) {
	entries = slices.Clone(entries)
	err = p.call("prune", id, func(torn bool) (err error) {
		if torn {
			names = names[:len(names)/2]
		}
		n, err = p.s.inner.(perdure.Pruner).Prune(ctx, id, heads, names, entries...)
		return p.wrote(id, entries, err, true)
	}, func() { p.r.ack(p.s, id, entries) })
	return n, err
}

// watchBegins is after how long a watch tells of something. Before that a node wakes itself twice when it is told, and
// how often it looks then depends on who is quicker.
const watchBegins = 2100 * time.Millisecond

// Watch implements perdure.Watcher. It tells of one agent at a time. A watch that is cut off ends with an error, and
// the next tells nothing of what came before it.
func (p *port) Watch(ctx context.Context) iter.Seq2[perdure.AgentID, error] {
	return func(yield func(perdure.AgentID, error) bool) {
		p.who.told, p.who.polls = nil, false
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchBegins):
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-p.who.tells:
			}
			for len(p.who.told) > 0 {
				p.r.sched.park(p.who, p.who.name+" watch "+p.s.name)
				if time.Now().Before(p.who.cut) {
					p.who.polls = true
					yield(perdure.AgentID{}, errCut)
					return
				}
				id := p.who.told[0]
				p.who.told = p.who.told[1:]
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}
