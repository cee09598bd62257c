package capsule

import (
	"maps"
	"slices"

	"github.com/perdure/perdure"
)

// headSet is the heads of a memory. Most have one, some have tens of thousands: adding an entry costs the same.
type headSet struct {
	sorted []perdure.Hash            // ascending, unless many has changed since
	many   map[perdure.Hash]struct{} // all of them; nil: they are few
	stale  bool                      // sorted is
	moved  int                       // hashes moved or sorted so far, for tests
}

// fewHeads is how many heads are kept in order all the time.
const fewHeads = 64

// add makes an entry a head, in place of its parents.
func (h *headSet) add(name perdure.Hash, parents []perdure.Hash) {
	if h.many == nil && len(h.sorted) >= fewHeads {
		h.many = make(map[perdure.Hash]struct{}, 2*len(h.sorted))
		for _, had := range h.sorted {
			h.many[had] = struct{}{}
		}
		h.moved += len(h.sorted)
	}
	if h.many == nil {
		h.moved += len(h.sorted)
		h.sorted = slices.DeleteFunc(h.sorted, func(had perdure.Hash) bool { return slices.Contains(parents, had) })
		i, _ := slices.BinarySearchFunc(h.sorted, name, perdure.Hash.Compare)
		h.sorted = slices.Insert(h.sorted, i, name)
		return
	}
	for _, p := range parents {
		delete(h.many, p)
	}
	h.many[name], h.stale = struct{}{}, true
	if h.moved++; len(h.many) < fewHeads/2 {
		h.all()
		h.many = nil
	}
}

// all are the heads, ascending. They are not to be changed.
func (h *headSet) all() []perdure.Hash {
	if h.stale {
		h.sorted = slices.SortedFunc(maps.Keys(h.many), perdure.Hash.Compare)
		h.stale, h.moved = false, h.moved+len(h.sorted)
	}
	return h.sorted
}

// has reports whether an entry is a head.
func (h *headSet) has(name perdure.Hash) bool {
	if h.many != nil {
		_, is := h.many[name]
		return is
	}
	_, is := slices.BinarySearchFunc(h.sorted, name, perdure.Hash.Compare)
	return is
}

// are reports whether these, ascending, are the heads.
func (h *headSet) are(names []perdure.Hash) bool {
	return h.len() == len(names) && slices.Equal(h.all(), names)
}

func (h *headSet) len() int {
	if h.many != nil {
		return len(h.many)
	}
	return len(h.sorted)
}
