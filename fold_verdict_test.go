package perdure

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// disturb adds snapshots, honest and forged, drops bodies, and breaks a rule here and there.
func (w *world) disturb() error {
	for range w.choose(3) {
		node := w.nodes[w.choose(len(w.nodes))]
		if slices.Contains(node.a.fold.Revoked, node.s.key) {
			continue
		}
		fold := *node.a.fold
		if w.choose(3) == 0 {
			fold.Granted.Cost += 1_000_000
		}
		if err := w.extend(node, Snapshot{Fold: fold}); err != nil {
			return err
		}
		for range w.choose(3) {
			if err := w.write(node); err != nil {
				return err
			}
		}
	}
	for range w.choose(3) {
		i := w.choose(len(w.entries))
		w.entries[i] = w.entries[i].Drop()
	}
	if w.choose(4) == 0 && len(w.entries) > 1 {
		// some entry may miss a signature or a parent below
		w.entries = slices.Delete(w.entries, len(w.entries)-1, len(w.entries))
	}
	for range w.choose(3) {
		i := w.choose(len(w.entries))
		c := *w.entries[i]
		switch w.choose(4) {
		case 0:
			c.Signature, c.verified = nil, 0
		case 1:
			c.Signature, c.verified = make([]byte, signatureSize), 0
		case 2:
			if c.Kind != KindGenesis {
				c.Seq++ // the name stays: what is tested is which rule is named
			}
		case 3:
			if c.Kind != KindGenesis {
				c.Agent[0] ^= 1
			}
		}
		w.entries[i] = &c
	}
	return nil
}

// extend writes a body on top of all heads a node knows.
func (w *world) extend(node *worldNode, b Body) error {
	f := node.a.fold
	highest, _ := f.highest(node.a.Heads())
	rec := saltedBody{Content: b}
	rec.Salt[0] = byte(len(w.entries))
	e, err := newEntry(Header{Agent: f.Agent, Parents: node.a.Heads(), Seq: highest + 1, Time: TimeOf(epoch)}, &rec,
		node.s.key)
	if err != nil {
		return err
	}
	mark(e)
	next, err := node.a.Apply(e)
	if err != nil {
		return err
	}
	node.a, w.entries = next, append(w.entries, e)
	return nil
}

// topological is the entries in another order in which parents come before children.
func (w *world) topological() []*Entry {
	rest := slices.Clone(w.entries)
	out := make([]*Entry, 0, len(rest))
	there := map[Hash]bool{}
	all := byName(rest)
	for len(rest) > 0 {
		var ready []int
		for i, e := range rest {
			if !slices.ContainsFunc(e.Parents, func(p Hash) bool { return all[p] != nil && !there[p] }) {
				ready = append(ready, i)
			}
		}
		i := ready[w.choose(len(ready))]
		out, there[rest[i].Name] = append(out, rest[i]), true
		rest = slices.Delete(rest, i, i+1)
	}
	return out
}

// verdicts is what comes of entries, as text.
func verdicts(entries []*Entry) string {
	said := func(hash Hash, err error) string {
		var r *Rejection
		if errors.As(err, &r) {
			return r.Predicate + " " + r.Path + " of " + r.Entry
		}
		if err != nil {
			return "error " + err.Error()
		}
		return "ok " + hash.Short()
	}
	fresh := make([]*Entry, len(entries))
	for i, e := range entries {
		c := *e
		fresh[i] = &c
	}
	found, err := Verify(seq(fresh), VerifyOptions{})
	var hash Hash
	if err == nil {
		hash = found.Fold
	}
	out := "verify " + said(hash, err)
	if err == nil {
		out += fmt.Sprint(" entries ", found.Entries, " signatures ", found.Signatures, " snapshots ", found.Snapshots,
			" taken ", found.Taken)
	}
	a, err := FoldEntries(seq(fresh))
	if err == nil {
		hash, _ = a.fold.Hash()
	}
	return out + ", fold " + said(hash, err)
}

func TestOrderOfArrivalDecidesNoVerdict(t *testing.T) {
	memories := uint64(5_000)
	if testing.Short() {
		memories = 1_000
	}
	seen := map[string]int{}
	for seed := range memories {
		w, err := newWorld(rand.New(rand.NewPCG(seed, 7)).IntN)
		if err == nil {
			err = w.disturb()
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := verdicts(w.entries)
		seen[want[:min(20, len(want))]]++
		for range 3 {
			if got := verdicts(w.topological()); got != want {
				t.Fatalf("seed %d: in another order %d entries come to\n%s\nwant\n%s", seed, len(w.entries), got, want)
			}
		}
	}
	if len(seen) < 5 {
		t.Errorf("only these verdicts came up: %v", seen)
	}
}
