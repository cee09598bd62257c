package policy

import (
	"time"

	"github.com/perdure/perdure"
)

// actionAdmit is the action of an agent that arrives from elsewhere. Only permits that name it permit it.
const actionAdmit = "admit"

// Admit answers whether an agent that arrives from elsewhere may run on a node, which trusts its owner or does not. Where no permit names
// the action admit, a person is asked, unless two keys own the agent, which denies. The built-in policy always asks or denies.
func (s *Set) Admit(a *perdure.Agent, node perdure.Key, trusted bool, now time.Time) perdure.Verdict {
	return s.DecideFacts(AdmitFacts(a, node, trusted, now))
}

// AdmitFacts are the facts of an agent that arrives from elsewhere.
func AdmitFacts(a *perdure.Agent, node perdure.Key, trusted bool, now time.Time) Facts {
	f := a.Fold()
	m := momentOf(f, &perdure.Request{Node: node}, perdure.TimeOf(now.Truncate(time.Second)))
	m["trusted"], m["contested"], m["advisor"] = trusted, f.Contested, f.Intent.Advisor
	m["budget"], m["spent"] = limits(f.Intent.Budget), amounts(f.Spent)
	if f.Intent.Tools != nil {
		m["tools"] = texts(f.Intent.Tools)
	}
	if f.Intent.Deadline != 0 {
		m["deadline"] = int64(f.Intent.Deadline)
	}
	if l := f.Lineage; l != nil {
		relation := "fork"
		if l.Relation == perdure.Child {
			relation = "child"
		}
		m["lineage"] = map[string]any{"parent": l.Parent.String(), "relation": relation}
	}
	return Facts{
		"version": int64(factsVersion), "action": actionAdmit, "resource": f.Agent.String(), "agent": agentFacts(f),
		"policies": hashes(f.Charter.Policies), "context": m,
	}
}

// unruled is what is said of an agent from elsewhere when no permit is about those.
func (q *question) unruled() perdure.Verdict {
	if q.contested {
		return deny(ruleAdmit, "two keys own it: end it, or fork it from before")
	}
	return perdure.Verdict{Answer: perdure.Ask, Rules: []string{ruleAdmit}, Quorum: 1, Reason: "it comes from elsewhere, and no rule permits that action by name"}
}
