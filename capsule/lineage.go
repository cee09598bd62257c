package capsule

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// lineage checks, entry by entry as they arrive, what makes a memory of them: parents are there, seqs count up,
// signatures verify and cover everything. It keeps about 40 bytes an entry.
type lineage struct {
	id     perdure.AgentID
	anchor *Anchor
	seqs   map[short]int64
	heads  map[perdure.Hash]struct{}
	open   map[perdure.Hash]unsealed // not covered by a signature yet
	count  int64
}

// short is the first half of a name: enough to tell entries apart that nobody can make collide.
type short [16]byte

// unsealed is an entry that waits for the signature that covers it.
type unsealed struct {
	origin  perdure.Key
	parents []perdure.Hash
}

func newLineage(h *Head) *lineage {
	return &lineage{id: h.Agent, anchor: h.Anchor, seqs: map[short]int64{}, heads: map[perdure.Hash]struct{}{},
		open: map[perdure.Hash]unsealed{}}
}

// has reports whether an entry has been added.
func (l *lineage) has(name perdure.Hash) bool {
	_, ok := l.seqs[short(name[:16])]
	return ok
}

// add checks an entry against those before it.
func (l *lineage) add(e *perdure.Entry, at int64) error {
	if e.ID() != l.id {
		return moved(e.Foreign(l.id), at)
	}
	if err := l.first(e, at); err != nil {
		return err
	}
	if l.has(e.Name) {
		return of(reject(PredOrder, at, "$", "the same entry again", "each entry once"), e)
	}
	highest := int64(-1)
	for _, p := range e.Parents {
		seq, ok := l.seqs[short(p[:16])]
		if !ok {
			return moved(e.Unlinked(p), at)
		}
		highest = max(highest, seq)
	}
	if e.Seq != highest+1 {
		return &perdure.Rejection{Phase: canon.PhaseLineage, Predicate: "entry.seq", Entry: e.Name.String(),
			Path: "$.header.seq", Offset: at,
			Got: fmt.Sprint(e.Seq), Want: fmt.Sprint(highest + 1),
			Hint: "seq is one more than the highest of the parents"}
	}
	if err := e.CheckSignature(); err != nil {
		return moved(err, at)
	}
	l.seal(e)
	l.seqs[short(e.Name[:16])] = e.Seq
	for _, p := range e.Parents {
		delete(l.heads, p)
	}
	l.heads[e.Name] = struct{}{}
	l.count++
	return nil
}

// first holds the first entry against the anchor.
func (l *lineage) first(e *perdure.Entry, at int64) error {
	switch {
	case l.count > 0:
		return nil
	case l.anchor == nil && e.Kind != perdure.KindGenesis:
		return of(reject(PredAnchor, at, "$", "an entry of kind "+e.Kind.String(), "genesis first, or an anchor"), e)
	case l.anchor == nil:
		return nil
	}
	a, err := anchorOf(e)
	if err != nil || a.Seq != l.anchor.Seq || a.State != l.anchor.State || !slices.Equal(a.Heads, l.anchor.Heads) {
		return of(reject(PredAnchor, at, "$", "another entry", "the snapshot the anchor commits to"), e)
	}
	heads := e.Content().(perdure.Snapshot).Fold.Heads
	if !slices.EqualFunc(heads, e.Parents, func(h perdure.Head, p perdure.Hash) bool { return h.Name == p }) {
		return of(reject(PredAnchor, at, "$.body.content.snapshot.fold.heads", "other heads",
			"those the snapshot follows"), e)
	}
	for _, h := range heads {
		l.seqs[short(h.Name[:16])] = h.Seq
	}
	return nil
}

// seal notes an entry that no signature covers yet, or what the signature of a signed one covers: the linked run of its
// author before it.
func (l *lineage) seal(e *perdure.Entry) {
	if e.Signature == nil {
		l.open[e.Name] = unsealed{e.Origin, e.Parents}
		return
	}
	for todo := e.Parents; len(todo) > 0 && len(l.open) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if u, ok := l.open[name]; ok && u.origin == e.Origin {
			delete(l.open, name)
			todo = slices.Concat(todo, u.parents)
		}
	}
}

// sealed refuses a memory in which an entry is covered by no signature.
func (l *lineage) sealed(at int64) error {
	for name := range l.open {
		return &perdure.Rejection{Phase: canon.PhaseSignature, Predicate: "entry.sealed", Entry: name.String(),
			Path: "$.signature", Offset: at,
			Got: "none", Want: "a signature by its author on it or on the run after it",
			Hint: "the commit was cut short; get its last entries"}
	}
	return nil
}

// sortedHeads are the entries without a child, ascending.
func (l *lineage) sortedHeads() []perdure.Hash {
	heads := make([]perdure.Hash, 0, len(l.heads))
	for h := range l.heads {
		heads = append(heads, h)
	}
	slices.SortFunc(heads, perdure.Hash.Compare)
	return heads
}
