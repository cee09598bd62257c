package perdure

import "slices"

// keyChange is the key change e carries, if it does.
func (e *Entry) keyChange() (KeyChange, bool) {
	if e.Kind != KindEvent {
		return KeyChange{}, false
	}
	ev, _ := e.content.(Event)
	k, ok := ev.Notice.(KeyChange)
	return k, ok
}

// revocation is the place of an entry that revokes a key its past has not.
type revocation struct {
	at  int
	key Key
}

// refold folds entries in order, the void ones as void, and returns the ones that the revocations it met make void. The
// caller owns a.
func (a *Agent) refold(entries []*Entry, void map[Hash]bool, base *Fold) (map[Hash]bool, error) {
	found := map[Hash]bool{}
	known := map[Hash]Head{} // of the entries whose past knows anything
	if base != nil {
		for _, h := range base.Heads {
			known[h.Name] = h
		}
	}
	parentOf := a.parents(entries, known)
	var revocations []revocation
	for i, e := range entries {
		var past Head
		for _, p := range e.Parents {
			if h, ok := known[p]; ok {
				a.fold.learn(&past, &h)
			}
		}
		revoked := slices.Contains(a.fold.Revoked, e.Origin)
		if revoked && slices.Contains(past.Knows, e.Origin) {
			return nil, revokedAuthor(e)
		}
		k, change := e.keyChange()
		if revoked && !change {
			found[e.Name] = true
		}
		past.unseen = a.fold.unseen(e, parentOf)
		a.link(e, found[e.Name] || void[e.Name], past)
		h := a.fold.head(e.Name)
		if len(h.Knows)+len(h.Handed)+len(h.missed) > 0 || h.beyond {
			known[e.Name] = *h
		}
		if len(h.Knows) > len(past.Knows) {
			revocations = append(revocations, revocation{i, k.Revoke})
		}
	}
	if void == nil && len(revocations) > 0 {
		return found, a.voidUnseen(entries, revocations, base, found)
	}
	return found, nil
}

// voidUnseen finds the entries of revoked keys that the author of a revocation had not seen. Key changes are never
// void: whoever could make one was the owner, and of two that exclude each other nobody can tell which is right. It
// follows 64 revocations at a time, so that a memory in which one key is revoked on every branch costs no more than
// others. ErrBehind says that there may be more before base.
func (a *Agent) voidUnseen(entries []*Entry, revocations []revocation, base *Fold, found map[Hash]bool) error {
	place := make(map[Hash]int, len(entries))
	for i, e := range entries {
		place[e.Name] = i
	}
	n := len(entries)
	if base != nil {
		for i := range base.Heads {
			place[base.Heads[i].Name] = n + i
		}
	}
	parents := make([][]int, n)
	for i, e := range entries {
		for _, p := range e.Parents {
			if at, ok := place[p]; ok {
				parents[i] = append(parents[i], at)
			}
		}
	}
	behind := false
	past := make([]uint64, len(place)) // which revocations of the batch have the entry in their past
	for batch := range slices.Chunk(revocations, 64) {
		a.fold.work += int64(len(past))
		clear(past)
		of := map[Key]uint64{}
		for bit, r := range batch {
			of[r.key] |= 1 << bit
			for _, p := range parents[r.at] {
				past[p] |= 1 << bit
			}
		}
		for i, e := range slices.Backward(entries) {
			for _, p := range parents[i] {
				past[p] |= past[i]
			}
			if of[e.Origin]&^past[i] == 0 {
				continue
			}
			if _, change := e.keyChange(); !change {
				found[e.Name] = true
			}
		}
		all := uint64(1)<<len(batch) - 1
		behind = behind || slices.ContainsFunc(past[n:], func(bits uint64) bool { return bits != all })
	}
	if behind {
		return ErrBehind
	}
	return nil
}
