package nats

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/perdure/perdure"
)

// goneText is what the header says of an agent that is not there any more.
const goneText = "gone"

// lookIndex knows when to look at which agent. It is derived: from the headers of the last commit of each agent, and
// from the claims, both read as they come. Nothing is written for it, and it is made when somebody first needs it.
type lookIndex struct {
	store *Store

	start   sync.Mutex
	log     *follower // nil: not needed yet
	claims  *follower
	lists   *follower // of the scopes of agents: nobody waits for it
	mu      sync.Mutex
	all     map[perdure.AgentID]*look
	born    []perdure.AgentID         // in the order in which they were found to be there
	begun   int                       // how often it was begun
	held    map[perdure.AgentID]*look // those a node has
	pending lookHeap
	roster  map[perdure.Key]presence // the nodes that use the store
}

// look is what is known of an agent.
type look struct {
	id    perdure.AgentID
	seq   uint64 // of its last commit; zero: none is known
	says  perdure.Time
	gone  bool
	scope unique.Handle[string] // as it is listed; zero: not known
	claim record
	due   perdure.Time
	at    int // in the heap, from one on; zero: not in it
}

// listedIn is the scope of the agent; empty: not known.
func (l *look) listedIn() string {
	if l.scope == (unique.Handle[string]{}) {
		return ""
	}
	return l.scope.Value()
}

// there reports whether the store holds the agent.
func (l *look) there() bool { return l.seq > 0 && !l.gone }

// next is when to look at the agent: when a lease ends, when whoever released it said if nothing came since, or when
// its heads say.
func (l *look) next() perdure.Time {
	switch {
	case !l.there():
		return 0
	case !l.claim.Node.IsZero():
		return l.claim.Until
	case l.claim.At == l.seq:
		return l.claim.Due
	}
	return l.says
}

// sync makes the index know everything that was acknowledged before it was called.
func (x *lookIndex) sync(ctx context.Context) error {
	s := x.store
	logged, err := s.lastOf(ctx, s.streams.log, s.streams.prefix+"log.*")
	if err != nil {
		return err
	}
	claimed, err := s.lastOf(ctx, s.streams.claim, s.streams.prefix+"claim.*")
	if err != nil {
		return err
	}
	log, claims, err := x.followers(ctx, logged, claimed)
	if err == nil {
		err = log.reach(ctx, logged)
	}
	if err == nil {
		err = claims.reach(ctx, claimed)
	}
	return err
}

// followers are those that follow the streams. They begin anew where a stream ends before what they have seen: the
// servers lost the rest, and give its numbers again.
func (x *lookIndex) followers(ctx context.Context, logged, claimed uint64) (log, claims *follower, err error) {
	x.start.Lock()
	if x.log != nil && (x.log.at() > logged || x.claims.at() > claimed) {
		x.log.stop()
		x.claims.stop()
		x.lists.stop()
		x.log, x.claims, x.lists = nil, nil, nil
	}
	x.start.Unlock()
	err = x.begin(ctx)
	x.start.Lock()
	defer x.start.Unlock()
	return x.log, x.claims, err
}

// begin starts to follow the streams.
func (x *lookIndex) begin(ctx context.Context) error {
	x.start.Lock()
	defer x.start.Unlock()
	if err := x.store.usable(ctx); err != nil {
		return err
	}
	if x.log != nil {
		return nil
	}
	x.mu.Lock()
	x.all, x.held, x.pending = map[perdure.AgentID]*look{}, map[perdure.AgentID]*look{}, nil
	x.born, x.begun, x.roster = nil, x.begun+1, map[perdure.Key]presence{}
	x.mu.Unlock()
	last := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy}
	f := &follower{store: x.store, name: x.store.streams.claim, cfg: last, apply: x.claimed}
	h := &follower{store: x.store, name: x.store.streams.list, cfg: last, apply: x.listed}
	last.HeadersOnly = true
	g := &follower{store: x.store, name: x.store.streams.log, cfg: last, apply: x.logged}
	if !x.store.begin(f, 0) {
		return x.store.errClosed()
	}
	if !x.store.begin(g, 0) {
		f.stop()
		return x.store.errClosed()
	}
	if !x.store.begin(h, 0) {
		f.stop()
		g.stop()
		return x.store.errClosed()
	}
	x.claims, x.log, x.lists = f, g, h
	return nil
}

