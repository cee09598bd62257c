package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// stepText says what a node would do next.
func stepText(s perdure.Step) string {
	switch s := s.(type) {
	case perdure.Idle:
		return "nothing"
	case perdure.Flag:
		return "record that " + s.Doubled.Second.Short() + " was decided twice"
	case perdure.Sit:
		return "take its seat"
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
	case perdure.Escalate:
		return "ask " + strings.Join(s.Asked, ", ") + " too, since nobody answered"
	case perdure.Finish:
		return "end it: its deadline has passed"
	case perdure.Announce:
		return "tell its relatives that it has ended"
	}
	return "something not known here"
}

const (
	// maxChildren is how many children a screen has room for.
	maxChildren = 10
	// maxUnseen is how many unseen events it has room for, the latest.
	maxUnseen = 5
	// nearlyUsed is the part of a budget, one in so many, that is called nearly nothing.
	nearlyUsed = 10
)

// page is a summary as rows for people.
type page struct {
	*summary
	t   table
	now time.Time
	s   style

	brief bool // cut what does not fit a line
}

// write prints the summary for people.
func (v *summary) write(w io.Writer, now time.Time, brief bool) error {
	s := styleOf(w)
	p := &page{summary: v, now: now, s: s, t: table{fold: true, tint: []func(string) string{s.head}}, brief: brief}
	p.row("agent", "%s %s", v.Name, v.Agent)
	p.row("goal", "%s", v.Intent.Goal)
	p.bounds()
	p.t.add("", "")
	p.t.add("standing", s.state(v.Standing))
	if v.Older != nil {
		p.t.add("older", s.bad(here(v.Older.String())))
	}
	p.standing()
	p.persons()
	p.row("spent", "%s; %s", v.spentText(), several(v.Turns, "turn"))
	p.relatives()
	p.work()
	p.t.add("", "")
	if v.Seat != "" {
		p.row("seat", "%s", v.Seat)
	}
	p.row("memory", "%s, made %s, last %s", several(v.Entries, "entry"), ago(v.Created, now), ago(v.Updated, now))
	if v.depth != perdure.Full {
		p.row("depth", "%s: this store has %s; import the whole memory to give it all its rights", v.depth, v.depth.Words())
	}
	if !v.Trace.IsZero() {
		p.row("trace", "%s", v.Trace)
	}
	if v.Survives != "" {
		p.row("durable", "what is written survives %s", v.Survives)
	}
	for _, h := range v.Heads {
		p.row("head", "%s", h)
	}
	for _, d := range v.Diverged {
		p.row("diverged", "%s", d)
	}
	return p.t.write(w)
}

// row adds a row. What it says is whole, unless the page is to be brief.
func (p *page) row(name, format string, args ...any) {
	width := 0
	if p.brief {
		width = lineWidth
	}
	p.t.add(name, oneLine(fmt.Sprintf(format, args...), width))
}

// action is what an action would do, in a row.
func (p *page) action(a perdure.Action) string {
	if p.brief {
		return cut(inLine(actionText(a)), lineWidth/2)
	}
	return actionText(a)
}

// exact adds a row as it stands, every space of it.
func (p *page) exact(name, text string) { p.t.add(name, text) }

