package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
	"github.com/perdure/perdure/trace"
)

// changed are the fields a mutation names.
func changed(m *perdure.Mutate) []string {
	var names []string
	for _, x := range []struct {
		name  string
		given bool
	}{
		{"goal", m.Goal != nil}, {"kind", m.Kind != nil}, {"inputs", m.Inputs != nil}, {"labels", m.Labels != nil},
		{"scope", m.Scope != nil},
		{"budget", m.Budget != nil}, {"deadline", m.Deadline != 0}, {"tools", m.Tools != nil},
		{"depth", m.Depth != nil},
	} {
		if x.given {
			names = append(names, x.name)
		}
	}
	return names
}

// changedTo are the fields a mutation names, each with what it becomes.
func changedTo(m *perdure.Mutate) []string {
	texts := changed(m)
	for i, name := range texts {
		texts[i] += " to " + map[string]func() string{
			"goal":     func() string { return Quoted(*m.Goal) },
			"kind":     func() string { return Quoted(*m.Kind) },
			"inputs":   func() string { return DataText(m.Inputs) },
			"labels":   func() string { return Quoted(m.Labels) },
			"scope":    func() string { return *m.Scope },
			"budget":   func() string { return budgetText(m.Budget) },
			"deadline": m.Deadline.String,
			"tools":    func() string { return Quoted(m.Tools) },
			"depth":    func() string { return fmt.Sprint(*m.Depth) },
		}[name]()
	}
	return texts
}

// budgetText is a limit for people.
func budgetText(b *perdure.Budget) string {
	var parts []string
	if b.Cost != nil {
		parts = append(parts, dollars(*b.Cost))
	}
	if b.Tokens != nil {
		parts = append(parts, Several(*b.Tokens, "token"))
	}
	if b.Calls != nil {
		parts = append(parts, Several(*b.Calls, "call"))
	}
	if len(parts) == 0 {
		return "no limit"
	}
	return strings.Join(parts, " and ")
}

// editText says what an edit changed, and to what.
func editText(m *perdure.Mutate, set map[string]perdure.Data) string {
	texts := changedTo(m)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		texts = append(texts, "state "+name+" to "+DataText(set[name]))
	}
	return "changes " + strings.Join(texts, ", ") + Noted(m.Note)
}

// settleText says what somebody found out about an effect; act is that, if it is known.
func settleText(s *perdure.Settle, act perdure.Action) string {
	what := "settles " + s.Decision.Short() + " as " + s.Signal.String()
	if act != nil {
		what += ": " + ActionText(act)
	}
	if s.Result != nil {
		what += ", result " + DataText(s.Result)
	}
	return what + Noted(s.Note)
}

// doubtText says of which effect nobody can tell whether it happened, and why.
func doubtText(b *perdure.Event, act perdure.Action) string {
	note, _ := b.Data.Value().(map[string]any)
	tool, _ := note["tool"].(string)
	why, _ := note["why"].(string)
	what := cmp.Or(tool, "it")
	if act != nil {
		what = OneLine(ActionText(act), LineWidth)
	}
	return "in doubt whether this happened: " + what + Noted(strings.TrimSuffix(why, ": "+perdure.ErrInDoubt.Error()))
}

// microdollars are the units money is counted in.
const microdollars = 1_000_000

// dollars writes an amount for people.
func dollars(n int64) string {
	s := fmt.Sprintf("%d.%06d", n/microdollars, n%microdollars)
	return "$" + s[:len(s)-4] + strings.TrimRight(s[len(s)-4:], "0")
}

// Line is one entry as people read it.
type Line struct {
	Seq    int64          `json:"seq"`
	Entry  perdure.Hash   `json:"entry"`
	Time   perdure.Time   `json:"time"`
	Kind   perdure.Kind   `json:"kind"`
	Origin perdure.Key    `json:"origin"`
	What   string         `json:"what"`
	Tool   string         `json:"tool,omitempty"`
	Signal perdure.Signal `json:"signal,omitempty"`
	Parent []perdure.Hash `json:"parents,omitempty"`
	Body   perdure.Body   `json:"body,omitempty"`
	Trace  trace.ID       `json:"trace,omitzero"`

	By     string         `json:"-"` // who voted, as Call has it
	Act    perdure.Action `json:"-"` // what a decision or an outcome is about
	Much   int            `json:"-"` // how much of What is said
	Folded string         `json:"-"` // what stands for several entries, in the place of the kind
	Size   int64          `json:"-"` // bytes of the body
	Sent
}

