package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
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
		if err := e.read(c); err != nil {
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
				found, err := h.ExportSet(ctx, s, e.set, args, e.Export, e.manifest)
				if err != nil {
					return err
				}
				return list(out, found, func(w io.Writer) (err error) {
					for _, m := range found {
						if err == nil {
							_, err = fmt.Fprintf(w, "%s: depth %s, signatures %s\n", m.File, m.Depth, m.Binding)
						}
					}
					return err
				})
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
			text := fmt.Sprintf("%s: %d entries, %d bytes, depth %s, head %s\n", r.File, r.Entries, r.Bytes, r.Depth,
				r.Heads[0])
			if r.Moved {
				text += view.Called(a) +
					" goes on where this file is imported, and no longer here; import one copy only\n"
			}
			return out.say(r, "%s", text)
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
	switch {
	case e.For != "" && !e.Move:
		return errors.New("--for names who may take the seat; add --move to hand it over")
	case e.Move && e.set != "":
		return errors.New("--move hands over one agent at a time; leave --set out")
	case e.Move && e.Depth != perdure.Full:
		return errors.New("an agent that moves takes its whole memory along: without it, it may do nothing that must " +
			"happen once; leave --depth out")
	case e.set != "" && len(e.Recipients) > 0:
		return errors.New("what a set shares cannot be encrypted to the readers of one capsule; leave --set out, or " +
			"--to")
	case e.manifest && e.Detached:
		return errors.New("signatures are detached or in a manifest; leave one of them out")
	case e.manifest && e.set == "":
		return errors.New("a manifest signs several capsules at once; name a folder for them with --set")
	}
	return nil
}

// goal says where one capsule goes.
func (e *exporting) goal(out *output, args []string) error {
	format, _ := out.check() // it was before
	switch {
	case len(args) > 2:
		return errors.New("one AGENT goes into one FILE; to write several name a folder with --set")
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
