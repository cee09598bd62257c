package perdure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Join adds entries of another copy to an agent that is in a store, all or none: parents come before children, and what
// the store has already changes nothing. Where the agent counts here, it must count with them (key.trusted); where it
// does not, it may get more of the same. It returns the agent as it is then, and how many entries were new.
//
// What it costs depends on what is new, unless some of that belongs before the snapshot that the agent is loaded from,
// or has no body any more: then the whole memory is folded. What another copy collected arrives without its bodies, if
// records of collections account for them. It ranges over entries several times.
func (t *Trust) Join(ctx context.Context, s Store, id AgentID, entries iter.Seq2[*Entry, error]) (*Agent, int, error) {
	for try := 1; ; try++ {
		a, added, err := t.join(ctx, s, id, nil, entries)
		if err == nil {
			return a, added, nil
		}
		if !errors.Is(err, ErrConflict) || try == joinTries {
			return nil, 0, fmt.Errorf("join agent %s: %w", id.Short(), err)
		}
		// Others wrote to it. If that was a collection, what could be folded a moment ago may not be now.
	}
}

// joinTries bounds how often a join begins again because others wrote to the agent.
const joinTries = 20

// JoinOn is Join of entries that depend on what the agent is: if heads are not the heads of its memory any more, it
// adds nothing and returns an error wrapping ErrConflict.
func (t *Trust) JoinOn(ctx context.Context, s Store, id AgentID, heads []Hash, entries iter.Seq2[*Entry, error]) (
	*Agent, int, error) {
	a, added, err := t.join(ctx, s, id, heads, entries)
	if err != nil {
		return nil, 0, fmt.Errorf("join agent %s: %w", id.Short(), err)
	}
	return a, added, nil
}

// join tries it once, on these heads; nil: on any.
func (t *Trust) join(ctx context.Context, s Store, id AgentID, heads []Hash, entries iter.Seq2[*Entry, error]) (
	*Agent, int, error) {
	here, err := t.Load(ctx, s, id)
	if errors.Is(err, ErrRejected) { // it does not count, and nothing is done for it
		here, err = Load(ctx, s, id)
	}
	if err != nil {
		return nil, 0, err
	}
	if heads != nil && !slices.Equal(here.Heads(), heads) {
		return nil, 0, ErrConflict
	}
	next, added, err := t.joinTo(ctx, s, here, entries)
	if err == nil && added == 0 || errors.Is(err, ErrRejected) {
		// Some of it may have come by another way, and was seen in the memory, but not in the agent.
		if now, headsErr := s.Heads(ctx, id); headsErr == nil && !slices.Equal(here.Heads(), now) {
			return nil, 0, errors.Join(ErrConflict, err)
		}
	}
	return next, added, err
}

// joinTo adds entries to the agent as it was loaded.
func (t *Trust) joinTo(ctx context.Context, s Store, here *Agent, entries iter.Seq2[*Entry, error]) (*Agent, int,
	error) {
	held := here.window()
	fresh := lacking(entries, func(h Hash) bool { return held.byName[h] != nil })
	next, err := here.applyAll(fresh)
	var r *Rejection
	if err == ErrBehind || errors.As(err, &r) { // what is not recent may be here all the same
		had, scanErr := names(Memory(ctx, s, here.ID()))
		if scanErr != nil {
			return nil, 0, scanErr
		}
		fresh = lacking(entries, func(h Hash) bool { return had[h] })
		next, err = here.applyAll(fresh)
	}
	if behind(err) {
		return t.joinEarlier(ctx, s, here, fresh)
	}
	if err == nil && t.Counts(here) == nil {
		if err = t.Counts(next); err == nil {
			err = t.derives(here, Memory(ctx, s, here.ID()), fresh)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	added, err := here.addTo(ctx, s, fresh)
	if err != nil {
		return nil, 0, err
	}
	return next, added, nil
}

// joinEarlier is Join of entries some of which belong before what here was loaded from.
func (t *Trust) joinEarlier(ctx context.Context, s Store, here *Agent, fresh iter.Seq2[*Entry, error]) (*Agent, int,
	error) {
	id := here.ID()
	by := t
	if t.Counts(here) != nil {
		by = nil // nothing is done for it, whatever its author dropped
	}
	if err := accounted(fresh, by.Dropped(here.fold.Charter, here.fold.Former...)); err != nil {
		return nil, 0, err
	}
	if err := Mergeable(Memory(ctx, s, id), fresh); err != nil {
		return nil, 0, err
	}
	if err := t.Joins(here, Memory(ctx, s, id), fresh, func(Hash) bool { return false }); err != nil {
		return nil, 0, err
	}
	added, err := here.addTo(ctx, s, fresh)
	if err != nil {
		return nil, 0, err
	}
	next, err := Load(ctx, s, id)
	return next, added, err
}

// Dropped tells of entries, parents before children, how many bodies each accounts for as the record of a collection
// that counts here: one by the owner the charter names, by whom that handed the agent to, or by somebody trusted to own
// it. Others could pass on a memory without its bodies, and say that it is whole. A nil Trust believes all. Former are
// the owners before the one the charter names.
func (t *Trust) Dropped(c Charter, former ...Key) func(*Entry) int64 {
	owners := append([]Key{c.Owner}, former...)
	return func(e *Entry) int64 {
		owner := slices.Contains(owners, e.Origin)
		if k, ok := e.keyChange(); ok && owner && !k.Owner.IsZero() {
			owners = withKey(owners, k.Owner)
		}
		ev, _ := e.content.(Event)
		p, _ := ev.Notice.(Pruned)
		if t == nil || owner || p.Entries > 0 && t.Allows(e.Origin, MayOwn, c.Scope) {
			return p.Entries
		}
		return 0
	}
}

// accounted refuses entries more of which lack their bodies than records of collections among them tell of: somebody
// has left them out, and the memory here would no longer be whole.
func accounted(entries iter.Seq2[*Entry, error], dropped func(*Entry) int64) error {
	var first *Entry
	missing := int64(0)
	for e, err := range entries {
		if err != nil {
			return err
		}
		if bodiless(e) {
			first, missing = cmp.Or(first, e), missing+1
		}
		missing -= dropped(e)
	}
	if missing > 0 {
		return reject(predBodyPresent, first, "$.body", "absent, and no record of a collection by its owner tells of "+
			"it", "the body",
			"it was left out on the way: get the memory from a copy that has all of it")
	}
	return nil
}

// addTo makes entries durable that the agent lacks, if it is still what the store has, and says how many these are.
func (a *Agent) addTo(ctx context.Context, s Store, fresh iter.Seq2[*Entry, error]) (added int, err error) {
	for _, err := range fresh {
		if err != nil {
			return 0, err
		}
		added++
	}
	if added > 0 {
		err = putOn(ctx, s, a.ID(), a.Heads(), fresh)
	}
	return added, err
}

// lacking is the entries but those that are there.
func lacking(entries iter.Seq2[*Entry, error], has func(Hash) bool) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for e, err := range entries {
			if (err != nil || !has(e.Name)) && !yield(e, err) {
				return
			}
		}
	}
}

// names is what entries are called.
func names(entries iter.Seq2[*Entry, error]) (map[Hash]bool, error) {
	all := map[Hash]bool{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		all[e.Name] = true
	}
	return all, nil
}
