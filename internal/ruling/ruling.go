// Package ruling names the rules by which the runtime itself decides, in the place of a policy or before it.
package ruling

const (
	// Arguments denies a call for the form of its arguments.
	Arguments = "runtime.arguments"
	// Default is how a policy names the rule by which it denies what nothing permits.
	Default = "policy.default"
	// Outdated denies a proposal because of what happened since it was made.
	Outdated = "runtime.outdated"
	// Record lets a call of a rehearsing fork pass that its parent's record answers.
	Record = "runtime.record"
	// Rest lets an agent sleep or end although policy does not permit it.
	Rest = "runtime.rest"
)
