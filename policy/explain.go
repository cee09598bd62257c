package policy

import (
	"strings"
	"time"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/perdure/perdure"
)

// Explanation is why a verdict is what it is.
type Explanation struct {
	Verdict perdure.Verdict `json:"verdict"`
	Facts   Facts           `json:"facts"`
	// every rule that was asked, the node's own first, then those of the charter's sets
	Rules []RuleReport `json:"rules"`
}

// RuleReport is what one rule said.
type RuleReport struct {
	ID         string      `json:"id"`
	Permit     bool        `json:"permit"` // else it forbids
	Matched    bool        `json:"matched"`
	Obligation *Obligation `json:"obligation,omitempty"` // of a forbid that asks a person
	Reason     string      `json:"reason,omitempty"`
	Where      string      `json:"where"`           // file:line:column
	Fault      string      `json:"fault,omitempty"` // why it has no answer, which denies
}

// Words are what the rule does, whether it applies, and why.
func (r *RuleReport) Words() (does, applies, why string) {
	does, applies, why = "forbid", "does not apply", r.Reason
	if r.Permit {
		does = "permit"
	}
	if r.Obligation != nil {
		does = "ask"
	}
	switch {
	case r.Fault != "":
		applies, why = "no answer", r.Fault
	case r.Matched:
		applies = "applies"
		if r.Obligation != nil {
			why = strings.Trim(why+"; "+r.Obligation.String(), "; ")
		}
	}
	return does, applies, why
}

// Explain answers a request as Decide does, and says what every rule made of it.
func (s *Set) Explain(a *perdure.Agent, r perdure.Request, now time.Time) Explanation {
	f, err := FactsOf(a, r, now)
	if err != nil {
		return Explanation{Verdict: s.Decide(a, r, now), Facts: f}
	}
	return s.ExplainFacts(f)
}

// ExplainFacts answers from facts as DecideFacts does, and says what every rule made of them. Change a fact to see what
// would happen if.
func (s *Set) ExplainFacts(f Facts) Explanation {
	x := Explanation{Verdict: s.DecideFacts(f), Facts: f}
	v, err := valueOf(map[string]any(f))
	if err != nil {
		return x
	}
	sets, unknown := s.applicable(v.field("policies"), v.field("action").text == actionAdmit)
	if unknown != nil {
		return x
	}
	q, err := newQuestion(&v, sets)
	if err != nil {
		return x
	}
	for i, set := range sets {
		prefix := ""
		if i > 0 {
			prefix = set.prefix()
		}
		for _, r := range set.rules {
			rep := r.report(q)
			rep.ID = prefix + rep.ID
			x.Rules = append(x.Rules, rep)
		}
	}
	return x
}

// report asks one rule alone.
func (r *rule) report(q *question) RuleReport {
	rep := RuleReport{ID: r.id, Permit: r.permit, Obligation: r.obligation, Reason: r.reason, Where: r.where()}
	if !r.about(q.request.Action) {
		return rep
	}
	if r.args != nil {
		if err := r.judge(q); err != nil {
			rep.Fault = err.Error()
			return rep
		}
	}
	one := &ruleList{rules: []*rule{r}, byID: map[cedar.PolicyID]*rule{cedar.PolicyID(r.id): r}}
	matched, f := one.match(q)
	if f != nil {
		rep.Fault = f.what
	}
	rep.Matched = len(matched) > 0
	return rep
}
