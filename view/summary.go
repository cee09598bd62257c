package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/trace"
)

// stepText says what a node would do next.
func stepText(s perdure.Step) string {
	switch d := s.Doing(); d.What {
	case phase.StepIdle:
		return "nothing"
	case phase.StepFlag:
		return "record that " + d.Decision.Short() + " was decided twice"
	case phase.StepCorrect:
		return "tell it that " + d.Decision.Short() + " did happen"
	case phase.StepSit:
		return "take its seat"
	case phase.StepRouse:
		return "wake it"
	case phase.StepConsult:
		if d.Advisor == "" {
			return "ask its advisor"
		}
		return "ask advisor " + d.Advisor
	case phase.StepDecide:
		return "decide about " + ActionText(d.Action)
	case phase.StepPerform:
		return "perform " + ActionText(d.Action)
	case phase.StepReconcile:
		return "find out whether " + ActionText(d.Action) + " happened"
	case phase.StepLapse:
		return "record a refusal"
	case phase.StepEscalate:
		return "ask " + strings.Join(d.Asked, ", ") + " too, since nobody answered"
	case phase.StepFinish:
		return "end it: its deadline has passed"
	case phase.StepAnnounce:
		return "tell its relatives that it has ended"
	}
	return "something not known here"
}

const (
	// MaxChildren is how many children a screen has room for.
	MaxChildren = 10
	// nearlyUsed is the part of a budget, one in so many, that is called nearly nothing.
	nearlyUsed = 10
)

// EventsOf are the events a trigger waits for.
func EventsOf(t perdure.Trigger) []string {
	var of []perdure.Trigger
	switch t := t.(type) {
	case perdure.On:
		return []string{t.Event}
	case perdure.Any:
		of = t.Of
	case perdure.All:
		of = t.Of
	case perdure.At, perdure.After, perdure.Done, perdure.When, perdure.Every:
	}
	var names []string
	for _, t := range of {
		names = append(names, EventsOf(t)...)
	}
	return names
}

// SpentText is what was spent, of how much, and whether that is nearly all.
func (v *Summary) SpentText() string {
	if v.Left == nil || v.Limit == nil {
		return spendText(v.Spent) + ", no limit"
	}
	var parts []string
	nearly, all := false, false
	amount := func(spent, reserved int64, limit, left *int64, text func(int64) string, unit string) {
		switch {
		case limit != nil && left != nil:
			one := text(spent) + " of " + text(*limit) + unit
			if over := spent - *limit; over > 0 {
				one += " (" + text(over) + " over)"
			}
			if reserved > 0 {
				one += " (" + text(reserved) + " held for what is under way)"
			}
			parts = append(parts, one)
			all = all || spent == *limit && spent > 0
			nearly = nearly || *left < (*limit+nearlyUsed-1)/nearlyUsed && spent <= *limit
		case spent > 0:
			parts = append(parts, text(spent)+unit)
		}
	}
	number := func(n int64) string { return fmt.Sprint(n) }
	amount(v.Spent.Cost, v.Reserved.Cost, v.Limit.Cost, v.Left.Cost, dollars, "")
	amount(v.Spent.Tokens, v.Reserved.Tokens, v.Limit.Tokens, v.Left.Tokens, number, " tokens")
	amount(v.Spent.Calls, v.Reserved.Calls, v.Limit.Calls, v.Left.Calls, number, " calls")
	switch {
	case v.Ended != nil:
	case all:
		parts = append(parts, "used up")
	case nearly:
		parts = append(parts, "nearly used up")
	}
	return strings.Join(parts, "; ")
}

// Summary is an agent on one screen.
type Summary struct {
	Agent    perdure.AgentID        `json:"agent"`
	Name     string                 `json:"name,omitempty"`
	Standing phase.Standing         `json:"standing"`
	State    phase.State            `json:"state"`
	Next     string                 `json:"next"`              // what a node would do
	Why      string                 `json:"why"`               // why it rests
	Reasons  []perdure.Reason       `json:"reasons,omitempty"` // the same for programs
	Due      perdure.Time           `json:"due,omitzero"`      // when a node should look
	Person   bool                   `json:"person"`            // a person must act first
	Needs    string                 `json:"needs,omitempty"`   // what a node must have to go on with it
	Cannot   []perdure.Incapability `json:"cannot,omitempty"`  // the nodes that have shown that they cannot
	Ended    *perdure.Ending        `json:"ended,omitempty"`
	EndedBy  string                 `json:"ended_by,omitempty"` // who ended it, if it did not end by itself
	Intent   perdure.Intent         `json:"intent"`
	Charter  perdure.Charter        `json:"charter"`
	Owner    string                 `json:"owner"`
	Seat     string                 `json:"seat,omitempty"` // where what must happen once is decided
	Lineage  *perdure.Lineage       `json:"lineage,omitempty"`
	Created  perdure.Time           `json:"created"`
	Updated  perdure.Time           `json:"updated"`
	Trace    trace.ID               `json:"trace,omitzero"` // of what it does now
	Turns    int64                  `json:"turns"`
	Spent    perdure.Spend          `json:"spent"`
	Reserved perdure.Spend          `json:"reserved"`
	Limit    *perdure.Budget        `json:"limit,omitempty"` // with what was granted
	Left     *perdure.Budget        `json:"left,omitempty"`
	Children []child                `json:"children"`
	Waits    []Wait                 `json:"waits"` // what waits for a person, and how to answer
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
	Older    *Older                 `json:"older,omitempty"`    // this home has seen more of it
	Unfit    *Unfit                 `json:"unfit,omitempty"`    // what of its state does not fit its schema

	Holds    perdure.Depth `json:"-"`
	Unsure   bool          `json:"-"` // nobody can say whether what is under way has a worker
	Stranger bool          `json:"-"` // what it says of itself does not count here

	Names map[perdure.Key]string `json:"-"`
	Tools []perdure.ToolRecord   `json:"-"`
}

