package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
)

const (
	// maxUnseen is how many unseen events a screen has room for, the latest.
	maxUnseen = 5
	// maxListed is how many heads, and how many divergences, a screen has room for.
	maxListed = 12
	// ScreenText is how much of what somebody sent a screen has room for; the rest is counted. perdure log --whole and
	// --json cut nothing.
	ScreenText = 1000
)

// PageRow is one line of what people read of an agent. Some end with what to type.
type PageRow struct {
	Label string // empty: it goes on from the row before
	Text  string
	Do    string // a command, or advice with commands in it; printed after the text
}

// page makes the rows of a summary.
type page struct {
	*Summary
	rows  []PageRow
	now   time.Time
	brief bool // cut lines to fit
}

// Page is the summary as rows for people, as of now. Brief rows are cut to fit a line. A row without a label and a text
// stands between two parts.
func (v *Summary) Page(now time.Time, brief bool) []PageRow {
	p := &page{Summary: v, now: now, brief: brief}
	p.row("agent", "%s %s", v.Name, v.Agent)
	p.row("goal", "%s", v.Intent.Goal)
	p.bounds()
	p.exact("", "")
	p.exact("standing", string(v.Standing))
	switch {
	case v.Older != nil && v.Ended != nil:
		p.do("older", "", v.Older.String())
	case v.Older != nil: // its answer follows
		p.row("older", "%s", v.Older.What())
	}
	p.standing()
	p.persons()
	p.row("spent", "%s; %s", v.SpentText(), Several(v.Turns, "turn"))
	p.relatives()
	p.work()
	p.exact("", "")
	if v.Seat != "" {
		p.row("seat", "%s", v.Seat)
	}
	p.row("memory", "%s, made %s, last %s", Several(v.Entries, "entry"), Ago(v.Created, now), Ago(v.Updated, now))
	if v.Holds != perdure.Full {
		p.row("depth", "%s: this store has %s; import the whole memory to give it all its rights", v.Holds,
			v.Holds.Words())
	}
	if !v.Trace.IsZero() {
		p.row("trace", "%s", v.Trace)
	}
	if u := v.Unfit; u != nil {
		p.row("state", "does not fit its schema, so that no more of it is set: %s", u.Why)
		if do := u.mend(CommandName(v.Name, v.Agent)); do != "" {
			p.do("mend", "", do)
		}
	}
	if v.Survives != "" {
		p.row("durable", "what is written survives %s", v.Survives)
	}
	for _, h := range v.Heads[:min(len(v.Heads), maxListed)] {
		p.row("head", "%s", h)
	}
	for _, d := range v.Diverged[:min(len(v.Diverged), maxListed)] {
		p.row("diverged", "%s", d)
	}
	if len(v.Heads) > maxListed || len(v.Diverged) > maxListed {
		p.row("", "of %s and %s only the first %d are shown; perdure show --json has all",
			Several(int64(len(v.Heads)), "head"), Several(int64(len(v.Diverged)), "divergence"), maxListed)
	}
	if len(v.Diverged) > 0 {
		now := "it goes on by itself"
		if v.Ended != nil {
			now = "it has ended, perdure log shows what was done beside that"
		}
		p.row("", "copies of it went on apart and were merged: %s, and what needs a person is in perdure inbox", now)
	}
	return p.rows
}

// row adds a row. What it says is whole, unless the page is to be brief.
func (p *page) row(name, format string, args ...any) {
	width := 0
	if p.brief {
		width = LineWidth
	}
	p.exact(name, OneLine(fmt.Sprintf(format, args...), width))
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
		return Cut(InLine(ActionText(a)), LineWidth/2)
	}
	return ActionText(a)
}

// exact adds a row as it stands, every space of it.
func (p *page) exact(name, text string) { p.do(name, text, "") }

// do adds a row that ends with what to type.
func (p *page) do(name, text, do string) { p.rows = append(p.rows, PageRow{name, text, do}) }

// bounds prints what the agent may do.
func (p *page) bounds() {
	in := &p.Intent
	claims := ""
	if p.Stranger {
		claims = ", by its own account: it does not count here"
	}
	p.row("scope", "%s, owned by %s%s", p.Charter.Scope, p.Owner, claims)
	if len(p.Charter.Approvers) > 0 {
		var names []string
		for _, k := range p.Charter.Approvers {
			names = append(names, nameOf(p.Names, k))
		}
		p.row("approvers", "%s, in the owner's place", strings.Join(names, ", "))
	}
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
		p.row("inputs", "%s", DataText(in.Inputs))
	}
	var labels []string
	for k, val := range in.Labels {
		labels = append(labels, k+"="+val)
	}
	if slices.Sort(labels); len(labels) > 0 {
		p.row("labels", "%s", strings.Join(labels, " "))
	}
	if in.Deadline != 0 {
		p.row("deadline", "%s", Moment(in.Deadline, p.now))
	}
	if l := p.Lineage; l != nil {
		switch {
		case l.Relation != perdure.Fork:
			p.row("lineage", "child of %s at %s", l.Parent.Short(), l.Cause.Short())
		case l.Rehearse:
			p.row("lineage", "forked from %s at %s to rehearse: effects come from its record, or are refused",
				l.Parent.Short(), l.Cause.Short())
		default:
			p.row("lineage", "forked from %s at %s, live", l.Parent.Short(), l.Cause.Short())
		}
	}
}

