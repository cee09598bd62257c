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
	// Seen returns the heads an agent was last seen with, and whether the store had handed its seat over in them; none:
	// it was never seen.
	Seen(ctx context.Context, id AgentID) (heads []Hash, given bool, err error)
	// See remembers that an agent has these heads, the highest at this seq, and whether the store has handed its seat
	// over in them. They are durable in the store. It may return before it is remembered, and a crash may lose the last
	// of it: then less is noticed, and nothing is refused that is good.
	See(id AgentID, seq int64, heads []Hash, given bool)
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

// Behind returns which of the entries that were seen of the agent are missing from its memory in a store.
func (a *Agent) Behind(ctx context.Context, s Store, seen []Hash) ([]Hash, error) {
	missing := slices.DeleteFunc(slices.Clone(seen), func(h Hash) bool {
		return a.fold.head(h) != nil || a.recent(h) != nil
	})
	if len(missing) == 0 {
		return nil, nil
	}
	for e, err := range Backwards(ctx, s, a.ID(), nil) {
		if err != nil {
			return nil, fmt.Errorf("look for what agent %s had: %w", a.ID().Short(), err)
		}
		if i := slices.Index(missing, e.Name); i >= 0 {
			if missing = slices.Delete(missing, i, i+1); len(missing) == 0 {
				return nil, nil
			}
		}
	}
	return missing, nil
}

// behind is the idle step of a node before a copy of an agent that is older than one it has seen; nil if it is not.
func (n *Node) behind(ctx context.Context, a *Agent) (*Idle, error) {
	if n.Witness == nil {
		return nil, nil
	}
	seen, given, err := n.Witness.Seen(ctx, a.ID())
	if err != nil {
		return nil, err
	}
	missing, err := a.Behind(ctx, n.Store, seen)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	older := idlePerson(Reason{Kind: phase.RestOlder, Entry: missing[0], Given: given})
	return &older, nil
}

// given reports whether what an older copy lacks is known to have handed its seat over.
func (i *Idle) given() bool { return i != nil && i.Reasons[0].Given }

// asOlder is why nothing is done for an agent of which more was seen than this copy has: that this store handed it over
// comes first, as it went on elsewhere then.
func (w *work) asOlder() Idle {
	if at := w.n.placed.Load(); w.a.GoneOn(*at) && w.n.trust().Counts(w.a) == nil {
		return idleFor(Reason{Kind: phase.RestGiven, Seat: w.a.fold.Seats[0].At})
	}
	return *w.behind
}

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

// see tells the witness how far an agent has come, unless it is an older copy, as behind says, or has entries that do
// not count: nobody else's words make what is here an older copy. What became of a copy
// whose seat is elsewhere is no matter: nothing in it can be done again here, and the memory that has the seat must not
// pass for an older one.
func (n *Node) see(ctx context.Context, a *Agent, older *Idle) {
	if n.Witness == nil || older != nil {
		return
	}
	at, err := n.here(context.WithoutCancel(ctx))
	if err == nil && a.fold.SeatElsewhere(at) { // where it cannot be told, the seat may be here
		return
	}
	if n.trust().Counts(a) == nil {
		n.Witness.See(a.ID(), a.fold.Seq, a.Heads(), a.fold.HandedOver(at))
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
// may, or, if that is not somebody trusted here, this node: what was done since the copy was made may be done again.
// One that is known to have been handed over since is refused (ErrDenied): it goes on elsewhere. TakeSeat accepts it.
func (n *Node) Accept(ctx context.Context, id AgentID, note string) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("accept an older copy of agent %s: %w", id.Short(), err)
	}
	a, err := n.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := n.speaksFor(a); err != nil {
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