// IsDocument reports whether the line is a version of a document.
func (l *Line) IsDocument() bool {
	ev, _ := l.Body.(perdure.Event)
	_, is := ev.Notice.(perdure.Document)
	return is
}

// Voices says who said what a key signed in an agent, as people here know them: see perdure.Trust.SaidBy. Nil takes
// everybody at their word.
type Voices func(k perdure.Key, ev *perdure.Event) (who string)

// VoicesIn are the voices in an agent for who trusts so.
func VoicesIn(f *perdure.Fold, t *perdure.Trust) Voices {
	return func(k perdure.Key, ev *perdure.Event) string {
		who, _ := t.SaidBy(f, k, ev)
		return who
	}
}

// VoicesOf are those in an agent for who trusts so at that time. The agent is loaded once, and only if somebody speaks
// who is not trusted to own everything; of one that cannot be loaded nobody knows whose it is.
func VoicesOf(load func() (*perdure.Agent, error), trust func() *perdure.Trust) Voices {
	about := sync.OnceValue(func() *perdure.Fold {
		a, err := load()
		if err != nil {
			return nil
		}
		f := a.Fold() // of which streams keep no more than who is who
		return &perdure.Fold{Charter: f.Charter, Begun: f.Begun, Former: f.Former, Revoked: f.Revoked}
	})
	return func(k perdure.Key, ev *perdure.Event) string {
		t, f := trust(), (*perdure.Fold)(nil)
		if !t.Allows(k, perdure.MayOwn, perdure.AnyScope) {
			f = about()
		}
		return VoicesIn(f, t)(k, ev)
	}
}

func (v Voices) by(k perdure.Key, ev *perdure.Event) string {
	if v == nil {
		return VoicesIn(nil, nil)(k, ev)
	}
	return v(k, ev)
}

// Call names whoever said something as people here know them, if the name written in it is only what its author calls
// themselves, and may be somebody else's. Without voices it does nothing.
func (l *Line) Call(voices Voices) {
	ev, ok := l.Body.(perdure.Event)
	if !ok || voices == nil {
		return
	}
	by := voices(l.Origin, &ev)
	_, vote := ev.Notice.(perdure.Approval)
	if !vote && (ev.By == "" || by == ev.By) {
		return
	}
	l.By, ev.By = by, by
	switch ev.Notice.(type) {
	case perdure.Doubt: // a node's own, which says not by whom
	case perdure.Settle:
		l.What = eventText(&ev, l.Act)
	default:
		l.What = EventText(&ev)
	}
}

// narrator turns entries into lines. It is shown every entry of a memory, parents first, since an outcome names only
// its decision, and a decision often only the advice it answers.
type narrator struct {
	proposed map[perdure.Hash][]perdure.Action
	recent   []perdure.Hash // the keys of proposed, oldest first
	decided  map[perdure.Hash]perdure.Action
	asked    []perdure.Hash // the keys of decided that nothing need come of, oldest first
}

// maxProposed is how many advices a narrator remembers: a decision answers a recent one, and a memory may be long.
const maxProposed = 256

func newNarrator() *narrator {
	return &narrator{proposed: map[perdure.Hash][]perdure.Action{}, decided: map[perdure.Hash]perdure.Action{}}
}

// narratorAfter is a narrator that goes on after a snapshot: it knows what was proposed and what was under way then.
func narratorAfter(snapshot *perdure.Entry) *narrator {
	n := newNarrator()
	s, _ := snapshot.Content().(perdure.Snapshot)
	for _, p := range s.Fold.Proposals {
		n.propose(p.Advice, p.Actions)
	}
	for _, o := range s.Fold.Open {
		n.decided[o.Decision] = o.Action
	}
	for _, q := range s.Fold.Asks {
		n.decided[q.Decision] = q.Action
	}
	return n
}

func (n *narrator) propose(advice perdure.Hash, actions []perdure.Action) {
	n.proposed[advice] = actions
	if n.recent = append(n.recent, advice); len(n.recent) > maxProposed {
		delete(n.proposed, n.recent[0])
		n.recent = n.recent[1:]
	}
}

