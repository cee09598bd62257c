package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

func seatCommand() *cobra.Command {
	c := command("seat", nil)
	c.AddCommand(seatShowCommand(), seatTakeCommand())
	return c
}

// seatLine is what seat show prints.
type seatLine struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Here     bool            `json:"here"`
	Standing string          `json:"standing"` // here, elsewhere, handed over, disputed or free
	Place    perdure.Hash    `json:"place,omitzero"`
	Seats    []perdure.Seat  `json:"seats"`
}

func seatShowCommand() *cobra.Command {
	c := command("seat show", cobra.ExactArgs(1))
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			p, err := home.FindPoint(ctx, h.Home, s, arg)
			if err != nil {
				return err
			}
			at, err := h.PlaceOf(ctx, s)
			if err != nil {
				return err
			}
			f := p.Agent.Fold()
			v := seatLine{Agent: f.Agent, Name: f.Intent.Name, Place: at, Seats: f.Seats}
			v.Standing, v.Here = view.SeatOf(f, at), view.SeatOf(f, at) == view.SeatHere
			return out.say(v, "%s: %s\n", view.Called(p.Agent), view.SeatText(f, at))
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
	take := func(ctx context.Context, s perdure.Store, names []string, all bool) error {
		r, err := h.TakeSeats(ctx, s, names, all, *why)
		if r == nil {
			return err
		}
		return errors.Join(out.print(r, func(w io.Writer) error { return writeSeats(w, r) }), err)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *all == (len(args) > 0):
			return perdure.Invalid(errors.New("name one AGENT or more, or use --all"))
		case *why == "":
			return perdure.Invalid(errors.New(`say why with --why, as in --why "the laptop was stolen": it is recorded`))
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

// write is what was taken, for people.
func writeSeats(w io.Writer, r *home.SeatsTaken) error {
	_, err := fmt.Fprintf(w, "%s taken: what must happen once is decided here now\n", view.Several(int64(len(r.Agents)), "seat"))
	for _, f := range r.Failed {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s: %s\n", view.CalledBy(f.Name, f.Agent), view.OneLine(here(f.Why), 0))
		}
	}
	return err
}
