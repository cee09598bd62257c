package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// When things become durable. What a node writes for an agent is pending until flush makes it one commit: linked,
// signed once, and appended on the heads it was written on. Nothing outside this rule writes what an agent does.
//
//   - Before anything happens that the memory must not miss: an effect is called only when its decision is durable
//     (perform), unless it can be repeated and an instant advisor proposed it, which proposes the same again, under the
//     same key (mustFlush); and an advisor is asked only when what it is told is durable, unless it is instant, that
//     is, costs nothing to ask again (consult).
//   - As soon as something has happened: outcomes and doubts (perform, reconcile, doubt), and advice that cost
//     something (consult). Outcomes of effects side by side wait a moment for each other (together), not for the
//     slowest. The outcome of a once effect may wait for the next decision of an instant advisor: both share a
//     commit, before anything else happens.
//   - What is complete in itself at once: wakes, ends, seats, lapses, escalations, what a node lacks (addFlushed).
//   - Whatever is left before the node turns away: it rests, stops, gives others their turn, meets an error, or sees
//     that others wrote (run, look).
//
// What is not durable did not happen: a node that dies, or finds that another was first, drops it. Only outcomes are
// kept in any case.

// addFlushed adds an entry that is complete in itself and makes it durable.
func (w *work) addFlushed(ctx context.Context, b Body) error {
	if err := w.add(b); err != nil {
		return err
	}
	return w.flush(ctx)
}

// add writes an entry after what is pending and folds it. It is not durable yet.
func (w *work) add(b Body) error { return w.addAt(time.Now(), b) }

// addAt is add for what was decided at a moment: the entry bears the time its facts were true at.
func (w *work) addAt(now time.Time, b Body) error {
	d := Draft{Body: b, Policy: w.n.PolicyHash, Trace: w.trace()}
	joins, joined, err := w.n.Key.join(w.a, now, d)
	var e *Entry
	var next *Agent
	if err == nil {
		e, next, err = w.n.Key.extend(joined, now, d.on(joined, len(joins)))
	}
	if err == nil {
		err = w.n.guard(e)
	}
	if err != nil {
		return fmt.Errorf("write %s for agent %s: %w", b.kind(), w.a.ID().Short(), err)
	}
	if len(w.pending) == 0 {
		w.base = w.a
	}
	w.a = next
	w.pending = append(append(w.pending, joins...), e)
	if e.Kind == KindOutcome {
		w.outcome = len(w.pending)
	}
	return nil
}

// flush makes what is pending durable. If another node was first, the outcomes among it are recorded all the same, the
// rest did not happen, and the work goes on with what the other node wrote. It is done even if ctx has ended, within
// lastWithin. Where it cannot be done, as on a full disk, outcomes are kept and it is tried again until ctx ends.
func (w *work) flush(ctx context.Context) error {
	err := w.commit(ctx)
	if err == nil {
		w.unmark()
	}
	return err
}

func (w *work) commit(ctx context.Context) error {
	if len(w.pending) == 0 || w.hush() {
		return nil
	}
	w.wrote = true
	lasting, done := outlasting(ctx, lastWithin)
	defer done()
	w.sum()
	last := w.pending[len(w.pending)-1]
	if err := w.n.Key.seal(last); err != nil {
		return err
	}
	id := w.a.ID()
	err := w.insist(ctx, w.outcome > 0, func() error { return w.n.Store.Append(lasting, id, w.heads, w.pending...) })
	if err == nil {
		w.logDeeds(ctx)
		w.heads, w.pending, w.outcome, w.looked = []Hash{last.Name}, w.pending[:0], 0, time.Now()
		w.n.see(ctx, w.a, w.behind)
		return nil
	}
	if !errors.Is(err, ErrConflict) {
		return fmt.Errorf("append to agent %s: %w", id.Short(), err)
	}
	return w.yield(ctx, id)
}

// sum adds a snapshot to what is pending, if there has been none for long; others' may be no use here. It only saves
// reading: one that cannot be written, because it is too large or the guard refuses what the agent's state holds by
// now, keeps nothing else from becoming durable. It is tried once in so many entries, whatever comes of it.
func (w *work) sum() {
	f, every := w.a.fold, w.n.snapshotEvery()
	since, before := w.n.trust().vouchedAt(w.a), int64(0)
	if w.base != nil {
		before = w.base.fold.Count
	}
	if every <= 0 || f.Count-since < every || (f.Count-since)/every == (before-since)/every || f.unflagged() ||
		f.hides() {
		return
	}
	if err := w.add(Snapshot{Fold: *f}); err != nil {
		w.n.Log.Debug("no snapshot", "agent", w.a.ID().Short(), "err", err)
	}
}

