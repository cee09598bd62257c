package perdure

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/phase"
)

// planChanged drops what rests on a basis that no longer holds: questions, answered or not, effects to be tried again,
// and proposals. Each gets an entry that says so; then the advisor is asked.
func (f *Fold) planChanged() Step {
	if f.Basis == nil || f.Basis.Changed == 0 || f.Sleep != nil {
		return nil
	}
	why := f.whyChanged()
	for i := range f.Asks {
		return lapseStep{Outcome: Outcome{Decision: f.Asks[i].Decision, Signal: Denied, Note: why}}
	}
	for i := range f.Owed {
		return decideStep{Action: f.Owed[i].Action, Key: f.Owed[i].Key, Outdated: why}
	}
	for i := range f.Proposals {
		p := &f.Proposals[i]
		if n := slices.Index(p.Decided, false); p.Advice == f.Basis.Advice && n >= 0 {
			return decideStep{Action: p.Actions[n], Advice: p.Advice, Index: int64(n), Outdated: why}
		}
	}
	return nil
}

// whyChanged says which read of the basis came to something else.
func (f *Fold) whyChanged() string {
	read, how := f.Basis.Basis.Reads[f.Basis.Changed-1], "is not what it was"
	if read.Result.IsZero() {
		how = "was not read before, so nobody can tell whether it is what it was"
	}
	return fmt.Sprintf("not done: %s, which it rests on, %s; the advisor is asked again", read.Read.Tool, how)
}

// outdated reports whether an action waits until what it rests on has been looked at again, and what to do for that, if
// this node can do something now. Going to sleep and ending wait for nothing.
func (f *Fold) outdated(c *Capabilities, a Action, t Time, rest *Idle) (Step, bool) {
	r := f.Basis
	if r == nil || rests(a) || !r.stale(t) {
		return nil, false
	}
	if _, ok := f.rereads(a); ok {
		return nil, false
	}
	if r.Next >= int64(len(r.Basis.Reads)) || f.crowded() {
		rest.because(Reason{Kind: phase.RestBasis})
		return nil, true
	}
	x := r.read(r.Next)
	if spec, known := c.Tools[x.Tool]; known && spec.Effect != Read { // to look must change nothing
		return decideStep{Action: x, Outdated: "not looked at again: " + x.Tool + " does more than read"}, true
	}
	if s, ok := f.mayDecide(c, x, t, rest); !ok {
		return s, true
	}
	return decideStep{Action: x}, true
}