// Unfit is what of a state does not fit its schema. Each copy of an agent holds what it sets against the version of the
// schema it knows: the state of both together may fit neither, and no more is set until that is mended.
type Unfit struct {
	Why  string   `json:"why"`
	Drop []string `json:"drop,omitempty"` // the variables without which it fits; none: that does not help
}

// mend is the command that has the state of the agent fit again; empty: nobody can tell.
func (u *Unfit) mend(agent string) string {
	set := ""
	for _, name := range u.Drop {
		word, ok := name+"=null", PlainWord(name)
		if !ok {
			word, ok = shellWord(word)
		}
		if !ok {
			return ""
		}
		set += " --set " + word
	}
	if set == "" {
		return ""
	}
	return "perdure edit " + agent + set
}

// child is what a parent knows of a child, and what the store knows of it besides.
type child struct {
	perdure.ChildInfo
	Name  string `json:"name,omitempty"`
	State string `json:"state,omitempty"`
}

// Summarize derives a summary, as a node that can do everything would see the agent.
func Summarize(a *perdure.Agent, t *perdure.Trust, names map[perdure.Key]string, me perdure.Key,
	now time.Time) Summary {
	f := a.Fold()
	v := Summary{
		Agent: f.Agent, Name: f.Intent.Name, Standing: a.Standing(t, perdure.Place{}, now),
		State: a.Believed(t, now).State,
		Ended: t.Ended(a), Intent: f.Intent, Charter: f.Charter,
		Owner: nameOf(names, f.Charter.Owner), Lineage: f.Lineage, Created: f.Created, Updated: f.Updated,
		Trace: f.Trace, Turns: f.Turns, Spent: f.Spent, Reserved: f.Reserved(),
		Limit: f.Limit(), Left: f.Left(), Waits: waitsOf(a, t, me, now), Asks: f.Asks, Open: f.Open, Owed: f.Owed,
		Sleep: f.Sleep,
		Inbox: f.Unseen(), Entries: f.Count, Depth: a.Depth().String(), Holds: a.Depth(),
		Heads: a.Heads(), Diverged: a.Diverged(), Names: names, Tools: f.Tools, Stranger: t.Counts(a) != nil,
	}
	if v.Ended != nil {
		v.EndedBy = EndedBy(a, VoicesIn(f, t))
	}
	for _, c := range f.Children {
		v.Children = append(v.Children, child{ChildInfo: c})
	}
	step := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t}, now)
	v.Next = stepText(step)
	at := now
	if idle, ok := step.(perdure.Idle); ok {
		v.Why, v.Reasons, v.Due = Why(idle), idle.Reasons, idle.Until
		if v.Due != 0 && v.Due.Go().After(now) {
			at = v.Due.Go()
		}
	}
	v.Person = v.Standing == phase.StandingWaiting
	if bare, ok := perdure.Plan(a, perdure.Capabilities{Trust: t}, at).(perdure.Idle); ok && v.Ended == nil {
		v.Needs = Capability(bare.Needs)
	}
	for _, i := range f.Incapable {
		if Capability(i.What) == v.Needs { // of each node the latest
			v.Cannot = append(slices.DeleteFunc(v.Cannot, func(o perdure.Incapability) bool {
				return o.Node == i.Node
			}), i)
		}
	}
	return v
}

// Seated puts in where the seat is, and what waits because of that.
func (v *Summary) Seated(a *perdure.Agent, t *perdure.Trust, me perdure.Key, place perdure.Place, now time.Time) {
	v.Seat = SeatText(a.Fold(), place)
	if t.Counts(a) != nil {
		return
	}
	waits := SeatWaits(a, t, me, place, now)
	if a.GoneOn(place) {
		idle := perdure.Idle{Reasons: []perdure.Reason{{Kind: phase.RestGiven, Seat: a.Fold().Seats[0].At}}}
		v.Standing, v.Next, v.Why, v.Reasons = a.Standing(t, place, now), stepText(idle), Why(idle), idle.Reasons
		v.Due, v.Person, v.Needs, v.Waits = 0, false, "", append(waits, stillHere(v.Waits)...)
		return
	}
	// where it does not wait, policy may have said more than the plan does
	if is := a.Standing(t, place, now); is == phase.StandingWaiting {
		v.Standing = is
	}
	if v.Person = v.Standing == phase.StandingWaiting; v.Person && v.Why == "" && len(waits) > 0 {
		v.Why = waits[len(waits)-1].What
	}
	v.Waits = append(waits, v.Waits...)
}

