package ordered_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/ordered"
)

func TestASetIsInOrderFromAnyPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := ordered.New(cmp.Compare[int])
	there := map[int]bool{}
	for i := range 3000 {
		k := r.IntN(2000)
		s.Add(k)
		if there[k] = true; i%97 != 0 {
			continue
		}
		want := make([]int, 0, len(there))
		for k := range there {
			want = append(want, k)
		}
		slices.Sort(want)
		before := s
		s.Add(-1 - i) // a copy stays as it was
		if got := slices.Collect(before.After(nil)); !slices.Equal(got, want) {
			t.Fatalf("after %d: %v, want %v", i, got, want)
		}
		at := r.IntN(2000)
		from, found := slices.BinarySearch(want, at)
		if found {
			from++
		}
		if got := slices.Collect(before.After(&at)); !slices.Equal(got, want[from:]) {
			t.Fatalf("after %d from %d: %v, want %v", i, at, got, want[from:])
		}
		there[-1-i] = true
	}
}

func TestASetIsWalkedByPagesInTimeOfItsSize(t *testing.T) {
	compared := 0
	s := ordered.New(func(a, b int) int { compared++; return cmp.Compare(a, b) })
	const many, page = 1 << 15, 16
	for i := range many {
		s.Add(i * 7919 % many)
	}
	if compared > 40*many {
		t.Errorf("%d comparisons to add %d", compared, many)
	}
	compared = 0
	n := 0
	for at := -1; ; {
		before := n
		for k := range s.After(&at) {
			if n++; n-before == page {
				at = k
				break
			}
		}
		if n-before < page {
			break
		}
	}
	if n != many || compared > 64*many {
		t.Errorf("%d of %d, with %d comparisons", n, many, compared)
	}
}
