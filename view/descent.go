package view

import (
	"fmt"
	"iter"

	"github.com/perdure/perdure"
)

// Descent is what verify found of an agent's parent.
type Descent struct {
	Parent   perdure.AgentID `json:"parent"`
	Relation string          `json:"relation"`
	Entry    perdure.Hash    `json:"entry"`         // of the parent, that it comes from
	Head     perdure.Hash    `json:"head,omitzero"` // of the agent, that the parent recorded when it ended
	Signal   string          `json:"signal,omitempty"`
	Verified int64           `json:"entries"` // of the parent
}

func (d *Descent) String() string {
	text := fmt.Sprintf("%s of %s, by its entry %s; %s of it verified", d.Relation, d.Parent.Short(), d.Entry.Short(),
		Several(d.Verified, "entry"))
	if !d.Head.IsZero() {
		text += fmt.Sprintf("; it knows of the end, %s at %s", d.Signal, d.Head.Short())
	}
	return text
}

// Descend verifies the memory of the parent, with what o says of trust, and that the agent descends from it as it says.
func Descend(memory, parent iter.Seq2[*perdure.Entry, error], o perdure.VerifyOptions) (*Descent, error) {
	v, err := perdure.Verify(parent, perdure.VerifyOptions{Trust: o.Trust})
	if err != nil {
		return nil, fmt.Errorf("the parent: %w", err)
	}
	var genesis *perdure.Entry
	names := map[perdure.Hash]bool{}
	for e, err := range memory {
		if err != nil {
			return nil, err
		}
		if genesis == nil {
			genesis = e
		}
		names[e.Name] = true
	}
	from, ended, err := perdure.VerifyDescent(genesis, parent)
	if err != nil {
		return nil, err
	}
	if ended != nil && !names[ended.Head] {
		return nil, fmt.Errorf("the parent knows of the end at entry %s, which is not in this memory: it was cut "+
			"short or is another: %w", ended.Head.Short(), perdure.ErrRejected)
	}
	d := &Descent{Parent: v.Agent, Relation: "child", Entry: from, Verified: v.Entries}
	if genesis.Content().(perdure.Genesis).Lineage.Relation == perdure.Fork {
		d.Relation = "fork"
	}
	if ended != nil {
		d.Head, d.Signal = ended.Head, ended.Signal.String()
	}
	return d, nil
}
