package perdure

import (
	"github.com/perdure/perdure/phase"
)

// Step is what a node should do next for an agent: nothing (Idle), or something that Doing describes.
type Step interface {
	// Doing says what the step is, for people and programs that look at an agent and do not run it.
	Doing() Doing
}

// Doing describes a step. What says which of the other fields are set.
type Doing struct {
	What     phase.Step
	Action   Action
	Advisor  string // none: the node's own
	Asked    []string
	Decision Hash
}

// rouseStep says the sleep is over: append the decision to wake.
type rouseStep struct{ Wake Wake }

// consultStep says the advisor is to be asked.
type consultStep struct{ Advisor string }

// decideStep says policy is to be asked about an action.
type decideStep struct {
	Action    Action
	Advice    Hash // the advice that proposed it; zero for what the runtime does by itself
	Index     int64
	Key       Hash   // of the effect, when it is tried again
	Limit     int64  // the time to allow it, in milliseconds, when not the usual
	Approvals []Hash // the approvals it has
	Ignored   []Hash // refusals by people who were not asked
	Outdated  string // why it is to be denied without asking: what it rests on has changed
}

// performStep says an allowed effect is to be performed. Again is set when an attempt may already have been made under
// the same key.
type performStep struct {
	Open  Open
	Again bool
}

// reconcileStep says the tool is to be asked whether an effect happened or, if it cannot tell, a person.
type reconcileStep struct{ Open Open }

// lapseStep says a decision is to get its outcome without being performed: an ask that was refused or has expired.
type lapseStep struct {
	Outcome Outcome
	Refusal Hash // the answer that refused it, if one did
}

// escalateStep says a question nobody answered goes to more people: those of the verdict's next escalation.
type escalateStep struct {
	Ask   Hash // the decision that asked
	Stage int64
	Asked []string
}

// finishStep says the agent is to be ended: its deadline has passed.
type finishStep struct{ End End }

// announceStep says the agent has ended and its relatives are to be told: its parent of the end, its living children
// that they are cancelled. Telling them twice changes nothing.
type announceStep struct {
	Parent   AgentID // zero: it has none
	Ended    ChildEnded
	Children []AgentID
}

func (Idle) Doing() Doing          { return Doing{What: phase.StepIdle} }
func (s rouseStep) Doing() Doing   { return Doing{What: phase.StepRouse, Action: s.Wake} }
func (s consultStep) Doing() Doing { return Doing{What: phase.StepConsult, Advisor: s.Advisor} }
func (s decideStep) Doing() Doing  { return Doing{What: phase.StepDecide, Action: s.Action} }
func (s performStep) Doing() Doing {
	return Doing{What: phase.StepPerform, Action: s.Open.Action, Decision: s.Open.Decision}
}
func (s reconcileStep) Doing() Doing {
	return Doing{What: phase.StepReconcile, Action: s.Open.Action, Decision: s.Open.Decision}
}
func (s lapseStep) Doing() Doing { return Doing{What: phase.StepLapse, Decision: s.Outcome.Decision} }
func (s escalateStep) Doing() Doing {
	return Doing{What: phase.StepEscalate, Asked: s.Asked, Decision: s.Ask}
}
func (s finishStep) Doing() Doing { return Doing{What: phase.StepFinish, Action: s.End} }
func (announceStep) Doing() Doing { return Doing{What: phase.StepAnnounce} }
func (s flagStep) Doing() Doing   { return Doing{What: phase.StepFlag, Decision: s.Doubled.Second} }
func (s happenedStep) Doing() Doing {
	return Doing{What: phase.StepCorrect, Decision: s.decision}
}
func (sitStep) Doing() Doing { return Doing{What: phase.StepSit} }