// listed takes in the scope of an agent.
func (x *lookIndex) listed(m jetstream.Msg, _ uint64) {
	id, ok := agentOf(m.Subject())
	var line struct{ Scope string }
	if !ok || json.Unmarshal(m.Data(), &line) != nil || line.Scope == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.of(id).scope = unique.Make(line.Scope)
}

// logged takes in a commit.
func (x *lookIndex) logged(m jetstream.Msg, at uint64) {
	id, ok := agentOf(m.Subject())
	if !ok {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.of(id)
	was := l.there()
	text := m.Headers().Get(saysHeader)
	says, err := strconv.ParseInt(text, 10, 64)
	if l.seq, l.gone, l.says = at, text == goneText, perdure.Time(says); err != nil {
		l.says = perdure.AtOnce // nobody knows: a node is to look
	}
	if !was && l.there() {
		x.born = append(x.born, id)
	}
	x.place(l)
}

// claimed takes in a claim.
func (x *lookIndex) claimed(m jetstream.Msg, _ uint64) {
	if strings.HasPrefix(m.Subject(), x.store.streams.prefix+rosterToken) {
		x.enrolled(m)
		return
	}
	id, ok := agentOf(m.Subject())
	var r record
	if !ok || json.Unmarshal(m.Data(), &r) != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.of(id)
	if l.claim = r; r.Node.IsZero() {
		delete(x.held, id)
	} else {
		x.held[id] = l
	}
	x.place(l)
}

func (x *lookIndex) of(id perdure.AgentID) *look {
	l := x.all[id]
	if l == nil {
		l = &look{id: id}
		x.all[id] = l
	}
	return l
}

// place puts an agent where it belongs in the heap.
func (x *lookIndex) place(l *look) {
	switch due := l.next(); {
	case due == 0 && l.at > 0:
		heap.Remove(&x.pending, l.at-1)
	case due == 0:
	case l.at > 0:
		l.due = due
		heap.Fix(&x.pending, l.at-1)
	default:
		l.due = due
		heap.Push(&x.pending, l)
	}
}

// due are the agents to look at by a time, earliest first. It costs what it yields.
func (x *lookIndex) due(now time.Time) (out []perdure.Look) {
	x.mu.Lock()
	defer x.mu.Unlock()
	limit, believed := perdure.TimeOf(now), perdure.TimeOf(time.Now().Add(perdure.MaxLease))
	for rest := []int{0}; len(rest) > 0; {
		i := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if i < len(x.pending) && x.pending[i].due <= limit {
			if l := x.pending[i]; l.claim.Node.IsZero() || l.due <= believed {
				out = append(out, perdure.Look{Agent: l.id, Due: l.due, Scope: l.listedIn()})
			}
			rest = append(rest, 2*i+1, 2*i+2)
		}
	}
	for id, l := range x.held { // a lease that ends too late has ended
		if l.there() && l.due > believed {
			out = append(out, perdure.Look{Agent: id, Due: perdure.AtOnce, Scope: l.listedIn()})
		}
	}
	slices.SortFunc(out, func(a, b perdure.Look) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), bytes.Compare(a.Agent[:], b.Agent[:]))
	})
	return out
}

// Due implements perdure.Store.
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[perdure.Look, error] {
	return func(yield func(perdure.Look, error) bool) {
		if err := s.index.sync(ctx); err != nil {
			yield(perdure.Look{}, fmt.Errorf("agents due: %w", err))
			return
		}
		for _, l := range s.index.due(now) {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// Held implements perdure.Holder.
func (s *Store) Held(ctx context.Context) iter.Seq2[perdure.Holding, error] {
	return func(yield func(perdure.Holding, error) bool) {
		if err := s.index.sync(ctx); err != nil {
			yield(perdure.Holding{}, fmt.Errorf("agents at work: %w", err))
			return
		}
		now := time.Now()
		var all []perdure.AgentID
		s.index.mu.Lock()
		for id, l := range s.index.held {
			if l.there() && l.claim.holds(now) {
				all = append(all, id)
			}
		}
		s.index.mu.Unlock()
		for _, id := range all {
			if !yield(perdure.Holding{Agent: id}, nil) {
				return
			}
		}
	}
}

// lookHeap has what is to be looked at first on top.
type lookHeap []*look

func (h lookHeap) Len() int           { return len(h) }
func (h lookHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h lookHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i+1, j+1
}

// Push implements heap.Interface.
func (h *lookHeap) Push(x any) {
	l := x.(*look)
	*h = append(*h, l)
	l.at = len(*h)
}

// Pop implements heap.Interface.
func (h *lookHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	*h, l.at = old[:len(old)-1], 0
	return l
}
