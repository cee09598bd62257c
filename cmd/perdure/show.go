package main

import (
	"context"
	"fmt"
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
		Long: `Show says what an agent is for, where it stands, why it sleeps and what would wake it, what it has spent, its children, what it asks
people, effects under way, and whether its memory hangs together. All of it is derived from the agent's own memory.`,
		Example: `  perdure show news
  perdure show news --jq .why
  perdure show news@10m`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitRejected, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			p, err := findPoint(ctx, c, s, arg)
			if err != nil {
				return err
			}
			now := time.Now()
			if p.entry != nil {
				now = p.entry.Time.Go()
			}
			v := summarize(p.agent, h.keyNames(), now)
			return out.print(v, func(w io.Writer) error { return v.write(w, now) })
		})
	}
	return c
}

// summary is an agent on one screen.
type summary struct {
	Agent    perdure.AgentID     `json:"agent"`
	Name     string              `json:"name,omitempty"`
	Standing string              `json:"standing"`
	State    perdure.State       `json:"state"`
	Next     string              `json:"next"`         // what a node would do
	Why      string              `json:"why"`          // why it rests
	Due      perdure.Time        `json:"due,omitzero"` // when a node should look
	Person   bool                `json:"person"`       // a person must act first
	Ended    *perdure.Ending     `json:"ended,omitempty"`
	Intent   perdure.Intent      `json:"intent"`
	Charter  perdure.Charter     `json:"charter"`
	Owner    string              `json:"owner"`
	Lineage  *perdure.Lineage    `json:"lineage,omitempty"`
	Created  perdure.Time        `json:"created"`
	Updated  perdure.Time        `json:"updated"`
	Turns    int64               `json:"turns"`
	Spent    perdure.Spend       `json:"spent"`
	Reserved perdure.Spend       `json:"reserved"`
	Left     *perdure.Budget     `json:"left,omitempty"`
	Children []perdure.ChildInfo `json:"children"`
	Asks     []perdure.Asking    `json:"asks"`
	Open     []perdure.Open      `json:"open"`
	Inbox    []perdure.Message   `json:"inbox"`
	Entries  int64               `json:"entries"`
	Heads    []perdure.Hash      `json:"heads"`
	Diverged []string            `json:"diverged"`
}

// summarize derives a summary, as a node that can do everything would see the agent.
func summarize(a *perdure.Agent, names map[perdure.Key]string, now time.Time) summary {
	f := a.Fold()
	v := summary{
		Agent: f.Agent, Name: f.Intent.Name, Standing: f.Standing(), State: f.State(), Ended: f.Ended, Intent: f.Intent, Charter: f.Charter,
		Owner: f.Charter.Owner.Short(), Lineage: f.Lineage, Created: f.Created, Updated: f.Updated, Turns: f.Turns, Spent: f.Spent, Reserved: f.Reserved(),
		Left: f.Left(), Children: f.Children, Asks: f.Asks, Open: f.Open, Inbox: f.Inbox, Entries: f.Count, Heads: a.Heads(), Diverged: a.Diverged(),
	}
	if name := names[f.Charter.Owner]; name != "" {
		v.Owner = name
	}
	step := perdure.Plan(a, perdure.Capabilities{All: true}, now)
	v.Next = stepText(step)
	if idle, ok := step.(perdure.Idle); ok {
		v.Why, v.Person, v.Due = idle.Why, idle.Person, idle.Until
	}
	return v
}

// stepText says what a node would do next.
func stepText(s perdure.Step) string {
	switch s := s.(type) {
	case perdure.Idle:
		return "nothing"
	case perdure.Rouse:
		return "wake it"
	case perdure.Consult:
		if s.Advisor == "" {
			return "ask its advisor"
		}
		return "ask advisor " + s.Advisor
	case perdure.Decide:
		return "decide about " + actionText(s.Action)
	case perdure.Perform:
		return "perform " + actionText(s.Open.Action)
	case perdure.Reconcile:
		return "find out whether " + actionText(s.Open.Action) + " happened"
	case perdure.Lapse:
		return "record a refusal"
	case perdure.Finish:
		return "end it: its deadline has passed"
	case perdure.Announce:
		return "tell its relatives that it has ended"
	}
	return "something not known here"
}

