package perdure

import (
	"fmt"
	"iter"
)

// Descent is how a memory says that another agent descends from it.
type Descent struct {
	Relation Relation
	Entry    Hash   // of a child, the decision that created it; of a fork, the entry it was forked at
	Ended    bool   // the parent has been told of the child's end
	Head     Hash   // the head the child then had: its memory must hold this entry
	Signal   Signal // how it ended
}

// VerifyDescent holds an agent's claim to descend from another against the memory of that one. A child's genesis must
// be, byte for byte, what an allowed decision of the parent created, for the advice it names, and no wider than the
// parent was then. A fork must name an entry of its parent. The parent's memory must have been verified. A *Rejection
// says that the agent does not descend from it as it says.
func VerifyDescent(genesis *Entry, parent iter.Seq2[*Entry, error]) (*Descent, error) {
	g, ok := genesis.content.(Genesis)
	if !ok || g.Lineage == nil {
		return nil, reject(predChild, genesis, "$.body.content.genesis.lineage", "no lineage", "a parent",
			"the agent says of itself that it descends from nobody")
	}
	d := &Descent{Relation: g.Lineage.Relation}
	for m, err := range Replay(parent) {
		if err != nil {
			return nil, err
		}
		if m.Entry.ID() != g.Lineage.Parent {
			return nil, reject(predChild, genesis, "$.body.content.genesis.lineage.parent", g.Lineage.Parent.String(),
				m.Entry.ID().String(), "this is the memory of another agent")
		}
		if err := d.see(genesis, &g, m); err != nil {
			return nil, err
		}
	}
	if d.Entry.IsZero() {
		what := "no decision that created it"
		if d.Relation == Fork {
			what = "no entry " + g.Lineage.Cause.Short()
		}
		return nil, reject(predChild, genesis, "$.body.content.genesis.lineage", what,
			"one in the memory of "+g.Lineage.Parent.Short(),
			"the lineage is forged, or this copy of the parent is older than it")
	}
	return d, nil
}

// see looks at one entry of the parent.
func (d *Descent) see(genesis *Entry, g *Genesis, m Moment) error {
	if d.Relation == Fork {
		if m.Entry.Name == g.Lineage.Cause {
			d.Entry = m.Entry.Name
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
		if err := m.Before.fold.CheckChild(g); err != nil {
			return reject(predChild, genesis, "$.body.content.genesis", err.Error(), "no wider than its parent was",
				fmt.Sprintf("decision %s of the parent created it", m.Entry.Name.Short()))
		}
		d.Entry = m.Entry.Name
	case Event:
		if n, ok := b.Notice.(ChildEnded); ok && n.Child == genesis.ID() && !d.Ended {
			d.Ended, d.Head, d.Signal = true, n.Head, n.Signal
		}
	case Genesis, Advice, Outcome, Snapshot, nil:
	}
	return nil
}
