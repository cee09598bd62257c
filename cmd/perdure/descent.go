package main

import (
	"context"
	"fmt"
	"iter"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// verifyBoth verifies an agent, its parent, and that one descends from the other.
func verifyBoth(c *cobra.Command, h *homeFlag, out *output, agent, parent string, o verifying, ids []age.Identity) error {
	return withMemory(c, h, parent, ids, func(m iter.Seq2[*perdure.Entry, error]) error {
		o.parent = m
		return withMemory(c, h, agent, ids, func(m iter.Seq2[*perdure.Entry, error]) error { return verify(c, h, out, 0, m, o) })
	})
}

// withMemory calls f with the memory of an agent of the store or in a file.
func withMemory(c *cobra.Command, h *homeFlag, what string, ids []age.Identity, f func(iter.Seq2[*perdure.Entry, error]) error) error {
	file, err := namesFile(c.Context(), h.Home, what)
	if err != nil {
		return err
	}
	if !file {
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			id, err := home.Find(ctx, s, what)
			if err != nil {
				return err
			}
			return f(perdure.Memory(ctx, s, id))
		})
	}
	is, err := home.IsCapsule(what)
	if err != nil {
		return err
	}
	if !is {
		return f(fileMemory(c, what))
	}
	whole, err := home.WholeCapsule(what, ids)
	if err != nil {
		return err
	}
	if !whole {
		return perdure.Invalid(fmt.Errorf("%s does not hold the whole memory; export the agent at depth full", what))
	}
	return f(capsuleMemory(c, what, ids))
}
