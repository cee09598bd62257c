package home

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// grant is what somebody may in a scope.
type grant struct {
	verbs []string // nil: all
	scope string
}

func (g *grant) has(verb string) bool { return g.verbs == nil || slices.Contains(g.verbs, verb) }

// whole reports whether it is every verb there is.
func (g *grant) whole() bool {
	return g.verbs == nil || !slices.ContainsFunc(Verbs, func(verb string) bool { return !g.has(verb) })
}

func (g *grant) everywhere() bool { return g.scope == perdure.AnyScope || g.scope == "" }

func (g *grant) covers(scope string) bool { return g.everywhere() || perdure.InScope(scope, g.scope) }

// all are the grants of the visitor.
func (v *Visitor) all() []grant {
	if v.grants != nil {
		return v.grants
	}
	return []grant{{v.Verbs, v.Scope}}
}

// Peer is who has shown a key: what they may, and where, follows from what the home trusts the key with, line by line.
// It is refused if that is nothing.
func (h *Home) Peer(k perdure.Key) (*Visitor, error) {
	t, err := h.Trust()
	if err != nil {
		return nil, err
	}
	v := &Visitor{Name: k.Short(), Key: k}
	for _, who := range t.Trustees() {
		if who.Key != k || who.Revoked || !t.Allows(k, who.Rights, who.Scope) {
			continue
		}
		if who.Name != "" {
			v.Name = who.Name
		}
		v.grants = append(v.grants, grant{verbsOf(who.Rights), who.Scope})
		v.Speaks = v.Speaks || who.Rights&(perdure.MayOwn|perdure.MayApprove) != 0
	}
	if len(v.grants) == 0 {
		return nil, perdure.WithHint(fmt.Errorf("key %s is not trusted here: %w", k.Short(), ErrUnknown),
			"whoever keeps this home trusts it here, with perdure key trust "+k.String()+" --rights author")
	}
	v.Scope, v.Verbs = common(v.grants)
	return v, nil
}

// verbsOf is what the rights of a key come to here; nil: everything. What begins an agent does so in the home's name,
// which signs and owns it: that takes the right to own.
func verbsOf(r perdure.Right) []string {
	if r&perdure.MayOwn != 0 {
		return nil
	}
	verbs := []string{VerbRead, VerbExport}
	if r&perdure.MayAuthor != 0 {
		verbs = append(verbs, VerbEvent, VerbPause, VerbEnd, VerbImport)
	}
	if r&perdure.MayApprove != 0 {
		verbs = append(verbs, VerbApprove, VerbAnswer, VerbResume, VerbSettle)
	}
	return verbs
}

// common is the scope in which all grants lie, and the verbs of any.
func common(all []grant) (scope string, verbs []string) {
	scope, verbs = all[0].scope, []string{}
	for _, g := range all {
		for scope != perdure.AnyScope && !(&grant{scope: scope}).covers(g.scope) {
			up := strings.LastIndexByte(scope, '/')
			if scope = scope[:max(up, 0)]; scope == "" {
				scope = perdure.AnyScope
			}
		}
		if g.verbs == nil {
			verbs = nil
		} else if verbs != nil {
			verbs = append(verbs, g.verbs...)
		}
	}
	if verbs != nil {
		slices.Sort(verbs)
		verbs = slices.Compact(verbs)
	}
	return scope, verbs
}

// home is the scope in which the visitor creates agents that name none; empty: that of the home.
func (v *Visitor) home(verb string) string {
	for _, g := range v.all() {
		if g.has(verb) {
			if g.scope == perdure.AnyScope {
				return ""
			}
			return g.scope
		}
	}
	return ""
}

// May refuses a verb that the visitor has no right to anywhere.
func (v *Visitor) May(verb string) error {
	if slices.ContainsFunc(v.all(), func(g grant) bool { return g.has(verb) }) {
		return nil
	}
	err := fmt.Errorf("%w: %s may not %s here", perdure.ErrDenied, v.Name, doing(verb))
	return v.permitted(err, verb, v.Scope)
}

// permitted is why something is refused, with the command that permits it, if there is one.
func (v *Visitor) permitted(err error, verb, scope string) error {
	if do := v.allowing(verb, scope); do != "" {
		err = perdure.WithHint(err, "whoever keeps this home can permit it: "+do)
	}
	return err
}

