package perdure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/phase"
)

// Witness remembers, outside the store, how far memories had come. A store, or the file of one agent, that was put back
// to an older copy holds nothing but good entries: only who saw the newer ones can tell, and an approval that was used
// since would be used again.
type Witness interface {
	// Seen returns how far an agent had come when it was last seen; without heads: it never was.
	Seen(ctx context.Context, id AgentID) (Sighting, error)
	// See remembers how far an agent has come: all of a sighting but when and where, which the witness knows. It is
	// durable in the store. It may return before it is remembered, and a crash may lose the last of it: then less is
	// noticed, and nothing is refused that is good. What was seen of a copy is kept apart: Seen returns it where it
	// comes after all else, and only of the store it was seen in.
	See(id AgentID, s Sighting)
	// Sync returns once what was seen is remembered, even if this process is killed at once. It comes before each
	// effect that must happen once; where it fails, Fault says so.
	Sync()
	// Fault says why what is seen cannot be remembered at present; nil: it can. It says so, too, after Seen returned an
	// error, until what was seen can be read again. A node then does nothing that must happen once. It is asked before
	// every decision, so it answers from what it knows, and looks again from time to time.
	Fault() error
	// Forget forgets what was seen of an agent: an older copy of it is to go on.
	Forget(id AgentID) error
}

// Sighting is how far an agent had come when a witness saw it last.
type Sighting struct {
	Heads     []Hash
	Seq       int64 // the highest
	At        Time  // when; zero: it was not noted
	Elsewhere bool  // it was not seen in the store of whoever asks, as far as was noted
	Given     bool  // the store it was seen in had handed its seat over
	Copy      bool  // its seat was in another store: this says nothing about the memory in others
}

// Sighting is how far the agent has come in the store at a place, for a Witness.
func (a *Agent) Sighting(at Place) Sighting {
	f := a.fold
	return Sighting{Heads: a.Heads(), Seq: f.Seq, Given: f.HandedOver(at), Copy: !at.IsZero() && f.SeatElsewhere(at)}
}

// GivenSince reports whether the store at a place handed the agent over since the older copy was made that it has now:
// one that knows that its seat is elsewhere knows of that.
func (s *Sighting) GivenSince(a *Agent, at Place) bool { return s.Given && !a.fold.SeatElsewhere(at) }

// lacking returns the heads of a sighting that an agent, as far as it is at hand, does not have.
func (s *Sighting) lacking(a *Agent) []Hash {
	return slices.DeleteFunc(slices.Clone(s.Heads), func(h Hash) bool {
		return a.fold.head(h) != nil || a.recent(h) != nil
	})
}

// Behind returns which of the entries that were seen of the agent its memory in a store, at a place, lacks: it is an
// older copy then. It is none, and away, if this store handed it over, as far as counts, and the entries were seen in
// another: it went on there, as it should. What a store has seen itself it cannot lack for that reason.
func (a *Agent) Behind(ctx context.Context, s Store, at Place, t *Trust, seen Sighting) (missing []Hash, away bool,
	err error) {
	missing = seen.lacking(a)
	if len(missing) == 0 {
		return nil, false, nil
	}
	if seen.Elsewhere && a.GoneOn(at) && t.Counts(a) == nil { // before a walk to what another store has
		return nil, true, nil
	}
	for e, err := range Backwards(ctx, s, a.ID(), nil) {
		if err != nil {
			return nil, false, fmt.Errorf("look for what agent %s had: %w", a.ID().Short(), err)
		}
		if i := slices.Index(missing, e.Name); i >= 0 {
			if missing = slices.Delete(missing, i, i+1); len(missing) == 0 {
				return nil, false, nil
			}
		}
	}
	return missing, false, nil
}

