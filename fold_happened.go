package perdure

import (
	"bytes"
	"slices"
)

// Of an effect that must happen once, that it happened outweighs whatever else is said of it: that it failed, as
// somebody settled it in a copy, or that a person refused it there. The fold takes the first word it comes to, and two
// copies together may have the wrong one first. So what is on record as not done is remembered with the fold in memory,
// as acts are, and whoever finds that it was done says so once, to the advisor, which may have been told otherwise.

// unmade is a once effect that was not done, as far as is on record.
type unmade struct {
	decision Hash
	what     Hash // see act
	tool     string
	as       Signal   // what is on record
	since    Position // of the last act decided before that was known
}

// happened is one that was done after all, and of which nobody has told the advisor.
type happened struct {
	decision Hash
	tool     string
	as       Signal
}

// made is a once effect that was done.
type made struct {
	at       Position // of the word that says so
	decision Hash
	what     Hash // see act
}

// mislead notes that an entry has it that an effect was not done, though another branch knows better. What is decided
// on top of it, without having seen that word, may be the same done again: see acted.
func (f *Fold) mislead(e *Entry, decision Hash) {
	i := find(f, f.made, func(m *made) bool { return m.decision == decision })
	if i < 0 || len(f.Heads) == 1 { // its author had seen everything
		return
	}
	m := f.made[i]
	if !slices.ContainsFunc(f.acts, func(a act) bool { return a.at == m.at }) {
		f.remember(act{at: m.at, what: m.what, of: decision})
	}
	h := f.head(e.Name) // of e, made by this step
	h.missed = append(slices.Clip(h.missed), m.at.Name)
}

// happenedStep says that an effect happened that is on record as not done, and that the advisor is to be told.
type happenedStep struct{ happened }

// unmake remembers that a once effect was not done, as far as is on record.
func (f *Fold) unmake(decision Hash, x *Execute, as Signal) {
	u := unmade{decision: decision, what: callKey(x), tool: x.Tool, as: as}
	for _, a := range slices.Backward(f.acts) {
		if a.of.IsZero() {
			u.since = a.at
			break
		}
	}
	f.unmade = extended(f, f.unmade, u, maxActs, &f.rooms.unmade)
}

// happens notes that an effect happened, if it is on record as not done. What was decided on that record is the same
// done twice, for all anybody knows: a person is asked about the two.
func (f *Fold) happens(e *Entry, decision Hash) {
	i := find(f, f.unmade, func(u *unmade) bool { return u.decision == decision })
	if i < 0 {
		return
	}
	u := f.unmade[i]
	f.unmade = slices.Delete(slices.Clone(f.unmade), i, i+1)
	f.rooms.unmade = roomBehind(f.unmade)
	f.happened = pushed(f.happened, happened{decision, u.tool, u.as}, maxDoubled)
	f.work += int64(len(f.acts))
	for _, a := range f.acts {
		d := Doubled{First: decision, Second: a.at.Name, Time: e.Time}
		known := func(o Doubled) bool { return o.Second == d.Second || o.First == d.Second }
		if a.what == u.what && a.decision() != decision && a.of.IsZero() && a.at.Compare(u.since) > 0 &&
			!slices.ContainsFunc(f.Doubled, known) && !slices.ContainsFunc(f.doubled, known) {
			f.double(d)
		}
	}
}

// happenedName is the name of an event that says that an effect happened, and what its id begins with; its decision
// follows.
const (
	happenedName = "happened"
	happenedID   = "happened/"
)

// Happened is the decision whose effect happened although it was on record as not done, if that is what an event says,
// in exactly the words of a node. Anybody may write these: what they say follows from other entries, or is not so.
func (ev *Event) Happened() (decision Hash, ok bool) {
	said, _ := ev.Data.Value().(map[string]any)
	text := func(name string) string {
		s, _ := said[name].(string)
		return s
	}
	decision, err := ParseHash(text("decision"))
	h := happened{decision: decision, tool: text("tool")}
	if err != nil || h.as.UnmarshalText([]byte(text("recorded"))) != nil || !h.said(ev) {
		return Hash{}, false
	}
	return decision, true
}

// event is what the advisor is told. That two copies tell it is told once, by its id.
func (h *happened) event() Event {
	ev := Event{Name: happenedName, By: runtimeName, ID: happenedID + h.decision.String()}
	ev.Data, _ = DataOf(map[string]any{"decision": h.decision.String(), "tool": h.tool, "recorded": h.as.String(),
		"note": h.tool + " was recorded as " + h.as.String() + ", but it did happen: copies of the agent had it " +
			"otherwise"})
	return ev
}

// telling is what a node tells the advisor. Somebody may have used the id for words of their own, which are not to take
// the place of these.
func (f *Fold) telling(h *happened) Event {
	ev := h.event()
	if slices.Contains(f.Dedupe, ev.dedupeID()) {
		ev.ID = ""
	}
	return ev
}

// said reports whether an event tells the advisor so. An entry that arrives may carry any name and any id, so every
// word of it counts.
func (h *happened) said(ev *Event) bool {
	want := h.event()
	return ev.Name == want.Name && ev.By == want.By && (ev.ID == want.ID || ev.ID == "") && ev.Notice == nil &&
		bytes.Equal(ev.Data, want.Data) && len(ev.Set) == 0
}

// heard forgets that the advisor is to be told, once it is.
func (f *Fold) heard(ev *Event) {
	if len(f.happened) == 0 || ev.Name != happenedName {
		return
	}
	f.happened = slices.DeleteFunc(slices.Clone(f.happened), func(h happened) bool {
		return h.said(ev) && (ev.ID == "" || !slices.Contains(f.Dedupe, ev.dedupeID()))
	})
}

// planHappened tells the advisor what happened after all.
func (f *Fold) planHappened() Step {
	if len(f.happened) == 0 || f.Ended != nil {
		return nil
	}
	return happenedStep{f.happened[0]}
}

// unflagged reports whether something is known from the entries at hand that is to be on record before a snapshot,
// which would forget it. See flags. What there is no room for on record is known for so many entries.
func (f *Fold) unflagged() bool {
	return len(f.unrecorded()) > 0 || len(f.doubled) > 0 && f.Count-f.Snapshot < driftHold ||
		len(f.happened) > 0 && f.Ended == nil ||
		slices.ContainsFunc(f.Asks, func(q Asking) bool { return f.done(&q) })
}
