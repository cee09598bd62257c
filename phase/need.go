package phase

import "strings"

// What an agent needs of a node, and what its memory keeps signals of, has one name: that of a tool as it is, and one
// that begins so for what is no tool.
const (
	advisorNeed = "advisor:"
	scopeNeed   = "scope:"
)

// Advisor names an advisor among tools; the empty one is that of agents which name none.
func Advisor(name string) string { return advisorNeed + name }

// AdvisorIn is the advisor that Advisor named so, if it is one.
func AdvisorIn(what string) (name string, ok bool) { return strings.CutPrefix(what, advisorNeed) }

// Scope names a scope that a node must work in.
func Scope(scope string) string { return scopeNeed + scope }

// ScopeIn is the scope that Scope named so, if it is one.
func ScopeIn(what string) (scope string, ok bool) { return strings.CutPrefix(what, scopeNeed) }
