package policy

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
)

// Verification is what came of deriving the decisions of a memory again.
type Verification struct {
	Decisions int `json:"decisions"` // in the memory
	Derived   int `json:"derived"`   // again, from the agent alone
	// of the runtime itself, within bounds no policy can widen: their form was checked
	Runtime     int          `json:"runtime"`
	Gaps        []Gap        `json:"gaps,omitempty"`        // those that could not be derived again
	Differences []Difference `json:"differences,omitempty"` // those that do not hold
}

// OK reports whether every decision could be derived again as it is recorded.
func (v *Verification) OK() bool { return len(v.Differences) == 0 && len(v.Gaps) == 0 }

// Gap is a decision that cannot be derived again here.
type Gap struct {
	Entry  perdure.Hash `json:"entry"`
	Seq    int64        `json:"seq"`
	Policy perdure.Hash `json:"policy,omitzero"` // that it was made under and that is not at hand; none: a body is gone
	Why    string       `json:"why"`
}

func (g Gap) String() string {
	return fmt.Sprintf("decision %s at seq %d: %s", g.Entry.Short(), g.Seq, g.Why)
}

// Difference is a decision that is not what the policy says of the agent as it was then.
type Difference struct {
	Entry perdure.Hash    `json:"entry"`
	Seq   int64           `json:"seq"`
	What  string          `json:"what"`
	Got   perdure.Verdict `json:"got"`  // as recorded
	Want  perdure.Verdict `json:"want"` // as derived
}

func (d Difference) String() string {
	return fmt.Sprintf("decision %s at seq %d: %s", d.Entry.Short(), d.Seq, d.What)
}

// Verify derives the verdict of every decision of a memory again, from the agent as it was when the decision was made
// and from nothing else, and says where the recorded one differs. Decisions made under another set are derived under
// that one, if the memory tells its text, s knows it, or it is a built-in one. The memory itself must have been
// verified, its snapshots too; what class of effect a tool has is taken as recorded. The cost is that of folding the
// memory (see perdure.Replay) and deciding once more. An error says that the memory cannot be folded.
//
// Whose charter has a say, t tells; nil: nobody can tell. Where it has none, a node asks others than policy names.
func (s *Set) Verify(entries iter.Seq2[*perdure.Entry, error], t *perdure.Trust) (*Verification, error) {
	v := &Verification{}
	for m, err := range perdure.Replay(entries) {
		if err != nil {
			return nil, err
		}
		s = s.Learn(m.Entry)
		if m.Entry.Kind == perdure.KindDecision {
			v.Decisions++
			s.verify(v, m, t)
		}
	}
	return v, nil
}

// verify adds what came of one decision.
func (s *Set) verify(v *Verification, m perdure.Moment, t *perdure.Trust) {
	e := m.Entry
	d, ok := e.Content().(perdure.Decision)
	gap := Gap{Entry: e.Name, Seq: e.Seq}
	switch {
	case !ok:
		gap.Why = "its body is gone"
	case m.Before == nil:
		gap.Why = "bodies before it are gone, and no snapshot stands for them"
	case isRuntime(&d):
		v.Runtime++
		if what := checkRuntime(m.Before.Fold(), e, &d); what != "" {
			v.Differences = append(v.Differences, Difference{Entry: e.Name, Seq: e.Seq, What: what, Got: d.Verdict})
		}
		return
	case d.Verdict.Policy.IsZero():
		v.Differences = append(v.Differences, Difference{Entry: e.Name, Seq: e.Seq,
			What: "it names no policy it was made under", Got: d.Verdict})
		return
	case s.Under(d.Verdict.Policy) == nil:
		gap.Policy = d.Verdict.Policy
		gap.Why = fmt.Sprintf("made under policy %s, which is not at hand", d.Verdict.Policy)
	default:
		set := s.Under(d.Verdict.Policy)
		if lacks, ok := set.lacking(m.Before.Fold(), &d.Verdict); ok {
			gap.Policy, gap.Why = lacks, fmt.Sprintf("the charter names policy %s, which is not at hand", lacks)
			break
		}
		v.Derived++
		if diff := set.compare(m.Before, e, &d, t); diff != nil {
			v.Differences = append(v.Differences, *diff)
		}
		return
	}
	v.Gaps = append(v.Gaps, gap)
}

// lacking is a policy of the charter that s does not know and the author of a verdict did.
func (s *Set) lacking(f *perdure.Fold, v *perdure.Verdict) (perdure.Hash, bool) {
	for _, h := range f.Charter.Policies {
		if h != s.hash && s.known[h] == nil {
			return h, !unknownTo(v)
		}
	}
	return perdure.Hash{}, false
}

// unknownTo reports whether a verdict denies because its author did not know a policy of the charter.
func unknownTo(v *perdure.Verdict) bool {
	return v.Answer == perdure.Deny && len(v.Rules) == 1 && v.Rules[0] == ruleUnknown
}

