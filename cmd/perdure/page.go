package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// maxUnseen is how many unseen events a screen has room for, the latest.
const maxUnseen = 5

// page is a summary as rows for people.
type page struct {
	*view.Summary
	t   term.Table
	now time.Time
	s   term.Style

	brief bool // cut lines to fit
}

// write prints the summary for people.
func writeSummary(w io.Writer, v *view.Summary, now time.Time, brief bool) error {
	s := term.StyleOf(w)
	p := &page{Summary: v, now: now, s: s, t: term.Table{Fold: true, Tint: []func(string) string{s.Head}}, brief: brief}
	p.row("agent", "%s %s", v.Name, v.Agent)
	p.row("goal", "%s", v.Intent.Goal)
	p.bounds()
	p.t.Add("", "")
	p.t.Add("standing", s.State(v.Standing))
	if v.Older != nil {
		p.t.Add("older", s.Bad(here(v.Older.String())))
	}
	p.standing()
	p.persons()
	p.row("spent", "%s; %s", v.SpentText(), view.Several(v.Turns, "turn"))
	p.relatives()
	p.work()
	p.t.Add("", "")
	if v.Seat != "" {
		p.row("seat", "%s", v.Seat)
	}
	p.row("memory", "%s, made %s, last %s", view.Several(v.Entries, "entry"), view.Ago(v.Created, now), view.Ago(v.Updated, now))
	if v.Holds != perdure.Full {
		p.row("depth", "%s: this store has %s; import the whole memory to give it all its rights", v.Holds, v.Holds.Words())
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
	return p.t.Write(w)
}

// row adds a row. What it says is whole, unless the page is to be brief.
func (p *page) row(name, format string, args ...any) {
	width := 0
	if p.brief {
		width = view.LineWidth
	}
	p.t.Add(name, view.OneLine(fmt.Sprintf(format, args...), width))
}

// text adds rows for a text of several lines.
func (p *page) text(name, text string) {
	if p.brief {
		p.row(name, "%s", text)
		return
	}
	for line := range strings.Lines(text) {
		p.exact(name, strings.TrimRight(line, " \r\n"))
		name = ""
	}
}

// action is what an action would do, in a row.
func (p *page) action(a perdure.Action) string {
	if p.brief {
		return view.Cut(view.InLine(view.ActionText(a)), view.LineWidth/2)
	}
	return view.ActionText(a)
}

// exact adds a row as it stands, every space of it.
func (p *page) exact(name, text string) { p.t.Add(name, text) }

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
		p.row("inputs", "%s", view.DataText(in.Inputs))
	}
	var labels []string
	for k, val := range in.Labels {
		labels = append(labels, k+"="+val)
	}
	if slices.Sort(labels); len(labels) > 0 {
		p.row("labels", "%s", strings.Join(labels, " "))
	}
	if in.Deadline != 0 {
		p.row("deadline", "%s", view.Moment(in.Deadline, p.now))
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
		p.row("ended", "%s %s%s", e.Signal, view.Ago(e.Time, p.now), view.Noted(e.Note))
		if e.Result != nil {
			p.text("result", view.AnswerText(e.Result))
		}
		return
	}
	if p.Why != "" {
		p.row("why", "%s", p.WhyText(p.now))
	} else {
		p.row("next", "%s", p.Next)
	}
	p.polls()
	if p.Needs != "" {
		var not []string
		for _, c := range p.Cannot {
			not = append(not, "not "+view.NameOf(p.Names, c.Node)+view.Noted(c.Note))
		}
		p.row("node", "%s", strings.Join(append([]string{"any with " + p.Needs}, not...), "; "))
	}
	if p.Sleep != nil && !p.Person {
		if on := view.EventsOf(p.Sleep.Sleep.Trigger); len(on) > 0 {
			if event, ok := view.ShellWord(on[0]); ok {
				p.row("wakes", "%s", here("perdure send "+view.CommandName(p.Name, p.Agent)+" "+event))
			} else {
				p.row("wakes", "an event called %s", view.Quoted(on[0]))
			}
		}
	}
}

// polls prints what polling has found so far.
func (p *page) polls() {
	if p.Sleep == nil {
		return
	}
	if note := p.Sleep.Sleep.Note; note != "" && !slices.ContainsFunc(p.Waits, func(w view.Wait) bool { return w.Kind == view.WaitQuestion }) {
		p.row("note", "%s", note)
	}
	for _, one := range p.Sleep.Polls {
		p.row("polled", "%s, %s: %s", view.Ago(one.At, p.now), one.Signal, view.DataText(one.Result))
	}
}

// persons prints what waits for a person, and how to answer.
func (p *page) persons() {
	for i := range p.Waits {
		w := &p.Waits[i]
		what := w.Head()
		if p.brief && w.Action != nil {
			what = w.Asking() + view.Cut(view.InLine(view.ActionText(w.Action)), view.LineWidth/2)
		}
		if w.Kind != view.WaitPause && w.Kind != view.WaitBudget && w.Kind != view.WaitOther {
			p.row("asks", "%s, %s", what, view.Ago(w.Since, p.now))
		}
		if more := w.Circumstances(p.now); p.brief && more != "" {
			p.row("", "%s", more)
		}
		if !p.brief {
			p.sheet(w)
		}
		if w.Kind != view.WaitOther {
			p.row("answer", "%s", cmp.Or(w.Answer, w.Others))
		}
	}
}

// sheet prints, whole, what a person answers for.
func (p *page) sheet(w *view.Wait) {
	for _, r := range w.Sheet(p.now) {
		for i, text := range r.Text {
			if i > 0 {
				r.Label = ""
			}
			p.exact(r.Label, text)
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
		if i == view.MaxChildren {
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
		if p.Unsure && view.UnderWay(&o, p.now) {
			attempt += here("; under way, or in doubt if its node died: perdure settle")
		}
		p.row("open", "%s %s (%s) by %s, since %s, %s %s%s", o.Decision.Short(), p.action(o.Action), o.Effect, view.NameOf(p.Names, o.Origin),
			view.Ago(o.Since, p.now), word, view.Moment(o.Deadline, p.now), attempt)
	}
	for _, w := range p.Owed {
		p.row("owed", "%s, tried %s, last %s %s", p.action(w.Action), view.Times(w.Attempt), w.Signal, view.Ago(w.Since, p.now))
	}
	for _, t := range p.Tools {
		if n, last := inARow(&t); n > 1 {
			p.row("trouble", "%s: %s %s in a row, last %s", strings.Replace(t.Tool, "advisor:", "advisor ", 1), last.Signal, view.Times(int64(n)), view.Ago(last.Time, p.now))
		}
	}
	if more := len(p.Inbox) - maxUnseen; more > 0 {
		p.row("unseen", "%s before these", view.Several(int64(more), "event"))
	}
	for _, m := range p.Inbox[max(0, len(p.Inbox)-maxUnseen):] {
		p.row("unseen", "%s %s", m.Name, view.DataText(m.Data))
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
