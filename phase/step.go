package phase

// Step is what sort of step a node takes next for an agent, in one word. The words in its comments are fields of
// perdure.Doing.
type Step string

// The kinds of steps.
const (
	StepIdle      Step = "idle"      // nothing; the step is an Idle, which says why
	StepConsult   Step = "consult"   // ask Advisor
	StepDecide    Step = "decide"    // ask policy about Action
	StepPerform   Step = "perform"   // perform Action, which is allowed
	StepReconcile Step = "reconcile" // ask the tool whether Action happened
	StepLapse     Step = "lapse"     // record that a question was refused or has expired
	StepEscalate  Step = "escalate"  // put a question that nobody answered to Asked, too
	StepRouse     Step = "rouse"     // wake the agent: its sleep is over
	StepFinish    Step = "finish"    // end the agent: its deadline has passed
	StepAnnounce  Step = "announce"  // tell the relatives of an agent that it has ended
	StepFlag      Step = "flag"      // record that Decision was decided twice
	StepCorrect   Step = "correct"   // tell the advisor that Decision happened, which it may have been told otherwise
	StepCycle     Step = "cycle"     // all of one cycle of an agent, for a perdure.Observer
	StepSit       Step = "sit"       // take the seat, which is free or was handed over to this store
)
