package home

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/view"
)

const (
	// peerEvery is how often a peer is asked what is new, unless node.yaml says otherwise.
	peerEvery = 5 * time.Second
	// maxPeerWait is how long one that does not answer is left alone at most, maxOwedWait an agent that was refused.
	maxPeerWait = 2 * time.Minute
	maxOwedWait = 10 * time.Minute
	// settleFor is how long what happens here gathers before peers are told.
	settleFor = 50 * time.Millisecond
	// roundFor is how long one round with a peer may take: what is left is for the next.
	roundFor = 5 * time.Minute
	// changesAtOnce is how many agents a peer is asked about at once, passesAtOnce how many pass at once.
	changesAtOnce, passesAtOnce = 1000, 4
	// pagesPerRound is how many times in a round, before what is known passes. maxAhead is how many that were not tried
	// yet are noted before it is asked about more.
	pagesPerRound = 16
	maxAhead      = pagesPerRound * changesAtOnce
)

// Peering passes agents between the store of a desk and the peers that node.yaml names, until ctx ends or what it
// returns is called. Peers that do not answer are asked again, less and less often; agents that are refused are tried
// again when something happens to them, or after a while. An agent that needs what the node of the desk lacks and a
// peer has is handed over to that peer, with its seat.
func (h *Home) Peering(ctx context.Context, d *Desk, log *slog.Logger) (func(), error) {
	peers, err := h.Peers()
	if err != nil || len(peers) == 0 {
		return func() {}, err
	}
	if err := h.Consent(); err != nil {
		return nil, err
	}
	v, err := h.Owner()
	if err != nil {
		return nil, err
	}
	book, err := h.OpenDealings(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	var nudges []chan struct{}
	for _, c := range peers {
		w := &peering{h: h, conf: c, book: book, log: log.With("peer", c.Name), nudge: make(chan struct{}, 1)}
		w.here = Local{Desk: d, Visitor: v, from: c.source(), within: &bounds{&w.conf, book}}
		nudges = append(nudges, w.nudge)
		all.Go(func() { w.run(ctx) })
	}
	if store, ok := d.Store.(perdure.Watcher); ok {
		all.Go(func() {
			for _, err := range store.Watch(ctx) {
				if err != nil {
					return // they are asked from time to time all the same
				}
				for _, n := range nudges {
					select {
					case n <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
		if err := book.Close(); err != nil {
			log.Warn("close "+dealingsFile, "err", err)
		}
	}, nil
}

// peering deals with one peer.
type peering struct {
	h     *Home
	here  Local
	conf  PeerConfig
	book  *Dealings
	log   *slog.Logger
	nudge chan struct{}
	told  string            // the fault that was logged last
	left  map[string]string // files that were left alone, as logged
	open  *Peer             // a server, whose connections are used again; nil: it was not reached yet
}

// peer is the peer, in use until done is called.
func (w *peering) peer() (p *Peer, done func(), err error) {
	if w.open == nil {
		if p, err = w.h.OpenPeer(w.conf, ""); err != nil {
			return nil, nil, err
		}
		if !p.Server() { // whose entries count there is looked up each time
			return p, func() { _ = p.Close() }, nil // what was written to it was checked
		}
		w.open = p
	}
	return w.open, func() {}, nil
}

// run deals with the peer until ctx ends.
func (w *peering) run(ctx context.Context) {
	for {
		s, err := w.round(ctx)
		if ctx.Err() != nil {
			if w.open != nil {
				_ = w.open.Close() // its connections
			}
			return
		}
		wait := w.conf.Every
		if wait == 0 {
			wait = peerEvery
		}
		nudge := w.nudge
		if err != nil {
			for range min(s.Failures-1, 20) {
				wait = min(2*wait, max(maxPeerWait, w.conf.Every))
			}
			nudge = nil // it is not there
		}
		timer := time.NewTimer(wait - time.Duration(rand.Int64N(int64(wait)/4+1))) // not all at the same time
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-nudge:
			timer.Stop()
			select {
			case <-ctx.Done():
				return
			case <-time.After(settleFor):
			}
		}
	}
}

// round finds out what is new on both sides, passes it, and notes how it went.
func (w *peering) round(ctx context.Context) (*Standing, error) {
	s, err := w.book.standing(ctx, w.conf.Name)
	if err != nil {
		w.say(err)
		return &Standing{Failures: 1}, err
	}
	bounded, cancel := context.WithTimeout(ctx, roundFor)
	err = w.deal(bounded, s)
	cancel()
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	if s.Tried = perdure.TimeOf(time.Now()); err != nil {
		s.Failures, s.Fault = s.Failures+1, view.Cut(withDo(err), maxWhy)
	} else {
		s.Failures, s.Fault, s.Met = 0, "", s.Tried
	}
	w.say(err)
	return s, errors.Join(err, w.book.note(ctx, w.conf.Name, s))
}

// say logs how it stands, once.
func (w *peering) say(err error) {
	text := ""
	if err != nil {
		text = withDo(err)
	}
	switch {
	case text != "" && w.told == "":
		w.log.Warn("a peer cannot be synced", "err", text)
	case text == "" && w.told != "":
		w.log.Info("a peer can be synced again")
	}
	w.told = text
}

// sayLeft logs which files of a folder are left alone, once each: others of the agent go on without what is in them.
func (w *peering) sayLeft(all []LeftFile) {
	now := make(map[string]string, len(all))
	for _, x := range all {
		if now[x.File] = x.Error; w.left[x.File] != x.Error {
			w.log.Warn("a file is left alone", "file", x.File, "err", x.Error)
		}
	}
	w.left = now
}

// deal is one round.
func (w *peering) deal(ctx context.Context, s *Standing) error {
	p, done, err := w.peer()
	if err != nil {
		return err
	}
	defer done()
	w.sayLeft(p.leftAlone())
	if p.Server() {
		if s.About, err = p.About(ctx); err != nil {
			return err
		}
	}
	if err := s.begin(ctx, p); err != nil {
		return err
	}
	way := Ways[w.conf.Way]
	feed, _, _ := strings.Cut(s.theirs, ":")
	ahead, err := w.book.untried(ctx, w.conf.Name, maxAhead)
	if err != nil {
		return err
	}
	if way != exchange.Push && ahead < maxAhead {
		if err := w.gather(ctx, &s.theirs, s, func(after string) (exchange.Changes, error) {
			return p.Changes(ctx, after, changesAtOnce)
		}); err != nil {
			return err
		}
	}
	if now, _, _ := strings.Cut(s.theirs, ":"); feed != "" && now != feed {
		s.ours = "" // it was restored: what went there may be gone
	}
	if way != exchange.Pull {
		if err := w.gather(ctx, &s.ours, s, func(after string) (exchange.Changes, error) {
			return w.here.Changes(ctx, after, w.conf.Scope, changesAtOnce)
		}); err != nil {
			return err
		}
	}
	for {
		owed, err := w.book.Owing(ctx, w.conf.Name, time.Now(), changesAtOnce)
		if err != nil || len(owed) == 0 {
			return err
		}
		if err := w.book.take(ctx, w.conf.Name, owed); err != nil {
			return err
		}
		if err := w.passAll(ctx, p, s, owed, way); err != nil {
			return err
		}
	}
}

// begin forgets how far it came with another place of the same name, or another store there.
func (s *Standing) begin(ctx context.Context, p *Peer) error {
	with := p.URL + p.Dir
	if s.About != nil {
		with += " " + s.About.Place.String()
	} else if p.folder != nil {
		feed, _, err := p.folder.FeedEnd(ctx)
		if err != nil {
			return err
		}
		with += " " + feed.String()
	}
	if with != s.with {
		s.with, s.theirs, s.ours = with, "", ""
	}
	return nil
}

// gather notes which agents have changed since a position, and where that ends: of very many, the rest is for the next
// round, so that these pass first.
func (w *peering) gather(ctx context.Context, at *string, s *Standing,
	changes func(after string) (exchange.Changes, error)) error {
	for range pagesPerRound {
		c, err := changes(*at)
		if err != nil {
			return err
		}
		for _, id := range c.Private {
			switch _, err := w.here.Desk.Store.Heads(ctx, id); {
			case err == nil: // pass looks whether somebody has passed it on
				c.Agents = append(c.Agents, id)
			case !errors.Is(err, perdure.ErrNotFound):
				return err
			}
		}
		if err := w.book.owe(ctx, w.conf.Name, c.Agents); err != nil {
			return err
		}
		if c.Position != *at {
			*at = c.Position
			if err := w.book.note(ctx, w.conf.Name, s); err != nil {
				return err
			}
		}
		if !c.More {
			break
		}
	}
	return nil
}

// passAll passes agents, several at once, until the peer is gone.
func (w *peering) passAll(ctx context.Context, p *Peer, s *Standing, owed []Owed, way exchange.Way) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	slots := make(chan struct{}, passesAtOnce)
	for i := range owed {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			if err := w.pass(ctx, p, s, &owed[i], way); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// pass passes one agent. The error is one of the peer, or of this home: what is wrong with the agent is noted.
func (w *peering) pass(ctx context.Context, p *Peer, s *Standing, o *Owed, way exchange.Way) error {
	stays, err := w.here.outside(ctx, o.Agent)
	if err == nil && stays != "" { // the peer is not asked: it would learn that there is such an agent
		return w.book.paid(ctx, w.conf.Name, o, nil, time.Now())
	}
	var got *exchange.Synced
	if err == nil {
		got, err = exchange.Sync(ctx, w.here, p, o.Agent, way)
	}
	if errors.Is(err, perdure.ErrNotFound) && !errors.Is(err, perdure.ErrRejected) {
		err = nil // it is in neither place any more
	}
	if err == nil && way != exchange.Pull {
		if moved, fault := w.offload(ctx, p, s, o.Agent); fault != nil {
			err = fault
		} else if moved != nil {
			got = moved
		}
	}
	if err != nil && !ofAgent(err) {
		return err
	}
	w.report(o, got, err)
	if got != nil && got.Pulled != nil {
		if n := doubles(ctx, w.here.Desk.Store, o.Agent); n > 0 {
			w.log.Warn("decided in two copies, so it may have happened twice: see perdure inbox", "agent",
				o.Agent.Short(), "decisions", n)
		}
	}
	if got != nil && got.Pushed != nil {
		if err := w.book.Keep(ctx, w.conf.Name, got.Pushed); err != nil {
			return err
		}
	}
	wait := maxOwedWait
	if o.Tries < 9 {
		wait = min(wait, time.Second<<o.Tries)
	}
	return w.book.paid(ctx, w.conf.Name, o, err, time.Now().Add(wait))
}

// report logs what passed, and what does not.
func (w *peering) report(o *Owed, got *exchange.Synced, err error) {
	if err != nil {
		if text := view.Cut(withDo(err), maxWhy); text != o.Why {
			w.log.Warn("an agent could not be synced", "agent", o.Agent.Short(), "err", text)
		}
		return
	}
	if got == nil {
		return
	}
	for _, x := range []struct {
		way string
		r   *exchange.Receipt
	}{{"pulled", got.Pulled}, {"pushed", got.Pushed}} {
		if x.r != nil {
			w.log.Info(x.way, "agent", o.Agent.Short(), "entries", x.r.Entries, "new", x.r.Created, "held", x.r.Held)
		}
	}
}

// ofAgent reports whether an error is about one agent, so that others may pass all the same.
func ofAgent(err error) bool {
	var own *Error
	if errors.As(err, &own) {
		return own.Kind != KindUnavailable && own.Kind != KindTooMany && own.Kind != KindUnknown
	}
	var p *client.Problem
	if errors.As(err, &p) {
		k := KindNamed(p.Kind)
		return k != KindUnavailable && k != KindTooMany && k != KindUnknown
	}
	return errors.Is(err, perdure.ErrRejected) || errors.Is(err, perdure.ErrDenied) ||
		errors.Is(err, perdure.ErrInvalid) || errors.Is(err, perdure.ErrConflict)
}

// offload hands an agent over to a peer that has what it needs and this node lacks; nil: it needs nothing, or the peer
// does not have it. A peer whose entries would not count here gets no seat: what it did would not come back.
func (w *peering) offload(ctx context.Context, p *Peer, s *Standing, id perdure.AgentID) (*exchange.Synced, error) {
	d, about := w.here.Desk, s.About
	if about == nil || !about.Runs || len(d.Node.Tools) == 0 {
		return nil, nil
	}
	needs, err := d.Node.Needs(ctx, id)
	if err != nil || needs == "" || !about.Has(needs) {
		return nil, nil // what does not count here is not worked on
	}
	a, err := d.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	f := a.Fold()
	at, err := w.h.PlaceOf(ctx, d.Store)
	if err != nil || len(f.Seats) != 1 || f.Seats[0].At != at.ID || f.Seats[0].Given || !about.Serves(f.Charter.Scope) {
		return nil, err
	}
	if !d.Node.Trusted().Allows(about.Key, perdure.MayAuthor, f.Charter.Scope) {
		return nil, perdure.WithHint(fmt.Errorf("%w: it needs %s, which %s has, but what that writes does not count "+
			"here", perdure.ErrDenied, needs, p.Name),
			"perdure key trust "+about.Key.String()+" --rights author --scope "+
				f.Charter.Scope)
	}
	got, err := w.here.move(ctx, p, id, about.Key)
	if err == nil {
		w.log.Info("handed over", "agent", id.Short(), "needs", needs, "to", about.Name)
	}
	return got.Synced, err
}
