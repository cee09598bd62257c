package simulate

import (
	"slices"
	"testing"
)

// Shrink makes a script that breaks an invariant as short as it goes: it takes operations away as long as the same
// invariant is broken, in at most so many runs.
func Shrink(t *testing.T, s *Script, o Options, invariant string, runs int) (*Script, *Report) {
	t.Helper()
	try := func(s *Script) *Report {
		if runs--; runs < 0 {
			return nil
		}
		if rep := Run(t, s, o); len(rep.Violations) > 0 && rep.Violations[0].Invariant == invariant {
			return rep
		}
		return nil
	}
	best := try(s)
	if best == nil {
		return s, Run(t, s, o)
	}
	for size := max(len(s.Ops)/2, 1); ; size = max(size/2, 1) {
		shorter := false
		for at := len(s.Ops) - size; at >= 0 && runs > 0; at -= size {
			less := *s
			less.Ops = slices.Delete(slices.Clone(s.Ops), at, at+size)
			if rep := try(&less); rep != nil {
				s, best, shorter = &less, rep, true
			}
		}
		if runs <= 0 || size == 1 && !shorter {
			return s, best
		}
	}
}
