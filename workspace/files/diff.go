package files

// match is a run of equal elements: so many, from a place in one list and a place in another.
type match struct{ a, b, n int }

// maxTable bounds the table by which stretches without unique lines are compared.
const maxTable = 4 << 20

// matches are the runs that two lists have in common, in order. They are found by elements that are unique in both,
// and between these by the longest common subsequence; stretches too long for that count as different.
func matches(a, b []string) []match {
	var found []match
	add := func(i, j, n int) {
		if n == 0 {
			return
		}
		if k := len(found) - 1; k >= 0 && found[k].a+found[k].n == i && found[k].b+found[k].n == j {
			found[k].n += n
			return
		}
		found = append(found, match{i, j, n})
	}
	compare(a, b, 0, 0, add)
	return found
}

// compare calls add with what a and b have in common; they begin at places i and j.
func compare(a, b []string, i, j int, add func(i, j, n int)) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	add(i, j, n)
	a, b, i, j = a[n:], b[n:], i+n, j+n
	end := 0
	for end < len(a) && end < len(b) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	between(a[:len(a)-end], b[:len(b)-end], i, j, add)
	add(i+len(a)-end, j+len(b)-end, end)
}

// between compares lists that neither begin nor end alike.
func between(a, b []string, i, j int, add func(i, j, n int)) {
	if len(a) == 0 || len(b) == 0 {
		return
	}
	anchors := unique(a, b)
	if len(anchors) == 0 {
		if len(a)*len(b) <= maxTable {
			table(a, b, i, j, add)
		}
		return
	}
	fromA, fromB := 0, 0
	for _, m := range anchors {
		compare(a[fromA:m.a], b[fromB:m.b], i+fromA, j+fromB, add)
		add(i+m.a, j+m.b, 1)
		fromA, fromB = m.a+1, m.b+1
	}
	compare(a[fromA:], b[fromB:], i+fromA, j+fromB, add)
}

// unique are the elements that stand once in each list, as many as are in the same order in both.
func unique(a, b []string) []match {
	type seen struct{ inA, inB, a, b int }
	all := make(map[string]*seen, len(a))
	for i, s := range a {
		if all[s] == nil {
			all[s] = &seen{}
		}
		all[s].inA++
		all[s].a = i
	}
	for j, s := range b {
		if x := all[s]; x != nil {
			x.inB++
			x.b = j
		}
	}
	var both []match
	for i, s := range a {
		if x := all[s]; x.inA == 1 && x.inB == 1 && x.a == i {
			both = append(both, match{i, x.b, 1})
		}
	}
	return rising(both)
}

// rising is the longest part of a list, which rises in a, that rises in b, too.
func rising(all []match) []match {
	var ends []int // the last of the best run of each length
	before := make([]int, len(all))
	for k, m := range all {
		lo, hi := 0, len(ends)
		for lo < hi {
			if mid := (lo + hi) / 2; all[ends[mid]].b < m.b {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		before[k] = -1
		if lo > 0 {
			before[k] = ends[lo-1]
		}
		if lo == len(ends) {
			ends = append(ends, k)
		} else {
			ends[lo] = k
		}
	}
	if len(ends) == 0 {
		return nil
	}
	run := make([]match, len(ends))
	for i, k := len(ends)-1, ends[len(ends)-1]; i >= 0; i, k = i-1, before[k] {
		run[i] = all[k]
	}
	return run
}

// table compares by the longest common subsequence.
func table(a, b []string, i, j int, add func(i, j, n int)) {
	w := len(b) + 1
	best := make([]int32, (len(a)+1)*w)
	for x := len(a) - 1; x >= 0; x-- {
		for y := len(b) - 1; y >= 0; y-- {
			if a[x] == b[y] {
				best[x*w+y] = best[(x+1)*w+y+1] + 1
			} else {
				best[x*w+y] = max(best[(x+1)*w+y], best[x*w+y+1])
			}
		}
	}
	for x, y := 0, 0; x < len(a) && y < len(b); {
		switch {
		case a[x] == b[y]:
			add(i+x, j+y, 1)
			x, y = x+1, y+1
		case best[(x+1)*w+y] >= best[x*w+y+1]:
			x++
		default:
			y++
		}
	}
}
