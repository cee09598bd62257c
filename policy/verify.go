package policy

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Verification is what came of deriving the decisions of a memory again.
type Verification struct {
	Decisions   int          `json:"decisions"` // in the memory
	Checked     int          `json:"checked"`   // derived again from the agent alone
	Runtime     int          `json:"runtime"`   // of the runtime itself, within bounds no policy can widen: their form was checked
	Unread      int          `json:"unread"`    // without their body
	Differences []Difference `json:"differences"`
}

// OK reports whether every decision could be derived again as it is recorded.
func (v *Verification) OK() bool { return len(v.Differences) == 0 && v.Unread == 0 }

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

// Verify derives the verdict of every decision of a memory again, from the agent as it was when the decision was made and from nothing else,
// and says where the recorded one differs. Decisions made under another set are derived under that one, if s knows it. The memory itself
// must have been verified, its snapshots too; what class of effect a tool has is taken as recorded. An error says that the memory cannot be folded.
func (s *Set) Verify(entries iter.Seq2[*perdure.Entry, error]) (*Verification, error) {
	m := &replay{byName: map[perdure.Hash]*perdure.Entry{}}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		m.all, m.byName[e.Name] = append(m.all, e), e
	}
	slices.SortFunc(m.all, func(a, b *perdure.Entry) int { return a.Position().Compare(b.Position()) })
	v := &Verification{}
	for _, e := range m.all {
		if e.Kind != perdure.KindDecision {
			continue
		}
		v.Decisions++
		d, ok := e.Content().(perdure.Decision)
		if !ok {
			v.Unread++
			continue
		}
		before, err := m.before(e)
		if err != nil {
			return nil, fmt.Errorf("verify decision %s: %w", e.Name.Short(), err)
		}
		if isRuntime(&d) {
			v.Runtime++
			if what := checkRuntime(before.Fold(), e, &d, m.action(&d)); what != "" {
				v.Differences = append(v.Differences, Difference{Entry: e.Name, Seq: e.Seq, What: what, Got: d.Verdict})
			}
			continue
		}
		v.Checked++
		if diff := s.verify(before, e, &d, m.action(&d)); diff != nil {
			v.Differences = append(v.Differences, *diff)
		}
	}
	return v, nil
}

// verify derives one verdict again.
func (s *Set) verify(a *perdure.Agent, e *perdure.Entry, d *perdure.Decision, action perdure.Action) *Difference {
	diff := &Difference{Entry: e.Name, Seq: e.Seq, Got: d.Verdict}
	set := s
	if known := s.known[d.Verdict.Policy]; known != nil {
		copied := *known
		copied.known = s.known
		set = &copied
	}
	if set.hash != d.Verdict.Policy {
		diff.What = fmt.Sprintf("made under policy %s, which is not known here: load it", d.Verdict.Policy.Short())
		return diff
	}
	if action == nil {
		diff.What = "the action it decides on is not in this memory"
		return diff
	}
	r := perdure.Request{Action: action, Approvals: len(d.Approvals), Node: e.Origin}
	if _, ok := action.(perdure.Execute); ok {
		r.Effect = d.Effect
	}
	now := set.moment(a, &r, e.Time.Go(), d.Verdict.Facts)
	diff.Want = approved(set.Decide(a, r, now), len(d.Approvals))
	switch got, want := &d.Verdict, &diff.Want; {
	case got.Facts != want.Facts:
		diff.What = "the facts it was decided on are not those of the agent at that point"
	case got.Answer != want.Answer:
		diff.What = fmt.Sprintf("the answer is %s, policy says %s", got.Answer, want.Answer)
	case !slices.Equal(got.Rules, want.Rules):
		diff.What = fmt.Sprintf("decided by %s, policy says by %s", strings.Join(got.Rules, ", "), strings.Join(want.Rules, ", "))
	case got.Quorum != want.Quorum || got.Expires != want.Expires || !slices.Equal(got.Asked, want.Asked) || !slices.EqualFunc(got.Escalate, want.Escalate, sameStage):
		diff.What = "whom it asks, how many or until when is not what policy says"
	case got.Reason != want.Reason:
		diff.What = "the reason is not the one policy gives"
	default:
		return nil
	}
	return diff
}

func sameStage(a, b perdure.Escalation) bool { return a.At == b.At && slices.Equal(a.Asked, b.Asked) }

// moment is when policy was asked: at the time of the entry or a little before, at the second whose facts are those recorded.
func (s *Set) moment(a *perdure.Agent, r *perdure.Request, written time.Time, facts perdure.Hash) time.Time {
	for lag := time.Duration(0); lag <= clockLag; lag += time.Second {
		at := written.Add(-lag)
		f, err := factsOf(a, r, at)
		if err != nil {
			break
		}
		if h, err := f.hash(); err == nil && h == facts {
			return at
		}
	}
	return written
}

