// Package ordered keeps many things in order where there are more all the time.
package ordered

import (
	"iter"
	"slices"
)

// Set is things in order. To add one costs the logarithm of how many there are, on average, and so does it to find the
// first after another. A copy of a Set stays as it was: whoever reads one needs no lock while others add to it.
type Set[K any] struct {
	compare func(a, b K) int
	runs    [][]K // each in order and never changed, and at most half as long as the one before
}

// New is an empty set of things that compare tells apart.
func New[K any](compare func(a, b K) int) Set[K] { return Set[K]{compare: compare} }

// Add adds a thing. One that is there already is there once.
func (s *Set[K]) Add(k K) {
	run := []K{k}
	runs := slices.Clone(s.runs) // copies of the set keep theirs
	for len(runs) > 0 && len(runs[len(runs)-1]) < 2*len(run) {
		run = Merge(runs[len(runs)-1], run, s.compare)
		runs = runs[:len(runs)-1]
	}
	s.runs = append(runs, run)
}

// Merge is two slices in order as one; what is in both is in it once.
func Merge[K any](a, b []K, compare func(a, b K) int) []K {
	out := make([]K, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		c := compare(a[0], b[0])
		if c <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out = append(out, b[0])
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// After yields the things after one, in order; of nil, all. It looks at what it yields and no more than a few others.
func (s Set[K]) After(k *K) iter.Seq[K] {
	return func(yield func(K) bool) {
		rest := make([][]K, 0, len(s.runs))
		for _, run := range s.runs {
			if k != nil {
				i, found := slices.BinarySearchFunc(run, *k, s.compare)
				if found {
					i++
				}
				run = run[i:]
			}
			if len(run) > 0 {
				rest = append(rest, run)
			}
		}
		for len(rest) > 0 {
			first := rest[0][0]
			for _, run := range rest[1:] {
				if s.compare(run[0], first) < 0 {
					first = run[0]
				}
			}
			if !yield(first) {
				return
			}
			for i, run := range rest {
				if s.compare(run[0], first) == 0 {
					rest[i] = run[1:]
				}
			}
			rest = slices.DeleteFunc(rest, func(run []K) bool { return len(run) == 0 })
		}
	}
}
