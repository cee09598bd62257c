package perdure

import (
	"slices"

	"github.com/perdure/perdure/internal/ordered"
)

// highest is the highest seq of the parents, if all of them are heads.
func (f *Fold) highest(parents []Hash) (int64, bool) {
	highest := int64(-1)
	for _, p := range parents {
		h := f.head(p)
		if h == nil {
			return 0, false
		}
		highest = max(highest, h.Seq)
	}
	return highest, true
}

// highest is the highest seq of the parents, if all of them are held.
func (a *Agent) highest(parents []Hash) (int64, bool) {
	highest, found := int64(-1), 0
	for e := range a.Recent() {
		if slices.Contains(parents, e.Name) {
			highest = max(highest, e.Seq)
			if found++; found == len(parents) {
				return highest, true
			}
		}
	}
	return 0, false
}

// headIndex is where in the heads this name is, or would be.
func (f *Fold) headIndex(name Hash) (int, bool) {
	return slices.BinarySearchFunc(f.Heads, name, func(h Head, n Hash) int { return h.Name.Compare(n) })
}

// head is the head of this name, or nil.
func (f *Fold) head(name Hash) *Head {
	if i, found := f.headIndex(name); found {
		return &f.Heads[i]
	}
	return nil
}

// known is what is known to those of the parents that are heads, as the head of an entry without a name yet.
func (f *Fold) known(parents []Hash) Head {
	var past Head
	if len(f.Revoked)+len(f.Former) == 0 {
		return past
	}
	for _, p := range parents {
		if h := f.head(p); h != nil {
			f.learn(&past, h)
		}
	}
	return past
}

// learn adds to a past what another head knows. Where branches handed the agent on more often than can be followed,
// nobody is its owner any more: it is contested, and what its owners do there does not count.
func (f *Fold) learn(past, from *Head) {
	f.work += int64(len(from.Knows) + len(from.Owners) + len(from.Handed))
	past.Knows = united(past.Knows, from.Knows)
	past.Owners, past.Handed = united(past.Owners, from.Owners), united(past.Handed, from.Handed)
	if max(len(past.Owners), len(past.Handed)) > maxKeys {
		past.Owners, past.Handed = nil, []Key{f.firstOwner()}
	}
}

// united is the union of two sorted sets: one of them, where it holds the other.
func united(a, b []Key) []Key {
	if len(b) > len(a) {
		a, b = b, a
	}
	if len(b) == 0 || &a[0] == &b[0] && len(a) == len(b) {
		return a
	}
	if holds(a, b) {
		return a
	}
	return ordered.Merge(a, b, func(x, y Key) int { return Hash(x).Compare(Hash(y)) })
}

// holds reports whether every key of b is in a; both are sorted.
func holds(a, b []Key) bool {
	for len(b) > 0 {
		for len(a) > len(b) && Hash(a[0]).Compare(Hash(b[0])) < 0 {
			a = a[1:]
		}
		if len(a) < len(b) || a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
	return true
}

// withKey adds a key to a sorted set, in a new slice.
func withKey(keys []Key, k Key) []Key {
	i, found := slices.BinarySearchFunc(keys, k, func(a, b Key) int { return Hash(a).Compare(Hash(b)) })
	if found {
		return keys
	}
	return slices.Insert(slices.Clone(keys), i, k)
}

// advanceHeads replaces the parents of e by e.
func (f *Fold) advanceHeads(e *Entry, h Head) {
	h.Name, h.Seq = e.Name, e.Seq
	if len(f.Heads) == 1 && len(e.Parents) == 1 && f.Heads[0].Name == e.Parents[0] { // the usual
		if !f.own.heads {
			f.Heads, f.own.heads = make([]Head, 1), true
		}
		f.Heads[0] = h
		return
	}
	f.Heads = mine(f, f.Heads, &f.own.heads)
	var gone [MaxParents]int // the places of the parents that were heads, ascending as their names do
	n := 0
	for _, p := range e.Parents[:min(len(e.Parents), MaxParents)] {
		if i, found := f.headIndex(p); found {
			gone[n], n = i, n+1
		}
	}
	at, _ := f.headIndex(h.Name)
	if n == 0 {
		f.work += int64(len(f.Heads) - at)
		f.Heads = slices.Insert(f.Heads, at, h)
		return
	}
	f.replaceHeads(gone[:n], at, h)
}

// replaceHeads takes the heads at these places away and puts h where it belongs, which is before the one at a place,
// moving each head between once.
func (f *Fold) replaceHeads(gone []int, at int, h Head) {
	// The hole nearest to the place is filled with h; what lies between moves by one. The other holes close in one
	// pass.
	near, _ := slices.BinarySearch(gone, at)
	if near == len(gone) || (near > 0 && at-gone[near-1] < gone[near]-at) {
		near--
	}
	if hole := gone[near]; hole < at {
		f.work += int64(at - hole)
		copy(f.Heads[hole:], f.Heads[hole+1:at])
		f.Heads[at-1] = h
	} else {
		f.work += int64(hole - at)
		copy(f.Heads[at+1:], f.Heads[at:hole])
		f.Heads[at] = h
	}
	if len(gone) == 1 {
		return
	}
	gone = slices.Delete(gone, near, near+1)
	f.work += int64(len(f.Heads) - gone[0])
	to := gone[0]
	for i, from := range gone {
		end := len(f.Heads)
		if i+1 < len(gone) {
			end = gone[i+1]
		}
		to += copy(f.Heads[to:], f.Heads[from+1:end])
	}
	clear(f.Heads[to:])
	f.Heads = f.Heads[:to]
}
