package main

import (
	"context"
	"fmt"
	"iter"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

// descent is what verify found of an agent's parent.
type descent struct {
	Parent   perdure.AgentID `json:"parent"`
	Relation string          `json:"relation"`
	Entry    perdure.Hash    `json:"entry"`         // of the parent, that it comes from
	Head     perdure.Hash    `json:"head,omitzero"` // of the agent, that the parent recorded when it ended
	Signal   string          `json:"signal,omitempty"`
	Verified int64           `json:"entries"` // of the parent
}

func (d *descent) String() string {
	text := fmt.Sprintf("%s of %s, by its entry %s; its %d entries verify", d.Relation, d.Parent.Short(), d.Entry.Short(), d.Verified)
	if !d.Head.IsZero() {
		text += fmt.Sprintf("; it knows of the end, %s at %s", d.Signal, d.Head.Short())
	}
	return text
}

// descend verifies the memory of the parent, and that the agent descends from it as it says.
func descend(memory, parent iter.Seq2[*perdure.Entry, error], o perdure.VerifyOptions) (*descent, error) {
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
	found, err := perdure.VerifyDescent(genesis, parent)
	if err != nil {
		return nil, err
	}
	if found.Ended && !names[found.Head] {
		return nil, fmt.Errorf("the parent knows of the end at entry %s, which is not in this memory: it was cut short or is another: %w", found.Head.Short(), perdure.ErrRejected)
	}
	d := &descent{Parent: v.Agent, Relation: "child", Entry: found.Entry, Head: found.Head, Verified: v.Entries}
	if found.Relation == perdure.Fork {
		d.Relation = "fork"
	}
	if found.Ended {
		d.Signal = found.Signal.String()
	}
	return d, nil
}

// verifyBoth verifies an agent, its parent, and that one descends from the other.
func verifyBoth(c *cobra.Command, h *homeFlag, out *output, agent, parent string, o verifying, ids []age.Identity) error {
	return withMemory(c, h, parent, ids, func(m iter.Seq2[*perdure.Entry, error]) error {
		o.parent = m
		return withMemory(c, h, agent, ids, func(m iter.Seq2[*perdure.Entry, error]) error { return verify(c, h, out, 0, m, o) })
	})
}

// withMemory calls f with the memory of an agent of the store or in a file.
func withMemory(c *cobra.Command, h *homeFlag, what string, ids []age.Identity, f func(iter.Seq2[*perdure.Entry, error]) error) error {
	file, err := namesFile(c.Context(), h.home, what)
	if err != nil {
		return err
	}
	if !file {
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			id, err := findAgent(ctx, s, what)
			if err != nil {
				return err
			}
			return f(perdure.Memory(ctx, s, id))
		})
	}
	is, err := isCapsule(what)
	if err != nil {
		return err
	}
	if !is {
		return f(fileMemory(c, what))
	}
	whole, err := wholeCapsule(what, ids)
	if err != nil {
		return err
	}
	if !whole {
		return perdure.Invalid(fmt.Errorf("%s does not hold the whole memory; export the agent at depth full", what))
	}
	return f(capsuleMemory(c, what, ids))
}