// write prints the summary for people.
func (v *summary) write(w io.Writer, now time.Time) error {
	s := styleOf(w)
	t := table{tint: []func(string) string{s.head}}
	row := func(name, format string, args ...any) { t.add(name, oneLine(fmt.Sprintf(format, args...), lineWidth)) }
	row("agent", "%s %s", v.Name, v.Agent)
	row("goal", "%s", v.Intent.Goal)
	v.writeBounds(row)
	t.add("", "")
	row("standing", "%s", s.state(v.Standing))
	v.writeStanding(row, now)
	row("spent", "%s%s; %d turns", spendText(v.Spent), v.budgetText(), v.Turns)
	for _, c := range v.Children {
		end := "at work"
		if c.Ended {
			end = "ended " + c.Signal.String()
		}
		row("child", "%s %s", c.Agent.Short(), end)
	}
	for _, q := range v.Asks {
		row("asks", "%s: %s, since %s%s", q.Digest.Short(), actionText(q.Action), ago(q.Since, now), expiry(q.Verdict.Expires))
		row("", "perdure approve %s %s", v.called(), q.Digest.Short())
	}
	for _, o := range v.Open {
		row("open", "%s %s (%s), since %s, until %s", o.Decision.Short(), actionText(o.Action), o.Effect, ago(o.Since, now), o.Deadline)
	}
	for _, m := range v.Inbox[max(0, len(v.Inbox)-5):] {
		row("unseen", "%s %s", m.Name, dataText(m.Data))
	}
	t.add("", "")
	row("memory", "%d entries, made %s, last %s", v.Entries, ago(v.Created, now), ago(v.Updated, now))
	for _, h := range v.Heads {
		row("head", "%s", h)
	}
	for _, d := range v.Diverged {
		row("diverged", "%s", d)
	}
	return t.write(w)
}

// writeBounds prints what the agent may do.
func (v *summary) writeBounds(row func(name, format string, args ...any)) {
	row("scope", "%s, owned by %s", v.Charter.Scope, v.Owner)
	for name, text := range map[string]string{"kind": v.Intent.Kind, "advisor": v.Intent.Advisor} {
		if text != "" {
			row(name, "%s", text)
		}
	}
	if v.Intent.Tools != nil {
		row("tools", "%s", strings.Join(v.Intent.Tools, ", "))
	}
	if v.Intent.Inputs != nil {
		row("inputs", "%s", dataText(v.Intent.Inputs))
	}
	var labels []string
	for k, val := range v.Intent.Labels {
		labels = append(labels, k+"="+val)
	}
	if slices.Sort(labels); len(labels) > 0 {
		row("labels", "%s", strings.Join(labels, " "))
	}
	if v.Intent.Deadline != 0 {
		row("deadline", "%s", v.Intent.Deadline)
	}
	if l := v.Lineage; l != nil {
		word := "child of"
		if l.Relation == perdure.Fork {
			word = "forked from"
		}
		row("lineage", "%s %s at %s", word, l.Parent.Short(), l.Cause.Short())
	}
}

// writeStanding prints what the agent does, or why it does nothing.
func (v *summary) writeStanding(row func(name, format string, args ...any), now time.Time) {
	if e := v.Ended; e != nil {
		row("ended", "%s %s%s", e.Signal, ago(e.Time, now), noted(e.Note))
		if e.Result != nil {
			row("result", "%s", dataText(e.Result))
		}
		return
	}
	if v.Why == "" {
		row("next", "%s", v.Next)
		return
	}
	row("why", "%s", v.Why)
	switch {
	case v.Person:
		row("wakes", "when a person acts: see perdure inbox")
	case v.Due == 0:
		row("wakes", "on an event: perdure send %s NAME", v.called())
	default:
		row("wakes", "%s (in %s), or on an event", v.Due, span(v.Due.Go().Sub(now)))
	}
}

// called is how to name the agent on the command line.
func (v *summary) called() string {
	if v.Name != "" && !strings.ContainsAny(v.Name, " '\"$`\\") {
		return v.Name
	}
	return v.Agent.Short()
}

// budgetText is what is left, if there is a limit.
func (v *summary) budgetText() string {
	l := v.Left
	if l == nil {
		return ", no limit"
	}
	var parts []string
	if l.Cost != nil {
		parts = append(parts, dollars(*l.Cost))
	}
	if l.Tokens != nil {
		parts = append(parts, fmt.Sprintf("%d tokens", *l.Tokens))
	}
	if l.Calls != nil {
		parts = append(parts, fmt.Sprintf("%d calls", *l.Calls))
	}
	return "; left " + strings.Join(parts, ", ")
}

func expiry(t perdure.Time) string {
	if t == 0 {
		return ""
	}
	return ", until " + t.String()
}
