package view

import (
	"cmp"
	"context"
	"strings"

	"github.com/perdure/perdure"
)

// The types of what is said and done in a conversation.
const (
	SpokenPerson = "person" // somebody said it to the agent
	SpokenAnswer = "answer" // the agent says it, and waits for what it is told
	SpokenText   = "text"   // the agent says it on the way
	SpokenCall   = "call"   // it calls a tool, or does something else that takes time
	SpokenResult = "result" // what came of a call
	SpokenDenied = "denied" // policy denied what it wanted
	SpokenAsked  = "asked"  // policy asks a person about what it wants
	SpokenEvent  = "event"  // it was told something else
	SpokenError  = "error"  // its advisor did not answer
	SpokenEnded  = "ended"  // it has ended
)

// Spoken is a piece of a conversation with an agent: what was said, and what was done in between.
type Spoken struct {
	Type   string         `json:"type"`
	Seq    int64          `json:"seq"`
	Entry  perdure.Hash   `json:"entry"`
	Time   perdure.Time   `json:"time"`
	By     string         `json:"by,omitempty"` // who told it
	Text   string         `json:"text,omitempty"`
	Tool   string         `json:"tool,omitempty"`
	Args   perdure.Data   `json:"args,omitempty"`
	Result perdure.Data   `json:"result,omitempty"`
	Signal perdure.Signal `json:"signal,omitempty"`
}

// Spoken is what an entry adds to the conversation with its agent; of most entries of the runtime that is nothing.
func (l *Line) Spoken() []Spoken {
	var all []Spoken
	add := func(s Spoken) {
		s.Seq, s.Entry, s.Time = l.Seq, l.Entry, l.Time
		all = append(all, s)
	}
	switch b := l.Body.(type) {
	case perdure.Event:
		if s, ok := l.told(&b); ok {
			add(s)
		}
	case perdure.Advice:
		for _, s := range advised(&b) {
			add(s)
		}
	case perdure.Decision:
		if s, ok := l.decided(&b); ok {
			add(s)
		}
	case perdure.Outcome:
		if x, ok := l.Act.(perdure.Execute); ok && !ofRuntime(&x) {
			add(Spoken{Type: SpokenResult, Tool: x.Tool, Signal: b.Signal, Text: b.Note, Result: b.Result})
		} else if b.Signal != perdure.OK {
			add(Spoken{Type: SpokenResult, Text: strings.TrimSpace(ActionText(l.Act) + " " + b.Note), Signal: b.Signal})
		}
	case perdure.Genesis, perdure.Snapshot, nil:
	}
	return all
}

// told is what the agent was told.
func (l *Line) told(ev *perdure.Event) (Spoken, bool) {
	by := cmp.Or(l.By, ev.By, l.Origin.Short())
	if text, ok := ev.Said(); ok {
		return Spoken{Type: SpokenPerson, By: by, Text: text}, true
	}
	switch ev.Notice.(type) {
	case nil, perdure.ChildEnded, perdure.Approval, perdure.Pause, perdure.Resume, perdure.Grant, perdure.Edit,
		perdure.Settle:
		if l.By != "" {
			return Spoken{Type: SpokenEvent, By: by, Text: l.What}, true
		}
		return Spoken{Type: SpokenEvent, By: by, Text: EventText(ev)}, true
	case perdure.Cancel:
		return Spoken{Type: SpokenEnded, By: by, Text: EventText(ev)}, true
	default:
		return Spoken{}, false
	}
}

// cameToNothing is what people are told of an answer that was there, and of no use.
const cameToNothing = "it was empty, or cut off, or called what is not there; it is asked again"

// advised is what the advisor said.
func advised(a *perdure.Advice) (all []Spoken) {
	if a.Signal != 0 && a.Signal != perdure.Partial {
		return []Spoken{{Type: SpokenError, Signal: a.Signal, Text: a.Text}}
	}
	if strings.TrimSpace(a.Text) != "" {
		all = append(all, Spoken{Type: SpokenText, Text: a.Text})
	}
	if a.Signal != 0 {
		return append(all, Spoken{Type: SpokenError, Signal: a.Signal, Text: cameToNothing})
	}
	for _, act := range a.Actions {
		switch x := act.(type) {
		case perdure.Sleep:
			if x.Asks() && x.Note != "" {
				all = append(all, Spoken{Type: SpokenAnswer, Text: x.Note})
			}
		case perdure.End:
			if text := x.Result.Text(); text != "" {
				all = append(all, Spoken{Type: SpokenAnswer, Text: text})
			}
		case perdure.Execute, perdure.Mutate, perdure.Delegate, perdure.Wake:
		}
	}
	return all
}

// decided is what was decided about what the advisor wants.
func (l *Line) decided(d *perdure.Decision) (Spoken, bool) {
	switch d.Verdict.Answer {
	case perdure.Deny:
		why := cmp.Or(d.Verdict.Reason, strings.Join(d.Verdict.Rules, ", "), "no rule allows it")
		return Spoken{Type: SpokenDenied, Tool: l.Tool, Text: ActionText(l.Act) + ": " + why}, true
	case perdure.Ask:
		return Spoken{Type: SpokenAsked, Tool: l.Tool, Text: ActionText(l.Act)}, true
	case perdure.Allow:
	}
	switch x := l.Act.(type) {
	case perdure.Execute:
		return Spoken{Type: SpokenCall, Tool: x.Tool, Args: x.Args}, !ofRuntime(&x)
	case perdure.Sleep:
		return Spoken{Type: SpokenCall, Text: ActionText(x)}, !x.Asks()
	case perdure.Delegate, perdure.Mutate:
		return Spoken{Type: SpokenCall, Text: ActionText(x)}, true
	case perdure.End:
		return Spoken{Type: SpokenEnded, Signal: x.Signal, Text: x.Note}, true
	case perdure.Wake, nil:
	}
	return Spoken{}, false
}

// ofRuntime reports whether the runtime makes a call by itself: to poll, or to look again at what something rests on.
func ofRuntime(x *perdure.Execute) bool {
	by, _, _ := strings.Cut(x.Call, "/")
	return by != x.Call && (by == "poll" || by == "recheck" || by == "basis")
}

// spokenLines is how many entries are looked through for what was said in a conversation.
const spokenLines = 200

// FollowTalk is a follower that stands at the end of a memory, and what was said before it, as far as its last entries
// go back.
func FollowTalk(ctx context.Context, s perdure.Store, id perdure.AgentID, voices Voices) (
	*Follower, []Spoken, error) {
	w, lines, err := FollowRecent(ctx, s, id, spokenLines, Fitting(func(l Line) bool { return len(l.Spoken()) > 0 }))
	if err != nil {
		return nil, nil, err
	}
	var all []Spoken
	for i := range lines {
		lines[i].Call(voices)
		all = append(all, lines[i].Spoken()...)
	}
	return w, all, nil
}

// LastTurns is what was said in the last turns: from so many words of people on.
func LastTurns(all []Spoken, turns int) []Spoken {
	from := len(all)
	for ; from > 0 && turns > 0; from-- {
		if all[from-1].Type == SpokenPerson {
			turns--
		}
	}
	return all[from:]
}
