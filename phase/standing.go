package phase

// Standing is where an agent stands, in the words people use.
type Standing string

// The standings of agents. Those in the second half are of copies that something is wrong with.
const (
	StandingReady      Standing = "ready"
	StandingRunning    Standing = "running"
	StandingDormant    Standing = "dormant"
	StandingWaiting    Standing = "waiting"     // for a person
	StandingHandedOver Standing = "handed over" // it goes on elsewhere
	StandingTerminated Standing = "terminated"

	StandingDamaged Standing = "damaged" // it cannot be read
	StandingOlder   Standing = "older"   // it lacks entries that were seen here
	StandingGone    Standing = "gone"    // it was seen here
)

// Standings are all of them.
func Standings() []Standing {
	return []Standing{StandingReady, StandingRunning, StandingDormant, StandingWaiting, StandingHandedOver,
		StandingTerminated, StandingDamaged, StandingOlder, StandingGone}
}
