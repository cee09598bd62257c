package perdure

import "slices"

// Which snapshots of a memory can be gone on from is found in a few passes over it, however many snapshots it has: a
// memory may be made of nothing else.

// maxResumes bounds the snapshots that are tried, each at the cost of the memory. Those that are not complete, or miss
// something whose body is gone, are not tried.
const maxResumes = 16

// resumable are the snapshots, the newest first, that have seen every entry of a lower seq and every entry whose body
// is gone: what is left can be folded on top of them. The entries are in fold order.
func resumable(all []*Entry) []*Entry {
	fits := complete(all)
	missing := uncovering(all)
	var out []*Entry
	for i, e := range slices.Backward(all) {
		if fits[i] && !missing[i] && e.Kind == KindSnapshot && e.content != nil {
			out = append(out, e)
		}
	}
	return out
}

// complete says of each entry whether it has seen all that have a lower seq: whether the heads of those are all among
// its parents.
func complete(all []*Entry) []bool {
	out := make([]bool, len(all))
	heads := map[Hash]bool{} // of what has a lower seq
	for from, to := 0, 0; from < len(all); from = to {
		for to = from; to < len(all) && all[to].Seq == all[from].Seq; to++ {
			seen := 0
			for _, p := range all[to].Parents {
				if heads[p] {
					seen++
				}
			}
			out[to] = seen == len(heads)
		}
		for _, e := range all[from:to] {
			for _, p := range e.Parents {
				delete(heads, p)
			}
		}
		for _, e := range all[from:to] {
			heads[e.Name] = true
		}
	}
	return out
}

// latest is, of each entry, the latest time of what it has seen, by the clocks of their authors, as far as these are
// not ahead of now.
func latest(all []*Entry, now Time) []Time {
	at := indexes(all)
	out := make([]Time, len(all))
	for i, e := range all {
		for _, p := range e.Parents {
			if j, ok := at[p]; ok {
				if out[i] = max(out[i], out[j]); all[j].Time <= now {
					out[i] = max(out[i], all[j].Time)
				}
			}
		}
	}
	return out
}

func indexes(all []*Entry) map[Hash]int {
	at := make(map[Hash]int, len(all))
	for i, e := range all {
		at[e.Name] = i
	}
	return at
}

// maxPasses bounds how often uncovering goes over a memory, for 64 lost bodies at a time.
const maxPasses = 64

// uncovering says of each entry whether it has not seen every entry whose body is gone. Of very many bodies that were
// lost side by side it looks at the first 4096.
func uncovering(all []*Entry) []bool {
	at := indexes(all)
	missing := make([]bool, len(all))
	lost := lostTips(all, at)
	for range maxPasses {
		if len(lost) == 0 {
			break
		}
		some := lost[:min(len(lost), 64)]
		lost = lost[len(some):]
		want := ^uint64(0) >> (64 - len(some))
		seen := make([]uint64, len(all))
		for bit, i := range some {
			seen[i] = 1 << bit
		}
		for i, e := range all {
			for _, p := range e.Parents {
				if j, ok := at[p]; ok {
					seen[i] |= seen[j]
				}
			}
			missing[i] = missing[i] || seen[i] != want
		}
	}
	return missing
}

// lostTips are the entries without a body that no other such entry has seen: who has seen them has seen them all.
func lostTips(all []*Entry, at map[Hash]int) (tips []int) {
	below := make([]bool, len(all)) // some entry without a body has seen it
	for i, e := range slices.Backward(all) {
		if bodiless(e) && !below[i] {
			tips = append(tips, i)
		}
		if !bodiless(e) && !below[i] {
			continue
		}
		for _, p := range e.Parents {
			if j, ok := at[p]; ok {
				below[j] = true
			}
		}
	}
	return tips
}
