package view

import "github.com/perdure/perdure"

// Narrator turns the entries of one agent into lines, one at a time, in the order they arrive. What an entry refers to
// that it was not shown is not known to it.
type Narrator struct{ n *narrator }

// Narrate is a narrator that knows nothing yet.
func Narrate() *Narrator { return &Narrator{newNarrator()} }

// Line is what an entry says.
func (n *Narrator) Line(e *perdure.Entry) Line { return n.n.line(e) }

// Told is the narrator of a follower: it goes on with what that knows.
func (w *Follower) Told() *Narrator { return &Narrator{w.told} }
