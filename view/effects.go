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

// EffectsOf is what the agent did outside, in its whole memory.
func EffectsOf(ctx context.Context, s perdure.Store, a *perdure.Agent) ([]Undone, error) {
	var found []Undone
	open := map[perdure.Hash]int{} // where in found
	told := newNarrator()
	past := a.Fold().Seq
	for e, err := range perdure.Memory(ctx, s, a.ID()) {
		if err != nil {
			return nil, err
		}
		l := told.line(e)
		switch b := e.Content().(type) {
		case perdure.Decision:
			if b.Verdict.Answer == perdure.Allow && b.Effect != 0 && b.Effect != perdure.Read && l.Tool != "" {
				open[e.Name] = len(found)
				found = append(found, Undone{Seq: e.Seq, Tool: l.Tool, Effect: b.Effect,
					What: ActionText(told.decided[e.Name]), After: e.Seq > past})
			}
		case perdure.Outcome:
			if i, ok := open[b.Decision]; ok {
				found[i].Signal = b.Signal
			}
		case perdure.Event:
			if n, ok := b.Notice.(perdure.Settle); ok {
				if i, ok := open[n.Decision]; ok {
					found[i].Signal = n.Signal
				}
			}
		}
	}
	return found, nil
}

// Pending is something an agent had decided, and nothing had come of it yet.
type Pending struct {
	What  string `json:"what"`
	Asked bool   `json:"asked,omitempty"` // it waits for a person's answer; else it is under way, or to be tried again
}

// PendingOf is what was open in an agent. A fork begins without it: its advisor proposes it again, or not.
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
	if f.Sleep != nil && f.Sleep.Sleep.Asks() {
		open = append(open, Pending{What: ActionText(f.Sleep.Sleep), Asked: true})
	}
	return open
}
