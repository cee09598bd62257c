package perdure

import (
	"slices"
	"strings"
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

// correction is that of a record that was wrong: an effect was done after all, and nobody has told the advisor.
type correction struct {
	decision Hash
	tool     string
	as       Signal
}

// correctionStep says that the advisor is to be told of a correction.
type correctionStep struct{ correction }

// recordUnmade remembers that a once effect was not done, as far as is on record.
func (f *Fold) recordUnmade(decision Hash, x *Execute, as Signal) {
	u := unmade{decision: decision, what: callKey(x), tool: x.Tool, as: as}
	if n := len(f.acts); n > 0 {
		u.since = f.acts[n-1].at
	}
	f.unmade = extended(f, f.unmade, u, maxActs, &f.rooms.unmade)
}

// contradict notes that an effect happened, if it is on record as not done. What was decided on that record is the same
// done twice, for all anybody knows: a person is asked about the two.
func (f *Fold) contradict(e *Entry, decision Hash) {
	i := find(f, f.unmade, func(u *unmade) bool { return u.decision == decision })
	if i < 0 {
		return
	}
	u := f.unmade[i]
	f.unmade = slices.Delete(slices.Clone(f.unmade), i, i+1)
	f.rooms.unmade = roomBehind(f.unmade)
	f.corrections = pushed(f.corrections, correction{decision, u.tool, u.as}, maxDoubled)
	f.work += int64(len(f.acts))
	for _, a := range f.acts {
		d := Doubled{First: decision, Second: a.at.Name, Time: e.Time}
		known := func(o Doubled) bool { return o.Second == d.Second || o.First == d.Second }
		if a.what == u.what && a.at.Name != decision && a.at.Compare(u.since) > 0 &&
			!slices.ContainsFunc(f.Doubled, known) && !slices.ContainsFunc(f.doubled, known) {
			f.double(d)
		}
	}
}

// happenedID is what the id of an event begins with that says that an effect happened; its decision follows.
const happenedID = "happened/"

// Happened is the decision whose effect happened although it was on record as not done, if a node says so with this
// event.
func (ev *Event) Happened() (decision Hash, ok bool) {
	id, ok := strings.CutPrefix(ev.ID, happenedID)
	if !ok || ev.By != runtimeName || ev.Notice != nil {
		return Hash{}, false
	}
	decision, err := ParseHash(id)
	return decision, err == nil
}

// event is what the advisor is told.
func (c *correction) event() Event {
	ev := Event{Name: "happened", By: runtimeName, ID: happenedID + c.decision.String()}
	ev.Data, _ = DataOf(map[string]any{"decision": c.decision.String(), "tool": c.tool, "recorded": c.as.String(),
		"note": c.tool + " was recorded as " + c.as.String() + ", but it did happen: copies of the agent had it " +
			"otherwise"})
	return ev
}

// corrected forgets that the advisor is to be told, once somebody has.
func (f *Fold) corrected(ev *Event) {
	if len(f.corrections) == 0 {
		return
	}
	if d, ok := ev.Happened(); ok {
		f.corrections = slices.DeleteFunc(slices.Clone(f.corrections), func(c correction) bool {
			return c.decision == d
		})
	}
}

// planCorrection tells the advisor what happened after all.
func (f *Fold) planCorrection() Step {
	if len(f.corrections) == 0 || f.Ended != nil {
		return nil
	}
	return correctionStep{f.corrections[0]}
}

// unflagged reports whether something is known from the entries at hand that is to be on record before a snapshot,
// which would forget it. See flags. What there is no room for on record is known for so many entries.
func (f *Fold) unflagged() bool {
	return len(f.unrecorded()) > 0 || len(f.doubled) > 0 && f.Count-f.Snapshot < driftHold ||
		len(f.corrections) > 0 && f.Ended == nil
}
