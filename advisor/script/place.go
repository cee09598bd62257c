package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// place is where in a script an action comes from. It is written into the action, so that the agent itself says where
// it is.
type place struct {
	name  string
	turn  int // from 1; 0: before the first
	round int64
	index int
}

// overCall marks the end that a script proposes when it is over, or cannot go on.
const overCall = "#over"

func (p place) over() bool { return p.turn < 0 }

func (p place) String() string { return fmt.Sprintf("%s#%d.%d.%d", p.name, p.turn, p.round, p.index) }

// parsePlace reads what String wrote.
func parsePlace(call string) (p place, ok bool) {
	if call == overCall {
		return place{turn: -1}, true
	}
	name, rest, ok := strings.Cut(call, "#")
	if !ok {
		return p, false
	}
	p.name = name
	_, err := fmt.Sscanf(rest, "%d.%d.%d", &p.turn, &p.round, &p.index)
	return p, err == nil && p.turn > 0 && p.String() == call
}

// placed is an action with its place in it. A mutation has no other room for it than its note.
func placed(act perdure.Action, p place) perdure.Action {
	switch a := act.(type) {
	case perdure.Execute:
		a.Call = p.String()
		return a
	case perdure.Sleep:
		a.Call = p.String()
		return a
	case perdure.Delegate:
		a.Call = p.String()
		return a
	case perdure.End:
		a.Call = p.String()
		return a
	case perdure.Mutate:
		a.Note = strings.TrimSuffix(p.String()+" "+a.Note, " ")
		return a
	case perdure.Wake:
	}
	return act
}

// callOf is the place an action carries.
func callOf(act perdure.Action) string {
	if m, ok := act.(perdure.Mutate); ok {
		call, _, _ := strings.Cut(m.Note, " ")
		return call
	}
	return perdure.CallOf(act)
}

// place is where a script stands: at the last advice, unless that was asked for elsewhere or in a copy, which may not
// have been let do it, or copies were apart. Then the furthest turn that any of them has decided says how far the
// script has come: one that was behind is not to do again what another did. Where a collection, or the depth of a
// copy, left nothing to read of that, the fold knows the last turn that was proposed. Left is as in resumed.
func (s *Advisor) place(ctx context.Context, a *perdure.Agent) (at place, left func(index int) bool, err error) {
	f := a.Fold()
	n := len(f.Proposals)
	elsewhere := n > 0 && (f.Proposals[n-1].Apart || a.Epoch() != 0 && f.Proposals[n-1].Epoch != a.Epoch())
	if n == 0 || !elsewhere && a.Straight() {
		return placeOf(f), nil, nil
	}
	b := branches{memory: &reader{a.Reader(s.Store)}, decided: map[perdure.Hash][]decided{},
		outdated: map[perdure.Hash][]int64{}, woken: map[perdure.Hash]bool{}}
	if len(f.Seats) > 0 {
		b.epoch = f.Seats[0].Epoch
	}
	if err := b.walk(ctx, a.Heads()); err != nil && (elsewhere || !errors.Is(err, perdure.ErrIncapable)) {
		return place{}, nil, err // without a store, what the agent holds has to do
	}
	if b.furthest.turn == 0 && !elsewhere {
		return placeOf(f), nil, nil // what was decided is not here any more
	}
	if at, err = b.place(ctx); err == nil && b.gone {
		if last, rest := s.placeKept(f, b.outdated); !last.before(at) {
			return last, rest, nil
		}
	}
	return at, nil, err
}

// placeKept is where a script stands by the last advice that the fold keeps: who gave it knew all that came before.
// What of it was not decided, or only as outdated, is left.
func (s *Advisor) placeKept(f *perdure.Fold, outdated map[perdure.Hash][]int64) (place, func(index int) bool) {
	last := f.Proposals[len(f.Proposals)-1]
	done := slices.Clone(last.Decided)
	for _, i := range outdated[last.Advice] {
		if i >= 0 && i < int64(len(done)) {
			done[i] = false
		}
	}
	at := placeOf(f)
	switch {
	case !slices.Contains(done, false):
		return at, nil
	case at.over(): // it was not let end
		return place{turn: len(s.turns) + 1}, nil
	case !slices.Contains(done, true):
		at.round--
		return at, nil
	}
	at.round--
	return at, func(index int) bool { return index < len(done) && !done[index] }
}

// same reports whether two places are in one round of one turn.
func (p place) same(q place) bool { return p.turn == q.turn && p.round == q.round }

// before reports whether a place comes before another in a script. Nothing comes after its end.
func (p place) before(q place) bool {
	switch {
	case p.over():
		return false
	case q.over():
		return true
	case p.turn != q.turn:
		return p.turn < q.turn
	}
	return p.round < q.round
}

// placeOf is the place of the last advice.
func placeOf(f *perdure.Fold) place {
	if n := len(f.Proposals); n > 0 {
		if len(f.Proposals[n-1].Actions) == 0 { // only a script that is over proposes nothing
			return place{turn: -1}
		}
		return placeIn(f.Proposals[n-1].Actions)
	}
	return place{}
}

// placeIn is the place that actions carry.
func placeIn(actions []perdure.Action) place {
	for _, act := range actions {
		if p, ok := parsePlace(callOf(act)); ok {
			return p
		}
	}
	return place{}
}
