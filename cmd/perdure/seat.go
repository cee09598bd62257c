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
	busy := &advised{held(id.Short() + " is being worked on by another node in this home"), "run it when that has ended"}
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
			p, err := findPoint(ctx, h, s, arg)
			if err != nil {
				return err
			}
			at, err := h.placeOf(ctx, s)
			if err != nil {
				return err
			}
			f := p.agent.Fold()
			v := seatLine{Agent: f.Agent, Name: f.Intent.Name, Place: at, Seats: f.Seats}
			v.Standing, v.Here = seatOf(f, at), seatOf(f, at) == seatHere
			return out.print(v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: %s\n", called(p.agent), seatText(f, at))
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
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *all == (len(args) > 0):
			return misuse(c, errors.New("name one AGENT or more, or use --all"))
		case *why == "":
			return misuse(c, errors.New(`say why with --why, as in --why "the laptop was stolen": it is recorded`))
		case len(args) == 1:
			return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
				return h.takeSeats(ctx, s, out, []string{arg}, false, *why)
			})
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			return h.takeSeats(ctx, s, out, args, *all, *why)
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
func (h *home) takeSeats(ctx context.Context, s perdure.Store, out *output, names []string, all bool, why string) error {
	n, err := h.node(s)
	if err != nil {
		return err
	}
	ids, err := h.named(ctx, s, names, all)
	if err != nil {
		return err
	}
	r := seatsTaken{Agents: []perdure.AgentID{}}
	bar := newProgress(h.c, "take seats", int64(len(ids)))
	var first error
	for i, id := range ids {
		if err := n.TakeSeat(ctx, id, why); err == nil {
			r.Agents = append(r.Agents, id)
		} else if r.Failed = append(r.Failed, keyFailure{id, err.Error()}); first == nil {
			first = err
		}
		bar.to(int64(i + 1))
	}
	bar.end()
	if len(ids) == 1 && first != nil {
		return first
	}
	err = out.print(r, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s taken: what must happen once is decided here now\n", several(int64(len(r.Agents)), "seat"))
		for _, f := range r.Failed {
			if err == nil {
				_, err = fmt.Fprintf(w, "%s: %s\n", f.Agent.Short(), oneLine(f.Why, 0))
			}
		}
		return err
	})
	return errors.Join(err, first)
}

// named are the agents that were named, or all that have not ended.
func (h *home) named(ctx context.Context, s perdure.Store, names []string, all bool) ([]perdure.AgentID, error) {
	var ids []perdure.AgentID
	for _, name := range names {
		id, err := findAgent(ctx, h.c, s, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if !all {
		return ids, nil
	}
	l, err := lister(s)
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

// Where a seat is, seen from a store.
const (
	seatHere      = "here"
	seatElsewhere = "elsewhere"
	seatGiven     = "handed over"
	seatDisputed  = "disputed"
	seatFree      = "free"
)

// seatOf is where the seat of an agent is, seen from a store.
func seatOf(f *perdure.Fold, at perdure.Hash) string {
	switch {
	case len(f.Seats) == 0:
		return seatFree
	case f.Disputed():
		return seatDisputed
	case f.Seats[0].Given:
		return seatGiven
	case f.Seats[0].At == at:
		return seatHere
	}
	return seatElsewhere
}

// seatText says where a seat is in words.
func seatText(f *perdure.Fold, at perdure.Hash) string {
	switch where := seatOf(f, at); where {
	case seatFree:
		return "free: the first node that needs it takes it"
	case seatDisputed:
		return fmt.Sprintf("disputed: %d stores claim it; nothing that must happen once is decided until its owner takes it", len(f.Seats))
	case seatGiven:
		if f.Seats[0].At == at {
			return "handed over: whoever imports the file that export --move wrote takes it"
		}
		return "handed over: the node that runs it here takes it"
	default:
		return fmt.Sprintf("%s (store %s, epoch %d)", where, f.Seats[0].At.Short(), f.Seats[0].Epoch)
	}
}

// seatWaits is what of an agent waits for a person because of its seat: that it is elsewhere, that two claim it, that something happened
// twice.
func seatWaits(a *perdure.Agent, t *perdure.Trust, at perdure.Hash, now time.Time) []waiting {
	f := a.Fold()
	var found []waiting
	add := func(w waiting) {
		w.Agent, w.Name = a.ID(), f.Intent.Name
		found = append(found, w)
	}
	for _, d := range f.Doubles() {
		add(waiting{Kind: waitsDoubled, Decision: d.Second, Since: d.Time,
			What:   fmt.Sprintf("decided in two copies, so it may have happened twice: decisions %s and %s", d.First.Short(), d.Second.Short()),
			Answer: fmt.Sprintf("%s %s %s --signal ok --note TEXT", suggest("settle"), callable(a), d.Second)})
	}
	if f.Ended != nil || len(f.Paused) > 0 {
		return found
	}
	take := suggest("seat take") + " " + callable(a) + " --why TEXT"
	switch seatOf(f, at) {
	case seatDisputed:
		add(waiting{Kind: waitsSeat, What: seatText(f, at), Since: f.Updated, Answer: take})
	case seatElsewhere:
		d, decides := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t}, now).(perdure.Decide)
		if !decides || !bound(d.Action) {
			break
		}
		add(waiting{Kind: waitsSeat, Tool: toolName(d.Action), Since: f.Updated, Answer: take,
			What: "a copy, whose seat is elsewhere: if it must happen only once, it is decided there, or nowhere if import refuses to merge the two: " + actionText(d.Action)})
	}
	return found
}

// bound reports whether an action may need the seat; only the tool itself knows.
func bound(a perdure.Action) bool {
	switch a.(type) {
	case perdure.Execute, perdure.Delegate:
		return true
	}
	return false
}
