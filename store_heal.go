package perdure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Healer is a store that can put right an agent some of whose entries it cannot read any more.
type Healer interface {
	// Heal puts what can still be read of an agent together with the entries of a good copy, which may be none. What
	// makes a memory of that (see Healed.Join) takes the place of what was there, durably and at once; what cannot be
	// placed stays aside, for when a better copy comes. It returns an error wrapping ErrNotFound if the store has
	// nothing of the agent.
	Heal(ctx context.Context, id AgentID, good []*Entry) (Healed, error)
	// Ailing says of each agent known to be damaged why, and what to do. An agent that is not in it may be damaged all
	// the same: Verify reads it.
	Ailing(ctx context.Context) (map[AgentID]Ailment, error)
}

// Healed is what became of a damaged agent.
type Healed struct {
	Entries int64   // it has now
	Gained  int64   // of which it could not read before, or not with a good signature
	Aside   int64   // that cannot be placed: what they are written on is missing
	Gaps    []int64 // the first seqs of which nothing is left, below the highest set aside
	Short   bool    // the store knew of more than it can read
	Leave   string  // why what holds the store may lose more, also of other agents; empty: that is not to be expected
}

// Ailment is what is known of a damaged agent.
type Ailment struct {
	Name   string
	Reason error
	Gone   bool // nothing of it can be used
}

// Resembles reports whether an id is another one, some of whose bytes were damaged: half of them are the same. Of two
// agents nobody finds such ids.
func (id AgentID) Resembles(other AgentID) bool {
	same := 0
	for i := range id {
		if id[i] == other[i] {
			same++
		}
	}
	return same >= len(id)/2
}

// Healable refuses an agent of which only a part is here: what is missing before it cannot be told from what was lost.
// A whole copy heals it.
func (d Depth) Healable() error {
	if d != Full {
		return fmt.Errorf("this store holds %s: import the whole memory", d.stored())
	}
	return nil
}

// Join parts entries, in any order and with gaps, into those that make a memory, in fold order, and the rest, and says
// in h how many entries the memory has now, how many a better double took the place of, and what is lost of it. Every
// store heals by it.
func (h *Healed) Join(entries []*Entry) (memory, rest []*Entry) {
	memory, rest = salvage(entries)
	placed := byName(memory)
	worse := func(e *Entry) bool { return placed[e.Name] != nil }
	for _, e := range rest {
		if worse(e) { // its name does not tell that its signature is wrong: it reads as any other
			h.Gained++
		}
	}
	rest = slices.DeleteFunc(rest, worse)
	h.Entries, h.Gaps = int64(len(memory)), gaps(memory, rest)
	return memory, rest
}

// salvage parts entries, in any order and with gaps, into those that make a memory, in fold order, and the rest:
// whatever does not lead back to genesis, whose signature is wrong or missing, or that cannot be folded. Of several
// with one name and a good signature the first is taken, and the others are in neither; those with a wrong one are in
// the rest.
func salvage(entries []*Entry) (whole, rest []*Entry) {
	for _, e := range entries {
		if e.Signature != nil && e.verifySignature() != nil {
			rest = append(rest, e)
		} else {
			whole = append(whole, e)
		}
	}
	slices.SortStableFunc(whole, func(a, b *Entry) int {
		if c := a.Position().Compare(b.Position()); c != 0 {
			return c
		}
		return cmp.Compare(len(b.Signature), len(a.Signature)) // one that lost its signature may have a better double
	})
	whole = slices.CompactFunc(whole, func(a, b *Entry) bool { return a.Name == b.Name })
	for {
		bad := map[Hash]bool{}
		if e := faulty(whole); e != nil {
			bad[e.Name] = true
		}
		kept, out := withoutHeirs(whole, bad)
		rest = append(rest, out...)
		if whole = kept; len(out) == 0 || len(whole) == 0 {
			slices.SortFunc(rest, func(a, b *Entry) int { return a.Position().Compare(b.Position()) })
			return whole, rest
		}
	}
}

// withoutHeirs takes entries out that are bad by themselves, and those written on what is not there. The entries are in
// fold order.
func withoutHeirs(all []*Entry, bad map[Hash]bool) (kept, out []*Entry) {
	if len(all) == 0 {
		return nil, nil
	}
	seqs := make(map[Hash]int64, len(all))
	var id AgentID
	if all[0].Kind == KindGenesis {
		id = all[0].ID()
	}
	for _, e := range all {
		if bad[e.Name] || id.IsZero() || judgeEntry(e, id, seqs) != nil {
			out = append(out, e)
			continue
		}
		seqs[e.Name] = e.Seq
		kept = append(kept, e)
	}
	return kept, out
}

// faulty is an entry that keeps linked entries from being a memory, or nil.
func faulty(all []*Entry) *Entry {
	kept, out := withoutHeirs(all, nil)
	if len(out) > 0 {
		return out[0]
	}
	var s seals
	for _, e := range kept {
		s.add(e)
	}
	if e := s.broken(); e != nil {
		return e
	}
	if len(kept) == 0 {
		return nil
	}
	_, err := FoldEntries(each(kept))
	var r *Rejection
	if err == nil || !errors.As(err, &r) {
		return nil
	}
	if i := slices.IndexFunc(kept, func(e *Entry) bool { return e.Name.String() == r.Entry }); i >= 0 {
		return kept[i]
	}
	return kept[len(kept)-1]
}

// each yields entries.
func each(entries []*Entry) func(yield func(*Entry, error) bool) {
	return func(yield func(*Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// gaps are the seqs, below the highest of entries set aside, of which there is nothing: not in a memory and not aside.
func gaps(whole, aside []*Entry) (gaps []int64) {
	have, high := map[int64]bool{}, int64(0)
	for _, e := range aside {
		have[e.Seq], high = true, max(high, e.Seq)
	}
	for _, e := range whole {
		have[e.Seq] = true
	}
	for seq := int64(0); seq < high && len(gaps) < maxGaps; seq++ {
		if !have[seq] {
			gaps = append(gaps, seq)
		}
	}
	return gaps
}

// maxGaps bounds the seqs that are named as missing.
const maxGaps = 64
