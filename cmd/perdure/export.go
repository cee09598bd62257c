package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
)

// exporting is the flags of export.
type exporting struct {
	home.Export
	form               *choice
	depth, pass, set   string
	to                 []string
	manifest, toStdout bool
}

func exportCommand() *cobra.Command {
	c := remotely(command("export", cobra.MinimumNArgs(1)))
	h, out := storeFlag(c), outputFlags(c)
	e := &exporting{form: &choice{capsule.Binary.String(), []string{capsule.Binary.String(), capsule.Described.String(),
		capsule.Text.String()}}}
	choiceFlag(c, e.form, "form", "the form of the capsule")
	f := c.Flags()
	f.StringVar(&e.depth, "depth", "full", "how much of the past: full, headers, or a number of entries")
	f.BoolVar(&e.Detached, "detached", false, "put the signatures into FILE"+capsule.SigExt)
	f.BoolVar(&e.Schema, "schema", false, "embed the schema of entries")
	f.StringArrayVar(&e.to, "to", nil, "encrypt to this age recipient or SSH public key; may be repeated")
	f.StringVar(&e.pass, "passphrase-file", "", "encrypt with the passphrase in this file")
	f.StringVar(&e.set, "set", "", "write into this folder, where capsules share the parts of large bodies")
	f.BoolVar(&e.manifest, "manifest", false, "with --set: also sign all of them together with this home's key")
	f.BoolVar(&e.Move, "move", false,
		"hand over the agent's seat: from now on it acts where this file is imported, not here")
	f.StringVar(&e.For, "for", "",
		"with --move: only a node with this key, or of this name in the trust file, may take the seat")
	f.BoolVar(&e.Replace, "force", false, "replace FILE if it exists; write binary to a terminal")
	c.RunE = func(c *cobra.Command, args []string) error {
		stream()
		if err := e.read(c); errors.Is(err, fs.ErrNotExist) {
			return err
		} else if err != nil {
			return perdure.Invalid(err)
		}
		if r, err := through(c); err != nil || r != nil {
			if err == nil {
				err = e.goal(out, args)
			}
			if err != nil {
				return perdure.Invalid(err)
			}
			return exportAway(out, r, args[0], e)
		}
		h.Looks = e.Depth == perdure.Full && !e.manifest && !e.Move // else it may have to write a snapshot, or sign
		if e.set != "" {
			return h.use(false, func(ctx context.Context, s perdure.Store) error {
				return answers(out, show.Exported)(h.ExportSet(ctx, s, e.set, args, e.Export, e.manifest))
			})
		}
		if err := e.goal(out, args); err != nil {
			return perdure.Invalid(err)
		}
		return h.agent(args[0], func(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
			r, err := h.Export(ctx, s, a.ID(), e.Export)
			if err != nil || e.toStdout {
				return err
			}
			return out.say(r, "%s", r.Text())
		})
	}
	return c
}

// read reads the flags, and refuses those that contradict each other.
func (e *exporting) read(c *cobra.Command) (err error) {
	if e.Form, err = capsule.ParseForm(e.form.value); err != nil {
		return err
	}
	if err = e.Depth.UnmarshalText([]byte(e.depth)); err != nil {
		return fmt.Errorf("--depth: %w", err)
	}
	if e.Recipients, err = home.Recipients(e.to, e.pass); err != nil {
		return err
	}
	e.Held = !c.Flags().Changed("depth")
	return e.Check(e.set != "", e.manifest)
}

// goal says where one capsule goes.
func (e *exporting) goal(out *output, args []string) error {
	format, _ := out.check() // it was before
	switch {
	case len(args) > 2:
		return errors.New("one AGENT goes into one FILE; to write several name a folder with --set")
	case len(args) == 2 && args[1] == "":
		return errors.New("FILE is empty; name one, or leave it out")
	case len(args) == 2:
		e.File = args[1]
	}
	if e.toStdout = e.File == "-"; !e.toStdout {
		return nil
	}
	e.Out = term.Raw(out.c.OutOrStdout())
	switch {
	case e.Detached:
		return errors.New("detached signatures go into a file beside FILE; name a FILE")
	case format != formatTable:
		return fmt.Errorf("the capsule itself goes to standard output; leave -o %s out, or name a FILE", format)
	}
	return notBinary(out.c, !e.Replace && e.Form != capsule.Text)
}
