package policy

import (
	"time"

	"github.com/perdure/perdure"
)

// Explanation is why a verdict is what it is.
type Explanation struct {
	Verdict perdure.Verdict
	Facts   Facts
	Rules   []RuleReport // every rule that was asked, the node's own first, then those of the charter's sets
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

// Explain answers a request as Decide does, and says what every rule made of it.
func (s *Set) Explain(a *perdure.Agent, r perdure.Request, now time.Time) Explanation {
	f, err := FactsOf(a, r, now)
	if err != nil {
		return Explanation{Verdict: s.Decide(a, r, now), Facts: f}
	}
	return s.ExplainFacts(f)
}

// ExplainFacts answers from facts as DecideFacts does, and says what every rule made of them. Change a fact to see what would happen if.
func (s *Set) ExplainFacts(f Facts) Explanation {
	var t trace
	v := s.decide(f, &t)
	return Explanation{Verdict: v, Facts: f, Rules: t.rules}
}

// trace is what the rules said.
type trace struct{ rules []RuleReport }

func (t *trace) add(prefix string, r *rule, matched bool, f *fault) {
	if t == nil {
		return
	}
	rep := RuleReport{ID: prefix + r.id, Permit: r.permit, Matched: matched, Obligation: r.obligation, Reason: r.reason, Where: r.where()}
	if f != nil {
		rep.Fault = f.what
	}
	t.rules = append(t.rules, rep)
}
