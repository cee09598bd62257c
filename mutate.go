package perdure

import (
	"fmt"
	"slices"
	"strings"
)

// mutate changes the intent. Bounds meet: whatever order mutations of several branches are folded in, the narrowest bound results, and
// one that asks for more gets none. The earlier intent stays in memory, where AgentAt finds it.
func (f *Fold) mutate(e *Entry, m *Mutate) {
	if f.Ended != nil {
		return
	}
	f.Edited = e.Name
	if m.Goal != nil {
		f.Intent.Goal = *m.Goal
	}
	if m.Kind != nil {
		f.Intent.Kind = *m.Kind
	}
	if len(m.Inputs) > 0 {
		f.Intent.Inputs = m.Inputs
	}
	if m.Labels != nil {
		f.Intent.Labels = m.Labels
		if len(m.Labels) == 0 {
			f.Intent.Labels = nil
		}
	}
	if m.Deadline != 0 {
		f.Intent.Deadline = earliest(f.Intent.Deadline, m.Deadline)
	}
	f.Intent.Budget = f.Intent.Budget.Meet(m.Budget)
	f.Intent.Tools = meetTools(f.Intent.Tools, m.Tools)
	if !m.StateSchema.IsZero() {
		f.Intent.StateSchema = m.StateSchema
	}
	if m.Depth != nil {
		f.Charter.Depth = min(f.Charter.Depth, max(*m.Depth, 0))
	}
	if m.Scope != nil {
		f.narrowScope(e, *m.Scope)
	}
}

// narrowScope makes the scope the narrower of two. Scopes that exclude each other leave none: the agent may act nowhere.
func (f *Fold) narrowScope(e *Entry, scope string) {
	switch {
	case InScope(scope, f.Charter.Scope):
		f.Charter.Scope = scope
	case InScope(f.Charter.Scope, scope):
	default:
		f.conflict(e, "scopes that exclude each other: nothing is in scope now")
		f.Charter.Scope = NoScope
	}
}

// NoScope is the scope nothing else is in.
const NoScope = "none"

// meetTools is the tools in both lists; nil is all.
func meetTools(a, b []string) []string {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	in := make(map[string]struct{}, len(b))
	for _, t := range b {
		in[t] = struct{}{}
	}
	out := make([]string, 0, len(a))
	for _, t := range a {
		if _, ok := in[t]; ok {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// InScope reports whether scope is outer or below it. Scopes are paths of words: acme/ops is below acme.
func InScope(scope, outer string) bool {
	if outer == NoScope {
		return scope == NoScope
	}
	return scope == outer || (strings.HasPrefix(scope, outer) && scope[len(outer)] == '/')
}

// CheckScope says what is wrong with a scope, if anything.
func CheckScope(scope string) error {
	for _, word := range strings.Split(scope, "/") {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`*?"\`, r) }) {
			return fmt.Errorf("scope %q: want words joined by slashes, such as acme/ops", scope)
		}
	}
	return nil
}
