package perdure

import (
	"fmt"
	"maps"
	"slices"
)

// window is the recent entries of an agent, by name and in fold order.
type window struct {
	links   []*link
	byName  map[Hash]*link
	base    *Fold // before links; nil when they begin with genesis
	authors *authored
	id      AgentID
}

func (a *Agent) window() *window {
	w := &window{byName: map[Hash]*link{}, base: a.cur.base, authors: a.cur.authors}
	if a.prev.last != nil || a.prev.base != nil {
		w.base, w.authors = a.prev.base, a.prev.authors
	}
	for _, s := range []segment{a.cur, a.prev} {
		for l := s.last; l != nil; l = l.before {
			w.links = append(w.links, l)
			w.byName[l.Name] = l
		}
	}
	slices.Reverse(w.links)
	if a.fold != nil {
		w.id = a.fold.Agent
	}
	return w
}

// candidates are the held and the new entries that are not folded yet, each once, in fold order.
func (w *window) candidates(early, entries []*Entry) []*Entry {
	fresh := map[Hash]*Entry{}
	for _, list := range [][]*Entry{early, entries} {
		for _, e := range list {
			if w.byName[e.Name] == nil {
				fresh[e.Name] = e.joined(fresh[e.Name])
			}
		}
	}
	out := slices.Collect(maps.Values(fresh))
	slices.SortFunc(out, func(a, b *Entry) int { return a.Position().Compare(b.Position()) })
	return out
}

// admit sorts out which entries can be folded now: all parents are there and a signature covers them. The rest is
// early.
func (w *window) admit(fresh []*Entry, unsealed, bare bool) (admitted, early []*Entry, err error) {
	byName := make(map[Hash]*Entry, len(fresh))
	for _, e := range fresh {
		byName[e.Name] = e
	}
	sealed := make(map[Hash]bool, len(fresh))
	for _, e := range slices.Backward(fresh) {
		if e.Signature == nil && !unsealed && !sealed[e.Name] {
			continue
		}
		sealed[e.Name] = true
		for _, p := range e.Parents {
			if before := byName[p]; before != nil && before.Origin == e.Origin {
				sealed[p] = true
			}
		}
	}
	seqs := make(map[Hash]int64, len(fresh))
	for _, e := range fresh {
		if err := e.verifySignature(); err != nil {
			return nil, nil, err
		}
		highest, known := w.parents(e, seqs)
		switch {
		case e.Kind == KindGenesis:
			if !w.id.IsZero() && w.id != e.ID() {
				return nil, nil, reject(predGenesisFirst, e, "$.header", "a second genesis", "one",
					"two memories are mixed here")
			}
			w.id = e.ID()
		case !w.id.IsZero() && e.Agent != w.id:
			return nil, nil, wrongAgent(e, w.id)
		case !known && w.base != nil:
			return nil, nil, ErrBehind
		case !known:
			early = append(early, e)
			continue
		case e.Seq != highest+1:
			return nil, nil, wrongSeq(e, highest)
		}
		if !sealed[e.Name] {
			early = append(early, e)
			continue
		}
		if e.content == nil && !bare {
			return nil, nil, noBody(e)
		}
		seqs[e.Name] = e.Seq
		admitted = append(admitted, e)
	}
	return admitted, early, nil
}

// parents finds the highest seq among the parents of e, and whether all of them are there.
func (w *window) parents(e *Entry, admitted map[Hash]int64) (highest int64, known bool) {
	for _, p := range e.Parents {
		seq, ok := admitted[p]
		if l := w.byName[p]; l != nil {
			seq, ok = l.Seq, true
		}
		if !ok && w.base != nil {
			if h := w.base.head(p); h != nil {
				seq, ok = h.Seq, true
			}
		}
		if !ok {
			return 0, false
		}
		highest = max(highest, seq)
	}
	return highest, true
}

// insert folds admitted entries where they belong, and everything after them again.
func (a *Agent) insert(w *window, admitted []*Entry) (*Agent, error) {
	if w.base != nil && admitted[0].Seq <= w.base.Seq {
		return nil, ErrBehind
	}
	entries := make([]*Entry, 0, len(w.links)+len(admitted))
	for _, l := range w.links {
		entries = append(entries, l.Entry)
	}
	entries = append(entries, admitted...)
	slices.SortFunc(entries, func(x, y *Entry) int { return x.Position().Compare(y.Position()) })
	// What a key change does depends on key changes alone, so the first pass finds every entry that one of them voids.
	var void map[Hash]bool
	work := int64(0)
	if a.fold != nil {
		work = a.fold.work
	}
	for {
		next := &Agent{fold: new(Fold), cur: segment{base: w.base, authors: w.authors}, authors: w.authors,
			early: a.early, full: a.full, bare: a.bare, depth: a.depth}
		if w.base != nil {
			next.fold = w.base.clone()
		}
		next.fold.judged = new(judged) // the inbox may have another order
		next.fold.work = work
		found, err := next.refold(entries, void, w.base)
		if err != nil {
			return nil, err
		}
		if void != nil || len(found) == 0 {
			return next, nil
		}
		void, work = found, next.fold.work
	}
}

func wrongAgent(e *Entry, want AgentID) error {
	return reject(predAgent, e, "$.header.agent", e.Agent.String(), want.String(), "the entry belongs to another agent")
}

func noBody(e *Entry) error {
	return reject(predBodyPresent, e, "$.body", "absent", "the body",
		"what it says is not known: resume from a snapshot after it, or get the body from another copy")
}

func wrongSeq(e *Entry, highest int64) error {
	return reject(predSeq, e, "$.header.seq", fmt.Sprint(e.Seq), fmt.Sprint(highest+1),
		"seq is one more than the highest of the parents")
}

func revokedAuthor(e *Entry) error {
	return reject(predRevoked, e, "$.header.origin", e.Origin.Short(), "a key not revoked in the entry's own past",
		"the key was revoked before this entry was written")
}
