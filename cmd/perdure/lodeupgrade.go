package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/schema"
	"github.com/perdure/perdure/view"
)

func lodeUpgradeCommand() *cobra.Command {
	c := command("lode upgrade", cobra.ExactArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	name := c.Flags().StringP("schema", "s", "", "the schema file of the later version")
	to := c.Flags().String("to", "latest", "the version to move to")
	dry := c.Flags().Bool("dry-run", false, "only print the resulting state")
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			id, err := home.Find(ctx, s, args[0])
			if err != nil {
				return err
			}
			a, err := h.Load(ctx, s, id)
			if err != nil {
				return err
			}
			later, err := laterSchema(c, h, a.Fold(), *name, *to)
			if err != nil {
				return fmt.Errorf("upgrade the state of %s: %w", view.Called(a), err)
			}
			if *dry {
				return printMoved(c, later, a.Fold())
			}
			return upgradeState(ctx, h, out, s, a, later, *name)
		})
	}
	return c
}

// later is a version of a schema, and all that are known.
type later struct {
	*schema.Schema
	all *schema.Registry
}

// laterSchema is the version of the schema of an agent's state that is named, out of those of the home and a file.
func laterSchema(c *cobra.Command, h *homeFlag, f *perdure.Fold, file, to string) (*later, error) {
	if f.Intent.StateSchema.IsZero() {
		return nil, perdure.Missing("its intent names no schema: an agent gets one when it is made")
	}
	reg, err := h.Schemas()
	if err != nil {
		return nil, err
	}
	if file != "" {
		if err := addSchemas(c, reg, []string{file}); err != nil {
			return nil, err
		}
	}
	now, err := reg.Lookup(schema.Hash(f.Intent.StateSchema))
	if err != nil {
		return nil, err
	}
	s, err := versionOf(c, reg, now, to)
	return &later{s, reg}, err
}

// printMoved prints the state of an agent as a later version has it.
func printMoved(c *cobra.Command, to *later, f *perdure.Fold) error {
	value, err := to.all.StateAs(f.Intent.StateSchema, f.Vars, to.Schema)
	if err != nil {
		return err
	}
	text, err := to.ToJSON(value)
	if err == nil {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
	}
	return err
}

// upgradeState keeps a later schema in the home, and moves the agent to it.
func upgradeState(ctx context.Context, h *homeFlag, out *output, s perdure.Store, a *perdure.Agent, to *later, file string) error {
	if file != "" && h.Dir != "" {
		path := filepath.Join(home.SchemaDir, to.Name()+"-"+perdure.Hash(to.ID()).Short()+".lode")
		if err := h.Keep(path, to.JSON()); err != nil {
			return err
		}
	}
	n, err := h.Node(ctx, s)
	if err != nil {
		return err
	}
	n.State = to.all
	e, err := n.UpgradeState(ctx, a.ID(), perdure.Hash(to.ID()))
	if errors.Is(err, perdure.ErrConflict) {
		return perdure.WithHint(err, "something happened to the agent meanwhile: run it again")
	}
	if err != nil {
		return err
	}
	r := struct {
		Agent   perdure.AgentID `json:"agent"`
		Schema  schema.Hash     `json:"schema"`
		Version int             `json:"version"`
		Entry   perdure.Hash    `json:"entry,omitzero"`
		Seq     int64           `json:"seq,omitempty"`
	}{Agent: a.ID(), Schema: to.ID(), Version: to.Version()}
	text := fmt.Sprintf("%s: its state is of %s version %d already\n", view.Called(a), to.Name(), to.Version())
	if e != nil {
		r.Entry, r.Seq = e.Name, e.Seq
		text = fmt.Sprintf("%s: its state is of %s version %d now (seq %d)\n", view.Called(a), to.Name(), to.Version(), e.Seq)
	}
	return out.print(r, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