// derive is the verdict policy gave, or would have given. An author that did not know a policy of the charter is taken
// to be ignorant of it.
func (s *Set) derive(a *perdure.Agent, r perdure.Request, now time.Time, recorded *perdure.Verdict) perdure.Verdict {
	if unknownTo(recorded) {
		for _, h := range a.Fold().Charter.Policies {
			ignorant := *s
			ignorant.known = maps.Clone(s.known)
			delete(ignorant.known, h)
			if v := ignorant.Decide(a, r, now); v.Reason == recorded.Reason {
				return v
			}
		}
	}
	return s.Decide(a, r, now)
}

// Under is the set with a hash, s itself or one it knows, together with what s knows; nil when there is none.
func (s *Set) Under(hash perdure.Hash) *Set {
	if hash == s.hash {
		return s
	}
	known := s.named(hash)
	if known == nil {
		known = builtIns()[hash]
	}
	if known == nil {
		return nil
	}
	copied := *known
	if copied.known = maps.Clone(s.known); copied.known == nil {
		copied.known = map[perdure.Hash]*Set{}
	}
	copied.known[s.hash], copied.seek = s, s.seek
	return &copied
}

// FactsOfDecision are the facts that a recorded decision was made on: those of the agent as its author saw it. An error
// says that they cannot be told.
func FactsOfDecision(m perdure.Moment) (Facts, error) {
	d, ok := m.Entry.Content().(perdure.Decision)
	if !ok || m.Before == nil {
		return nil, fmt.Errorf("entry %s: want a decision whose body, and those before it, are there",
			m.Entry.Name.Short())
	}
	r, ok := requestOf(m.Before, m.Entry, &d)
	if !ok {
		return nil, fmt.Errorf("decision %s: the action it decides on was not proposed", m.Entry.Name.Short())
	}
	at := momentAsked(m.Before, &r, m.Entry.Time.Go(), d.Verdict.Facts)
	return FactsOf(m.Before, r, at)
}

// RequestOf is what policy was asked for a recorded decision. It reports false if that cannot be told.
func RequestOf(m perdure.Moment) (perdure.Request, bool) {
	d, ok := m.Entry.Content().(perdure.Decision)
	if !ok || m.Before == nil {
		return perdure.Request{}, false
	}
	return requestOf(m.Before, m.Entry, &d)
}

// requestOf is what policy was asked when it made a decision, if that can be told from the agent as it was then.
func requestOf(a *perdure.Agent, e *perdure.Entry, d *perdure.Decision) (perdure.Request, bool) {
	yes, _ := votesOf(a.Fold(), d.Approvals)
	r := perdure.Request{Action: actionOf(a.Fold(), d), Approvals: yes, Node: e.Origin}
	if _, ok := r.Action.(perdure.Execute); ok {
		r.Effect = d.Effect
	}
	return r, r.Action != nil
}

// actionOf is what a decision is about.
func actionOf(f *perdure.Fold, d *perdure.Decision) perdure.Action {
	if d.Action != nil {
		return d.Action
	}
	for i := range f.Proposals {
		if p := &f.Proposals[i]; p.Advice == d.Advice && d.Index >= 0 && d.Index < int64(len(p.Actions)) {
			return p.Actions[d.Index]
		}
	}
	return nil
}

// compare derives one verdict again, and says how the recorded one differs.
func (s *Set) compare(a *perdure.Agent, e *perdure.Entry, d *perdure.Decision, t *perdure.Trust) *Difference {
	diff := &Difference{Entry: e.Name, Seq: e.Seq, Got: d.Verdict}
	r, ok := requestOf(a, e, d)
	if !ok {
		diff.What = "the action it decides on was not proposed"
		return diff
	}
	yes, given := votesOf(a.Fold(), d.Approvals)
	if !given {
		diff.What = "it uses approvals that nobody gave"
		return diff
	}
	asked := momentAsked(a, &r, e.Time.Go(), d.Verdict.Facts)
	diff.Want = s.derive(a, r, asked, &d.Verdict)
	// else the approvals were not those of the people this policy asks: it asked again
	if d.Verdict.Answer != perdure.Ask {
		diff.Want = approved(diff.Want, yes)
	}
	switch got, want := &d.Verdict, &diff.Want; {
	case got.Facts != want.Facts:
		diff.What = "the facts it was decided on are not those of the agent at that point"
	case got.Answer != want.Answer:
		diff.What = fmt.Sprintf("the answer is %s, policy says %s", got.Answer, want.Answer)
	case !slices.Equal(got.Rules, want.Rules):
		diff.What = fmt.Sprintf("decided by %s, policy says by %s", strings.Join(got.Rules, ", "),
			strings.Join(want.Rules, ", "))
	case got.Quorum != want.Quorum || got.Expires != want.Expires || !t.AskedAs(a.Fold(), got.Asked, want.Asked) ||
		!slices.EqualFunc(got.Escalate, want.Escalate, func(g, w perdure.Escalation) bool {
			return g.At == w.At && t.AskedAs(a.Fold(), g.Asked, w.Asked)
		}):
		diff.What = "whom it asks, how many or until when is not what policy says"
	case got.Reason != want.Reason:
		diff.What = "the reason is not the one policy gives"
	default:
		return nil
	}
	return diff
}

