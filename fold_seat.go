package perdure

import (
	"context"
	"slices"

	"github.com/perdure/perdure/phase"
)

// Seat says where effects that must happen once may be decided: in one store, by its own id. Nodes that share the store
// take over from each other without ceremony. A copy of the agent in another store, or of the store itself, lacks the
// seat: it may look, think and repeat what can be repeated, but decides no once effect and creates no child until the
// seat is handed over to it, or its owner takes it.
type Seat struct {
	Claim Hash  `canon:"1,claim"`          // the entry that says so
	At    Hash  `canon:"2,at"`             // the id of the store; that of the one that handed it over, while Given
	Epoch int64 `canon:"3,epoch"`          // counts who had the seat, from 1
	Given bool  `canon:"4,given,omitzero"` // handed over, and not taken yet
	To    Key   `canon:"5,to,omitzero"`    // whose node may take it; none: any other store's
	By    Key   `canon:"6,by"`             // who said so
}

// Place is a store as it is told from its copies.
type Place struct {
	// ID is the store's own: the same for every process that uses the store, and another for a copy of it. Zero: it
	// cannot be told, as in a copy that was opened only to look at.
	ID Hash
	// CopyOf are the stores that this is a copy of, as far as it knows: it was restored from a backup of one, or copied
	// with its folder.
	CopyOf []Hash
	// Found says that the store holds agents that came there neither by a node nor by an import: it is a copy, and
	// whatever was handed over in it before was not handed over to it.
	Found bool
}

// IsZero reports whether the place cannot be told.
func (p Place) IsZero() bool { return p.ID.IsZero() }

// was reports whether the store is, or may be a copy of, the one with an id.
func (p Place) was(id Hash) bool { return p.Found || p.ID == id || slices.Contains(p.CopyOf, id) }

// Placed is a store that knows itself from its copies.
type Placed interface {
	Place(ctx context.Context) (Place, error)
}

// sitStep says the seat is free or handed over to this store: record that it is here from now on.
type sitStep struct {
	Of []Hash // the claims it follows
}

// Disputed reports whether two stores claim the seat, neither having seen the other's claim. Nobody decides a once
// effect until the owner settles it by taking the seat.
func (f *Fold) Disputed() bool {
	return slices.ContainsFunc(f.Seats, func(s Seat) bool {
		return s.Given || s.At != f.Seats[0].At
	}) && len(f.Seats) > 1
}

// seatedAt reports whether the seat is in a store; who only looks is told so.
func (f *Fold) seatedAt(at Place) bool {
	return at.IsZero() || len(f.Seats) == 0 || f.Seats[0].At == at.ID && !f.Seats[0].Given && !f.Disputed()
}

// SeatElsewhere reports whether a store other than this one has the seat.
func (f *Fold) SeatElsewhere(at Place) bool {
	return len(f.Seats) > 0 && !f.Disputed() && !f.Seats[0].Given && f.Seats[0].At != at.ID
}

// seatClaims are the claims on the seat that nobody has followed yet.
func (f *Fold) seatClaims() (of []Hash) {
	for i := range f.Seats {
		of = append(of, f.Seats[i].Claim)
	}
	return of
}

// open reports whether somebody with this key, in this store, may take the seat without taking it from anybody.
func (s *Seat) open(at Place, by Key) bool {
	return s.Given && !at.was(s.At) && (s.To.IsZero() || s.To == by)
}

// HandedOver reports whether a store has handed the seat over, or is a copy of the one that has, and nobody has been
// seen to take it: it goes on elsewhere.
func (f *Fold) HandedOver(at Place) bool {
	return len(f.Seats) == 1 && f.Seats[0].Given && at.was(f.Seats[0].At)
}

// SeatLoose reports whether the seat was handed over to whoever takes it first, and nobody has been seen to take it.
// Every copy of such a memory carries the right to take it, so no more than one may leave a store. A seat that was
// handed over to a key is not loose: nobody else takes it, and copies may go anywhere.
func (f *Fold) SeatLoose() bool {
	return f.Ended == nil && len(f.Seats) == 1 && f.Seats[0].Given && f.Seats[0].To.IsZero()
}

// takeSeat folds that a store has the seat. Whoever says so of the store that has it changes nothing: who may hand it
// over stays who took it. A claim that its author made without having seen another stands beside it, and makes a
// dispute, which the owner settles by taking the seat.
func (f *Fold) takeSeat(e *Entry, n *SeatTaken) {
	followed := oneOf(n.Of)
	epoch, sits := int64(0), false
	for i := range f.Seats {
		s := &f.Seats[i]
		if !followed(s.Claim) {
			continue
		}
		here := !s.Given && s.At == n.At
		if !n.Lost && !s.open(Place{ID: n.At}, e.Origin) && !here {
			f.conflict(e, "the seat was taken, and not handed over: it takes the owner and a reason")
			return
		}
		epoch, sits = max(epoch, s.Epoch), sits || here
	}
	if sits && !n.Lost {
		return
	}
	epoch++
	for i := range f.Seats { // beside a claim it has not seen, it is as far
		epoch = max(epoch, f.Seats[i].Epoch)
	}
	f.seat(e, Seat{Claim: e.Name, At: n.At, Epoch: epoch, By: e.Origin}, followed)
}