// standing prints what the agent does, or why it does nothing and what changes that.
func (p *page) standing() {
	if e := p.Ended; e != nil {
		how := e.Signal.String()
		if p.EndedBy != "" {
			how = "by " + InLine(p.EndedBy)
		}
		p.row("ended", "%s %s%s", how, Ago(e.Time, p.now), Noted(e.Note))
		if e.Result != nil {
			p.text("result", AnswerText(e.Result))
		}
		return
	}
	held := func(w Wait) bool { return w.Kind == WaitHeld }
	switch {
	case p.Older != nil || slices.ContainsFunc(p.Waits, held): // that is why
	case p.Why != "":
		if p.row("why", "%s", p.WhyText(p.now)); p.Stranger { // it ends with what to type
			last := &p.rows[len(p.rows)-1]
			last.Text, last.Do = "", last.Text
		}
	default:
		p.row("next", "%s", p.Next)
	}
	p.polls()
	if p.Needs != "" {
		var not []string
		for _, c := range p.Cannot {
			not = append(not, "not "+nameOf(p.Names, c.Node)+Noted(c.Note))
		}
		p.row("node", "%s", strings.Join(append([]string{"any with " + p.Needs}, not...), "; "))
	}
	if p.Sleep != nil && !p.Person && !keeper.Is(p.Intent.Kind) {
		if on := EventsOf(p.Sleep.Sleep.Trigger); len(on) > 0 {
			if event, ok := shellWord(on[0]); ok {
				p.do("wakes", "", "perdure send "+CommandName(p.Name, p.Agent)+" "+event)
			} else {
				p.row("wakes", "an event called %s", Quoted(on[0]))
			}
		}
	}
}

// polls prints what polling has found so far.
func (p *page) polls() {
	if p.Sleep == nil {
		return
	}
	asks := func(w Wait) bool { return w.Kind == WaitQuestion || w.Kind == WaitTalk }
	note := p.Sleep.Sleep.Note
	if note != "" && note != p.WhyText(p.now) && !slices.ContainsFunc(p.Waits, asks) {
		p.row("note", "%s", note)
	}
	for _, one := range p.Sleep.Polls {
		p.row("polled", "%s, %s: %s", Ago(one.At, p.now), one.Signal, DataText(one.Result))
	}
}

// persons prints what waits for a person, and how to answer.
func (p *page) persons() {
	for i := range p.Waits {
		w := &p.Waits[i]
		what := w.Head()
		if p.brief && w.Action != nil {
			what = w.Asking() + Cut(InLine(ActionText(w.shown())), LineWidth/2)
		}
		if w.Kind != WaitPause && w.Kind != WaitBudget && w.Kind != WaitOlder && w.Kind != WaitOther {
			p.row("asks", "%s, %s", what, Ago(w.Since, p.now))
		}
		if more := w.Circumstances(p.now); p.brief && more != "" {
			p.row("", "%s", more)
		}
		if !p.brief {
			p.sheet(w)
		}
		switch {
		case w.Kind == WaitOther:
		case w.Answer == "":
			p.row("answer", "%s", w.Others)
		default:
			p.do("answer", "", w.Answer)
			if w.Others != "" {
				p.row("", "%s", w.Others)
			}
		}
	}
}

// sheet prints, whole, what a person answers for.
func (p *page) sheet(w *Wait) {
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
		if i == MaxChildren {
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
		p.row("open", "%s %s (%s) by %s, since %s, %s %s%s", o.Decision.Short(), p.action(o.Action), o.Effect,
			nameOf(p.Names, o.Origin),
			Ago(o.Since, p.now), word, Moment(o.Deadline, p.now), attempt)
		if p.Unsure && underWay(&o, p.now) {
			p.rows[len(p.rows)-1].Do = "; under way, or in doubt if its node died: perdure settle"
		}
	}
	for _, w := range p.Owed {
		p.row("owed", "%s, tried %s, last %s %s", p.action(w.Action), Times(w.Attempt), w.Signal, Ago(w.Since, p.now))
	}
	for _, t := range p.Tools {
		if n, last := inARow(&t); n > 1 {
			p.row("trouble", "%s: %s %s in a row, last %s", toolWord(t.Tool),
				last.Signal, Times(int64(n)), Ago(last.Time, p.now))
		}
	}
	if more := len(p.Inbox) - maxUnseen; more > 0 {
		p.row("unseen", "%s before these", Several(int64(more), "event"))
	}
	last, times := "", int64(0)
	for _, m := range p.Inbox[max(0, len(p.Inbox)-maxUnseen):] {
		text := OneLine(m.Name+" "+DataText(m.Data), ScreenText)
		if times++; text == last {
			p.rows = p.rows[:len(p.rows)-1]
			p.row("unseen", "%s, %s", text, Times(times))
			continue
		}
		last, times = text, 1
		p.row("unseen", "%s", text)
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