// stillHere are those of what waits that stay a matter of a store which has handed the agent over: whether what was
// begun there happened.
func stillHere(waits []Wait) []Wait {
	return slices.DeleteFunc(waits, func(w Wait) bool { return w.Kind != WaitDoubt })
}

// Judge puts in what the policy of this home says of a wake, if there is one that loads.
func (v *Summary) Judge(p perdure.Policy, a *perdure.Agent, now time.Time) {
	if perdure.Plan(a, perdure.Capabilities{All: true}, now).Doing().What != phase.StepRouse {
		return
	}
	if idle, ok := perdure.Plan(a, perdure.Capabilities{All: true, Policy: p}, now).(perdure.Idle); ok {
		v.Next, v.Why, v.Due, v.Standing = stepText(idle), Why(idle), idle.Until, phase.StandingDormant
		v.Reasons = idle.Reasons
	}
}

// Outrun puts in that this home has seen more of the agent, if it has.
func (v *Summary) Outrun(by *Older) {
	if v.Older = by; by != nil && v.Ended == nil {
		v.Standing, v.Person, v.Why, v.Reasons = by.Standing(v.Standing), true, by.What(), nil
		v.Due, v.Waits = 0, slices.Insert(v.Waits, 0, by.Wait(v.Agent, v.Name))
		if by.Given {
			v.Seat = SinceGiven
		}
	}
}

// WhyText is why it rests, as people read it at a time.
func (v *Summary) WhyText(now time.Time) string {
	if len(v.Reasons) == 0 {
		return v.Why
	}
	text, _ := WhyNow(perdure.Idle{Reasons: v.Reasons}, now)
	return text
}

// EndedBy is who ended an agent from outside, as this home calls them; empty: it ended by itself, or that is long ago.
func EndedBy(a *perdure.Agent, voices Voices) string {
	for e := range a.Counting() {
		if ev, ok := e.Content().(perdure.Event); ok && e.Name == a.Fold().Ended.Entry {
			return voices.by(e.Origin, &ev)
		}
	}
	return ""
}

// EndText says how an agent ended, after its name: by whom and why, or how it ended by itself.
func EndText(e *perdure.Ending, by string) string {
	note := OneLine(e.Note, LineWidth)
	switch {
	case by == "":
		return "has ended: " + e.Signal.String() + Noted(note)
	case note == "":
		return "was ended by " + InLine(by)
	}
	return "was ended by " + InLine(by) + ": " + note
}

// AddAdvisor is what to do where there is no advisor, about a node.yaml.
func AddAdvisor(file string) string { return "write advisor: anthropic:MODEL into " + file }

// LastFailure is what kept an agent's advisor from answering last, in the words of whoever was asked.
func LastFailure(a *perdure.Agent) string {
	for e := range a.Counting() {
		if advice, ok := e.Content().(perdure.Advice); ok && advice.Signal != 0 {
			return OneLine(advice.Text, 0)
		}
	}
	return "it does not say why"
}

// Capability is a thing a node can have, in words.
func Capability(what string) string {
	name, is := phase.AdvisorIn(what)
	scope, scoped := phase.ScopeIn(what)
	switch {
	case what == "":
		return ""
	case scoped:
		return "scope " + InLine(scope)
	case !is:
		return "tool " + what
	case name == "":
		return "an advisor for agents that name none"
	}
	return "advisor " + name
}

// LackOf says why a node cannot do something that an agent needs, as the agent's memory has it.
func LackOf(f *perdure.Fold, node perdure.Key, what string) string {
	for i := range f.Incapable {
		if n := &f.Incapable[i]; n.Node == node && n.What == what && n.Note != "" {
			return n.Note
		}
	}
	return "it needs " + Capability(what)
}

// Unable is what an agent needs next and the node of a key lacked when it last looked, in words; empty: nothing.
func Unable(a *perdure.Agent, t *perdure.Trust, node perdure.Key, now time.Time) string {
	idle, rests := perdure.Plan(a, perdure.Capabilities{Trust: t}, now).(perdure.Idle)
	if !rests {
		return ""
	}
	for _, i := range a.Fold().Incapable {
		if i.Missing && i.Node == node && i.What == idle.Needs {
			return Capability(i.What)
		}
	}
	return ""
}

// nameOf is what a key is called here.
func nameOf(names map[perdure.Key]string, k perdure.Key) string {
	if name := names[k]; name != "" {
		return name
	}
	return k.Short()
}

// FindChildren looks the children up in the store, where they may be.
func (v *Summary) FindChildren(ctx context.Context, s perdure.Store) error {
	l, ok := s.(perdure.Lister)
	if !ok {
		return nil
	}
	for i := range min(len(v.Children), MaxChildren) {
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
