package condition

// FoldVars are the variables that conditions of triggers know. They are part of the format's meaning: names may be
// added, never changed.
var FoldVars = []Var{
	{Name: "now", Kind: Time},
	{Name: "asleep", Kind: Duration}, // since the sleep began
	{Name: "vars", Kind: MapDyn},     // the agent's state
	{Name: "spent", Kind: MapDyn},    // cost, tokens, calls
	{Name: "left", Kind: MapDyn},     // the same, where there is a limit
	{Name: "children", Kind: MapDyn}, // open, ended, ok, failed
	{Name: "inbox", Kind: ListDyn},   // names of unseen events
	{Name: "turns", Kind: Int},
	// by tool, the advisors' under advisor:NAME: recent (signals, oldest first), last, at, took, calls
	{Name: "signals", Kind: MapDyn},
}

var (
	// EventVars are what the filter of an event knows besides.
	EventVars = []Var{{Name: "event", Kind: MapDyn}}
	// PollVars are what ends a poll knows besides.
	PollVars = []Var{{Name: "result", Kind: Dyn}, {Name: "signal", Kind: String}}
)
