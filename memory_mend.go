package perdure

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// mended folds entries, which are in fold order, from the newest snapshot that has seen all whose bodies are gone: what
// it has not seen comes after it. Vouch says which snapshots to believe. Whose word the agent then rests on besides the
// author of that snapshot, its authors say.
func mended(all []*Entry, vouch func(*Entry) bool) (*Agent, error) {
	if err := judge(all); err != nil {
		return nil, err
	}
	m := byName(all)
	missing := uncovering(all)
	for i, s := range slices.Backward(all) {
		if s.Kind != KindSnapshot || s.content == nil || missing[i] || !vouch(s) {
			continue
		}
		seen := map[*Entry]bool{s: true}
		for _, e := range m.past(s.Parents...) {
			seen[e] = true
		}
		rest := slices.DeleteFunc(slices.Clone(all), func(e *Entry) bool { return seen[e] })
		if slices.ContainsFunc(rest, bodiless) {
			continue
		}
		if slices.ContainsFunc(rest, func(e *Entry) bool { _, change := e.keyChange(); return change }) {
			return nil, errors.New("its keys were changed meanwhile")
		}
		return after(s, rest, all[len(all)-1].Position())
	}
	return nil, errors.New("no snapshot that counts here covers all dropped bodies: import a copy that has them")
}

// after folds entries after a snapshot that has not seen them, wherever they belong.
func after(s *Entry, rest []*Entry, top Position) (*Agent, error) {
	from, err := FromSnapshot(s)
	if err != nil {
		return nil, err
	}
	f := from.fold.clone()
	for _, e := range rest {
		f.step(e, slices.Contains(f.Revoked, e.Origin), f.known(e.Parents))
	}
	a := fromFold(f, top, s)
	for _, e := range rest {
		a.authors = used(a.authors, e.Name, e.Origin, rightFor(e), f.Charter.Scope)
	}
	return a, nil
}

// mend makes a snapshot for a copy that others collected since, where it has what these have not seen: it cannot be
// folded where it belongs, and is folded after the snapshot of the collection, as Node.Mend does. It is refused where
// only the copy that arrives has not seen what was collected here: that may have every body, and would come to another
// fold.
func (t *Trust) mend(ctx context.Context, s Store, here *Agent, fresh iter.Seq2[*Entry, error], by *Signer,
	refusal error) ([]*Entry, error) {
	if !holdsRecord(fresh) {
		return nil, refusal
	}
	had, err := collect(Memory(ctx, s, here.ID()))
	if err != nil {
		return nil, err
	}
	more, err := collect(fresh)
	if err != nil {
		return nil, err
	}
	a, err := mended(sorted(append(had, more...)), t.vouch(ctx, s, here.ID()))
	if err != nil || a.fold.hides() {
		return nil, errors.Join(refusal, err)
	}
	if err := t.Counts(a); err != nil {
		return nil, err
	}
	if owner := a.fold.Charter.Owner; by == nil || by.Key() != owner {
		return nil, WithHint(refusal, "take it in with the key of its owner, "+t.nameOf(owner)+
			": a snapshot in that name says what the two copies come to together")
	}
	entries, _, err := by.Commit(a, time.Now(), Draft{Body: Snapshot{Fold: *a.fold}})
	return entries, err
}

// unite refuses what may not join an agent. Where the other copy was collected and cannot fold something that is here,
// it makes a snapshot of both, by the owner.
func (t *Trust) unite(ctx context.Context, s Store, here *Agent, fresh iter.Seq2[*Entry, error], by *Signer) ([]*Entry,
	error) {
	had := Memory(ctx, s, here.ID())
	if err := t.Joins(here, had, fresh, func(Hash) bool { return false }); err != nil {
		return nil, err
	}
	if by == nil || t.Counts(here) != nil || !holdsRecord(fresh) {
		return nil, nil
	}
	all, err := collect(both(had, fresh))
	if err != nil || !overtaken(sorted(all)) {
		return nil, err
	}
	a, err := t.Fold(each(all))
	if err != nil || a.fold.hides() || a.fold.Charter.Owner != by.Key() {
		return nil, err
	}
	entries, _, err := by.Commit(a, time.Now(), Draft{Body: Snapshot{Fold: *a.fold}})
	return entries, err
}

// overtaken reports whether the snapshot that the last collection rests on has not seen something that comes before it,
// and none after it has seen all. The entries are in fold order.
func overtaken(all []*Entry) bool {
	fits := complete(all)
	for i, e := range slices.Backward(all) {
		if e.Kind == KindSnapshot && e.content != nil && fits[i] {
			return false
		}
		if ev, _ := e.content.(Event); e.pruned() {
			through := ev.Notice.(Pruned).Through
			i := slices.IndexFunc(all, func(e *Entry) bool { return e.Name == through })
			return i >= 0 && !fits[i]
		}
	}
	return false
}

// parted reports whether another copy that holds these entries was collected, and lacks something of the agent.
func (a *Agent) parted(fresh iter.Seq2[*Entry, error]) bool {
	came, err := names(fresh)
	return err == nil && holdsRecord(fresh) && slices.ContainsFunc(a.Heads(), func(h Hash) bool { return !came[h] })
}

// holdsRecord reports whether the record of a collection is among entries.
func holdsRecord(entries iter.Seq2[*Entry, error]) bool {
	for e, err := range entries {
		if err != nil {
			return false
		}
		if e.pruned() {
			return true
		}
	}
	return false
}

// both is one sequence of entries after another.
func both(first, then iter.Seq2[*Entry, error]) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for _, part := range []iter.Seq2[*Entry, error]{first, then} {
			for e, err := range part {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}
