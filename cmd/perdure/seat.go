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
	c := &cobra.Command{
		Use:   "seat",
		Short: "Show or move the seat of an agent: where its once effects are decided",
		Long: `An agent has one seat: the store in which effects that must happen only once are decided and children are
created. Nodes that share that store take over from each other. A copy of the agent in another store, or a copy
of the whole store, lacks the seat: it can be inspected, and can ask its advisor and read, but it waits before
doing anything that must not happen twice.

The seat moves with the agent: perdure export --move hands it over, and whoever imports that file takes it. If
the store that has it is lost, the owner takes it back with perdure seat take.`,
	}
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
	c := &cobra.Command{
		Use:         "show [flags] AGENT",
		Short:       "Show where an agent's seat is",
		Example:     `  perdure seat show news`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := lookFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
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
			return out.print(v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: %s\n", view.Called(p.Agent), view.SeatText(f, at))
				return err
			})
		})
	}
	return c
}

func seatTakeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "take [flags] AGENT...",
		Short: "Take the seat of agents whose store is lost",
		Long: `Take moves the seat of agents to this store and records why. Only the owner of an agent may do it, or this home
if the owner is not trusted here and the agent was admitted. Be sure that the store with the seat is lost: if it
keeps running, effects that must happen only once can happen twice. A seat handed over with perdure export
--move need not be taken: the node that runs the agent takes it.

After a restore from a backup, or a move of the whole store to another disk, take the seats of all agents with
--all.`,
		Example: `  perdure seat take news --why "the laptop was stolen"
  perdure seat take --all --why "restored from the backup of Sunday"`,
		Args:        cobra.ArbitraryArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitDenied, exitInterrupted),
	}
	c.Annotations[everyArgKey] = "all"
	h, out := storeFlag(c).acting(), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
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