// yield lets another node's entries go first: outcomes are put beside them, the rest is dropped.
func (w *work) yield(ctx context.Context, id AgentID) error {
	w.yields++
	advice, turns, last := w.costly(), w.a.fold.Turns-1, w.pending[len(w.pending)-1].Name
	done, all := w.pending[:w.outcome], w.outcome == len(w.pending) ||
		(w.outcome == len(w.pending)-1 && w.pending[w.outcome].Kind == KindSnapshot)
	lasting, over := outlasting(ctx, lastWithin)
	defer over()
	pending := w.pending
	put := func(entries []*Entry) error {
		return w.insist(ctx, true, func() error { return w.n.beside(lasting, id, entries...) })
	}
	if all && len(done) > 0 {
		err := put(pending)
		if all = !errors.Is(err, ErrBehind); all && err != nil {
			return fmt.Errorf("put outcome to agent %s: %w", id.Short(), err)
		}
	}
	if all {
		done = nil
	}
	for {
		if err := w.insist(ctx, len(done) > 0, func() error { return w.reload(lasting, id) }); err != nil {
			return err
		}
		lost, err := w.lost(lasting, done)
		if err != nil {
			return err
		}
		if advice != nil && !w.a.holds(last) {
			lost = append(lost, w.late(advice, turns)...)
		}
		if len(lost) == 0 {
			return nil
		}
		entries, _, err := w.n.Key.Commit(w.a, time.Now(), lost...)
		if err != nil {
			return err
		}
		switch err := put(entries); {
		case err == nil:
			return w.reload(lasting, id)
		case !errors.Is(err, ErrBehind):
			return fmt.Errorf("put outcome to agent %s: %w", id.Short(), err)
		}
	}
}

// lost is what to write again of what was not put beside: outcomes of decisions that are durable already. One whose
// decision has an outcome by now is there: the append was done after all, and its answer lost.
func (w *work) lost(ctx context.Context, done []*Entry) (lost []Draft, err error) {
	for _, e := range done {
		o, ok := e.content.(Outcome)
		if !ok {
			continue
		}
		if is, err := w.isLost(ctx, e, &o); err != nil {
			return nil, err
		} else if is {
			lost = append(lost, Draft{Body: o, Policy: e.Policy})
		}
	}
	return lost, nil
}

// isLost reports whether an outcome is to be written again. That an effect happened is said even if somebody said
// otherwise meanwhile.
func (w *work) isLost(ctx context.Context, e *Entry, o *Outcome) (bool, error) {
	if w.unanswered(o.Decision) || o.Signal != OK {
		return w.unanswered(o.Decision), nil
	}
	there, err := w.a.stored(ctx, w.n.Store, e)
	return !there, err
}

// beside durably adds entries that were written on an agent a while ago, whatever others wrote to it since. It adds
// nothing, and returns ErrBehind, if they belong before the snapshot that the agent is loaded from: a collection may
// drop what it takes to fold them there, in another process, too, and at this moment. One that comes between the look
// and the write has moved the heads.
func (n *Node) beside(ctx context.Context, id AgentID, entries ...*Entry) error {
	return n.besideIf(ctx, id, func(*Agent) error { return nil }, entries...)
}

// besideIf is beside, as long as may allows it of the agent that they are added to.
func (n *Node) besideIf(ctx context.Context, id AgentID, may func(a *Agent) error, entries ...*Entry) error {
	for range besideTries {
		a, err := n.load(ctx, id)
		if errors.Is(err, ErrRejected) {
			break // it cannot be folded as it is, and they are kept
		}
		if err != nil {
			return err
		}
		if _, err := a.Apply(entries...); errors.Is(err, ErrBehind) {
			held, err := a.stored(ctx, n.Store, entries[len(entries)-1]) // by a write whose answer was lost
			if err == nil && !held {
				err = ErrBehind
			}
			return err
		}
		if err := may(a); err != nil {
			return err
		}
		if err := n.Store.Append(ctx, id, a.Heads(), entries...); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return n.Store.Put(ctx, id, entries...)
}

// besideTries is how often entries are compared with what others have written meanwhile, before they are added in any
// case: who writes so fast has left nothing to be collected.
const besideTries = 50

// costly is the advice among what is pending, if it cost something to get.
func (w *work) costly() *Entry {
	if w.instantAdvisor() {
		return nil
	}
	for _, e := range w.pending {
		if e.Kind == KindAdvice {
			return e
		}
	}
	return nil
}

// late is what to write of advice that was asked for after so many turns and that others came before. If all they did
// was to tell the agent something, it stands: the advisor sees that next time. If the agent has got other advice, ended
// or been changed by a person meanwhile, only what it cost is recorded: it was given for what the agent was.
func (w *work) late(e *Entry, turns int64) []Draft {
	a, _ := e.content.(Advice)
	f, why := w.a.fold, ""
	switch {
	case f.Turns != turns || f.Ended != nil:
		why = "another node was first"
	case f.edited() && !slices.Contains(a.Seen, f.Edited):
		why = "a person has changed the agent since it was asked"
	}
	if why != "" {
		if a.Usage == nil {
			return nil
		}
		a = Advice{Advisor: a.Advisor, Model: a.Model, Usage: a.Usage, Signal: Partial,
			Text: why + ": what it proposed is not taken up"}
	}
	return []Draft{{Body: a, Policy: e.Policy}}
}

// reload reads the agent anew.
func (w *work) reload(ctx context.Context, id AgentID) error {
	a, err := w.n.load(ctx, id)
	if err != nil {
		return err
	}
	w.a, w.heads, w.pending, w.outcome, w.looked = a, a.Heads(), nil, 0, time.Now()
	w.n.mu.Lock()
	delete(w.n.rehearsals, id) // it may have been given what was not written
	w.n.mu.Unlock()
	return nil
}
