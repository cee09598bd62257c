package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func seatCommand() *cobra.Command {
	c := command("seat", nil)
	c.AddCommand(seatShowCommand(), seatTakeCommand())
	return c
}

func seatShowCommand() *cobra.Command {
	c := command("seat show", cobra.ExactArgs(1))
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.point(args[0], func(ctx context.Context, s perdure.Store, p *home.Point) error {
			v, err := h.Seated(ctx, s, p.Agent)
			if err != nil {
				return err
			}
			return out.say(v, "%s: %s\n", view.Called(p.Agent), v.Text)
		})
	}
	return c
}

func seatTakeCommand() *cobra.Command {
	c := command("seat take", cobra.ArbitraryArgs)
	c.Annotations[everyArgKey] = "all"
	h, out := storeFlag(c).acting(), outputFlags(c)
	why := c.Flags().String("why", "", "what happened to the store that had it; recorded in the agent's memory")
	all := c.Flags().Bool("all", false, "every agent of the store that has not ended")
	yes := c.Flags().Bool("yes", false, "whoever it was handed over to does not have it: the file of export --move "+
		"is destroyed, and nobody has imported it")
	take := func(ctx context.Context, s perdure.Store, names []string, all bool) error {
		r, err := h.TakeSeats(ctx, s, names, all, *why, *yes)
		if errors.Is(err, home.ErrFileOut) && term.IsTerminal(c.InOrStdin()) && term.IsTerminal(c.ErrOrStderr()) {
			text, _ := view.Explain(err, c.CommandPath())
			note(c, "%s. If nobody has imported it, and it is destroyed with all its copies, type yes", text)
			line, asked := lineOf(c, "> ")
			if asked != nil {
				return asked
			}
			if line == "yes" {
				r, err = h.TakeSeats(ctx, s, names, all, *why, true)
			}
		}
		if r == nil {
			return err
		}
		return errors.Join(out.say(r, "%s\n", here(r.String())), err)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *all == (len(args) > 0):
			return perdure.Invalid(errors.New("name one AGENT or more, or use --all"))
		case *why == "":
			return perdure.Invalid(errors.New(
				`say why with --why, as in --why "the laptop was stolen": it is recorded`))
		case len(args) == 1:
			return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
				return take(ctx, s, []string{arg}, false)
			})
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			return take(ctx, s, args, *all)
		})
	}
	return c
}
