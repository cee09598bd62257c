package perdure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// here is where the agents of this node have their seat. A store that does not know itself is where the node's key is.
func (n *Node) here(ctx context.Context) (Place, error) {
	if p := n.placed.Load(); p != nil {
		return *p, nil
	}
	at, err := n.place(ctx)
	switch {
	case err != nil:
		return at, err
	case at.IsZero():
		return at, errors.New("this store cannot be told from its copies: it was opened only to look at")
	}
	n.placed.Store(&at)
	return at, nil
}

func (n *Node) place(ctx context.Context) (Place, error) {
	if !n.Place.IsZero() {
		return n.Place, nil
	}
	p, ok := n.Store.(Placed)
	if !ok {
		return Place{ID: HashOf(append([]byte("perdure-place\x00"), n.caps.Node[:]...))}, nil
	}
	at, err := p.Place(ctx)
	if err != nil {
		return Place{}, fmt.Errorf("tell this store from its copies: %w", err)
	}
	return at, nil
}

// sit records that the seat is in this store.
func (w *work) sit(ctx context.Context, s sitStep) error {
	return w.addFlushed(ctx, Event{Name: "seat-taken", By: w.n.Key.Name,
		Notice: SeatTaken{At: w.n.placed.Load().ID, Of: s.Of}})
}

// gone is whether this store had the seat of an agent before a claim.
type gone struct {
	claim Hash
	had   bool
}

// maxSeatsKnown is of how many agents a node remembers whether their seat was here: to find out takes all of memory.
const maxSeatsKnown = 10_000

// left reports whether the seat of the agent was in this store, and is in another now: it goes on there, and to go on
// here as well would have two places think, and do what can be repeated. A seat that was never handed over was nowhere
// else.
func (w *work) left(ctx context.Context) (bool, error) {
	at, f := *w.n.placed.Load(), w.a.fold
	if !f.SeatElsewhere(at) || f.Seats[0].Epoch == 1 {
		return false, nil
	}
	claim := f.Seats[0].Claim
	if was, known := w.n.had.get(w.a.ID()); known && was.claim == claim {
		return was.had, nil
	}
	had := false
	for e, err := range Backwards(ctx, w.n.Store, w.a.ID(), nil) {
		if err != nil {
			return false, err
		}
		if had = e.seats(at.ID); had {
			break
		}
	}
	w.n.had.set(w.a.ID(), gone{claim, had}, maxSeatsKnown)
	return had, nil
}

// seats reports whether an entry says that a store has the seat, or hands it over.
func (e *Entry) seats(at Hash) bool {
	switch b := e.content.(type) {
	case Genesis:
		return b.Seat == at
	case Event:
		taken, _ := b.Notice.(SeatTaken)
		given, _ := b.Notice.(SeatGiven)
		return taken.At == at || given.At == at
	}
	return false
}

// flag records that something was decided twice.
func (w *work) flag(ctx context.Context, s flagStep) error {
	w.n.Log.Warn("decided in two copies: it may have happened twice", "agent", w.a.ID().Short(), "first",
		s.Doubled.First.Short(), "second", s.Doubled.Second.Short())
	return w.addFlushed(ctx, Event{Name: "doubled", By: runtimeName, Notice: s.Doubled})
}

// correct tells the advisor that something happened that is on record as not done.
func (w *work) correct(ctx context.Context, s happenedStep) error {
	w.n.Log.Warn("it happened, though it was recorded otherwise in a copy", "agent", w.a.ID().Short(), "tool", s.tool,
		"recorded", s.as, "decision", s.decision.Short())
	return w.addFlushed(ctx, w.a.fold.telling(&s.happened))
}