// several is a number of things.
func several(n int64, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y") && !strings.HasSuffix(what, "ey"):
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bounds prints what the agent may do.
func (p *page) bounds() {
	in := &p.Intent
	p.row("scope", "%s, owned by %s", p.Charter.Scope, p.Owner)
	if in.Kind != "" {
		p.row("kind", "%s", in.Kind)
	}
	if in.Advisor != "" {
		p.row("advisor", "%s", in.Advisor)
	}
	if in.Tools != nil {
		p.row("tools", "%s", strings.Join(in.Tools, ", "))
	}
	if in.Inputs != nil {
		p.row("inputs", "%s", dataText(in.Inputs))
	}
	var labels []string
	for k, val := range in.Labels {
		labels = append(labels, k+"="+val)
	}
	if slices.Sort(labels); len(labels) > 0 {
		p.row("labels", "%s", strings.Join(labels, " "))
	}
	if in.Deadline != 0 {
		p.row("deadline", "%s", moment(in.Deadline, p.now))
	}
	if l := p.Lineage; l != nil {
		switch {
		case l.Relation != perdure.Fork:
			p.row("lineage", "child of %s at %s", l.Parent.Short(), l.Cause.Short())
		case l.Rehearse:
			p.row("lineage", "forked from %s at %s to rehearse: effects come from its record, or are refused", l.Parent.Short(), l.Cause.Short())
		default:
			p.row("lineage", "forked from %s at %s, live", l.Parent.Short(), l.Cause.Short())
		}
	}
}

// standing prints what the agent does, or why it does nothing and what changes that.
func (p *page) standing() {
	if e := p.Ended; e != nil {
		p.row("ended", "%s %s%s", e.Signal, ago(e.Time, p.now), noted(e.Note))
		if e.Result != nil {
			p.row("result", "%s", dataText(e.Result))
		}
		return
	}
	if p.Why != "" {
		p.row("why", "%s", timely(p.Why, p.now))
	} else {
		p.row("next", "%s", p.Next)
	}
	p.polls()
	if p.Needs != "" {
		var not []string
		for _, c := range p.Cannot {
			not = append(not, "not "+nameOf(p.names, c.Node)+noted(c.Note))
		}
		p.row("node", "%s", strings.Join(append([]string{"any with " + p.Needs}, not...), "; "))
	}
	if p.Sleep != nil && !p.Person {
		if on := eventsOf(p.Sleep.Sleep.Trigger); len(on) > 0 {
			if event, ok := shellWord(on[0]); ok {
				p.row("wakes", "%s", here("perdure send "+commandName(p.Name, p.Agent)+" "+event))
			} else {
				p.row("wakes", "an event called %s", quoted(on[0]))
			}
		}
	}
}

// polls prints what polling has found so far.
func (p *page) polls() {
	if p.Sleep == nil {
		return
	}
	if note := p.Sleep.Sleep.Note; note != "" && !slices.ContainsFunc(p.Waits, func(w waiting) bool { return w.Kind == waitsAnswer }) {
		p.row("note", "%s", note)
	}
	for _, one := range p.Sleep.Polls {
		p.row("polled", "%s, %s: %s", ago(one.At, p.now), one.Signal, dataText(one.Result))
	}
}

// eventsOf are the events a trigger waits for.
func eventsOf(t perdure.Trigger) []string {
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
		names = append(names, eventsOf(t)...)
	}
	return names
}

// persons prints what waits for a person, and how to answer.
func (p *page) persons() {
	for i := range p.Waits {
		w := &p.Waits[i]
		what := w.head()
		if p.brief && w.Action != nil {
			what = w.asking() + cut(inLine(actionText(w.Action)), lineWidth/2)
		}
		if w.Kind != waitsPause && w.Kind != waitsBudget && w.Kind != waitsOther {
			p.row("asks", "%s, %s", what, ago(w.Since, p.now))
		}
		if more := w.circumstances(p.now); p.brief && more != "" {
			p.row("", "%s", more)
		}
		if !p.brief {
			p.sheet(w)
		}
		if w.Kind != waitsOther {
			p.row("answer", "%s", w.Answer)
		}
	}
}

// sheet prints, whole, what a person answers for.
func (p *page) sheet(w *waiting) {
	for _, r := range w.sheet(p.now) {
		for i, text := range r.text {
			if i > 0 {
				r.label = ""
			}
			p.exact(r.label, text)
		}
	}
}

