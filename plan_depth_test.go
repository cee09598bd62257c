package perdure

import (
	"testing"
	"time"

	"github.com/perdure/perdure/phase"
)

// TestDepthLimitsWhatIsPlanned holds Plan to the table of spec/capsule.md for everything that can lead to an effect: a
// proposal, an approved question, an effect owed, and one under way.
func TestDepthLimitsWhatIsPlanned(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	call := Execute{Tool: "t", Call: "1"}
	folds := map[string]*Fold{
		"a proposal": {Proposals: []proposals{{Actions: []Action{call}, Decided: []bool{false}}}},
		"an approved question": {Asks: []Asking{{Action: call, Verdict: Verdict{Answer: Ask},
			Votes: []Vote{{Approve: true, Event: Hash{1}}}}}},
		"an effect owed":      {Owed: []Owed{{Action: call, Decision: Hash{3}}}},
		"an effect under way": {Open: []Open{{Decision: Hash{2}, Action: call}}},
		"a recheck":           {Recheck: []Execute{call}},
	}
	for what, f := range folds {
		for _, d := range []Depth{Full, Headers, Last(3), Last(0)} {
			for _, e := range []Effect{Read, Idempotent, Once, 0} {
				for i := range f.Open {
					f.Open[i].Effect = e
				}
				if what == "an effect under way" && !e.Repeatable() {
					continue // it is never done again, whatever is known
				}
				c := Capabilities{Tools: map[string]Spec{"t": {Name: "t", Effect: e}}}
				step := Plan((&Agent{fold: f}).atDepth(d), c, now)
				idle, rests := step.(Idle)
				if allowed := d.Allows(e); rests == allowed {
					t.Errorf("%s of class %v at depth %v: %+v", what, e, d, step)
				}
				if rests && (!idle.Is(phase.RestShallow) || !idle.Person || !idle.Is(phase.RestShallow)) {
					t.Errorf("%s of class %v at depth %v rests because %+v", what, e, d, idle.Reasons)
				}
			}
		}
	}
}

// TestPartsDoNotDelegate: a child has a whole memory of its own, and could do what its parent may not.
func TestPartsDoNotDelegate(t *testing.T) {
	f := &Fold{Proposals: []proposals{{Actions: []Action{Delegate{}}, Decided: []bool{false}}}}
	for d, want := range map[Depth]bool{Full: true, Headers: false, Last(3): false} {
		if _, decides := Plan((&Agent{fold: f}).atDepth(d), Capabilities{}, time.Now()).(decideStep); decides != want {
			t.Errorf("depth %v delegates: %v, want %v", d, decides, want)
		}
	}
}