// behind is the idle step of a node before an agent of which more was seen than this copy has: it is older, or went on
// elsewhere. Nil if it is neither.
func (n *Node) behind(ctx context.Context, a *Agent) (*Idle, error) {
	if n.Witness == nil {
		return nil, nil
	}
	seen, err := n.Witness.Seen(ctx, a.ID())
	if err != nil {
		return nil, err
	}
	at, err := n.here(ctx)
	if err != nil {
		at = Place{} // where it cannot be told, it did not hand it over
	}
	missing, away, err := a.Behind(ctx, n.Store, at, n.trust(), seen)
	switch {
	case err != nil:
		return nil, err
	case away:
		gone := idleFor(Reason{Kind: phase.RestGiven, Seat: a.fold.Seats[0].At})
		return &gone, nil
	case len(missing) > 0:
		older := idlePerson(Reason{Kind: phase.RestOlder, Entry: missing[0], Given: seen.GivenSince(a, at)})
		return &older, nil
	}
	return nil, nil
}

// away reports whether an agent of which more was seen went on elsewhere.
func (i *Idle) away() bool { return i != nil && i.Is(phase.RestGiven) }

// given reports whether what an older copy lacks is known to have handed its seat over.
func (i *Idle) given() bool { return i != nil && i.Reasons[0].Given }

// older refuses what must not be done to a copy of an agent that is older than one seen here.
func (n *Node) older(ctx context.Context, a *Agent) error {
	old, err := n.behind(ctx, a)
	if err == nil {
		err = old.refusal(a)
	}
	return err
}

// refusal is the error for an older copy; nil if it is none.
func (i *Idle) refusal(a *Agent) error {
	if i == nil {
		return nil
	}
	if i.away() {
		return WithHint(fmt.Errorf("%w: it was handed over, and was seen to go on in another store: what was done "+
			"there would be done again", ErrDenied), "have it handed over from there; or, if it is lost there, "+
			"perdure resume "+a.ID().Short()+" --older, and take the seat then")
	}
	if i.given() {
		return WithHint(fmt.Errorf("%w: it was handed over since this copy was made: it goes on elsewhere, and "+
			"what must happen once would happen twice", ErrDenied), "import the newer copy; or, if it is lost where "+
			"it went, perdure seat take "+a.ID().Short()+" --yes --why TEXT")
	}
	return WithHint(fmt.Errorf("%w: this copy is older than one seen here: it lacks entry %s; what was done since "+
		"would be done again",
		ErrDenied, i.Reasons[0].Entry.Short()),
		"import the newer copy; or, if you mean this one to go on, perdure resume "+a.ID().Short()+" --older")
}

// store makes entries durable that turn an agent into next, and tells the witness how far it has come. Whatever is
// written to an agent outside of the work on it, which looks when it begins, goes through here.
//
// What is written on an older copy than was seen here does not make it the newest: the witness is told nothing of it,
// and it is not current. Of a new agent, before is nil.
func (n *Node) store(ctx context.Context, before, next *Agent, put func() error) (current bool, err error) {
	var old *Idle
	var unknown error
	if before != nil {
		old, unknown = n.behind(ctx, before)
	}
	if err := put(); err != nil {
		return false, err
	}
	if unknown != nil {
		return false, nil // what cannot be told is not put right here
	}
	n.see(ctx, next, old)
	return old == nil, nil
}

// append is store of entries on top of the heads of an agent, if they still are the heads.
func (n *Node) append(ctx context.Context, before, next *Agent, entries ...*Entry) error {
	var heads []Hash
	if before != nil {
		heads = before.Heads()
	}
	_, err := n.store(ctx, before, next, func() error {
		if err := journal(ctx, next.ID(), entries); err != nil {
			return err
		}
		return n.Store.Append(ctx, next.ID(), heads, entries...)
	})
	return err
}

// prune is append that drops bodies as well, and returns how many bytes went.
func (n *Node) prune(ctx context.Context, p Pruner, before, next *Agent, names []Hash, entries ...*Entry) (gone int64,
	err error) {
	_, err = n.store(ctx, before, next, func() (err error) {
		if err := journal(ctx, next.ID(), entries); err != nil {
			return err
		}
		gone, err = p.Prune(ctx, next.ID(), before.Heads(), names, entries...)
		return err
	})
	return gone, err
}

