package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
	"github.com/perdure/perdure/phase"
)

// Why says in words why an agent rests, with times as programs write them.
func Why(i perdure.Idle) string {
	return (&speech{moment: perdure.Time.String}).all(i.Reasons)
}

// WhyNow says it as people read it at a time: times are told with how far off they are. Timed says whether one was.
func WhyNow(i perdure.Idle, now time.Time) (text string, timed bool) {
	s := &speech{}
	s.moment = func(t perdure.Time) string {
		s.timed = true
		return Moment(t, now)
	}
	return s.all(i.Reasons), s.timed
}

// speech puts reasons into words.
type speech struct {
	moment func(perdure.Time) string
	timed  bool // a time was told
}

// maxWhy is how many letters of reasons are enough.
const maxWhy = 1 << 10

func (s *speech) all(of []perdure.Reason) string {
	var text string
	for i := range of {
		if len(text) >= maxWhy {
			break
		}
		if text != "" {
			text += "; "
		}
		text += s.reason(&of[i])
	}
	return text
}

// fixed are the reasons of which there is nothing more to say.
var fixed = map[phase.Rest]string{
	phase.RestEnded:     "it has ended",
	phase.RestBasis:     "what it rests on is looked at again first",
	phase.RestSilent:    "the advisor proposed nothing: waiting for an event",
	phase.RestRefused:   "asleep: a person did not let it wake; it waits for an event",
	phase.RestStopping:  "this node is stopping",
	phase.RestTurn:      "others have their turn",
	phase.RestPaused:    "paused",
	phase.RestContested: "its ownership is contested: end it, or fork it from before",
	phase.RestGiven:     "handed over: it goes on where it is taken in next",
	phase.RestDisputed:  "two copies claim its seat: look at both, then take the seat for the one that is to go on",
	phase.RestElsewhere: "this is a copy: what must happen only once is decided where its seat is; hand the seat " +
		"over from there, " +
		"or take it if that is lost, or if the copies cannot be merged any more because one of them has collected " +
		"its past (gc): " +
		"then take it for the one that goes on, and end the other",
}

func (s *speech) reason(r *perdure.Reason) string {
	if text, ok := fixed[r.Kind]; ok {
		return text
	}
	switch r.Kind {
	case phase.RestAsleep:
		return "asleep " + s.pending(r.Trigger)
	case phase.RestUnderWay:
		return fmt.Sprintf("%s is under way until %s", toolWord(r.Tool), s.moment(r.Until))
	case phase.RestRetry, phase.RestBackoff:
		return fmt.Sprintf("trying again at %s, %s: %s", s.moment(r.Until), attempt(r), tried(r))
	case phase.RestLacks:
		text := "needs a node with " + needWord(r.Needs)
		switch _, advisor := phase.AdvisorIn(r.Needs); {
		case advisor && r.Note != "":
			return toolWord(r.Needs) + " cannot be asked here: " + r.Note
		case r.Needs == phase.Advisor(""):
			text = "no advisor configured"
		case r.Note != "":
			text += " (this one: " + r.Note + ")"
		}
		return text
	case phase.RestPolicy:
		return "asleep: its wait is over, and policy does not let it wake" + after(r.Note)
	case phase.RestHeld:
		return "held: " + HeldText(r.Fault)
	case phase.RestOlder:
		if r.Given {
			return "this copy is older than one seen here: " + SinceGiven + ", and goes on elsewhere"
		}
		return "this copy is older than one seen here: it lacks entry " + r.Entry.Short() +
			"; what was done since would be done again"
	case phase.RestBlind:
		return "what must happen only once waits: how far agents have come cannot be noted, so that nobody would " +
			"notice an older copy of this one: " + r.Note
	case phase.RestShallow:
		return fmt.Sprintf("%s is an effect of class %s, and this store holds %s: import the whole memory", r.Tool,
			r.Effect, held(r.Depth))
	case phase.RestDoubt:
		return fmt.Sprintf("in doubt: it is not known whether %s happened; settle decision %s", toolWord(r.Tool),
			r.Decision.Short())
	case phase.RestApproval:
		text := "approval " + r.Digest.Short() + " is needed"
		if whom := cmp.Or(r.Note, strings.Join(r.Asked, ", ")); whom != "" {
			text += " from " + whom
		}
		return text
	case phase.RestBudget:
		return r.Note
	case phase.RestDenied:
		return fmt.Sprintf("its last %d proposals were refused: tell it something, let it do what it asks, or end it",
			r.Attempt)
	case phase.RestSpinning:
		return fmt.Sprintf("stopped after writing the same %s %d times: %s; send it something to make it try again, "+
			"or end it", r.What, r.Attempt, r.Note)
	case phase.RestCircling:
		return fmt.Sprintf("stopped: its last %d entries repeat themselves without any result; "+
			"send it something to make it try again, or end it", r.Attempt)
	}
	return "it rests, and this version cannot say why (" + string(r.Kind) + ")"
}