// GiveSeat hands the seat of an agent over, so that another store may take it: the one whose node has the key to, or
// any if that is zero. A seat that is free, or was handed over to this store, is taken first. From then on nothing is
// done for the agent here. It keeps other nodes off the agent meanwhile, and refuses (ErrConflict) while one is at work
// on it. To give what was given before, and not taken, changes nothing; what was given to somebody is not given to
// somebody else as well (ErrDenied): two could take it.
//
// When it returns nil the witness remembers that the seat was handed over, even if this process is killed at once: only
// then may the memory that says so leave.
func (n *Node) GiveSeat(ctx context.Context, id AgentID, to Key, note string) error {
	return n.seated(ctx, "hand over", id, func(w *work, at Place) (Notice, error) {
		if err := w.behind.refusal(w.a); err != nil && !w.behind.away() {
			return nil, err
		}
		f := w.a.fold
		free := len(f.Seats) == 0 || len(f.Seats) == 1 && f.Seats[0].open(at, n.Key.Key())
		switch {
		case f.Ended != nil:
			return nil, nil // nothing is decided for it any more
		case !free && (f.Disputed() || f.Seats[0].At != at.ID && !f.HandedOver(at)):
			return nil, fmt.Errorf("%w: its seat is not in this store", ErrDenied)
		case !free && f.Seats[0].Given && f.Seats[0].To == to:
			n.see(ctx, w.a, w.behind) // a process that was killed may not have noted it
			return nil, n.unseen().err()
		case !free && f.SeatLoose():
			return nil, fmt.Errorf("%w: its seat was handed over already, to whoever takes it first", ErrDenied)
		case !free && f.Seats[0].Given:
			return nil, WithHint(fmt.Errorf("%w: its seat was handed over already, to key %s", ErrDenied,
				f.Seats[0].To.Short()), "hand it over to that key again, which changes nothing; if its node never got "+
				"it, and never will, take the seat back first: perdure seat take")
		}
		if err := cmp.Or(f.keepsSeat(TimeOf(time.Now())), n.unseen().err()); err != nil {
			return nil, err
		}
		if free {
			return SeatTaken{At: at.ID, Of: f.seatClaims()}, nil // it is here from now on: what follows hands it over
		}
		owned := slices.ContainsFunc(f.Seats, func(s Seat) bool { return s.By != n.Key.Key() })
		return SeatGiven{At: at.ID, Of: f.seatClaims(), To: to, Note: note, Owned: owned}, nil
	})
}

// keepsSeat says why the seat of an agent cannot leave now, if it cannot.
func (f *Fold) keepsSeat(now Time) error {
	// they tell their parent here
	if i := slices.IndexFunc(f.Children, func(c ChildInfo) bool { return !c.Ended }); i >= 0 {
		return fmt.Errorf("%w: its child %s is still at work here; wait until it has ended, or end it", ErrConflict,
			f.Children[i].Agent.Short())
	}
	for i := range f.Open {
		if o := &f.Open[i]; !o.Effect.Repeatable() && !o.Doubt && now < o.Deadline {
			return fmt.Errorf("%w: %s is under way until %s; wait, or settle decision %s", ErrConflict, o.toolName(),
				o.Deadline, o.Decision.Short())
		}
	}
	return nil
}

// TakeSeat moves the seat of an agent here and records why: whoever had it is lost, or two claim it. Only its owner
// may, or, if that is nobody trusted here, this node: what the other decides meanwhile may be done twice. A seat that
// is free or was handed over needs no taking. Of a copy from before this store handed the seat over, as the witness
// knows, it also accepts that it is older.
func (n *Node) TakeSeat(ctx context.Context, id AgentID, why string) error {
	if why == "" {
		return fmt.Errorf("take the seat of agent %s: say why: its memory records what happened to the other store",
			id.Short())
	}
	return n.seated(ctx, "take the seat of", id, func(w *work, at Place) (Notice, error) {
		f := w.a.fold
		if err := w.behind.refusal(w.a); err != nil && !w.behind.given() {
			return nil, err
		}
		if err := n.speaksFor(w.a); err != nil {
			return nil, err
		}
		if len(f.Seats) > 0 && f.seatedAt(at) && !w.behind.given() {
			return nil, nil
		}
		return SeatTaken{At: at.ID, Of: f.seatClaims(), Lost: len(f.Seats) > 0, Note: why}, nil
	})
}

