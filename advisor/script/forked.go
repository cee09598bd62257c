package script

import (
	"slices"

	"github.com/perdure/perdure"
)

// resumed is where a fork goes on: the place of the nearest agent it descends from that had come to a turn, and which
// actions of that turn came to nothing yet where it was forked. These are proposed again. Left is nil if all came to
// something, or none was decided and the turn is taken from its beginning.
func resumed(before []*perdure.Agent) (at place, left func(index int) bool) {
	for _, a := range before {
		f := a.Fold()
		if n := len(f.Proposals); n > 0 || f.Ended != nil {
			return placeLeft(f)
		}
	}
	return place{}, nil
}

// placeLeft is the place of the last advice, or before it if something of its turn is left; and what.
func placeLeft(f *perdure.Fold) (at place, left func(index int) bool) {
	at = placeOf(f)
	n := len(f.Proposals)
	if n == 0 || at.turn <= 0 {
		return at, nil
	}
	last, open := f.Proposals[n-1], pending(f)
	if !slices.Contains(last.Decided, true) {
		at.round--
		return at, nil
	}
	again := map[int]bool{}
	for i, act := range last.Actions {
		if p, ok := parsePlace(callOf(act)); ok && (!last.Decided[i] || open[callOf(act)]) {
			again[p.index] = true
		}
	}
	if len(again) == 0 {
		return at, nil
	}
	at.round--
	return at, func(index int) bool { return again[index] }
}

// pending is the places of actions that were decided and came to nothing yet: a question without an answer, a call
// without an outcome, a sleep that had not ended: what comes after a wait is not done without it.
func pending(f *perdure.Fold) map[string]bool {
	calls := map[string]bool{}
	if f.Sleep != nil {
		calls[callOf(f.Sleep.Sleep)] = true
	}
	for i := range f.Asks {
		calls[callOf(f.Asks[i].Action)] = true
	}
	for i := range f.Open {
		calls[callOf(f.Open[i].Action)] = true
	}
	for i := range f.Owed {
		calls[callOf(f.Owed[i].Action)] = true
	}
	return calls
}

// only takes away the actions of a turn that came to something.
func only(actions []perdure.Action, left func(index int) bool) []perdure.Action {
	return slices.DeleteFunc(actions, func(act perdure.Action) bool {
		p, ok := parsePlace(callOf(act))
		return !ok || !left(p.index)
	})
}
