package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Tell tells an agent something. It is never refused for a conflict, and the agent may be asleep, at work or elsewhere.
// It is part of the trace of ctx, or begins one; what the agent does on account of it belongs to the same.
//
// An event with an ID that the agent has received before from the same sender changes nothing: Tell writes none and
// returns the entry that came first, or the record of the collection (Pruned) that dropped what that said. See
// Fold.Received. An event that would drive another out of the inbox, which the agent has not seen, is refused
// (ErrFull), and so is one in another name than that of the node's key for which only the owner's part has room.
//
// Its cost is that of what is new: of what was told before, a node reads nothing twice, and now and then it writes a
// snapshot, so that the next one need not either.
//
// Listings show it when Tell returns, or once the node that is about to look at the agent has done so.
func (n *Node) Tell(ctx context.Context, id AgentID, ev Event) (*Entry, error) {
	e, listed, err := n.record(ctx, id, ev)
	if err == nil && !listed && !n.looksNow(e) {
		n.relist(context.WithoutCancel(ctx), id)
	}
	return e, err
}

// looksNow reports whether this node works on agents, and is to look at one at once because of an entry: then it writes
// the line about it. An agent that waits for something else is not looked at on account of an event.
func (n *Node) looksNow(e *Entry) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.loops) > 0 && e.Due != 0 && e.Due <= TimeOf(time.Now())
}

// record is Tell without the line in the store's list; listed says that it is there all the same.
func (n *Node) record(ctx context.Context, id AgentID, ev Event) (e *Entry, listed bool, err error) {
	if err := n.init(); err != nil {
		return nil, false, fmt.Errorf("tell agent %s: %w", id.Short(), err)
	}
	if ev.By == runtimeName && ev.Notice == nil { // agents would take it for what a node says of itself
		if err := CheckName("whoever tells it", ev.By); err != nil {
			return nil, false, fmt.Errorf("tell agent %s: %w", id.Short(), err)
		}
	}
	if len(ev.Name) > maxEventName {
		return nil, false, WithHint(Invalid(fmt.Errorf("tell agent %s: the name of the event has %d bytes; want at "+
			"most %d", id.Short(), len(ev.Name), maxEventName)), "what it is about belongs in its data")
	}
	if e, listed, err := n.tellKept(ctx, id, ev); e != nil || err != nil {
		return e, listed, err
	}
	for stopped, overtaken := 0, 0; stopped < maxTells; {
		e, err := n.tell(ctx, id, ev, overtaken < maxOvertaken)
		switch {
		case errors.Is(err, errStopped):
			stopped++
		case errors.Is(err, errOvertaken):
			overtaken++
		default:
			return e, false, err
		}
	}
	return nil, false, fmt.Errorf("tell agent %s: the store is too slow, or this process is stopped again and again; "+
		"tell it again", id.Short())
}

const (
	// maxTells is how often something is told anew, because its process was stopped for long in the middle.
	maxTells = 4
	// maxOvertaken is how often an event with an ID gives way to what others write at the same time, among which may
	// be the same event. Then it is written beside that: the fold counts it once.
	maxOvertaken = 16
)

// errOvertaken is why an event was not told: something else was, on top of which it is looked whether it came before.
var errOvertaken = errors.New("something else was told at the same time")

// errStopped is why something was not told: this process was stopped for long, and what it is written on may have been
// collected since.
var errStopped = errors.New("stopped for long")

// tellKept tells an agent in the cache what happened, without reading it: the entry is added only if it is still the
// agent that this node holds, which the store says as it adds it. Nil: it is not, or there is more to look at.
func (n *Node) tellKept(ctx context.Context, id AgentID, ev Event) (e *Entry, listed bool, err error) {
	if ev.Notice != nil || len(ev.Set) > 0 || ctx.Value(headsKey{}) != nil {
		return nil, false, nil
	}
	n.mu.Lock()
	a := n.cache.get(id)
	n.mu.Unlock()
	if a == nil || a.depth != Full || a.fold.Ended != nil || a.fold.Received(&ev) || n.lacks(ctx, a) ||
		n.heeds(a, &ev) != nil {
		return nil, false, nil
	}
	entries, told, err := n.Key.Commit(a, time.Now(), Draft{Body: ev, Policy: n.PolicyHash, Trace: n.traceIn(ctx)})
	if err == nil {
		err = n.guard(entries[len(entries)-1])
	}
	if err == nil {
		err = n.roomFor(a, told, &ev, time.Now())
	}
	if err != nil {
		return nil, false, fmt.Errorf("tell agent %s: %w", id.Short(), err)
	}
	event := entries[len(entries)-1]
	entries, told = n.summed(ctx, a, told, entries)
	if err := journal(ctx, id, entries); err != nil {
		return nil, false, fmt.Errorf("tell agent %s: %w", id.Short(), err)
	}
	switch listed, err = n.appendListed(ctx, a, told, event, entries); {
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		return nil, false, nil // it has gone on, or away: it is read first
	case err != nil:
		return nil, false, fmt.Errorf("tell agent %s: %w", id.Short(), err)
	}
	n.see(ctx, told, nil)
	n.remember(told)
	return event, listed, nil
}

