package policy

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	cedar "github.com/cedar-policy/cedar-go"
	xast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/perdure/perdure"
)

// Set is policy: rules in a fixed order, and the further sets that charters may name. It does not change; the zero Set denies everything.
type Set struct {
	rules   []*rule // by id
	permits bool    // has a permit at all
	hash    perdure.Hash
	known   map[perdure.Hash]*Set
}

var _ perdure.Policy = (*Set)(nil)

// rule is one Cedar policy.
type rule struct {
	id, reason string
	permit     bool
	obligation *Obligation // of a forbid that asks
	policy     *cedar.Policy
	at         cedar.Position
	args       *argument     // the arguments it looks at; nil when it looks at none
	scope      *cedar.Policy // the rule without its conditions, when it looks at arguments
}

// The rules of this package itself.
const (
	ruleFacts   = "policy.facts"   // the facts are not what the schema says
	ruleError   = "policy.error"   // a rule could not be evaluated
	ruleArgs    = "policy.args"    // an argument is not what a rule takes it for
	ruleDefault = "policy.default" // nothing permits it
	ruleUnknown = "policy.unknown" // the charter names a policy set that is not known here
	ruleQuorum  = "policy.quorum"  // more people must approve than were asked
)

// Hash names the set: it is that of the text of its files, whatever they are called.
func (s *Set) Hash() perdure.Hash { return s.hash }

// Rules are the ids of the rules, ascending.
func (s *Set) Rules() []string {
	ids := make([]string, len(s.rules))
	for i, r := range s.rules {
		ids[i] = r.id
	}
	return ids
}

// Know is the set together with others that charters may name by their hash. They never widen what s permits.
func (s *Set) Know(others ...*Set) *Set {
	out := *s
	out.known = maps.Clone(s.known)
	if out.known == nil {
		out.known = make(map[perdure.Hash]*Set, len(others))
	}
	for _, o := range others {
		out.known[o.hash] = o
	}
	return &out
}

// Decide answers a request from the facts of the agent and from nothing else.
func (s *Set) Decide(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
	f, err := FactsOf(a, r, now)
	if err != nil {
		return perdure.Verdict{Rules: []string{ruleFacts}, Policy: s.hash, Reason: err.Error()}
	}
	return s.DecideFacts(f)
}

// DecideFacts answers from facts. Whatever they are, it never panics, and facts that are not as the schema says are denied.
func (s *Set) DecideFacts(f Facts) perdure.Verdict { return s.decide(f, nil) }

// decide answers from facts and, if t is not nil, records what every rule said.
func (s *Set) decide(f Facts, t *trace) perdure.Verdict {
	hash, err := f.Hash()
	deny := func(rule, reason string) perdure.Verdict {
		return perdure.Verdict{Rules: []string{rule}, Policy: s.hash, Facts: hash, Reason: reason}
	}
	if err != nil {
		return deny(ruleFacts, err.Error())
	}
	q, err := newQuestion(f)
	if err != nil {
		return deny(ruleFacts, "facts: "+err.Error())
	}
	v := s.answer(q, "", true, t)
	for _, h := range q.policies {
		if h == s.hash {
			continue
		}
		own := s.known[h]
		if own == nil {
			return deny(ruleUnknown, "the charter names policy "+h.String()+", which this node does not have: load it")
		}
		v = narrower(v, own.answer(q, h.Short()+":", false, t))
	}
	if v.Answer == perdure.Ask && q.approvals > 0 && q.approvals < v.Quorum {
		v = deny(ruleQuorum, "more people must approve than were asked: propose it again")
	}
	v.Policy, v.Facts = s.hash, hash
	return v
}

// answer is what the rules of one set say. A local set must permit; one that only narrows and has no permit at all need not.
func (s *Set) answer(q *question, prefix string, local bool, t *trace) perdure.Verdict {
	var permits, forbids, asks []*rule
	for _, r := range s.rules {
		matched, fault := r.eval(q)
		t.add(prefix, r, matched, fault)
		switch {
		case fault != nil:
			return perdure.Verdict{Rules: []string{fault.rule, prefix + r.id}, Reason: fault.what}
		case !matched:
		case r.permit:
			permits = append(permits, r)
		case r.obligation != nil:
			asks = append(asks, r)
		default:
			forbids = append(forbids, r)
		}
	}
	switch {
	case len(forbids) > 0:
		return verdictOf(perdure.Deny, prefix, forbids)
	case len(permits) == 0 && (local || s.permits):
		return perdure.Verdict{Rules: []string{prefix + ruleDefault}, Reason: "no rule permits it"}
	case len(asks) > 0:
		v := verdictOf(perdure.Ask, prefix, asks)
		quorums := map[string]int64{}
		for _, r := range asks {
			r.obligation.join(&v, quorums, q.now)
		}
		return v
	}
	return verdictOf(perdure.Allow, prefix, permits)
}

func verdictOf(answer perdure.Answer, prefix string, rules []*rule) perdure.Verdict {
	v := perdure.Verdict{Answer: answer}
	var reasons []string
	for _, r := range rules {
		v.Rules = append(v.Rules, prefix+r.id)
		if r.reason != "" && !slices.Contains(reasons, r.reason) {
			reasons = append(reasons, r.reason)
		}
	}
	v.Reason = strings.Join(reasons, "; ")
	return v
}

// narrower is the more restrictive of two verdicts; two that ask are asked together.
func narrower(a, b perdure.Verdict) perdure.Verdict {
	switch {
	case a.Answer < b.Answer:
		return a
	case b.Answer < a.Answer:
		return b
	}
	a.Rules = append(a.Rules, b.Rules...)
	if b.Reason != "" && a.Reason != "" {
		b.Reason = "; " + b.Reason
	}
	a.Reason += b.Reason
	if a.Answer == perdure.Ask {
		if slices.Equal(a.Asked, b.Asked) {
			a.Quorum = max(a.Quorum, b.Quorum)
		} else {
			a.Quorum += b.Quorum
		}
		if b.Expires != 0 && (a.Expires == 0 || b.Expires < a.Expires) {
			a.Expires = b.Expires
		}
		a.Asked = append(a.Asked, b.Asked...)
		slices.Sort(a.Asked)
		a.Asked = slices.Compact(a.Asked)
	}
	return a
}

// fault is why a rule has no answer.
type fault struct{ rule, what string }

// eval says whether a rule matches.
func (r *rule) eval(q *question) (bool, *fault) {
	req := q.request
	if r.args != nil && q.args != nil {
		if matched, f := match(r, r.scope, q, req); f != nil || !matched {
			return false, f
		}
		args, err := r.args.value(q.args)
		if err != nil {
			return false, &fault{ruleArgs, "rule " + r.id + " cannot judge the arguments: " + err.Error()}
		}
		context := req.Context.Map()
		context["args"] = args
		req.Context = types.NewRecord(context)
	}
	return match(r, r.policy, q, req)
}

// match evaluates one Cedar policy. To Cedar a policy that errors does not apply; here it is a fault.
func match(r *rule, p *cedar.Policy, q *question, req cedar.Request) (bool, *fault) {
	decision, diag := cedar.Authorize(only{p}, q, req)
	if len(diag.Errors) > 0 {
		return false, &fault{ruleError, "rule " + r.id + ": " + diag.Errors[0].Message}
	}
	return bool(decision) || len(diag.Reasons) > 0, nil
}

// only is one policy as a set.
type only struct{ policy *cedar.Policy }

func (o only) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) { yield("", o.policy) }
}

func policyOf(p *ast.Policy) *cedar.Policy { return cedar.NewPolicyFromAST((*xast.Policy)(p)) }
