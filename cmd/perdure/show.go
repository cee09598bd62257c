package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func showCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show [flags] AGENT[@REF]",
		Short: "Show an agent on one screen",
		Long: `Show says what an agent is for, where it stands, why it sleeps and what would wake it, which nodes can go on with it, what it has spent,
its children, what it asks people and how to answer, effects under way, and whether its memory hangs together. All of it is
derived from the agent's own memory.`,
		Example: `  perdure show news
  perdure show news --jq .why
  perdure show news@10m`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitRejected, exitInterrupted),
	}
	h, out := lookFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	brief := c.Flags().Bool("brief", false, "cut what does not fit a line")
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			p, err := findPoint(ctx, h.home, s, arg)
			if err != nil {
				return err
			}
			now := time.Now()
			if p.entry != nil {
				now = p.entry.Time.Go().Local()
			}
			trust, err := h.trust()
			if err != nil {
				return err
			}
			v := summarize(p.agent, trust, h.keyNames(), now)
			v.Survives = survivedBy(s)
			v.judge(h.home, p.agent, now)
			if p.entry == nil {
				at, err := attendanceOf(ctx, s)
				if err != nil {
					return err
				}
				if v.Older, err = h.behind(ctx, s, p.agent); err != nil {
					return err
				}
				if v.Older != nil && v.Ended == nil {
					v.Standing, v.Person, v.Why = "waiting", true, v.Older.what()
				}
				v.unsure, v.Waits = !at.known, append(at.strays(p.agent, now), v.Waits...)
				place, err := h.placeOf(ctx, s)
				if err != nil {
					return err
				}
				v.seated(p.agent, trust, place, now)
			}
			if err := describeAll(ctx, s, p.agent, v.Waits); err != nil {
				return err
			}
			if err := v.findChildren(ctx, s); err != nil {
				return err
			}
			return out.print(v, func(w io.Writer) error { return v.write(w, now, *brief) })
		})
	}
	return c
}

// summary is an agent on one screen.
type summary struct {
	Agent    perdure.AgentID        `json:"agent"`
	Name     string                 `json:"name,omitempty"`
	Standing string                 `json:"standing"`
	State    perdure.State          `json:"state"`
	Next     string                 `json:"next"`             // what a node would do
	Why      string                 `json:"why"`              // why it rests
	Due      perdure.Time           `json:"due,omitzero"`     // when a node should look
	Person   bool                   `json:"person"`           // a person must act first
	Needs    string                 `json:"needs,omitempty"`  // what a node must have to go on with it
	Cannot   []perdure.Incapability `json:"cannot,omitempty"` // the nodes that have shown that they cannot
	Ended    *perdure.Ending        `json:"ended,omitempty"`
	Intent   perdure.Intent         `json:"intent"`
	Charter  perdure.Charter        `json:"charter"`
	Owner    string                 `json:"owner"`
	Seat     string                 `json:"seat,omitempty"` // where what must happen once is decided
	Lineage  *perdure.Lineage       `json:"lineage,omitempty"`
	Created  perdure.Time           `json:"created"`
	Updated  perdure.Time           `json:"updated"`
	Trace    perdure.TraceID        `json:"trace,omitzero"` // of what it does now
	Turns    int64                  `json:"turns"`
	Spent    perdure.Spend          `json:"spent"`
	Reserved perdure.Spend          `json:"reserved"`
	Left     *perdure.Budget        `json:"left,omitempty"`
	Children []child                `json:"children"`
	Waits    []waiting              `json:"waits"` // what waits for a person, and how to answer
	Asks     []perdure.Asking       `json:"asks"`
	Open     []perdure.Open         `json:"open"`
	Owed     []perdure.Owed         `json:"owed"` // effects to be tried again
	Sleep    *perdure.Sleeping      `json:"sleep,omitempty"`
	Inbox    []perdure.Message      `json:"inbox"`
	Entries  int64                  `json:"entries"`
	Depth    string                 `json:"depth"` // how much of its memory is here
	Heads    []perdure.Hash         `json:"heads"`
	Diverged []string               `json:"diverged"`
	Survives string                 `json:"survives,omitempty"` // what is written to its store, as it was opened here
	Older    *older                 `json:"older,omitempty"`    // this home has seen more of it

	depth  perdure.Depth
	unsure bool // nobody can say whether what is under way has a worker

	names map[perdure.Key]string
	tools []perdure.ToolRecord
}

// child is what a parent knows of a child, and what the store knows of it besides.
type child struct {
	perdure.ChildInfo
	Name  string `json:"name,omitempty"`
	State string `json:"state,omitempty"`
}

