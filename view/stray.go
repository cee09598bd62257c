package view

import (
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// Attendance is who is at work on the agents of a store.
type Attendance struct {
	Known bool // the store can tell
	place perdure.Place
	held  map[perdure.AgentID]bool
	dead  []perdure.AgentID // whose node died at work on them
}

// AttendanceOf asks a store who is at work.
func AttendanceOf(ctx context.Context, s perdure.Store) (Attendance, error) {
	h, ok := s.(perdure.Holder)
	at := Attendance{Known: ok, held: map[perdure.AgentID]bool{}}
	if !ok {
		return at, nil
	}
	if p, placed := s.(perdure.Placed); placed {
		at.place, _ = p.Place(ctx) // a store that does not know itself is taken for the one it was begun in
	}
	for one, err := range h.Held(ctx) {
		if err != nil {
			return at, err
		}
		if at.held[one.Agent] = !one.Dead; one.Dead {
			at.dead = append(at.dead, one.Agent)
		}
	}
	return at, nil
}

// Held reports whether a process is at work on an agent.
func (at *Attendance) Held(id perdure.AgentID) bool { return at.held[id] }

// Died reports whether the process died that was at work on an agent.
func (at *Attendance) Died(id perdure.AgentID) bool { return slices.Contains(at.dead, id) }

// Unattended reports whether there is something to do for an agent that nobody is at work on.
func (at *Attendance) Unattended(a *perdure.Agent, trust *perdure.Trust, now time.Time) bool {
	if !at.Known || at.held[a.ID()] || a.Fold().Ended != nil {
		return false
	}
	can := perdure.Capabilities{All: true, Claimed: true, Trust: trust} // whoever comes may claim it
	_, idle := perdure.Plan(a, can, now).(perdure.Idle)
	return !idle
}

// Strays are the effects of class once that nobody is at work on, before their deadlines: they are in doubt then, and a
// person who knows may settle them now.
func (at *Attendance) Strays(a *perdure.Agent, now time.Time) (found []Wait) {
	if !at.Known || at.held[a.ID()] {
		return nil
	}
	for _, o := range a.Fold().Open {
		if underWay(&o, now) {
			w := doubtOf(a, &o)
			w.Why = "the node that began it does not answer any more"
			if f := a.Fold(); !at.place.IsZero() && f.SeatElsewhere(at.place) { // nobody here knows who works there
				w.Why = "it was begun in another store (" + f.Seats[0].At.Short() +
					"), and may still be under way there"
			}
			w.Expires = o.Deadline
			found = append(found, w)
		}
	}
	return found
}

// Standing is where an agent stands that would stand as is if somebody were at work on it: one whose node died runs no
// longer.
func (at *Attendance) Standing(is phase.Standing, a *perdure.Agent, now time.Time) phase.Standing {
	switch {
	case is != phase.StandingRunning:
	case len(at.Strays(a, now)) > 0:
		return phase.StandingWaiting
	case at.Unattended(a, nil, now):
		return phase.StandingReady
	}
	return is
}

// Attended puts in who is at work on the agent: what is in doubt since nobody is, and that it runs no longer.
func (v *Summary) Attended(at *Attendance, a *perdure.Agent, strays []Wait, now time.Time) {
	v.Unsure = !at.Known
	is := v.Standing
	if v.Standing = at.Standing(is, a, now); is == phase.StandingRunning && len(strays) > 0 {
		v.Person, v.Why, v.Reasons = true, StrayText(strays), nil
	}
}

// StrayText says why an agent with strays waits for a person.
func StrayText(strays []Wait) string {
	return strays[0].Why + ", so nobody can tell whether it happened: " + ActionText(strays[0].Action)
}

// underWay reports whether an effect of class once may still be at work.
func underWay(o *perdure.Open, now time.Time) bool {
	return !o.Effect.Repeatable() && !o.Doubt && now.Before(o.Deadline.Go())
}

// mayStray are the agents that may have effects nobody is at work on, besides those of ids.
func (at *Attendance) mayStray(ctx context.Context, l perdure.Lister, ids []perdure.AgentID) (more []perdure.AgentID,
	err error) {
	if !at.Known {
		return nil, nil
	}
	seen := make(map[perdure.AgentID]bool, len(ids))
	for _, id := range ids {
		seen[id] = true
	}
	add := func(id perdure.AgentID) {
		if !seen[id] {
			more, seen[id] = append(more, id), true
		}
	}
	for _, id := range at.dead {
		add(id)
	}
	for one, err := range l.List(ctx, perdure.Filter{States: []phase.State{phase.Execution}}) {
		if err != nil {
			return nil, err
		}
		if !at.held[one.Agent] {
			add(one.Agent)
		}
	}
	return more, nil
}

// Unattended are those of some agents for whom there is something to do that nobody does.
func Unattended(ctx context.Context, s perdure.Store, ids ...perdure.AgentID) (left []*perdure.Agent, err error) {
	at, err := AttendanceOf(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		a, err := perdure.Load(ctx, s, id)
		if err != nil {
			return nil, err
		}
		if at.Unattended(a, nil, time.Now()) {
			left = append(left, a)
		}
	}
	return left, nil
}