// giveSeat folds that a store hands the seat over. Who took the seat there may, and who says that they own the agent,
// which takes that right.
func (f *Fold) giveSeat(e *Entry, n *SeatGiven) {
	followed := oneOf(n.Of)
	epoch := int64(0)
	for i := range f.Seats {
		s := &f.Seats[i]
		if !followed(s.Claim) {
			continue
		}
		if s.At != n.At || s.By != e.Origin && !n.Owned {
			epoch = 0
			break
		}
		epoch = max(epoch, s.Epoch)
	}
	if epoch == 0 {
		f.conflict(e, "the seat was handed over by somebody who did not have it")
		return
	}
	f.seat(e, Seat{Claim: e.Name, At: n.At, Epoch: epoch, Given: true, To: n.To, By: e.Origin}, followed)
}

// seat puts a claim in the place of those it follows. One of too many is not told from the others: the dispute is there
// already.
func (f *Fold) seat(e *Entry, s Seat, followed func(Hash) bool) {
	seats := slices.DeleteFunc(slices.Clone(f.Seats), func(s Seat) bool { return followed(s.Claim) })
	f.work += int64(len(f.Seats))
	if f.Seats = seats; len(f.Seats) < maxSeats {
		f.Seats = append(seats, s)
	}
	f.unseated()
	if f.Disputed() {
		f.conflict(e, "two stores claim the seat: no once effect is decided until the owner takes it")
	}
}

// planSeat is what comes before any other work: to take the seat if it was handed over to this store, to leave the
// agent alone if this store handed it over, or if another has the seat and this node leaves copies alone; nil: neither.
func (f *Fold) planSeat(c *Capabilities, rest *Idle) Step {
	if c.Seated && !c.Seat.IsZero() && f.SeatElsewhere(c.Seat) && !f.rehearses() {
		rest.because(Reason{Kind: phase.RestElsewhere, Seat: f.Seats[0].At})
		return *rest
	}
	if c.Seat.IsZero() && !c.some || len(f.Seats) != 1 || !f.Seats[0].Given {
		return nil
	}
	if c.some || f.Seats[0].open(c.Seat, c.Node) {
		return sitStep{Of: f.seatClaims()}
	}
	if f.HandedOver(c.Seat) {
		rest.because(Reason{Kind: phase.RestGiven, Seat: f.Seats[0].At})
		return *rest
	}
	return nil
}

// sits reports whether an action that is not to happen in two copies may be decided here. If not, it returns the step
// that takes a seat nobody has, or says in rest what keeps it waiting.
func (f *Fold) sits(c *Capabilities, a Action, rest *Idle) (Step, bool) {
	switch {
	case c.Seat.IsZero() || f.rehearses() || !c.bound(a):
		return nil, true
	case len(f.Seats) == 0:
		return sitStep{}, false
	case f.Disputed():
		rest.because(Reason{Kind: phase.RestDisputed, Seat: f.Seats[0].At})
	case f.seatedAt(c.Seat):
		return nil, true
	default:
		rest.because(Reason{Kind: phase.RestElsewhere, Seat: f.Seats[0].At})
	}
	rest.Person = true
	return nil, false
}

// fromCopy reports whether advice was asked for where the seat was not, or not any more, and is now to be acted on
// where it is: its advisor had not seen what was done here meanwhile, so the advisor is asked again.
func (f *Fold) fromCopy(c *Capabilities, p *proposals) bool {
	return !c.Seat.IsZero() && f.seatedAt(c.Seat) && f.fromCopyOf(p)
}

// fromCopyOf is fromCopy for whoever has the seat.
func (f *Fold) fromCopyOf(p *proposals) bool {
	if len(f.Seats) == 0 || f.rehearses() {
		return false
	}
	return p.Apart || p.Epoch != 0 && p.Epoch != f.Seats[0].Epoch
}

// thoughtElsewhere is why the advice of a copy is not acted on.
const thoughtElsewhere = "not done: it was proposed in a copy, which may not have seen what was done here; the " +
	"advisor is asked again"

// seatIn reports whether the seat is where it was in an epoch.
func (f *Fold) seatIn(epoch int64) bool { return len(f.Seats) > 0 && f.Seats[0].Epoch == epoch }

// epochAt is the epoch of the seat if a store has it, else zero.
func (f *Fold) epochAt(at Place) int64 {
	if len(f.Seats) == 0 || at.IsZero() || !f.seatedAt(at) {
		return 0
	}
	return f.Seats[0].Epoch
}

// bound reports whether an action must not be decided in two copies of an agent.
func (c *Capabilities) bound(a Action) bool {
	switch x := a.(type) {
	case Execute:
		return !c.Tools[x.Tool].Effect.Repeatable()
	case Delegate:
		return true
	case Mutate, Sleep, Wake, End:
	}
	return false
}