// relatives prints the children.
func (p *page) relatives() {
	if len(p.Children) == 0 {
		return
	}
	working := 0
	for _, c := range p.Children {
		if !c.Ended {
			working++
		}
	}
	p.row("children", "%d of %d at work", working, len(p.Children))
	for i, c := range p.Children {
		if i == maxChildren {
			p.row("", "… and %d more", len(p.Children)-i)
			break
		}
		end := "at work"
		switch {
		case c.Ended:
			end = "ended " + c.Signal.String()
		case c.State != "":
			end = c.State
		}
		p.row("", "%s %s, %s", c.Agent.Short(), c.Name, end)
	}
}

// work prints what is under way, what is tried again, what keeps going wrong and what has arrived.
func (p *page) work() {
	for _, o := range p.Open {
		attempt := ""
		if o.Attempt > 1 {
			attempt = fmt.Sprintf(", attempt %d", o.Attempt)
		}
		word := "until"
		if !o.Deadline.Go().After(p.now) {
			word = "should have ended"
		}
		if p.unsure && underWay(&o, p.now) {
			attempt += here("; under way, or in doubt if its node died: perdure settle")
		}
		p.row("open", "%s %s (%s) by %s, since %s, %s %s%s", o.Decision.Short(), p.action(o.Action), o.Effect, nameOf(p.names, o.Origin),
			ago(o.Since, p.now), word, moment(o.Deadline, p.now), attempt)
	}
	for _, w := range p.Owed {
		p.row("owed", "%s, tried %s, last %s %s", p.action(w.Action), times(w.Attempt), w.Signal, ago(w.Since, p.now))
	}
	for _, t := range p.tools {
		if n, last := inARow(&t); n > 1 {
			p.row("trouble", "%s: %s %s in a row, last %s", strings.Replace(t.Tool, "advisor:", "advisor ", 1), last.Signal, times(int64(n)), ago(last.Time, p.now))
		}
	}
	for _, m := range p.Inbox[max(0, len(p.Inbox)-maxUnseen):] {
		p.row("unseen", "%s %s", m.Name, dataText(m.Data))
	}
}

// inARow is how often a tool has ended the same bad way, up to now.
func inARow(t *perdure.ToolRecord) (n int, last perdure.SignalRecord) {
	if len(t.Last) == 0 {
		return 0, last
	}
	last = t.Last[len(t.Last)-1]
	switch last.Signal {
	case perdure.OK, perdure.Partial, perdure.Denied, perdure.Incapable:
		return 0, last
	case perdure.Failed, perdure.TimedOut, perdure.Silent, perdure.Throttled:
	}
	for i := len(t.Last) - 1; i >= 0 && t.Last[i].Signal == last.Signal; i-- {
		n++
	}
	return n, last
}

// spentText is what was spent, of how much, and whether that is nearly all.
func (v *summary) spentText() string {
	if v.Left == nil {
		return spendText(v.Spent) + ", no limit"
	}
	var parts []string
	nearly := false
	amount := func(spent, reserved int64, left *int64, text func(int64) string, unit string) {
		switch {
		case left != nil:
			total := spent + reserved + *left
			one := text(spent) + " of " + text(total) + unit
			if reserved > 0 {
				one += " (" + text(reserved) + " held for what is under way)"
			}
			parts = append(parts, one)
			nearly = nearly || *left < (total+nearlyUsed-1)/nearlyUsed
		case spent > 0:
			parts = append(parts, text(spent)+unit)
		}
	}
	number := func(n int64) string { return fmt.Sprint(n) }
	amount(v.Spent.Cost, v.Reserved.Cost, v.Left.Cost, dollars, "")
	amount(v.Spent.Tokens, v.Reserved.Tokens, v.Left.Tokens, number, " tokens")
	amount(v.Spent.Calls, v.Reserved.Calls, v.Left.Calls, number, " calls")
	if nearly && v.Ended == nil {
		parts = append(parts, "nearly used up")
	}
	return strings.Join(parts, "; ")
}