// put is store of entries whatever the heads are. They were written just now: see settled. It reports whether before
// was current.
func (n *Node) put(ctx context.Context, before, next *Agent, entries ...*Entry) (current bool, err error) {
	return n.putBy(ctx, before, next, n.Store.Put, entries)
}

// putBy is put, by something that adds entries.
func (n *Node) putBy(ctx context.Context, before, next *Agent, add func(context.Context, AgentID, ...*Entry) error,
	entries []*Entry) (current bool, err error) {
	return n.store(ctx, before, next, func() error {
		if err := journal(ctx, next.ID(), entries); err != nil {
			return err
		}
		if heads, ok := ctx.Value(headsKey{}).([]Hash); ok {
			return n.onHeads(ctx, before, heads, entries)
		}
		return add(ctx, next.ID(), entries...)
	})
}

// see tells the witness how far an agent has come, unless more was seen of it, as behind says, or it has entries that
// do not count: nobody else's words make what is here an older copy. Nor does what a copy was told whose seat is
// elsewhere make an older one of the memory that has the seat.
func (n *Node) see(ctx context.Context, a *Agent, behind *Idle) {
	if n.Witness == nil || behind != nil {
		return
	}
	at, err := n.here(context.WithoutCancel(ctx))
	if err != nil {
		at = Place{} // the seat may be here
	}
	if n.trust().Counts(a) == nil {
		n.Witness.See(a.ID(), a.Sighting(at))
	}
}

// unseen has the witness remember what it was told, before something happens that must not happen again from an older
// copy of the memory, and says why it cannot; empty: it does.
func (n *Node) unseen() stillness {
	if n.Witness == nil {
		return ""
	}
	n.Witness.Sync()
	if err := n.Witness.Fault(); err != nil {
		return stillness("how far the agent has come cannot be noted: " + err.Error())
	}
	return ""
}

// takenBack is what the event is called by which an older copy of an agent is taken.
const takenBack = "taken-back"

// Accept takes an older copy of an agent than was seen here for what it is from now on, and records why. Only its owner
// may, or, if that is not somebody trusted here, this node: what was done since the copy was made may be done again. Of
// a copy whose seat is elsewhere this node may: nothing that must happen once is done in it. One that is
// known to have been handed over since is refused (ErrDenied): it goes on elsewhere. TakeSeat accepts it.
func (n *Node) Accept(ctx context.Context, id AgentID, note string) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("accept an older copy of agent %s: %w", id.Short(), err)
	}
	a, err := n.load(ctx, id)
	if err != nil {
		return nil, err
	}
	at, err := n.here(ctx)
	if err != nil {
		at = Place{} // the seat may be here
	}
	if err := n.speaksFor(a); err != nil && (at.IsZero() || !a.fold.SeatElsewhere(at)) {
		return nil, fmt.Errorf("accept an older copy of agent %s: %w", id.Short(), err)
	}
	if old, err := n.behind(ctx, a); err != nil || old.given() {
		return nil, fmt.Errorf("accept an older copy of agent %s: %w", id.Short(), cmp.Or(err, old.refusal(a)))
	}
	entries, next, err := n.Key.Commit(a, time.Now(), Draft{Policy: n.PolicyHash,
		Body: Event{Name: takenBack, By: n.Key.Name, Notice: Resume{Note: note}}})
	if err == nil {
		err = n.Store.Append(ctx, id, a.Heads(), entries...)
	}
	if err != nil {
		return nil, fmt.Errorf("accept an older copy of agent %s: %w", id.Short(), err)
	}
	if err := n.seeAnew(ctx, next); err != nil {
		return nil, err
	}
	return entries[0], nil
}

// seeAnew has the witness take an older copy of an agent for the newest.
func (n *Node) seeAnew(ctx context.Context, a *Agent) error {
	if n.Witness != nil {
		if err := n.Witness.Forget(a.ID()); err != nil {
			return err
		}
	}
	n.see(ctx, a, nil)
	return nil
}