// attempt counts the attempt that comes next.
func attempt(r *perdure.Reason) string {
	text := fmt.Sprintf("attempt %d", r.Attempt+1)
	if r.Kind == phase.RestRetry {
		text += fmt.Sprintf(" of %d", r.Of)
	}
	return text
}

// tried says how trying went that is to be tried again.
func tried(r *perdure.Reason) string {
	how := ""
	switch r.Signal {
	case perdure.Throttled:
		how = " is limiting its rate"
	case perdure.TimedOut:
		how = " gave no answer in time"
	case perdure.Silent:
		how = " gave no answer"
	case perdure.Failed:
		how = " failed"
	case perdure.OK, perdure.Partial, perdure.Incapable, perdure.Denied:
	}
	return toolWord(r.Tool) + how
}

// pending says what of a trigger is waited for.
func (s *speech) pending(p *perdure.Pending) string {
	if p == nil {
		return ""
	}
	switch t := p.Trigger.(type) {
	case perdure.At, perdure.After:
		return "until " + s.moment(p.Until)
	case perdure.On:
		if t.Event == keeper.Never {
			return "for good"
		}
		if t.Filter != "" {
			return "for event " + t.Event + " where " + t.Filter
		}
		return "for event " + t.Event
	case perdure.Done:
		if !t.Child.IsZero() {
			return "for child " + t.Child.Short()
		}
		return "for the outcome of decision " + t.Decision.Short()
	case perdure.Gather:
		return fmt.Sprintf("for its children: %d live, %d ended ok, %d otherwise", p.Live, p.OK, p.Failed)
	case perdure.When:
		if p.Fault != "" {
			return "until " + p.Open + ", which cannot be evaluated: " + p.Fault
		}
		return "until " + conditionText(p.Open)
	case perdure.Every:
		if p.Poor {
			return "for a grant: the budget has no call left to ask " + t.Poll.Tool
		}
		every := time.Duration(t.Millis) * time.Millisecond
		return fmt.Sprintf("until %s says %s, asked every %s", t.Poll.Tool, t.Until, every)
	case perdure.Any, perdure.All, nil:
	}
	if len(p.Of) == 0 {
		return "for a trigger this version does not know"
	}
	var parts []string
	for i := range p.Of {
		parts = append(parts, s.pending(&p.Of[i]))
	}
	if p.All {
		return strings.Join(parts, ", and ")
	}
	return strings.Join(parts, ", or ")
}

// toolWord is a tool or an advisor as a sentence names it.
func toolWord(name string) string {
	advisor, is := phase.AdvisorIn(name)
	switch {
	case !is:
		return name
	case advisor == "":
		return "its advisor"
	}
	return "advisor " + advisor
}

// needWord is what a node must have, as a sentence names it.
func needWord(what string) string {
	_, advisor := phase.AdvisorIn(what)
	if _, scope := phase.ScopeIn(what); advisor || scope {
		return Capability(what)
	}
	return what
}

// held is what a store holds at a depth.
func held(d *perdure.Depth) string {
	switch {
	case d == nil || *d == perdure.Full:
		return "all of its memory"
	case *d == perdure.Headers:
		return "only the headers of its past"
	}
	return "only the end of its memory"
}

// after is a reason put at the end of a sentence.
func after(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
