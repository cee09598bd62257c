package view

import (
	"fmt"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/trace"
)

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
		case perdure.Lacks:
			l.Signal = perdure.Incapable
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
