package capsule

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Relation is how an arriving copy of a memory relates to the one already here.
type Relation uint8

const (
	Created Relation = iota // the agent was not here
	// both hold the same entries, but for the hold that the one here was put under when it came
	Same
	Newer    // it has everything that was here, but for such a hold, and more
	Older    // everything in it was here, and more
	Diverged // each has what the other lacks; now both are here
	Deeper   // it has the past that was missing here
	Mended   // the one here was damaged: what is good of both is here now
	// everything in it was here, and more, all of it by unknown keys: that is gone now (ImportOptions.Drop)
	Restored
)

func (r Relation) String() string {
	return [...]string{"created", "same", "newer", "older", "diverged", "deeper", "mended", "restored"}[r]
}

// Arrival is what an import came to.
type Arrival struct {
	Head     Head
	Index    Index
	Relation Relation
	Held     []perdure.Hash  // the heads of what was here before
	Manifest *Manifest       // who vouches for the heads, if the capsule says
	Verdict  perdure.Verdict // on an agent that was not here before
	Stranger error           // why an agent that was not here before does not count here by itself; nil: it does
	Admitted bool            // policy or the owner of Key let it go on
	Hold     perdure.Hash    // the pause the agent was put under; zero: none
	Fold     perdure.Hash    // of the capsule at its depth; zero after shallow validation
	Dropped  string          // in words, what Restored took away
	Healed   perdure.Healed  // what became of one that was damaged here
}

// relate finds out how the capsule relates to what the store holds.
func (im *importing) relate(a *Arrival) (Relation, error) {
	if im.names == nil {
		return Created, nil
	}
	if deeper, err := im.deepens(&a.Head); deeper || err != nil {
		return Deeper, err
	}
	if slices.Equal(im.held, a.Index.Heads) {
		return Same, nil
	}
	if a.Head.Anchor != nil {
		if err := im.reaches(a.Head); err != nil {
			return 0, err
		}
	}
	if !slices.ContainsFunc(im.held, func(h perdure.Hash) bool { return !im.has(h) }) {
		return Newer, nil
	}
	missing := map[perdure.Hash]bool{}
	for _, h := range a.Index.Heads {
		missing[h] = true
	}
	more := false // what is here besides: anything, or only holds
	held := holds{}
	for item, err := range im.s.Entries(im.ctx, a.Head.Agent, 0) {
		if err != nil {
			return 0, err
		}
		delete(missing, item.Name)
		before := a.Head.Anchor != nil && item.Seq <= a.Head.Anchor.Seq
		more = more || !before && !im.has(item.Name) && !held.is(item.Entry)
		if more && len(missing) == 0 {
			return Older, nil
		}
	}
	switch {
	case more:
		return Diverged, nil
	case len(missing) > 0:
		return Newer, nil
	}
	return Same, nil
}

// reaches refuses the end of a memory whose beginning here does not reach it.
func (im *importing) reaches(h Head) error {
	gap := map[perdure.Hash]bool{}
	for _, name := range h.Anchor.Heads {
		gap[name] = true
	}
	first, err := firstOf(im.entries())
	if err != nil {
		return err
	}
	for item, err := range im.s.Entries(im.ctx, h.Agent, 0) {
		if err != nil {
			return err
		}
		if delete(gap, item.Name); len(gap) == 0 || item.Name == first.Name {
			return nil
		}
	}
	return reject(PredDepth, 0, "$.anchor", "the end of a memory, from seq "+fmt.Sprint(h.Anchor.Seq+1)+" on",
		"what lies between that and what is here, too")
}

// has reports whether an entry is in the capsule.
func (im *importing) has(name perdure.Hash) bool {
	_, ok := im.names[short(name[:16])]
	return ok
}
