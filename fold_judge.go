package perdure

import (
	"errors"
	"iter"
	"slices"
)

// collect is the entries of a stream. An entry that comes before one of its parents, or twice, is refused.
func collect(entries iter.Seq2[*Entry, error]) ([]*Entry, error) {
	var all []*Entry
	came := map[Hash]bool{}
	var early *Entry // the first whose parent had not come
	var parent Hash
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if came[e.Name] {
			return nil, twice(e)
		}
		came[e.Name] = true
		for _, p := range e.Parents {
			if early == nil && !came[p] {
				early, parent = e, p
			}
		}
		all = append(all, e)
	}
	if early != nil && came[parent] {
		return nil, early.Unlinked(parent) // it is there, but too late
	}
	return all, nil
}

func twice(e *Entry) error {
	return reject(predOnce, e, "$", "the same entry again", "each entry once", "leave the second copy out")
}

// judge checks, in fold order, what makes a memory of entries but for what they say: that they are of one agent,
// linked, numbered and signed, each in this order; then that signatures cover all of them. Whichever order they came
// in, the same rule is named. The entries are in fold order, each once. This is the order of spec/README.md §4.
func judge(all []*Entry) error {
	var id AgentID
	seqs := make(map[Hash]int64, len(all))
	var s seals
	for i, e := range all {
		if i == 0 && e.Kind == KindGenesis {
			id = e.ID()
		}
		if err := judgeEntry(e, id, seqs); err != nil {
			return err
		}
		seqs[e.Name] = e.Seq
		s.add(e)
	}
	if e := s.broken(); e != nil {
		return unsealed(e)
	}
	return nil
}

// judgeEntry checks an entry against those before it, by their seq.
func judgeEntry(e *Entry, id AgentID, before map[Hash]int64) error {
	if e.Kind == KindGenesis && e.ID() != id {
		return reject(predGenesisFirst, e, "$.header", "a second genesis", "one", "two memories are mixed here")
	}
	if e.Kind != KindGenesis && !id.IsZero() && e.Agent != id {
		return wrongAgent(e, id)
	}
	highest := int64(-1)
	for _, p := range e.Parents {
		seq, ok := before[p]
		if !ok {
			return reject(predLinked, e, "$.header.parents", "parent "+p.Short()+" is not in this memory",
				"every parent present", "get the missing entries from the copy this one came from")
		}
		highest = max(highest, seq)
	}
	if e.Seq != highest+1 {
		return wrongSeq(e, highest)
	}
	return e.verifySignature()
}

// refused is what to say of a memory that was refused, or could not be folded, as it streamed by. Which rule is met
// first there may depend on the order of arrival, so the entries are judged again in fold order. Again is set where
// that is not enough: entries lie on branches, and what they say decides. A stream that cannot be read twice stays
// refused as it was.
func refused(entries iter.Seq2[*Entry, error], err error) (verdict error, again bool) {
	var r *Rejection
	if err == ErrBehind || !errors.As(err, &r) {
		return err, err == ErrBehind
	}
	all, cerr := collect(func(yield func(*Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				// headers and signatures are enough: a memory may be refused that does not fit into this process
				e = e.Drop()
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if cerr != nil {
		return err, false
	}
	all = sorted(all)
	if verdict := judge(all); verdict != nil {
		return verdict, false
	}
	for i, e := range all {
		if i > 0 && (len(e.Parents) != 1 || e.Parents[0] != all[i-1].Name) {
			return err, true
		}
	}
	return err, false // a chain has one order only
}

// onTop reports whether an entry names exactly the heads.
func (f *Fold) onTop(e *Entry) bool {
	return len(f.Heads) == len(e.Parents) && !slices.ContainsFunc(e.Parents, func(p Hash) bool {
		return f.head(p) == nil
	})
}
