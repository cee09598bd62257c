package perdure

import (
	"fmt"
	"iter"
)

// VerifyDescent holds an agent's claim to descend from another against the memory of that one. A child's genesis must
// be, byte for byte, what an allowed decision of the parent created, for the advice it names, and no wider than the
// parent was then. A fork must name an entry of its parent. The parent's memory must have been verified. A *Rejection
// says that the agent does not descend from it as it says.
//
// It returns the entry of the parent that the agent comes from: of a child the decision that created it, of a fork the
// entry it was forked at. If the parent has been told of a child's end, ended is what it was told: the child's memory
// must hold the entry ended.Head.
func VerifyDescent(genesis *Entry, parent iter.Seq2[*Entry, error]) (from Hash, ended *ChildEnded, err error) {
	g, ok := genesis.content.(Genesis)
	if !ok || g.Lineage == nil {
		return Hash{}, nil, reject(predChild, genesis, "$.body.content.genesis.lineage", "no lineage", "a parent",
			"the agent says of itself that it descends from nobody")
	}
	d := &descent{genesis: genesis, said: &g}
	for m, err := range Replay(parent) {
		if err != nil {
			return Hash{}, nil, err
		}
		if m.Entry.ID() != g.Lineage.Parent {
			return Hash{}, nil, reject(predChild, genesis, "$.body.content.genesis.lineage.parent",
				g.Lineage.Parent.String(), m.Entry.ID().String(), "this is the memory of another agent")
		}
		if err := d.see(m); err != nil {
			return Hash{}, nil, err
		}
	}
	if d.from.IsZero() {
		what := "no decision that created it"
		if g.Lineage.Relation == Fork {
			what = "no entry " + g.Lineage.Cause.Short()
		}
		return Hash{}, nil, reject(predChild, genesis, "$.body.content.genesis.lineage", what,
			"one in the memory of "+g.Lineage.Parent.Short(),
			"the lineage is forged, or this copy of the parent is older than it")
	}
	return d.from, d.ended, nil
}

// descent is what was found of an agent in the memory of its parent.
type descent struct {
	genesis *Entry
	said    *Genesis // its content
	from    Hash
	ended   *ChildEnded
}

// see looks at one entry of the parent.
func (d *descent) see(m Moment) error {
	genesis, g := d.genesis, d.said
	if g.Lineage.Relation == Fork {
		if m.Entry.Name == g.Lineage.Cause {
			d.from = m.Entry.Name
		}
		return nil
	}
	switch b := m.Entry.content.(type) {
	case Decision:
		child, err := DecodeEntry(b.Child, Limits{})
		if len(b.Child) == 0 || err != nil || child.Name != genesis.Name {
			return nil
		}
		if b.Advice != g.Lineage.Cause {
			return reject(predChild, genesis, "$.body.content.genesis.lineage.cause", g.Lineage.Cause.Short(),
				b.Advice.Short(), "the decision that created it answers other advice")
		}
		if m.Before == nil {
			return noBody(m.Entry)
		}
		if err := m.Before.fold.checkChild(g); err != nil {
			return reject(predChild, genesis, "$.body.content.genesis", err.Error(), "no wider than its parent was",
				fmt.Sprintf("decision %s of the parent created it", m.Entry.Name.Short()))
		}
		d.from = m.Entry.Name
	case Event:
		if n, ok := b.Notice.(ChildEnded); ok && n.Child == genesis.ID() && d.ended == nil {
			d.ended = &n
		}
	case Genesis, Advice, Outcome, Snapshot, nil:
	}
	return nil
}