// decide remembers what was decided while something can come of it: an outcome of what is performed, which takes it out
// again, or an answer to what is asked.
func (n *narrator) decide(decision perdure.Hash, d *perdure.Decision, act perdure.Action) {
	switch act.(type) {
	case perdure.Execute, perdure.Delegate:
		if d.Verdict.Answer == perdure.Allow {
			n.decided[decision] = act
			return
		}
	}
	if d.Verdict.Answer != perdure.Ask {
		return
	}
	n.decided[decision] = act
	if n.asked = append(n.asked, decision); len(n.asked) > maxProposed {
		delete(n.decided, n.asked[0])
		n.asked = n.asked[1:]
	}
}

// line is what an entry says.
func (n *narrator) line(e *perdure.Entry) Line {
	l := Line{Seq: e.Seq, Entry: e.Name, Time: e.Time, Kind: e.Kind, Origin: e.Origin, Trace: e.Trace,
		Parent: e.Parents, Body: e.Content(), Size: int64(e.Size)}
	switch b := e.Content().(type) {
	case nil:
		l.What = fmt.Sprintf("(its body of %d bytes was dropped)", e.Size)
	case perdure.Genesis:
		l.What = b.Intent.Goal
	case perdure.Advice:
		n.propose(e.Name, b.Actions)
		l.What, l.Signal = adviceText(&b), b.Signal
	case perdure.Decision:
		act := b.Action
		if from := n.proposed[b.Advice]; act == nil && b.Index < int64(len(from)) {
			act = from[b.Index]
		}
		n.decide(e.Name, &b, act)
		l.What, l.Tool, l.Act = decisionText(&b, act), toolName(act), act
	case perdure.Outcome:
		act := n.decided[b.Decision]
		delete(n.decided, b.Decision)
		l.What, l.Tool, l.Signal, l.Act = outcomeText(&b, act), toolName(act), b.Signal, act
	case perdure.Event:
		l.What = EventText(&b)
		switch s := b.Notice.(type) {
		case perdure.Settle:
			l.Act = n.decided[s.Decision]
			l.Signal, l.Tool = s.Signal, toolName(l.Act)
			l.What = eventText(&b, l.Act)
		case perdure.Approval:
			l.Act = n.decided[s.Decision]
		case perdure.Doubt:
			l.Act = n.decided[s.Decision]
			l.Tool = toolName(l.Act)
			l.What = fmt.Sprintf("%s; perdure settle %s %s --signal ok # or failed", eventText(&b, l.Act),
				e.ID().Short(), s.Decision.Short())
		}
	case perdure.Snapshot:
		l.What = "the fold of " + Several(b.Fold.Count, "entry")
	}
	return l
}

func toolName(a perdure.Action) string {
	x, _ := a.(perdure.Execute)
	return x.Tool
}

func adviceText(b *perdure.Advice) string {
	var parts []string
	for _, a := range b.Actions {
		parts = append(parts, ActionText(a))
	}
	what := "proposes " + strings.Join(parts, "; ")
	if len(parts) == 0 {
		what = "proposes nothing"
	}
	if b.Signal != 0 {
		what = "gives no advice"
	}
	if b.Text != "" {
		what += ": " + b.Text
	}
	if by := strings.TrimSpace(b.Advisor + " " + b.Model); by != "" {
		what = by + " " + what
	}
	return what
}

func decisionText(b *perdure.Decision, act perdure.Action) string {
	what := b.Verdict.Answer.String() + " " + ActionText(act)
	if b.Effect != 0 {
		what += " (" + b.Effect.String() + ")"
	}
	if len(b.Verdict.Rules) > 0 {
		what += " by " + strings.Join(b.Verdict.Rules, ", ")
	}
	if b.Verdict.Reason != "" {
		what += ": " + b.Verdict.Reason
	}
	return what
}

func outcomeText(b *perdure.Outcome, act perdure.Action) string {
	what := strings.TrimSpace(toolName(act))
	if what == "" {
		what = ActionText(act)
	}
	if took := b.Elapsed(); took >= time.Millisecond {
		what += " in " + took.Round(time.Millisecond).String()
	}
	if b.Reconciled {
		what += ", found out afterwards"
	}
	if b.Note != "" {
		what += ": " + b.Note
	} else if b.Result != nil {
		what += ": " + DataText(b.Result)
	}
	return what
}