// summarize derives a summary, as a node that can do everything would see the agent.
func summarize(a *perdure.Agent, t *perdure.Trust, names map[perdure.Key]string, now time.Time) summary {
	f := a.Fold()
	v := summary{
		Agent: f.Agent, Name: f.Intent.Name, Standing: f.Standing(), State: f.State(), Ended: f.Ended, Intent: f.Intent, Charter: f.Charter,
		Owner: nameOf(names, f.Charter.Owner), Lineage: f.Lineage, Created: f.Created, Updated: f.Updated, Trace: f.Trace, Turns: f.Turns, Spent: f.Spent, Reserved: f.Reserved(),
		Left: f.Left(), Waits: waitsOf(a, t, now), Asks: f.Asks, Open: f.Open, Owed: f.Owed, Sleep: f.Sleep, Inbox: f.Inbox, Entries: f.Count, Depth: a.Depth().String(), depth: a.Depth(),
		Heads: a.Heads(), Diverged: a.Diverged(), names: names, tools: f.Tools,
	}
	for _, c := range f.Children {
		v.Children = append(v.Children, child{ChildInfo: c})
	}
	step := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t}, now)
	v.Next = stepText(step)
	v.Standing = standing(f, step, len(v.Waits) > 0)
	at := now
	if idle, ok := step.(perdure.Idle); ok {
		v.Why, v.Due = idle.Why, idle.Until
		if v.Due != 0 && v.Due.Go().After(now) {
			at = v.Due.Go()
		}
	}
	v.Person = v.Standing == "waiting"
	if bare, ok := perdure.Plan(a, perdure.Capabilities{Trust: t}, at).(perdure.Idle); ok && f.Ended == nil {
		v.Needs = capability(bare.Cannot)
	}
	for _, i := range f.Incapable {
		if capability(i.What) == v.Needs { // of each node the latest
			v.Cannot = append(slices.DeleteFunc(v.Cannot, func(o perdure.Incapability) bool { return o.Node == i.Node }), i)
		}
	}
	return v
}

// seated puts in where the seat is, and what waits because of that.
func (v *summary) seated(a *perdure.Agent, t *perdure.Trust, place perdure.Hash, now time.Time) {
	v.Seat = seatText(a.Fold(), place)
	if t.Counts(a) != nil {
		return
	}
	waits := seatWaits(a, t, place, now)
	if len(waits) > 0 && v.Ended == nil {
		v.Standing, v.Person = "waiting", true
		if v.Why == "" {
			v.Why = waits[len(waits)-1].What
		}
	}
	v.Waits = append(waits, v.Waits...)
}

// judge puts in what the policy of this home says of a wake, if there is one that loads.
func (v *summary) judge(h *home, a *perdure.Agent, now time.Time) {
	p, err := new(powers).policy(h)
	if err != nil {
		return // whoever runs it is told
	}
	step, rouses := perdure.Plan(a, perdure.Capabilities{All: true}, now).(perdure.Rouse)
	if !rouses {
		return
	}
	if idle, ok := perdure.Judged(step, p, perdure.Key{}, a, now).(perdure.Idle); ok {
		v.Next, v.Why, v.Due, v.Standing = stepText(idle), idle.Why, idle.Until, "dormant"
	}
}

// standing is where an agent stands, in the light of what a node would do next: one that waits for a person or for a time is not ready, and
// one whose answer or event has come is.
func standing(f *perdure.Fold, next perdure.Step, waits bool) string {
	is := f.Standing()
	idle, rests := next.(perdure.Idle)
	_, unknown := next.(perdure.Reconcile) // by a tool that can, if there is a node with one; by a person in any case
	switch {
	case is == "terminated":
		return is
	case rests && (idle.Person || waits), unknown && waits:
		return "waiting"
	case rests && is == "ready" && idle.Until != 0:
		return "dormant"
	case !rests && (is == "waiting" || is == "dormant"):
		return "ready"
	}
	return is
}

// standingNow is where an agent stands, as any node would see it.
func standingNow(a *perdure.Agent, t *perdure.Trust, now time.Time) string {
	return standing(a.Fold(), perdure.Plan(a, perdure.Capabilities{All: true, Trust: t}, now), len(waitsOf(a, t, now)) > 0)
}

// capability is a thing a node can have, in words.
func capability(what string) string {
	name, is := strings.CutPrefix(what, "advisor:")
	switch {
	case what == "":
		return ""
	case !is:
		return "tool " + what
	case name == "":
		return "an advisor for agents that name none"
	}
	return "advisor " + name
}

func nameOf(names map[perdure.Key]string, k perdure.Key) string {
	if name := names[k]; name != "" {
		return name
	}
	return k.Short()
}

// findChildren looks the children up in the store, where they may be.
func (v *summary) findChildren(ctx context.Context, s perdure.Store) error {
	l, ok := s.(perdure.Lister)
	if !ok {
		return nil
	}
	for i := range min(len(v.Children), maxChildren) {
		c := &v.Children[i]
		for one, err := range l.List(ctx, perdure.Filter{Prefix: c.Agent.String()}) {
			if err != nil {
				return err
			}
			a, err := perdure.Load(ctx, s, one.Agent)
			if err != nil || one.Agent != c.Agent {
				continue // its parent is shown all the same
			}
			c.Name, c.State = a.Fold().Intent.Name, a.Fold().State().String()
		}
	}
	return nil
}
