package policy

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
)

// Set is policy: rules in a fixed order, and the further sets that charters may name. It does not change; the zero Set
// denies everything.
type Set struct {
	rules   []*rule // by id
	permits bool    // has a permit at all
	actions map[string]*actionRules
	hash    perdure.Hash
	texts   []string // of its files, in the order of the hash
	known   map[perdure.Hash]*Set
	seek    func(perdure.Hash) *Set // see Seek; nil: nothing is looked for
	learned int                     // bytes, see Learn
	counts  bool                    // a rule reads how often tools were called
}

var (
	_ perdure.Policy = (*Set)(nil)
	_ perdure.Teller = (*Set)(nil)
	_ interface {
		Counts(a *perdure.Agent) bool
	} = (*Set)(nil) // see perdure.Policy
)

// The rules of this package itself.
const (
	ruleFacts   = "policy.facts"   // the facts are not what the schema says
	ruleError   = "policy.error"   // a rule could not be evaluated
	ruleArgs    = "policy.args"    // an argument is not what a rule takes it for
	ruleDefault = ruling.Default   // nothing permits it
	ruleUnknown = "policy.unknown" // the charter names a policy set that is not known here
	ruleAdmit   = "policy.admit"   // no permit is about agents from elsewhere
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

// Obligations are what rules ask of people before they permit something, by the ids of the rules.
func (s *Set) Obligations() iter.Seq2[string, *Obligation] {
	return func(yield func(string, *Obligation) bool) {
		for _, r := range s.rules {
			if r.obligation != nil && !yield(r.id, r.obligation) {
				return
			}
		}
	}
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
	ar := arenas.Get().(*arena)
	defer ar.release()
	f, err := factsOf(ar, a, &r, now)
	if err != nil {
		return perdure.Verdict{Rules: []string{ruleFacts}, Policy: s.hash, Reason: err.Error()}
	}
	return s.decideValue(&f)
}

// DecideFacts answers from facts. Whatever they are, it never panics, and facts that are not as the schema says are
// denied.
func (s *Set) DecideFacts(f Facts) perdure.Verdict {
	v, err := valueOf(map[string]any(f))
	if err != nil {
		return perdure.Verdict{Rules: []string{ruleFacts}, Policy: s.hash, Reason: err.Error()}
	}
	return s.decideValue(&v)
}

func (s *Set) decideValue(f *value) perdure.Verdict {
	hash, err := f.hash()
	if err != nil {
		return perdure.Verdict{Rules: []string{ruleFacts}, Policy: s.hash, Reason: err.Error()}
	}
	v := s.decide(f)
	v.Policy, v.Facts = s.hash, hash
	return v
}

func (s *Set) decide(f *value) perdure.Verdict {
	sets, denial := s.applicable(f.field("policies"), f.field("action").text == actionAdmit)
	if denial != nil {
		return *denial
	}
	q, err := newQuestion(f, sets)
	if err != nil {
		return deny(ruleFacts, "facts: "+err.Error())
	}
	v := s.answer(q, "", true)
	for _, own := range sets[1:] {
		v = narrower(v, own.answer(q, own.prefix(), false))
	}
	if q.action == actionAdmit && !s.knows(f.field("policies")) {
		v = narrower(v, unknowing)
	}
	if v.Answer == perdure.Ask && q.approvals > 0 && q.approvals < v.Quorum {
		return deny(ruleQuorum, "more people must approve than were asked: propose it again")
	}
	settle(&v)
	return v
}

// Seek is s with a way to look for a policy that a charter names and s does not know: the home of a node that runs may
// have got it since, and need not read those that nobody names. A nil find looks for nothing. Find returns nil if there
// is none. It is called by several goroutines at once, for each answer about such an agent, so it keeps what it finds.
func (s *Set) Seek(find func(perdure.Hash) *Set) *Set {
	out := *s
	out.seek = find
	return &out
}

// named is a set that a charter names; nil: it is not known here.
func (s *Set) named(h perdure.Hash) *Set {
	if own := s.known[h]; own != nil || s.seek == nil {
		return own
	}
	return s.seek(h)
}

// prefix marks the rules of a set that a charter named.
func (s *Set) prefix() string { return s.hash.Short() + ":" }

func deny(rule, reason string) perdure.Verdict {
	return perdure.Verdict{Rules: []string{rule}, Reason: reason}
}

// applicable is the sets that decide: s and those the charter names. One that is not known denies; of an arrival it is
// left out, see unknowing.
func (s *Set) applicable(policies *value, arrival bool) ([]*Set, *perdure.Verdict) {
	sets := []*Set{s}
	if policies.kind != isList {
		v := deny(ruleFacts, "facts: policies: want a list, got "+kindOf(policies.plain()))
		return nil, &v
	}
	for i := range policies.rec {
		text := policies.rec[i].text
		h, err := perdure.ParseHash(text)
		if err != nil {
			v := deny(ruleFacts, "facts: policies: "+err.Error())
			return nil, &v
		}
		own := s.named(h)
		switch {
		case h == s.hash, own == nil && arrival:
		case own == nil:
			v := deny(ruleUnknown, "the charter names policy "+text+", which this node does not have: load it")
			return nil, &v
		default:
			sets = append(sets, own)
		}
	}
	return sets, nil
}

// knows reports whether s knows all of the policies a charter names.
func (s *Set) knows(policies *value) bool {
	return !slices.ContainsFunc(policies.rec, func(p named) bool {
		h, err := perdure.ParseHash(p.text)
		return err != nil || h != s.hash && s.named(h) == nil
	})
}

// answer is what the rules of one set say: the node's own, or one that narrows it.
func (s *Set) answer(q *question, prefix string, local bool) perdure.Verdict {
	rules := s.actions[q.action]
	if rules == nil {
		rules = &actionRules{}
	}
	for _, r := range rules.args {
		if err := r.judge(q); err != nil {
			return perdure.Verdict{Rules: []string{ruleArgs, prefix + r.id}, Reason: err.Error()}
		}
	}
	matched, fault := rules.all.match(q)
	if fault != nil {
		return fault.verdict(prefix)
	}
	var forbids, asks, permitted []*rule
	for _, r := range matched {
		switch {
		case r.permit:
			permitted = append(permitted, r)
		case r.obligation != nil:
			asks = append(asks, r)
		default:
			forbids = append(forbids, r)
		}
	}
	if len(asks) > 0 && len(forbids) == 0 {
		if permitted, fault = rules.permits.match(q); fault != nil { // of what they cost, at most
			return fault.verdict(prefix)
		}
	}
	switch {
	case len(forbids) > 0:
		return verdictOf(perdure.Deny, prefix, forbids)
	case len(permitted) == 0 && s.mustPermit(q, rules, local):
		return deny(prefix+ruleDefault, "no rule permits it")
	case local && len(permitted) == 0 && (q.contested || len(asks) == 0):
		return q.unruled()
	case len(asks) > 0:
		v := verdictOf(perdure.Ask, prefix, asks)
		quorums := map[string]int64{}
		for _, r := range asks {
			r.obligation.join(&v, quorums, q.now)
		}
		return v
	}
	return verdictOf(perdure.Allow, prefix, permitted)
}

// mustPermit reports whether what no rule of the set permits is denied. A set that only narrows and has no permit at
// all denies nothing by being silent, and a set without a permit for agents from elsewhere leaves them to a person.
func (s *Set) mustPermit(q *question, rules *actionRules, local bool) bool {
	if q.action == actionAdmit && len(s.rules) > 0 && len(rules.permits.rules) == 0 {
		return false
	}
	return local || s.permits
}

func verdictOf(answer perdure.Answer, prefix string, rules []*rule) perdure.Verdict {
	v := perdure.Verdict{Answer: answer, Rules: make([]string, 0, len(rules)+1)}
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

// narrower is the more restrictive of a verdict and that of a set which an agent brought along. Two that ask are asked
// together, but nobody whom b alone asks answers in the place of those whom a asks: as many more must approve as those
// are, and b escalates to nobody.
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
		if slices.Equal(a.Asked, b.Asked) || len(b.Asked) == 0 { // b takes whoever may approve, also those
			a.Quorum = max(a.Quorum, b.Quorum)
		} else {
			others := slices.DeleteFunc(slices.Clone(b.Asked), func(who string) bool {
				return len(a.Asked) == 0 || slices.Contains(a.Asked, who) // none: whoever may approve
			})
			a.Quorum += max(b.Quorum, int64(len(others)))
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

// fault is a rule that could not be evaluated. To Cedar such a rule does not apply; here it denies.
type fault struct {
	rule *rule
	what string
}

func (f *fault) verdict(prefix string) perdure.Verdict {
	return perdure.Verdict{Rules: []string{ruleError, prefix + f.rule.id}, Reason: "rule " + f.rule.id + ": " + f.what}
}

// match is the rules that match, in order.
func (l *ruleList) match(q *question) ([]*rule, *fault) {
	if len(l.rules) == 0 {
		return nil, nil
	}
	for _, r := range l.rules {
		if len(r.likes) > 0 && !q.affords(r) {
			return nil, &fault{r, fmt.Sprintf("its patterns cannot be held against texts as long as these: one "+
				"decision compares at most %d bytes", maxCompared)}
		}
	}
	_, diag := cedar.Authorize(l, q, q.request)
	if len(diag.Errors) > 0 {
		return nil, &fault{l.byID[diag.Errors[0].PolicyID], diag.Errors[0].Message}
	}
	var matched []*rule
	for _, r := range diag.Reasons {
		matched = append(matched, l.byID[r.PolicyID])
	}
	return matched, nil
}