// noticeWords are what notices are called: an event of such a name, or of one that is not a word, is quoted, so that it
// reads like nothing but the name of an event.
var noticeWords = []string{"pause", "resume", "cancel", "end", "approve", "approval", "deny", "settle", "grant", "edit",
	"admitted", "erased", "incapable", "in-doubt", "taken-back"}

func eventName(name string) string {
	other := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("._:/-", r)
	}
	if name == "" || strings.ContainsFunc(name, other) || slices.Contains(noticeWords, name) {
		return Quoted(name)
	}
	return name
}

// EventText is an event in a line.
func EventText(b *perdure.Event) string { return eventText(b, nil) }

// eventText is EventText of an event about an action, if that is known.
func eventText(b *perdure.Event, act perdure.Action) string {
	what, said := b.Name, "" // said follows who says it
	switch n := b.Notice.(type) {
	case nil:
		what = eventName(b.Name)
	case perdure.Approval:
		what = "approves " + n.Digest.Short()
		if !n.Approve {
			what = "refuses " + n.Digest.Short()
		}
		if n.Expires != 0 {
			what += " until " + n.Expires.Go().Local().Format("2006-01-02 15:04:05")
		}
		what += Noted(n.Note)
	case perdure.Settle:
		what = settleText(&n, act)
	case perdure.Grant:
		what = "grants " + spendText(n.Amount) + Noted(n.Note)
	case perdure.Pause:
		what, said = "paused", n.Note
	case perdure.Resume:
		if b.LetsGo() {
			return "goes on: it was held elsewhere"
		}
		what, said = "resumed", n.Note
	case perdure.Cancel:
		what, said = "ended", n.Note
	case perdure.ChildEnded:
		what = "child " + n.Child.Short() + " ended " + n.Signal.String() + Noted(n.Note)
	case perdure.Pruned:
		what = fmt.Sprintf("pruned %s, %s, by the %s", Several(n.Entries, "body"), Several(n.Bytes, "byte"), n.Rule)
	case perdure.Erased:
		what += Noted(n.Note)
	case perdure.Admitted:
		return "admitted" + Noted(n.Note)
	case perdure.Doubled:
		what = fmt.Sprintf("decisions %s and %s are of two copies: it may have happened twice", n.First.Short(),
			n.Second.Short())
	case perdure.SeatTaken:
		what = "the seat is in store " + n.At.Short() + Noted(n.Note)
	case perdure.SeatGiven:
		what = "hands over the seat" + Noted(n.Note)
	case perdure.Document:
		what = "document " + n.Path
		if n.Gone {
			what += " removed"
		} else if n.Title != "" {
			what += ": " + n.Title
		}
	case perdure.Enclosed:
		what = "enclosed the text of " + n.Kind + " " + n.Of.Short()
	case perdure.Lacks:
		what += " (" + n.Note + ")"
	case perdure.Joined:
		what = fmt.Sprintf("joins %d heads", n.Heads)
	case perdure.Escalated:
		what = fmt.Sprintf("escalated %s: nobody answered %s", Times(n.Stage), n.Decision.Short())
	case perdure.Edit:
		what = editText(&n.Mutate, b.Set)
	case perdure.Doubt:
		return doubtText(b, act)
	case perdure.KeyChange:
	}
	if b.By != "" {
		what += " by " + b.By
	}
	if said != "" {
		what += ": " + said
	}
	if text, plain := plainText(b.Data); plain {
		what += " " + Quoted(text)
	} else if b.Data != nil {
		what += " " + DataText(b.Data)
	}
	return what
}

