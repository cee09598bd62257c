// Package policy is authority written down: rules in the Cedar language that permit an action, deny it, or ask a
// person.
//
// A Set is loaded from .cedar files. Loading is strict: each rule has an @id and is type-checked against the facts
// there are (see Schema), so an unknown attribute, a wrong type or an optional fact read without `has` is an error at a
// file, line and column and never a rule that silently does not apply.
//
//	@id("payments-ask")
//	@reason("more than a dollar leaves the house")
//	@obligation("approval:finance;quorum=2;escalate=2h:cfo;expires=24h")
//	forbid (principal, action == Action::"execute", resource == Tool::"bank.pay")
//	unless { context.args has cents && context.args.cents <= 100 };
//
// Whatever no rule permits is denied. A forbid wins over every permit. A forbid with an @obligation asks a person
// instead of denying, if a permit matches and no other forbid without an obligation does.
//
// An agent that arrives from elsewhere is a question of its own, the action admit (see Set.Admit): only a permit that
// names it lets one in.
//
// # Facts
//
// A decision is a function of Facts, and Facts are a function of the agent's fold, the request and the time in whole
// seconds. The verdict carries the hash of both, so Verify derives every decision again from the agent alone.
//
// It fails closed. A fact that is missing or of another type than the schema says, an error or overflow in any rule, an
// argument of another type than a rule compares it with, a key that a careless decoder would take for one a rule looks
// at: each denies. So do patterns held against texts so long that comparing them would keep a processor for minutes.
//
// # Own policies
//
// The policy of the node always applies. A charter may name further sets by their hash (Set.Know makes them known); the
// answer is the most restrictive of all. A named set that has only forbids takes away from what the node permits; one
// that is not known denies.
package policy
