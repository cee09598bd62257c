package home

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/view"
)

// taker is the key of the node that a place has, to which seats are handed over. A folder has none: all who read it
// would have the seat.
func (p *Peer) taker(ctx context.Context) (perdure.Key, error) {
	if p.server == nil {
		return perdure.Key{}, perdure.WithHint(fmt.Errorf("%w: a folder has no node that could take the seat: every "+
			"home that reads it would have it, and what must happen once could happen twice", perdure.ErrDenied),
			"name who is to have it: perdure export AGENT FILE --move --for KEY; or push without --move")
	}
	a, err := p.About(ctx)
	switch {
	case err != nil:
		return perdure.Key{}, err
	case a == nil || !a.Runs:
		return perdure.Key{}, perdure.WithHint(fmt.Errorf("%w: %s runs no agents", perdure.ErrDenied, p.Called()),
			"push without --move, or start perdure serve there without --no-node")
	}
	return a.Key, nil
}

// loose refuses to let another copy of an agent leave whose seat goes to whoever takes it first: one copy has left
// already, or is to be taken here, and the effects that must happen once would happen once for each.
func loose(a *perdure.Agent, place perdure.Place) error {
	if !a.Fold().SeatLoose() {
		return nil
	}
	return perdure.WithHint(fmt.Errorf("pass %s on: %w: its seat was handed over to whoever takes it first, so every "+
		"further copy would have it as well, and what must happen once could happen twice", view.Called(a),
		perdure.ErrDenied), looseHint(a, place))
}

// looseHint is what to do about an agent whose seat goes to whoever takes it first, in the store of a place.
func looseHint(a *perdure.Agent, place perdure.Place) string {
	name := view.Callable(a)
	if a.Fold().HandedOver(place) {
		return "use the copy that was handed over; or, if nobody has taken it in, destroy it, take the seat back " +
			"with perdure seat take " + name + " --yes --why TEXT, and hand it over with --for KEY: what names its " +
			"taker may be copied"
	}
	return "it arrived with its seat: run it here, which takes the seat, or hand it on with perdure export " + name +
		" --move"
}

// move passes an agent to another place, and its seat with it: all that is known first, so that little is left to pass
// once nobody works on it here. To do it again does no harm. What is held there keeps its seat here.
func (l Local) move(ctx context.Context, p *Peer, id perdure.AgentID, to perdure.Key) (*Passage, error) {
	before, err := exchange.Sync(ctx, l, p, id, exchange.Push)
	s := &Passage{Synced: before}
	if err != nil || s.Kept != "" {
		return s, resumable(err)
	}
	a, err := l.Desk.Load(ctx, id)
	if err != nil {
		return s, err
	}
	if l.Desk.Node.Trusted().Ended(a) != nil {
		s.Stays = "it has ended, and decides nothing more"
		return s, nil
	}
	held, err := l.heldThere(ctx, p, id, s.Pushed)
	if err == nil && held != "" {
		err = fmt.Errorf("%w: it is held there, and keeps its seat here: %s", perdure.ErrDenied, held)
	}
	if err != nil {
		return s, err
	}
	if err := p.shows(ctx, id, to); err != nil {
		return s, err
	}
	if err := l.giveSeat(ctx, id, to); err != nil {
		return s, err
	}
	l.moves = true // this is the one copy that leaves with the seat
	last, err := exchange.Sync(ctx, l, p, id, exchange.Push)
	if err == nil && last.Pushed != nil && last.Pushed.Key != to {
		err = fmt.Errorf("%w: key %s signed for it there, and not %s", perdure.ErrDenied, last.Pushed.Key.Short(),
			to.Short())
	}
	if err != nil {
		return s, perdure.WithHint(err, "its seat was handed over, and may have arrived: run the same command again, "+
			"which does no harm; if that never works, look there before you take the seat back (perdure seat take)")
	}
	if last.Pushed != nil { // signed, over all heads that are there now
		s.Before, s.Synced, s.Moved = before.Pushed, last, true
	}
	if p.Server() { // it is there; why it waits is worth knowing, and no more
		if there, err := p.Offer(ctx, id); err == nil {
			s.Waits = there.Kept
		}
	}
	return s, nil
}

// shows refuses a server that does not show, now, that it has a key: what it says of itself anybody can say, and only
// whoever has the key can take a seat that is handed over to it.
func (p *Peer) shows(ctx context.Context, id perdure.AgentID, key perdure.Key) error {
	var challenge perdure.Hash
	if _, err := rand.Read(challenge[:]); err != nil {
		return err
	}
	r, err := p.server.Vouch(ctx, id, challenge)
	if err == nil && r.Key != key {
		err = fmt.Errorf("%w: key %s signs there", perdure.ErrDenied, r.Key.Short())
	}
	if errors.Is(err, perdure.ErrDenied) {
		err = perdure.WithHint(fmt.Errorf("%s says that its node has key %s, and does not show it, so the seat stays "+
			"here: %w", p.Called(), key.Short(), err), "see whose server that is: perdure key show says its key there")
	}
	return resumable(err)
}

// heldThere is why an agent does nothing at the other place, as its receipt says or, where nothing was left to push, as
// it says when asked; empty: it does, or its seat is there already.
func (l Local) heldThere(ctx context.Context, p *Peer, id perdure.AgentID, r *exchange.Receipt) (string, error) {
	if r != nil {
		return r.Held, nil
	}
	d := l.Desk
	a, err := d.Load(ctx, id)
	if err != nil {
		return "", err
	}
	place, err := d.Home.PlaceOf(ctx, d.Store)
	if err != nil || a.Fold().HandedOver(place) || !p.Server() {
		return "", err
	}
	there, err := p.Offer(ctx, id)
	return there.Kept, err
}

// giveSeat hands the seat of an agent over to a node elsewhere.
func (l Local) giveSeat(ctx context.Context, id perdure.AgentID, to perdure.Key) error {
	d := l.Desk
	a, err := d.Load(ctx, id)
	if err != nil {
		return err
	}
	if scope := a.Fold().Charter.Scope; !d.Node.Trusted().Allows(to, perdure.MayAuthor, scope) {
		return perdure.WithHint(fmt.Errorf("%w: what the node there does would not count here: it signs with key %s, "+
			"which is not trusted", perdure.ErrDenied, to.Short()),
			"if you trust it: perdure key trust "+to.String()+" --rights author --scope "+scope+
				"; or push without --move")
	}
	err = d.Node.GiveSeat(ctx, id, to, "")
	switch {
	case errors.Is(err, perdure.ErrConflict):
		return perdure.WithHint(err, "wait until it rests, or pause it: perdure pause "+view.Callable(a))
	case errors.Is(err, perdure.ErrDenied) && !errors.As(err, new(*perdure.Hint)):
		return perdure.WithHint(err, "only the store that has the seat can hand it over: perdure seat show "+
			view.Callable(a))
	}
	return err
}
