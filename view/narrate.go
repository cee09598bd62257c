package view

import (
	"context"

	"github.com/perdure/perdure"
)

// Narrator turns the entries of one agent into lines, one at a time, in the order they arrive. What an entry refers to
// that it was not shown is not known to it; see Lacks.
type Narrator struct{ n *narrator }

// Narrate is a narrator that knows nothing yet.
func Narrate() *Narrator { return &Narrator{newNarrator()} }

// NarrateBefore is a narrator that was shown all that arrived before an entry, from the last snapshot on that the entry
// came after.
func NarrateBefore(ctx context.Context, s perdure.Store, e *perdure.Entry) (*Narrator, error) {
	told, after := newNarrator(), perdure.Cursor(0)
	for snap, err := range s.Snapshots(ctx, e.ID()) {
		if err != nil {
			return nil, err
		}
		if snap.Seq < e.Seq { // what came before a snapshot is below it
			told, after = narratorAfter(snap.Entry), snap.Cursor
			break
		}
	}
	for item, err := range s.Entries(ctx, e.ID(), after) {
		if err != nil {
			return nil, err
		}
		if item.Name == e.Name {
			break
		}
		told.line(item.Entry)
	}
	return &Narrator{told}, nil
}

// Lacks reports whether an entry refers to one that the narrator does not know.
func (n *Narrator) Lacks(e *perdure.Entry) bool {
	var of perdure.Hash
	switch b := e.Content().(type) {
	case perdure.Decision:
		return b.Action == nil && n.n.proposed[b.Advice] == nil
	case perdure.Outcome:
		of = b.Decision
	case perdure.Event:
		switch s := b.Notice.(type) {
		case perdure.Settle:
			of = s.Decision
		case perdure.Approval:
			of = s.Decision
		case perdure.Doubt:
			of = s.Decision
		}
	}
	return !of.IsZero() && n.n.decided[of] == nil
}

// Line is what an entry says.
func (n *Narrator) Line(e *perdure.Entry) Line { return n.n.line(e) }

// Told is the narrator of a follower: it goes on with what that knows.
func (w *Follower) Told() *Narrator { return &Narrator{w.told} }
