package script

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/advisor/internal/told"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
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

// place is where a script stands: at the last advice, unless that was asked for elsewhere, and the seat is here. Then
// what was decided says how far the script has come: where the seat is, or was last, and in a copy that knew of that. A
// copy that did not was behind.
func (s *Advisor) place(ctx context.Context, a *perdure.Agent) (place, error) {
	f := a.Fold()
	if n := len(f.Proposals); n == 0 || a.Epoch() == 0 || f.Proposals[n-1].Epoch == a.Epoch() {
		return placeOf(f), nil
	}
	entries, err := told.Memory(ctx, s.Store, a)
	if err != nil {
		return place{}, err
	}
	advised := map[perdure.Hash]perdure.Advice{}
	var last perdure.Advice
	knows := map[perdure.Hash]bool{} // the entries written on top of what was decided about last
	for _, e := range entries {
		if slices.ContainsFunc(e.Parents, func(p perdure.Hash) bool { return knows[p] }) {
			knows[e.Name] = true
		}
		switch c := e.Content().(type) {
		case perdure.Advice:
			advised[e.Name] = c
		case perdure.Decision:
			if by, ok := advised[c.Advice]; ok && (by.Epoch >= last.Epoch || knows[c.Advice]) &&
				!slices.Equal(c.Verdict.Rules, []string{ruling.Outdated}) {
				last, knows = by, map[perdure.Hash]bool{e.Name: true}
			}
		}
	}
	return placeIn(last.Actions), nil
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
