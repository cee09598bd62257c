package phase

// Rest is a kind of reason to rest. The words in its comments are fields of perdure.Reason.
type Rest string

// The kinds of reasons. Those in the second half wait for a person.
const (
	RestEnded    Rest = "ended"
	RestAsleep   Rest = "asleep"   // Trigger says until what
	RestUnderWay Rest = "underway" // Tool is at work until Until
	RestRetry    Rest = "retry"    // Tool ended with Signal and is tried again at Until; Attempt of Of have been made
	RestBackoff  Rest = "backoff"  // the same of an advisor: Attempt ended so in a row
	RestLacks    Rest = "lacks"    // a node with Needs must go on; Note says what was wrong with this one
	RestBasis    Rest = "basis"    // what it rests on is looked at again first
	RestSilent   Rest = "silent"   // its advisor proposed nothing: an event must come
	RestPolicy   Rest = "policy"   // its wait is over, and policy does not let it wake, for Note
	RestRefused  Rest = "refused"  // its wait is over, and a person did not let it wake
	RestStopping Rest = "stopping" // this node is stopping
	RestTurn     Rest = "turn"     // other agents have their turn

	RestPaused    Rest = "paused"
	RestContested Rest = "contested" // two owners claim it
	RestHeld      Rest = "held"      // it has entries that do not count here: somebody must admit it
	RestOlder     Rest = "older"     // this copy is older than one seen here: it lacks Entry
	RestGiven     Rest = "given"     // its seat was handed over
	RestDisputed  Rest = "disputed"  // two stores claim its seat
	RestElsewhere Rest = "elsewhere" // its seat is in the store Seat
	// this node cannot note how far agents come, for Note: nobody would notice an older copy
	RestBlind    Rest = "blind"
	RestShallow  Rest = "shallow"  // too little of its memory is here for an effect of class Effect
	RestDoubt    Rest = "in-doubt" // nobody knows whether Decision happened
	RestApproval Rest = "approval" // Digest is asked for
	RestBudget   Rest = "budget"   // the budget is used up; Note says of what
	RestDenied   Rest = "denied"   // Attempt proposals in a row were refused
	RestSpinning Rest = "spinning" // this node wrote the same What Attempt times, and Note says what came of it
	RestCircling Rest = "circling" // its last Attempt entries say the same over and over
)
