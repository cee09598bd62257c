package view

import (
	"context"

	"github.com/perdure/perdure"
)

// Undone is something the forked agent did to the world.
type Undone struct {
	Seq    int64          `json:"seq"`
	Tool   string         `json:"tool"`
	Effect perdure.Effect `json:"effect"`
	Signal perdure.Signal `json:"signal,omitempty"` // absent: not known yet
	What   string         `json:"what"`
	After  bool           `json:"after"` // after the point of the fork
}

// EffectsOf is what the agent did outside, in its whole memory: also what it did after what a is the fold of.
func EffectsOf(ctx context.Context, s perdure.Store, a *perdure.Agent) ([]Undone, error) {
	now, err := perdure.Load(ctx, s, a.ID())
	if err != nil {
		return nil, err
	}
	var found []Undone
	var ledger perdure.Ledger
	open := map[perdure.Hash]int{} // where in found
	told := newNarrator()
	past := a.Fold().Seq
	for e, err := range now.Reader(s).All(ctx) {
		if err != nil {
			return nil, err
		}
		l := told.line(e)
		if o := ledger.Came(now.Fold(), e); o != nil {
			if i, ok := open[o.Decision]; ok {
				found[i].Signal = o.Signal
			}
		}
		if b, ok := e.Content().(perdure.Decision); ok {
			if b.Verdict.Answer == perdure.Allow && b.Effect != 0 && b.Effect != perdure.Read && l.Tool != "" {
				open[e.Name] = len(found)
				found = append(found, Undone{Seq: e.Seq, Tool: l.Tool, Effect: b.Effect,
					What: ActionText(told.decided[e.Name]), After: e.Seq > past})
			}
		}
	}
	return found, nil
}

// Pending is something an agent had decided, and nothing had come of it yet.
type Pending struct {
	What  string `json:"what"`
	Asked bool   `json:"asked,omitempty"` // it waits for a person's answer; else it is under way, or to be tried again
	Slept bool   `json:"slept,omitempty"` // it is the sleep that the agent had not woken from
}

// PendingOf is what was open in an agent. A fork begins without it, and awake: its advisor proposes it again, or not.
func PendingOf(a *perdure.Agent) (open []Pending) {
	f := a.Fold()
	for i := range f.Asks {
		open = append(open, Pending{What: ActionText(f.Asks[i].Action), Asked: true})
	}
	for i := range f.Open {
		open = append(open, Pending{What: ActionText(f.Open[i].Action)})
	}
	for i := range f.Owed {
		open = append(open, Pending{What: ActionText(f.Owed[i].Action)})
	}
	if f.Sleep != nil {
		asks := f.Sleep.Sleep.Asks()
		open = append(open, Pending{What: ActionText(f.Sleep.Sleep), Asked: asks, Slept: !asks})
	}
	return open
}
