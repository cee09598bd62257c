package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// placeOf is where the agents of a store have their seat: the store. A file that is run is part of the store of its home: the home remembers how
// far it has come, and lets one copy at a time go on (see alone). Zero: it has none yet, and nothing is written to give it one.
func (h *home) placeOf(ctx context.Context, s perdure.Store) (perdure.Hash, error) {
	if p, ok := s.(perdure.Placed); ok {
		return p.Place(ctx)
	}
	if h.dir == "" {
		return perdure.Hash{}, nil
	}
	return h.ownPlace()
}

// alone keeps everybody else in this home off an agent whose file is run: another copy of the file, and the agent in the home's own store. What
// it returns ends that.
func (h *home) alone(ctx context.Context, id perdure.AgentID) (func() error, error) {
	none := func() error { return nil }
	if h.agent == "" || h.dir == "" {
		return none, nil
	}
	busy := perdure.WithHint(held(id.Short()+" is being worked on by another node in this home"), "run it when that has ended")
	lock, err := os.OpenFile(filepath.Join(h.dir, filepath.Base(h.file)+"-file-"+id.String()[:16]), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return none, err
	}
	if err := disk.Lock(lock, false); err != nil {
		return none, errors.Join(busy, lock.Close())
	}
	done := func() error { return errors.Join(os.Remove(lock.Name()), lock.Close()) }
	if _, err := os.Stat(h.file); err != nil || h.scheme != "sqlite" {
		return done, nil // there is no store it could be in
	}
	s, err := sqlite.Open(ctx, h.file, sqlite.Options{Existing: true})
	if err != nil {
		return none, errors.Join(err, done())
	}
	end := func() error { return errors.Join(s.Close(), done()) }
	var who perdure.Key
	if _, err := rand.Read(who[:]); err != nil {
		return none, errors.Join(err, end())
	}
	if _, err := s.Heads(ctx, id); err != nil {
		return end, nil // it is not in the store
	}
	c, err := s.Claim(ctx, id, who, perdure.MaxLease)
	if err != nil {
		return none, errors.Join(busy, end())
	}
	return func() error {
		return errors.Join(s.Release(context.WithoutCancel(ctx), c, nil, perdure.TimeOf(time.Now())), end())
	}, nil
}

// ownPlace is the id of the home's own store.
func (h *home) ownPlace() (perdure.Hash, error) {
	if h.scheme == "dir" {
		return dir.Place(h.file, h.looks)
	}
	if !h.looks {
		if err := h.makeHome(); err != nil {
			return perdure.Hash{}, err
		}
	}
	return sqlite.Place(h.file, h.looks)
}

func seatCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "seat",
		Short: "Show or move where an agent's once effects are decided",
		Long: `An agent has one seat: the store in which effects that must happen only once are decided, and children created. Nodes that share that store
take over from each other. A copy of the agent in another store, or a copy of the whole store, lacks the seat: it can be looked at, it
may think and read, but waits before it does anything that must not happen twice.

The seat moves with the agent: perdure export --move hands it over, and whoever imports that file takes it. When the store that has it is
lost, the owner takes it with perdure seat take.`,
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
		Short:       "Say where an agent's seat is",
		Example:     `  perdure seat show news`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := lookFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			p, err := findPoint(ctx, h.home, s, arg)
			if err != nil {
				return err
			}
			at, err := h.placeOf(ctx, s)
			if err != nil {
				return err
			}
			f := p.agent.Fold()
			v := seatLine{Agent: f.Agent, Name: f.Intent.Name, Place: at, Seats: f.Seats}
			v.Standing, v.Here = view.SeatOf(f, at), view.SeatOf(f, at) == view.SeatHere
			return out.print(v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: %s\n", view.Called(p.agent), view.SeatText(f, at))
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
		Long: `Take moves the seat of agents to this store, and records why. Only the owner of an agent may, or this home if the owner is not trusted here and
the agent was admitted: somebody must know that the store that has the seat is lost. If it is not, and goes on, what must happen only once can
happen twice. Where a seat was handed over
with perdure export --move there is no need to: the node that runs the agent takes it.

After a restore from a backup, or a move of the whole store to another disk, take the seats of all agents with --all.`,
		Example: `  perdure seat take news --why "the laptop was stolen"
  perdure seat take --all --why "restored from the backup of Sunday"`,
		Args:        cobra.ArbitraryArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitDenied, exitInterrupted),
	}
	c.Annotations[everyArgKey] = "all"
	h, out := storeFlag(c).acting(), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	why := c.Flags().String("why", "", "what became of the store that had it; recorded in the agent's memory")
	all := c.Flags().Bool("all", false, "every agent of the store that has not ended")
	take := func(ctx context.Context, s perdure.Store, names []string, all bool) error {
		r, err := h.takeSeats(ctx, s, names, all, *why)
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

// seatsTaken is what seat take prints.
type seatsTaken struct {
	Agents []perdure.AgentID `json:"agents"`
	Failed []keyFailure      `json:"failed,omitempty"`
}

// takeSeats takes the seats of agents, and says of which it could not.
func (h *home) takeSeats(ctx context.Context, s perdure.Store, names []string, all bool, why string) (*seatsTaken, error) {
	n, err := h.node(ctx, s)
	if err != nil {
		return nil, err
	}
	ids, err := h.named(ctx, s, names, all)
	if err != nil {
		return nil, err
	}
	r := &seatsTaken{Agents: []perdure.AgentID{}}
	var first error
	for i, id := range ids {
		if err := n.TakeSeat(ctx, id, why); err == nil {
			r.Agents = append(r.Agents, id)
		} else if r.Failed = append(r.Failed, keyFailure{id, err.Error()}); first == nil {
			first = err
		}
		h.progress("take seats", int64(i+1), int64(len(ids)))
	}
	if len(ids) == 1 && first != nil {
		return nil, first
	}
	return r, first
}

// write is what was taken, for people.
func writeSeats(w io.Writer, r *seatsTaken) error {
	_, err := fmt.Fprintf(w, "%s taken: what must happen once is decided here now\n", view.Several(int64(len(r.Agents)), "seat"))
	for _, f := range r.Failed {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s: %s\n", f.Agent.Short(), view.OneLine(f.Why, 0))
		}
	}
	return err
}

// named are the agents that were named, or all that have not ended.
func (h *home) named(ctx context.Context, s perdure.Store, names []string, all bool) ([]perdure.AgentID, error) {
	var ids []perdure.AgentID
	for _, name := range names {
		id, err := findAgent(ctx, s, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if !all {
		return ids, nil
	}
	l, err := view.Lister(s)
	if err != nil {
		return nil, err
	}
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return nil, err
		}
		if one.State != perdure.Terminated {
			ids = append(ids, one.Agent)
		}
	}
	return ids, nil
}