// allowing is the command that lets the visitor do what a verb stands for in a scope, besides what they may now; empty:
// there is none.
func (v *Visitor) allowing(verb, scope string) string {
	switch {
	case v.token != nil && v.Link == nil:
		verbs := append(slices.Clone(v.token.Verbs), verb)
		switch {
		case v.Person != nil:
			return tokenNew(v.token.Name, verbs, scope) + " --person --with FILE # FILE holds the token of now"
		case verb == VerbApprove || slices.Contains(personal, verb):
			return tokenNew("NAME", verbs, scope) + " --person # NAME is the person's"
		}
		return tokenNew(v.token.Name, verbs, scope)
	case !v.Key.IsZero():
		for _, right := range []perdure.Right{perdure.MayAuthor, perdure.MayApprove, perdure.MayOwn} {
			if verbs := verbsOf(right); verbs == nil || slices.Contains(verbs, verb) {
				return "perdure key trust " + v.Key.String() + " --rights " + right.String() + scopeFlag(scope)
			}
		}
	}
	return ""
}

// tokenNew is the command that makes a token.
func tokenNew(name string, verbs []string, scope string) string {
	verbs = slices.Compact(slices.Sorted(slices.Values(verbs)))
	return "perdure token new " + view.Pasted(name) + " --verbs " + strings.Join(verbs, ",") + scopeFlag(scope)
}

// scopeFlag is the flag for a scope, if it needs one.
func scopeFlag(scope string) string {
	if scope == perdure.AnyScope || scope == "" {
		return ""
	}
	return " --scope " + view.Pasted(scope)
}

// MayIn refuses a verb that the visitor has no right to in a scope.
func (v *Visitor) MayIn(verb, scope string) error {
	if err := v.May(verb); err != nil {
		return err
	}
	if slices.ContainsFunc(v.all(), func(g grant) bool { return g.has(verb) && g.covers(scope) }) {
		return nil
	}
	err := fmt.Errorf("%w: %s may not %s in scope %s", perdure.ErrDenied, v.Name, doing(verb), scope)
	return v.permitted(err, verb, scope)
}

// taints reports whether what the visitor says in a scope is no person's word, and not taken at its word.
func (v *Visitor) taints(scope string) bool {
	return !v.Speaks || v.grants != nil && v.MayIn(VerbAnswer, scope) != nil
}

// Sees reports whether agents of a scope are there for the visitor.
func (v *Visitor) Sees(scope string) bool {
	return slices.ContainsFunc(v.all(), func(g grant) bool { return g.covers(scope) })
}

// Everything reports whether all agents are there for the visitor.
func (v *Visitor) Everything() bool {
	return slices.ContainsFunc(v.all(), func(g grant) bool { return g.everywhere() })
}

// MayEverywhere reports whether the visitor has a right to a verb for all agents: by one grant, as what they may in one
// scope they may not elsewhere because they see what is there.
func (v *Visitor) MayEverywhere(verb string) bool {
	return slices.ContainsFunc(v.all(), func(g grant) bool { return g.everywhere() && g.has(verb) })
}

// owns reports whether the visitor may do everything with all agents.
func (v *Visitor) owns() bool {
	return slices.ContainsFunc(v.all(), func(g grant) bool { return g.everywhere() && g.verbs == nil })
}

// Owns reports whether the visitor may do everything with the agents of a scope, or with AnyScope all agents. Owners
// see documents as the entries that they are. Whoever else may use memory is a role there: what a role reads, the
// workspace and its policy say, document by document, so nothing that shows whole memories shows documents to it.
func (v *Visitor) Owns(scope string) bool {
	return slices.ContainsFunc(v.all(), func(g grant) bool {
		return g.whole() && (g.everywhere() || scope != perdure.AnyScope && g.covers(scope))
	})
}

// doing is a verb in a sentence: some are the names of what they permit.
func doing(verb string) string {
	switch verb {
	case VerbMemory, VerbMetrics, VerbMCP, VerbA2A:
		return "use " + verb
	case VerbEvent:
		return "send events"
	}
	return verb
}
