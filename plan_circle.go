package perdure

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/phase"
)

const (
	// maxCircle is how many entries in a row may come to nothing: fewer than an Agent holds, so that they can be looked
	// at.
	maxCircle = 48
	// maxCircleSays is how many different things such a row says at most. What says more goes on with something.
	maxCircleSays = 24
	// maxCircleTime is the time within which the row was written. What takes longer is bounded by its own waits: an
	// agent that tries again and again with growing pauses, or looks around now and then all day, does not go in
	// circles.
	maxCircleTime = 30 * time.Second
)

// circles says that an agent goes in circles; else it is nil. Its last entries are proposals, sleeps and wakes,
// refusals and failures that say the same over and over, by whichever nodes: no effect succeeded, and its advisor was
// shown nothing that somebody had told it, so nothing keeps it from going on so for ever. It bounds work without a new
// fact, whatever the work is. Any new fact lets it try again.
func (a *Agent) circles() *Reason {
	var row []*Entry
	var ends []Hash // of children
	for e := range a.Recent() {
		if b, is := e.content.(Event); is {
			if _, is := b.Notice.(ChildEnded); is {
				ends = append(ends, e.Name)
			}
		}
		if e.Kind == KindSnapshot || len(row) == maxCircle {
			continue
		}
		if e.fact() {
			return nil
		}
		row = append(row, e)
	}
	if len(row) < maxCircle || row[0].Time.Go().Sub(row[maxCircle-1].Time.Go()) >= maxCircleTime || hears(row, ends) {
		return nil
	}
	if !slices.ContainsFunc(row, func(e *Entry) bool { return e.Kind != KindEvent }) {
		return nil // others write documents into it, and it does nothing
	}
	said := map[string]bool{}
	for _, e := range row {
		if said[e.gist()] = true; len(said) > maxCircleSays {
			return nil
		}
	}
	return &Reason{Kind: phase.RestCircling, Attempt: maxCircle}
}

// hears reports whether the advisor has meanwhile been shown an event it had not seen. That its children end is no
// news by itself, nor is what it was shown twice.
func hears(row []*Entry, ends []Hash) bool {
	shown := map[Hash]int{}
	for _, e := range row {
		if b, is := e.content.(Advice); is && b.Signal == 0 {
			for _, h := range b.Seen {
				shown[h]++
			}
		}
	}
	for _, h := range ends {
		delete(shown, h)
	}
	for _, times := range shown {
		if times == 1 {
			return true
		}
	}
	return false
}

// fact reports whether an entry tells something by itself: an effect that succeeded, somebody's word, or the next step
// of a Go function, which says itself how often it tries.
func (e *Entry) fact() bool {
	switch b := e.content.(type) {
	case Advice:
		return b.Replays
	case Outcome:
		return b.Signal == OK || b.Signal == Partial
	case Event:
		switch b.Notice.(type) {
		case Escalated, Pruned, ChildEnded, Document:
			return false
		}
		return true
	case Genesis, nil:
		return true
	}
	return false
}

// gist is what an entry comes to, without what differs each time it is said: names, times and words.
func (e *Entry) gist() string {
	switch b := e.content.(type) {
	case Advice:
		text := "advice"
		for _, x := range b.Actions {
			text += " " + actionGist(x)
		}
		return text
	case Decision:
		return fmt.Sprint("decision ", b.Verdict.Answer, " ", b.Index, " ", actionGist(b.Action))
	case Outcome:
		if b.Signal == Denied {
			return "outcome denied" // the note of a question nobody answered has a time in it
		}
		return fmt.Sprint("outcome ", b.Signal, " ", b.Note)
	case Event:
		switch n := b.Notice.(type) {
		case ChildEnded:
			return fmt.Sprint("child ", n.Signal, " ", jsonGist(n.Result), " ", n.Note)
		case Document:
			return "document " + n.Path
		}
		return "event " + b.Name
	}
	return e.Kind.String()
}

func actionGist(x Action) string {
	switch x := x.(type) {
	case Sleep:
		return "sleep"
	case Wake:
		return "wake"
	case Execute:
		x.Call = ""
		return jsonGist(x)
	case Delegate:
		x.Call = ""
		return jsonGist(x)
	case Mutate:
		x.Note = ""
		return jsonGist(x)
	case End:
		return "end"
	}
	return ""
}

func jsonGist(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T", v) + string(b)
}
