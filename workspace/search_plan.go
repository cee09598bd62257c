package workspace

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// searching is how texts are looked for by their words.
type searching struct {
	terms []string   // what finds them
	since int64      // the first item to look at
	adds  []frequent // what adds to their rank
	whole bool       // all terms find, among all texts
}

// frequent is a term that many texts have.
type frequent struct {
	term   string
	weight float64 // of a text of the usual length that has the term once
	since  int64   // the item with which the newest of them begin
}

// wider is how to look on where a search finds too little that the reader may see; nil: there is no more. More frequent
// terms find, too, at first among the newest texts, at last among all. Each time there are twice as many, so that it is
// not often, and of each only so many are ranked.
func (p *searching) wider() *searching {
	if p.whole || len(p.adds) == 0 && p.since == 0 {
		return nil
	}
	more := p.adds[:min(len(p.adds), max(1, len(p.terms)))]
	w := &searching{terms: slices.Clone(p.terms), adds: p.adds[len(more):]}
	for _, t := range more {
		w.terms, w.since = append(w.terms, t.term), max(w.since, t.since)
	}
	return w
}

// plan is how to look for terms in an index of so many items. To rank texts by a term takes as long as there are many
// that have it. So where the index is large, the rarest terms find texts; the others add to the rank of those that
// have them, too, and find more where that is too little. Of what a frequent term finds, the newest are ranked.
func (f *finder) plan(ctx context.Context, terms []string, items int64) (*searching, error) {
	if items <= f.Index.large {
		return f.planWhole(ctx, terms, items)
	}
	type counted struct {
		term string
		spread
	}
	var all []counted
	for _, t := range terms {
		n, err := f.Index.count(ctx, t, items)
		if err != nil {
			return nil, err
		}
		if n.texts > 0 {
			all = append(all, counted{t, n})
		}
	}
	slices.SortStableFunc(all, func(a, b counted) int { return cmp.Compare(a.texts, b.texts) })
	p, sum := &searching{}, int64(0)
	for i, c := range all {
		if sum += c.texts; i == 0 || sum <= f.Index.broad {
			p.terms = append(p.terms, c.term)
			p.since = c.since
		} else {
			p.adds = append(p.adds, frequent{c.term, telling(c.texts, items), c.since})
		}
	}
	if len(p.terms) == 0 {
		p.terms = terms[:1]
	}
	return p, nil
}

// planWhole has all terms find. FTS5 takes a term that half of the texts have for one that says nothing. In a
// conversation of two that is the name of who speaks, and nearly every question has it: what FTS5 leaves out is added.
func (f *finder) planWhole(ctx context.Context, terms []string, items int64) (*searching, error) {
	p := &searching{terms: terms, whole: true}
	for _, t := range terms {
		n, err := f.Index.count(ctx, t, items)
		if err != nil {
			return nil, err
		}
		if x := (float64(items-n.texts) + 0.5) / (float64(n.texts) + 0.5); x < notRare {
			p.adds = append(p.adds, frequent{term: t, weight: telling(n.texts, items) - max(math.Log(x), 1e-6)})
		}
	}
	slices.SortStableFunc(p.adds, func(a, b frequent) int { return cmp.Compare(b.weight, a.weight) })
	return p, nil
}

// notRare is how many texts lack a term for each that has it, below which FTS5 weighs it noticeably less than telling.
const notRare = 20

// telling is how much a term says that so many texts have, of so many: less the more there are, but never nothing.
func telling(texts, items int64) float64 {
	n := float64(texts)
	return math.Log1p((float64(items) - n + 0.5) / (n + 0.5))
}

// maxCounts bounds how many counts are kept.
const maxCounts = 1 << 14

// spread is in how many texts a term is. Beyond broad it is estimated from how close together the newest are, and
// since is the item of the last that was counted.
type spread struct {
	texts, since int64
}

// count counts the texts that have a term. It takes as long as there are many, so that frequent ones are counted again
// only once there are many more texts.
func (ix *Index) count(ctx context.Context, term string, items int64) (n spread, err error) {
	ix.mu.Lock()
	if ix.counts == nil || items > ix.of+ix.of/8 || items < ix.of || len(ix.counts) >= maxCounts {
		ix.counts, ix.of = map[string]spread{}, items
	}
	n, known := ix.counts[term]
	ix.mu.Unlock()
	if known {
		return n, nil
	}
	var last int64
	err = ix.row(ctx, "SELECT count(*), coalesce(min(id), 0), (SELECT coalesce(max(id), 0) FROM item) FROM (SELECT "+
		"rowid AS id FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)", []any{term, ix.broad + 1}, &n.texts,
		&n.since, &last)
	if err != nil {
		return n, err
	}
	if n.texts > ix.broad {
		n.texts = min(int64(float64(n.texts)*float64(items)/float64(max(last-n.since+1, 1))), items)
		n.texts = max(n.texts, ix.broad+1)
	} else {
		n.since = 0
	}
	if n.texts > ix.broad/16 {
		ix.mu.Lock()
		ix.counts[term] = n
		ix.mu.Unlock()
	}
	return n, nil
}
