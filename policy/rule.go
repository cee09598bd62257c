package policy

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/perdure/perdure"
)

// rule is one Cedar policy.
type rule struct {
	id, reason string
	permit     bool
	obligation *Obligation // of a forbid that asks
	policy     *cedar.Policy
	tree       *ast.Policy
	at         cedar.Position
	args       *argument // the arguments it looks at; nil when it looks at none
	likes      []likeness
}

// actionRules is the rules of a set that can apply to one action. A set has one for each action it has rules about.
type actionRules struct {
	all, permits ruleList // of a forbid that matches, Cedar tells no permits: these are asked again alone
	args         []*rule  // those that look at arguments
	reads        reading  // of the context
}

// ruleList is rules as Cedar asks for them, always in the same order.
type ruleList struct {
	rules []*rule
	byID  map[cedar.PolicyID]*rule
}

// All yields the rules by id.
func (l *ruleList) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, r := range l.rules {
			if !yield(cedar.PolicyID(r.id), r.policy) {
				return
			}
		}
	}
}

func (l *ruleList) add(r *rule) {
	if l.byID == nil {
		l.byID = map[cedar.PolicyID]*rule{}
	}
	l.rules, l.byID[cedar.PolicyID(r.id)] = append(l.rules, r), r
}

// index sorts the rules by the actions they can apply to.
func (s *Set) index() {
	s.actions = map[string]*actionRules{}
	for _, r := range s.rules {
		s.permits = s.permits || r.permit
		for uid := range schemaOf().Actions {
			if !r.about(uid) {
				continue
			}
			a := s.actions[string(uid.ID)]
			if a == nil {
				a = new(actionRules)
				s.actions[string(uid.ID)] = a
			}
			a.add(r, contextShapes()[string(uid.ID)])
		}
	}
	for action, a := range s.actions {
		shape := contextShapes()[action]
		for _, path := range [][]string{{"calls"}, {"toolCalls"}, {"spent", "calls"}} {
			s.counts = s.counts || a.reads.has(shape, path)
		}
	}
}

// Counts reports whether answers about an agent rest on how often it called tools: see perdure.Policy.
func (s *Set) Counts(a *perdure.Agent) bool {
	return s.counts || slices.ContainsFunc(a.Fold().Charter.Policies, func(h perdure.Hash) bool {
		own := s.named(h)
		return own != nil && own.counts
	})
}

// about reports whether a rule can apply to an action. A permit for every action is not about admitting agents from
// elsewhere.
func (r *rule) about(action cedar.EntityUID) bool {
	only := actionsOf(r.tree.Action)
	if only == nil {
		return !r.permit || action.ID != actionAdmit
	}
	return slices.Contains(only, action)
}

// Idle says which rules forbid by name what no rule can: that an agent sleeps or ends.
func (s *Set) Idle() []string {
	var notes []string
	for _, r := range s.rules {
		for _, action := range actionsOf(r.tree.Action) {
			if !r.permit && (action == actionUID("sleep") || action == actionUID("end")) {
				notes = append(notes, fmt.Sprintf("rule %s on %s has no effect: nothing keeps an agent from sleeping "+
					"or ending", r.id, action.ID))
			}
		}
	}
	return notes
}

func (a *actionRules) add(r *rule, context *shape) {
	a.all.add(r)
	if r.permit {
		a.permits.add(r)
	}
	if r.args != nil {
		a.args = append(a.args, r)
	}
	for _, c := range r.tree.Conditions {
		a.reads.markContext(context, c.Body)
	}
}

// judge says why the rule cannot judge the arguments of a call it is about, if it cannot.
func (r *rule) judge(q *question) error {
	if q.args == nil || !q.within(r.tree.Principal, q.request.Principal) ||
		!q.within(r.tree.Resource, q.request.Resource) {
		return nil
	}
	if err := r.args.judge(q.args); err != nil {
		return fmt.Errorf("rule %s cannot judge the arguments: %w", r.id, err)
	}
	return nil
}

// within reports whether an entity is one that a rule is about.
func (q *question) within(scope ast.IsScopeNode, uid cedar.EntityUID) bool {
	switch s := scope.(type) {
	case ast.ScopeTypeEq:
		return uid == s.Entity
	case ast.ScopeTypeIn:
		return q.in(uid, s.Entity)
	case ast.ScopeTypeIs:
		return uid.Type == s.Type
	case ast.ScopeTypeIsIn:
		return uid.Type == s.Type && q.in(uid, s.Entity)
	}
	return true
}

// in reports whether an entity is another or below it.
func (q *question) in(uid, outer cedar.EntityUID) bool {
	if uid == outer {
		return true
	}
	e, _ := q.Get(uid)
	for parent := range e.Parents.All() {
		if q.in(parent, outer) {
			return true
		}
	}
	return false
}

// Summary is what there is to say of a good set.
type Summary struct {
	OK    bool         `json:"ok"`
	Hash  perdure.Hash `json:"hash"`
	Rules []string     `json:"rules"`
	Notes []string     `json:"notes,omitempty"` // what is odd
}

// Summary is what there is to say of the set.
func (s *Set) Summary() *Summary {
	return &Summary{true, s.Hash(), s.Rules(), append(s.Idle(), s.unmet()...)}
}

// unmet says which rules ask for more people than they name, so that no answer is ever enough. A word such as owner may
// stand for several.
func (s *Set) unmet() (notes []string) {
	for _, r := range s.rules {
		if r.obligation == nil || len(r.obligation.Asked) == 0 {
			continue
		}
		all := slices.Clone(r.obligation.Asked)
		for _, stage := range r.obligation.Escalate {
			all = append(all, stage.Asked...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		if slices.Contains(all, "owner") || slices.Contains(all, "operator") ||
			int64(len(all)) >= r.obligation.Quorum {
			continue
		}
		notes = append(notes, fmt.Sprintf("rule %s can never be met: it wants %d to approve and asks %s, and one name "+
			"is one person; name more, as in approval:anna,bob;quorum=2", r.id, r.obligation.Quorum,
			strings.Join(all, ", ")))
	}
	return notes
}