func Noted(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// ActionText says what an action would do.
func ActionText(a perdure.Action) string {
	switch a := a.(type) {
	case perdure.Execute:
		if a.Args == nil {
			return a.Tool
		}
		return a.Tool + " " + DataText(a.Args)
	case perdure.Mutate:
		return strings.TrimSpace("mutate "+strings.Join(changedTo(&a), ", ")) + Noted(a.Note)
	case perdure.Delegate:
		return "delegate: " + a.Intent.Goal
	case perdure.Sleep:
		return "sleep " + triggerText(a.Trigger) + Noted(a.Note)
	case perdure.Wake:
		return "wake" + Noted(a.Note)
	case perdure.End:
		return "end " + a.Signal.String() + Noted(a.Note)
	}
	return "an action that is not known here"
}

// plainly are conditions that the runtime itself sets, in words.
var plainly = map[string]string{
	toldAnything: "it is told something",
	"(!has(left.cost) || left.cost > 0) && (!has(left.tokens) || left.tokens > 0)": "more is granted",
	"(!has(left.cost) || left.cost > 0) && (!has(left.tokens) || left.tokens > 0) && " +
		"(!has(left.calls) || left.calls > 0 || size(inbox) > 0)": "more is granted, or it is told something",
}

// conditionText is a condition for people: one that an advisor set as it stands, one of the runtime in words.
func conditionText(condition string) string { return cmp.Or(plainly[condition], condition) }

// triggerText says what wakes.
func triggerText(t perdure.Trigger) string {
	join := func(of []perdure.Trigger, word string) string {
		var parts []string
		for _, t := range of {
			parts = append(parts, triggerText(t))
		}
		return strings.Join(parts, word)
	}
	switch t := t.(type) {
	case perdure.At:
		return "until " + t.Time.String()
	case perdure.After:
		return "for " + (time.Duration(t.Millis) * time.Millisecond).String()
	case perdure.On:
		if t.Event == keeper.Never {
			return "for good"
		}
		if t.Filter != "" {
			return "until event " + t.Event + " where " + t.Filter
		}
		return "until event " + t.Event
	case perdure.Done:
		if !t.Child.IsZero() {
			return "until child " + t.Child.Short() + " has ended"
		}
		return "until decision " + t.Decision.Short() + " has its outcome"
	case perdure.Gather:
		return gatherText(t)
	case perdure.When:
		return "until " + conditionText(t.Condition)
	case perdure.Every:
		return "asking " + t.Poll.Tool + " every " + (time.Duration(t.Millis) * time.Millisecond).String() + " until " +
			t.Until
	case perdure.Any:
		return join(t.Of, " or ")
	case perdure.All:
		return join(t.Of, " and ")
	}
	return "until something not known here"
}

func DataText(d perdure.Data) string {
	if d == nil {
		return ""
	}
	return string(d.JSON())
}

// spendText is an amount for people.
func spendText(s perdure.Spend) string {
	var parts []string
	if s.Cost != 0 {
		parts = append(parts, dollars(s.Cost))
	}
	if s.Tokens != 0 {
		parts = append(parts, Several(s.Tokens, "token"))
	}
	if s.Calls != 0 {
		parts = append(parts, Several(s.Calls, "call"))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// gatherText says which children are waited for.
func gatherText(g perdure.Gather) string {
	of := "its children"
	if len(g.Of) > 0 {
		of = fmt.Sprintf("%d children", len(g.Of))
	}
	switch {
	case g.OK > 0:
		return fmt.Sprintf("until %d of %s have ended ok", g.OK, of)
	case g.Failed > 0:
		return fmt.Sprintf("until %d of %s have ended otherwise than ok", g.Failed, of)
	}
	return "until all of " + of + " have ended"
}

// Said is what the entry says, on one line: what it proposes or decides, or leaves in doubt, whole, to a bound; of
// anything else the beginning. What is left out is counted.
func (l Line) Said() string {
	switch {
	case l.matters() && l.Much == MuchWhole:
		return InLine(l.What)
	case l.matters() && l.Much != MuchBrief:
		return Cut(InLine(l.What), maxSaid)
	case l.Much == MuchWhole:
		return OneLine(l.What, 0)
	}
	return OneLine(l.What, LineWidth)
}

// matters reports whether all that the entry says is to be read.
func (l *Line) matters() bool {
	switch b := l.Body.(type) {
	case perdure.Advice, perdure.Decision:
		return true
	case perdure.Event:
		_, doubt := b.Notice.(perdure.Doubt)
		return doubt
	}
	return false
}

// How much of an entry is said.
const (
	muchUsual = iota
	MuchBrief
	MuchWhole
)

const (
	// LineWidth is how much of what an entry says fits a line.
	LineWidth = 160
	// maxSaid is how much of an action a log prints without being asked for all of it.
	maxSaid = 4096
)
