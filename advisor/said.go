package advisor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
)

// word is something a person said to an agent with a notice the runtime understands: why they paused it, what they found out.
type word struct {
	what string // approve, deny, pause, resume, grant, settle or edit
	by   string // as the event says; without it the key that signed
	note string
	of   perdure.Hash // the decision it answers, if it answers one
}

// wordOf is what a person said with an entry. A notice without a note says nothing that the state does not.
func wordOf(e *perdure.Entry) (word, bool) {
	ev, ok := e.Content().(perdure.Event)
	if !ok {
		return word{}, false
	}
	w := word{by: orWords(ev.By, e.Origin.Short())}
	switch n := ev.Notice.(type) {
	case perdure.Approval:
		w.what, w.note, w.of = "deny", n.Note, n.Decision
		if n.Approve {
			w.what = "approve"
		}
	case perdure.Pause:
		w.what, w.note = "pause", n.Note
	case perdure.Resume:
		w.what, w.note = "resume", n.Note
	case perdure.Grant:
		w.what, w.note = "grant", n.Note
	case perdure.Settle:
		w.what, w.note, w.of = "settle", n.Note, n.Decision
	case perdure.Edit:
		w.what, w.note = "edit", n.Mutate.Note
	default: // of the runtime, or the agent has ended and nobody thinks for it
	}
	return w, strings.TrimSpace(w.note) != ""
}

// deeds are the words for what a person did.
var deeds = map[string]string{
	"approve": "approved it", "pause": "paused the agent", "resume": "let the agent go on", "grant": "granted more budget",
	"settle": "found out what came of it", "edit": "changed the goal, the bounds or the state",
}

// text is what was said as a model reads it.
func (w *word) text(clip int) string {
	return "[a person, " + strconv.Quote(w.by) + ", " + deeds[w.what] + "] " + shorten(w.note, clip)
}

// unheard is what people said, oldest first, that no advice among the entries was given after: an advisor that was asked on one branch has not
// heard what was said on another. Of very much it is the last.
func unheard(entries []*perdure.Entry) []*perdure.Entry {
	byName := make(map[perdure.Hash]*perdure.Entry, len(entries))
	var ahead []perdure.Hash
	var said []*perdure.Entry
	for _, e := range entries {
		byName[e.Name] = e
		if a, ok := e.Content().(perdure.Advice); ok && a.Signal == 0 {
			ahead = append(ahead, e.Name)
		}
		if _, ok := wordOf(e); ok {
			said = append(said, e)
		}
	}
	if len(said) == 0 {
		return nil
	}
	for len(ahead) > 0 { // what is in the past of an advice is not looked at again
		e := byName[ahead[len(ahead)-1]]
		ahead = ahead[:len(ahead)-1]
		if e != nil {
			delete(byName, e.Name)
			ahead = append(ahead, e.Parents...)
		}
	}
	said = slices.DeleteFunc(said, func(e *perdure.Entry) bool { return byName[e.Name] == nil })
	return said[max(0, len(said)-maxSaid):]
}
