package capsule

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// The heads of a memory are those that a plain list would be, and cost no more for each entry the more there are.
func TestHeadsCostTheSameHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	name := func() (h perdure.Hash) {
		for i := range h {
			h[i] = byte(rng.Uint32())
		}
		return h
	}
	var h headSet
	var plain []perdure.Hash
	for i := range 3000 {
		var parents []perdure.Hash
		if phase := i / 1000; len(plain) > 0 && (phase == 1 || rng.IntN(8) == 0) { // the second thousand joins them
			for range min(4, len(plain)) {
				parents = append(parents, plain[rng.IntN(len(plain))])
			}
		}
		n := name()
		h.add(n, parents)
		plain = append(slices.DeleteFunc(plain, func(p perdure.Hash) bool { return slices.Contains(parents, p) }), n)
		if i%97 != 0 {
			continue
		}
		slices.SortFunc(plain, perdure.Hash.Compare)
		if !h.are(plain) || !h.has(n) || h.has(name()) || h.len() != len(plain) {
			t.Fatalf("after %d entries: %d heads, want %d", i+1, h.len(), len(plain))
		}
	}
	h = headSet{}
	const many = 20_000
	for range many {
		h.add(name(), nil)
	}
	if all := h.all(); len(all) != many || h.moved > (fewHeads+2)*many {
		t.Errorf("%d heads: %d moves", len(all), h.moved)
	}
}