// approved is a verdict after people have approved, as the runtime records it.
func approved(v perdure.Verdict, approvals int) perdure.Verdict {
	if v.Answer == perdure.Ask && approvals > 0 {
		v.Answer = perdure.Allow
		v.Rules = append(slices.Clone(v.Rules), "runtime.approved")
	}
	return v
}

// isRuntime reports whether a decision says that the runtime made it without asking policy.
func isRuntime(d *perdure.Decision) bool {
	return len(d.Verdict.Rules) > 0 && strings.HasPrefix(d.Verdict.Rules[0], "runtime.")
}

// checkRuntime says what is wrong with a decision of the runtime: it may deny anything, but of itself it only wakes an agent or ends one
// whose deadline has passed.
func checkRuntime(f *perdure.Fold, e *perdure.Entry, d *perdure.Decision, action perdure.Action) string {
	if d.Verdict.Answer == perdure.Deny {
		return ""
	}
	switch x := action.(type) {
	case perdure.Wake:
		if f.Sleep != nil && d.Verdict.Rules[0] == "runtime.wake" && x.Sleep == f.Sleep.Decision {
			return ""
		}
	case perdure.End:
		if d.Verdict.Rules[0] == "runtime.deadline" && f.Intent.Deadline != 0 && e.Time >= f.Intent.Deadline {
			return ""
		}
	case perdure.Execute, perdure.Mutate, perdure.Delegate, perdure.Sleep, nil:
	}
	return fmt.Sprintf("%s by %s, which the runtime cannot decide without policy", d.Verdict.Answer, d.Verdict.Rules[0])
}

// replay is a memory from which the agent is derived as it was.
type replay struct {
	all    []*perdure.Entry // in fold order
	byName map[perdure.Hash]*perdure.Entry
	agent  *perdure.Agent // of the first next entries
	next   int
}

// action is what a decision is about.
func (m *replay) action(d *perdure.Decision) perdure.Action {
	if d.Action != nil {
		return d.Action
	}
	e := m.byName[d.Advice]
	if e == nil {
		return nil
	}
	if adv, ok := e.Content().(perdure.Advice); ok && d.Index >= 0 && d.Index < int64(len(adv.Actions)) {
		return adv.Actions[d.Index]
	}
	return nil
}

// before is the agent its author had when writing e: everything in the past of e and nothing beside it.
func (m *replay) before(e *perdure.Entry) (*perdure.Agent, error) {
	m.advance(e)
	if m.agent != nil && slices.Equal(m.agent.Heads(), e.Parents) {
		return m.agent, nil
	}
	if len(e.Parents) != 1 {
		return perdure.FoldEntries(each(m.past(e)))
	}
	if recent := m.sinceSnapshot(e); recent != nil {
		if a, err := perdure.AgentAt(each(recent), e.Parents[0]); err == nil {
			return a, nil
		}
	}
	return perdure.AgentAt(each(m.all), e.Parents[0])
}

// sinceSnapshot is the newest snapshot before e and what follows it up to e; nil when there is none. The parents of the snapshot are there
// without their bodies, which it stands for. If something that e descends from lies beside the snapshot, these entries do not fold.
func (m *replay) sinceSnapshot(e *perdure.Entry) []*perdure.Entry {
	end, _ := slices.BinarySearchFunc(m.all, e, func(a, b *perdure.Entry) int { return a.Position().Compare(b.Position()) })
	for i := end - 1; i > 0; i-- {
		if s := m.all[i]; s.Kind == perdure.KindSnapshot && s.Content() != nil {
			var recent []*perdure.Entry
			for _, name := range s.Parents {
				if p := m.byName[name]; p != nil {
					recent = append(recent, p.Drop())
				}
			}
			return append(recent, m.all[i:end]...)
		}
	}
	return nil
}

// advance folds the whole commits before e, as long as they follow each other in one line.
func (m *replay) advance(e *perdure.Entry) {
	for i := m.next; i < len(m.all) && m.all[i].Position().Compare(e.Position()) < 0; i++ {
		if m.all[i].Signature == nil {
			continue
		}
		commit := m.all[m.next : i+1]
		var a *perdure.Agent
		var err error
		if m.agent == nil {
			a, err = perdure.FoldEntries(each(commit))
		} else {
			a, err = m.agent.Apply(commit...)
		}
		if err != nil {
			return
		}
		m.agent, m.next = a, i+1
	}
}

// past is the entries e descends from, in fold order.
func (m *replay) past(e *perdure.Entry) []*perdure.Entry {
	in := map[perdure.Hash]bool{}
	for todo := slices.Clone(e.Parents); len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p := m.byName[name]; p != nil && !in[name] {
			in[name] = true
			todo = append(todo, p.Parents...)
		}
	}
	return slices.DeleteFunc(slices.Clone(m.all), func(p *perdure.Entry) bool { return !in[p.Name] })
}

func each(entries []*perdure.Entry) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}