// TakeGiven takes the seat of an agent that was handed over into this store, which is a copy of the one that did: no
// node takes it there by itself, for it may have been handed over to somebody else before the copy was made. Of any
// other seat it changes nothing.
func (n *Node) TakeGiven(ctx context.Context, id AgentID) error {
	return n.seated(ctx, "take the seat of", id, func(w *work, at Place) (Notice, error) {
		if err := w.behind.refusal(w.a); err != nil {
			return nil, err
		}
		if f := w.a.fold; f.HandedOver(at) && f.Seats[0].open(Place{ID: at.ID}, n.Key.Key()) {
			return SeatTaken{At: at.ID, Of: f.seatClaims(), Note: "it arrived here after it was handed over"}, nil
		}
		return nil, nil
	})
}

// seated writes a notice about the seat of an agent that counts here, while no node works on it. After one that takes a
// seat without a reason it asks once more.
func (n *Node) seated(ctx context.Context, verb string, id AgentID,
	say func(*work, Place) (Notice, error)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
		}
	}()
	c, err := n.claim(ctx, id)
	if errors.Is(err, ErrConflict) && !errors.As(err, new(*Hint)) { // one that is barred says what to do
		return WithHint(alreadyErr("a node is at work on it"), "wait until it rests, or pause it: perdure pause "+
			id.Short())
	}
	if err != nil {
		return err
	}
	w, err := n.begin(ctx, id)
	if err != nil {
		return errors.Join(err, c.release(ctx, nil, TimeOf(time.Now())))
	}
	defer func() { err = errors.Join(err, c.release(ctx, w.heads, w.due(Idle{}))) }()
	if err := n.trust().Counts(w.a); err != nil {
		return err
	}
	yields := w.yields
	for range 2 {
		notice, err := say(w, *n.placed.Load())
		if err != nil || notice == nil {
			return err
		}
		name := "seat-given"
		taken, takes := notice.(SeatTaken)
		if takes {
			name = "seat-taken"
		}
		if err := w.addFlushed(ctx, Event{Name: name, By: n.Key.Name, Notice: notice}); err != nil {
			return err
		}
		if w.yields != yields {
			return fmt.Errorf("%w: somebody else wrote to it; try again", ErrConflict)
		}
		if !takes && !w.a.fold.HandedOver(*n.placed.Load()) {
			return WithHint(fmt.Errorf("%w: its seat stays here: what was written about it does not count",
				ErrConflict), "see who claims it with perdure seat show; its owner settles that with perdure seat take")
		}
		if w.behind != nil { // whoever has it is lost, and what it did
			w.behind = nil
			if err := n.seeAnew(ctx, w.a); err != nil {
				return err
			}
		}
		if !takes || taken.Note != "" { // a seat that nobody had is only the first step
			n.keep(w)
			err := n.index(ctx, w)
			if !takes { // what leaves from here on must be known here as gone
				err = cmp.Or(n.unseen().err(), err)
			}
			return err
		}
	}
	return fmt.Errorf("%w: its seat was not free after all; try again", ErrConflict)
}

// SpeaksFor reports whether a key may do here what only the owner of an agent may, such as to take its seat: it is the
// owner's, or the owner is nobody trusted here. A nil Trust leaves it to whoever has the key.
func (t *Trust) SpeaksFor(f *Fold, k Key) bool {
	return t == nil || f.Charter.Owner == k || !t.owned(f, f.Charter.Scope)
}

// speaksFor refuses what only the owner of an agent may do here, or this node if the owner is nobody trusted here.
func (n *Node) speaksFor(a *Agent) error {
	if owner := a.fold.Charter.Owner; !n.trust().SpeaksFor(a.fold, n.Key.Key()) {
		return WithHint(fmt.Errorf("%w: it is owned by %s, and this key is %s", ErrDenied, owner.Short(),
			n.Key.Key().Short()), "that takes the key of its owner: have the home that has it do this, or put its "+
			"file key in the place of the one in this home")
	}
	return nil
}