// momentAsked is when policy was asked: at the time of the entry or a little before, at the second whose facts are
// those recorded. Of the approvals, those by people whom policy did not ask at that time did not count: r is left with
// as many as did.
//
// Whom to believe is for the node that asked: who it took for the owner, and whether it took the text for a stranger's,
// is what the recorded facts say, of what it may be.
func momentAsked(a *perdure.Agent, r *perdure.Request, written time.Time, facts perdure.Hash) time.Time {
	asked := *r
	owners := []perdure.Key{{}}
	if begun := a.Fold().Begun; !begun.IsZero() {
		owners = append(owners, begun)
	}
	for _, r.Owner = range owners {
		for _, r.Tainted = range []bool{false, true} {
			for r.Approvals = asked.Approvals; r.Approvals >= 0; r.Approvals-- {
				if at, ok := secondAsked(a, r, written, facts); ok {
					return at
				}
			}
		}
	}
	*r = asked
	return written
}

// secondAsked is the second at which the facts of a request are those recorded, if there is one.
func secondAsked(a *perdure.Agent, r *perdure.Request, written time.Time, facts perdure.Hash) (time.Time, bool) {
	ar := arenas.Get().(*arena)
	defer ar.release()
	for lag := time.Duration(0); lag <= clockLag; lag += time.Second {
		at := written.Add(-lag)
		f, err := factsOf(ar, a, r, at)
		if err != nil {
			break
		}
		if h, err := f.hash(); err == nil && h == facts {
			return at, true
		}
		ar.reset()
	}
	return written, false
}

// approved is a verdict after people have approved, as the runtime records it.
func approved(v perdure.Verdict, approvals int) perdure.Verdict {
	if v.Answer == perdure.Ask && approvals > 0 {
		v.Answer = perdure.Allow
		v.Rules = append(slices.Clone(v.Rules), "runtime.approved")
	}
	return v
}

// votesOf counts the approvals among votes that a decision names, and reports whether all of them are answers to one
// question.
func votesOf(f *perdure.Fold, named []perdure.Hash) (yes int, given bool) {
	for i := range f.Asks {
		yes, given = 0, true
		for _, h := range named {
			at := slices.IndexFunc(f.Asks[i].Votes, func(v perdure.Vote) bool { return v.Event == h })
			if at < 0 {
				given = false
				break
			}
			if f.Asks[i].Votes[at].Approve {
				yes++
			}
		}
		if given {
			return yes, len(named) == 0 || yes > 0
		}
	}
	return 0, len(named) == 0
}

// isRuntime reports whether a decision says that the runtime made it without asking policy.
func isRuntime(d *perdure.Decision) bool {
	return len(d.Verdict.Rules) > 0 && strings.HasPrefix(d.Verdict.Rules[0], "runtime.")
}

// checkRuntime says what is wrong with a decision of the runtime: it may deny anything, but of itself it only ends one
// whose deadline has passed, lets an agent sleep or end, and, in memories of earlier versions, wakes it.
func checkRuntime(f *perdure.Fold, e *perdure.Entry, d *perdure.Decision) string {
	if d.Verdict.Answer == perdure.Deny {
		return ""
	}
	switch x := actionOf(f, d).(type) {
	case perdure.Wake:
		if f.Sleep != nil && d.Verdict.Rules[0] == "runtime.wake" && x.Sleep == f.Sleep.Decision {
			return ""
		}
	case perdure.Sleep:
		if d.Verdict.Rules[0] == ruling.Rest && d.Verdict.Answer == perdure.Allow {
			return ""
		}
	case perdure.End:
		if d.Verdict.Rules[0] == ruling.Rest && d.Verdict.Answer == perdure.Allow {
			return ""
		}
		if d.Verdict.Rules[0] == "runtime.deadline" && f.Intent.Deadline != 0 && e.Time >= f.Intent.Deadline {
			return ""
		}
	case perdure.Execute:
		if d.Verdict.Rules[0] == ruling.Record && f.Lineage != nil && f.Lineage.Rehearse &&
			d.Effect == perdure.Read {
			return ""
		}
	case perdure.Mutate, perdure.Delegate, nil:
	}
	return fmt.Sprintf("%s by %s, which the runtime cannot decide without policy", d.Verdict.Answer, d.Verdict.Rules[0])
}