// listedStore is a Lister that records the line about an agent with the entries that change it.
type listedStore interface {
	// AppendListed is Append and Index of the agent as the entries leave it: both are done, or neither is.
	AppendListed(ctx context.Context, id AgentID, heads []Hash, l Listing, entries ...*Entry) error
}

// appendListed adds entries that make a told, and with them the line about it, if the store can and this node does not
// write it at once on account of e.
func (n *Node) appendListed(ctx context.Context, a, told *Agent, e *Entry, entries []*Entry) (listed bool, err error) {
	s, can := n.Store.(listedStore)
	if !can || n.looksNow(e) {
		return false, n.Store.Append(ctx, a.ID(), a.Heads(), entries...)
	}
	line := told.listing(n.trust(), time.Now())
	return true, s.AppendListed(ctx, a.ID(), a.Heads(), line, entries...)
}

// lacks reports whether the witness knows of entries that the cache does not have at hand, or cannot say.
func (n *Node) lacks(ctx context.Context, a *Agent) bool {
	if n.Witness == nil {
		return false
	}
	seen, err := n.Witness.Seen(ctx, a.ID())
	return err != nil || len(seen.lacking(a)) > 0
}

// tell tells an agent something. An event with an ID that gives way is told on top of what others tell it, or not.
func (n *Node) tell(ctx context.Context, id AgentID, ev Event, givesWay bool) (*Entry, error) {
	a, derived, begun, err := n.listening(ctx, id)
	if err != nil {
		return nil, err
	}
	if a.fold.Received(&ev) {
		if e, err := n.first(ctx, a, &ev); e != nil || err != nil {
			return e, err
		}
	}
	if a.fold.Ended != nil && ev.Notice == nil {
		return nil, fmt.Errorf("tell agent %s: %w", id.Short(), ErrTerminated)
	}
	if err := n.heeds(a, &ev); err != nil && ev.Notice == nil { // the verbs look for themselves
		return nil, err
	}
	if edit, ok := ev.Notice.(Edit); ok && !edit.Mutate.StateSchema.IsZero() {
		return nil, fmt.Errorf("tell agent %s: the schema of its state changes together with the state: call "+
			"UpgradeState", id.Short())
	}
	if said, ok := ev.Notice.(ChildEnded); ok {
		if err := n.bornOut(ctx, a, &said); err != nil {
			return nil, fmt.Errorf("tell agent %s: %w", id.Short(), err)
		}
	}
	if len(ev.Set) > 0 {
		if err := n.checkState(a.fold, ev.Set); err != nil {
			return nil, fmt.Errorf("tell agent %s: %w", id.Short(), err)
		}
	}
	commit := n.Key.Commit
	if _, answers := ev.Notice.(Approval); answers {
		commit = func(a *Agent, now time.Time, d ...Draft) ([]*Entry, *Agent, error) {
			return n.Key.answer(a, now, d[0])
		}
	}
	entries, told, err := commit(a, time.Now(), Draft{Body: ev, Policy: n.PolicyHash, Trace: n.traceIn(ctx)})
	if err == nil {
		err = n.guard(entries[len(entries)-1])
	}
	if err == nil {
		err = n.roomFor(a, told, &ev, time.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("tell agent %s: %w", id.Short(), err)
	}
	event := entries[len(entries)-1]
	if derived {
		entries, told = n.summed(ctx, a, told, entries)
	}
	if time.Since(begun) > settled/4 {
		return nil, errStopped
	}
	add := n.Store.Put
	if givesWay && ev.ID != "" && ev.repeatable() {
		add = func(ctx context.Context, id AgentID, entries ...*Entry) error {
			return n.Store.Append(ctx, id, a.Heads(), entries...)
		}
	}
	current, err := n.putBy(ctx, a, told, add, entries)
	if errors.Is(err, ErrConflict) && !errors.Is(err, ErrMoved) {
		return nil, errOvertaken
	}
	if err != nil {
		return nil, fmt.Errorf("tell agent %s: %w", id.Short(), err)
	}
	if current && derived {
		n.remember(told) // it is used only while its heads are the heads
	}
	return event, nil
}

// Received reports whether an event with the ID of this one has come from its sender, so that this one would count for
// nothing. Of very many IDs the last are remembered.
func (f *Fold) Received(ev *Event) bool {
	return ev.ID != "" && ev.repeatable() && slices.Contains(f.Dedupe, ev.dedupeID()) && !f.news(ev)
}

// first is the entry by which an event came first, or the record of a collection, if its body was dropped by one. Nil:
// neither is here.
func (n *Node) first(ctx context.Context, a *Agent, ev *Event) (*Entry, error) {
	is := func(e *Entry) bool {
		was, ok := e.content.(Event)
		return ok && was.ID != "" && was.repeatable() && was.dedupeID() == ev.dedupeID()
	}
	var found, record *Entry
	for e := range a.Recent() { // the newest first: an older repetition counted for nothing
		if is(e) {
			found = e
		}
	}
	if found != nil {
		return found, nil
	}
	came := func(snapshot *Entry) bool { // after this one
		snap, ok := snapshot.content.(Snapshot)
		return ok && !slices.Contains(snap.Fold.Dedupe, ev.dedupeID())
	}
	for e, err := range Backwards(ctx, n.Store, a.ID(), came) {
		if err != nil || is(e) {
			return e, err
		}
		if e.pruned() && (record == nil || e.Seq > record.Seq) {
			record = e
		}
	}
	return record, nil
}

// hearer is an agent that is to be told something, and whether it was derived here. Whoever is told something need not
// count here: where that cannot be derived, its snapshots are believed.
func (n *Node) hearer(ctx context.Context, id AgentID) (a *Agent, derived bool, err error) {
	if a := n.kept(ctx, id); a != nil {
		return a, true, nil
	}
	if a, err = n.load(ctx, id); !errors.Is(err, ErrRejected) {
		return a, err == nil, err
	}
	a, err = Load(ctx, n.Store, id)
	return a, false, err
}

// listening is hearer, and a moment at which the store had nothing newer: reading a long memory out of a slow store
// takes a while.
func (n *Node) listening(ctx context.Context, id AgentID) (a *Agent, derived bool, at time.Time, err error) {
	at = time.Now()
	if a, derived, err = n.hearer(ctx, id); err != nil || time.Since(at) <= settled/8 {
		return a, derived, at, err
	}
	at = time.Now()
	heads, err := n.Store.Heads(ctx, id)
	if err == nil && !slices.Equal(heads, a.Heads()) {
		if err = errStopped; derived {
			n.remember(a) // what has come since is read on top of it
		}
	}
	return a, derived, at, err
}

// summed is entries that turn a into told, and a snapshot after them if there has been none for long and the agent
// counts here. It is tried once in so many entries, whatever comes of it: one that cannot be written must not cost
// every event that follows. An older copy gets none.
func (n *Node) summed(ctx context.Context, a, told *Agent, entries []*Entry) ([]*Entry, *Agent) {
	every := n.snapshotEvery()
	if every <= 0 {
		return entries, told
	}
	due := func(t *Trust) bool {
		since := t.vouchedAt(a)
		return (a.fold.Count-since)/every != (told.fold.Count-since)/every
	}
	// Whom to trust now is looked up in files: only where it is time, as far as was known for the event before.
	if !due(n.trusted.Load().all) || told.fold.unflagged() || told.fold.hides() {
		return entries, told
	}
	if trust := n.trust(); !due(trust) || trust.Counts(told) != nil || n.older(ctx, a) != nil {
		return entries, told
	}
	snapshot, next, err := n.Key.Commit(told, time.Now(), Draft{Body: Snapshot{Fold: *told.fold}, Policy: n.PolicyHash})
	if err == nil {
		err = n.guard(snapshot[len(snapshot)-1])
	}
	if err != nil {
		return entries, told
	}
	return append(entries, snapshot...), next
}
