package policy

import (
	"time"

	"github.com/perdure/perdure"
)

// actionAdmit is the action of an agent that arrives from elsewhere. Only permits that name it permit it.
const actionAdmit = "admit"

// Admit answers whether an agent that arrives from elsewhere may run on a node, which trusts its owner or does not.
// Where no permit names the action admit, a person is asked, unless two keys own the agent, which denies. The built-in
// policy always asks or denies.
func (s *Set) Admit(a *perdure.Agent, node perdure.Key, trusted bool, now time.Time) perdure.Verdict {
	ar := arenas.Get().(*arena)
	defer ar.release()
	v := admitFacts(ar, a, node, trusted, now)
	return s.decideValue(&v)
}

// AdmitFacts are the facts of an agent that arrives from elsewhere.
func AdmitFacts(a *perdure.Agent, node perdure.Key, trusted bool, now time.Time) Facts {
	v := admitFacts(new(arena), a, node, trusted, now)
	f, _ := v.plain().(map[string]any)
	return f
}

func admitFacts(ar *arena, a *perdure.Agent, node perdure.Key, trusted bool, now time.Time) value {
	f := a.Fold()
	r := &perdure.Request{Node: node}
	if !trusted { // whom it names as owner is its word
		r.Owner = f.Begun
	}
	moment := momentOf(ar, f, r, perdure.TimeOf(now.Truncate(time.Second)))
	asks := ar.list([]named{
		{"spent", amounts(ar, f.Spent)}, {"budget", limits(ar, f.Intent.Budget)}, {"advisor", text(f.Intent.Advisor)},
		{"trusted", truth(trusted)},
		{"contested", truth(f.Contested)},
	})
	var more []named // in the order of canonical bytes
	if f.Intent.Tools != nil {
		more = append(more, named{"tools", ar.texts(f.Intent.Tools)})
	}
	if l := f.Lineage; l != nil {
		relation := "fork"
		if l.Relation == perdure.Child {
			relation = "child"
		}
		more = append(more, named{"lineage", ar.record(ar.list(
			[]named{{"parent", text(l.Parent.String())}, {"relation", text(relation)}}))})
	}
	if f.Intent.Deadline != 0 {
		more = append(more, named{"deadline", number(int64(f.Intent.Deadline))})
	}
	return factsAbout(ar, f, r, actionAdmit, "", ar.record(moment, asks, more))
}

// unknowing is what is said of an agent from elsewhere with policies of its own that are not known here: it may bring
// them along, but what they say of coming here nobody has asked. A person is.
var unknowing = perdure.Verdict{Answer: perdure.Ask, Rules: []string{ruleUnknown}, Quorum: 1,
	Reason: "it has policies of its own that are not known here yet"}

// unruled is what is said of an agent from elsewhere when no permit is about those.
func (q *question) unruled() perdure.Verdict {
	if q.contested {
		return deny(ruleAdmit, "two keys own it: end it, or fork it from before")
	}
	return perdure.Verdict{Answer: perdure.Ask, Rules: []string{ruleAdmit}, Quorum: 1,
		Reason: "it comes from elsewhere, and no rule permits that action by name"}
}
