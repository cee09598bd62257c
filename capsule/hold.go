package capsule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// waits is what people are told of a hold.
const waits = "it does nothing here until somebody admits it"

// admit asks whether an agent may go on here, and writes the pause it is to wait under, or what admits it.
func (im *importing) admit(a *Arrival) (entries []*perdure.Entry, err error) {
	a.Verdict = perdure.Verdict{Answer: perdure.Ask, Reason: "it comes from elsewhere"}
	if im.agent == nil && (im.o.Admit != nil || im.o.Key != nil || im.o.Trust != nil) {
		if im.agent, err = Fold(im.last.head, im.entries()); err != nil {
			return nil, err
		}
	}
	derived := im.agent
	if im.o.Trust != nil { // what only a stranger's snapshot says is nothing to decide by
		if derived, err = im.o.Trust.Fold(im.entries()); err == nil {
			a.Stranger = im.o.Trust.Counts(derived)
		} else if a.Stranger = err; !errors.Is(err, perdure.ErrRejected) {
			return nil, err
		}
	}
	if im.o.Admit != nil && derived != nil {
		a.Verdict = im.o.Admit(derived)
	}
	unfit := derived == nil || im.o.Trust != nil && im.o.Trust.Admits(derived) != nil
	switch {
	case unfit && (im.o.Refuse || im.o.Ready):
		return nil, a.Stranger
	case a.Verdict.Answer == perdure.Deny:
		return nil, fmt.Errorf("%w: %s", ErrDenied, cmp.Or(a.Verdict.Reason, "policy says no"))
	case a.Stranger != nil && im.o.Refuse:
		return nil, a.Stranger
	case im.o.Key == nil:
		return nil, nil
	case im.agent.Fold().Ended != nil:
		a.Admitted = a.Stranger == nil
		return nil, nil // there is nothing to keep it from, and nothing to vouch for: it keeps its head
	case im.o.Ready || !unfit && a.Verdict.Answer == perdure.Allow:
		a.Admitted = true
		return im.welcome(derived, a.Stranger != nil)
	}
	why := waits
	if a.Verdict.Reason != "" {
		why += ": " + a.Verdict.Reason
	}
	if entries, err = im.o.Key.Hold(im.agent, im.o.Now, why); err == nil {
		a.Hold = entries[len(entries)-1].Name
	}
	return entries, err
}

// welcome is the entries of an agent that is admitted as it arrives: holds put elsewhere are none of this place's, and
// a stranger's agent is vouched for.
func (im *importing) welcome(a *perdure.Agent, stranger bool) ([]*perdure.Entry, error) {
	holds, err := standing(a, im.entries())
	if err != nil {
		return nil, err
	}
	entries, a, err := im.o.Key.LetGo(a, im.o.Now, holds...)
	if err != nil || !stranger {
		return entries, err
	}
	admission, err := im.o.Key.Admission(a, im.o.Now, "as it arrived")
	return append(entries, admission...), err
}

// checkEntering refuses entries that may not join the agent that is here. One that is held may get more of the same:
// nothing of it counts.
func (im *importing) checkEntering(id perdure.AgentID) error {
	if im.o.Trust == nil {
		return nil
	}
	here, err := im.o.Trust.Load(im.ctx, im.s, id)
	if errors.Is(err, perdure.ErrRejected) {
		return nil // it does not count, and will not
	}
	if err != nil {
		return err
	}
	known := map[short]struct{}{}
	for item, err := range im.s.Entries(im.ctx, id, 0) {
		if err != nil {
			return err
		}
		known[short(item.Name[:16])] = struct{}{}
	}
	has := func(h perdure.Hash) bool {
		_, ok := known[short(h[:16])]
		return ok
	}
	return im.o.Trust.Joins(here, perdure.Memory(im.ctx, im.s, id), im.entries(), has)
}

// holds are the holds among the entries that were asked about, by which those that only hold an arriving agent, or let
// it go, are told from what happened to it here.
type holds map[perdure.Hash]bool

// is reports whether an entry is nothing but a hold, or ends holds: a pause in nobody's name that says in its id what
// it is on. What it is called says nothing, unless it is of an earlier version: anybody may call a pause anything.
func (h holds) is(e *perdure.Entry) bool {
	event, _ := e.Content().(perdure.Event)
	switch n := event.Notice.(type) {
	case perdure.Admitted:
		return true
	case perdure.Pause:
		h[e.Name] = e.IsHold() || event.By == "" && event.ID == "" && event.Name == "arrived"
		return h[e.Name]
	case perdure.Resume:
		return event.LetsGo() ||
			len(n.Of) > 0 && !slices.ContainsFunc(n.Of, func(p perdure.Hash) bool { return !h[p] })
	}
	return e.Kind == perdure.KindSnapshot // which tells nothing new
}
