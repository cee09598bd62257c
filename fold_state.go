package perdure

import "github.com/perdure/perdure/phase"

// State says where the agent stands in its life.
func (f *Fold) State() phase.State {
	switch {
	case f.Ended != nil:
		return phase.Terminated
	case len(f.Open) > 0 && f.Sleep == nil:
		return f.Did
	case f.Sleep != nil || len(f.Paused) > 0 || f.Contested || len(f.Asks) > 0:
		return phase.Dormant
	case f.Did == 0:
		return phase.Instantiated
	case f.Did == phase.Execution: // the tool is done: what follows is a matter of advice
		return phase.Evaluation
	}
	return f.Did
}
