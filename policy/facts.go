package policy

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Facts are what a decision depends on, all of it:
//
//	version   of the facts, 1
//	action    execute, mutate, delegate, sleep, wake, end or admit
//	resource  the tool, the scope of the child, or the agent itself
//	agent     id, name, kind, owner, scope, child, labels
//	policies  the hashes of the agent's own policy sets
//	context   what Schema says of the action
//
// Values are bool, int64, string, []any and map[string]any, and those that Data holds for arguments. Times are milliseconds.
type Facts map[string]any

const factsVersion = 1

// FactsOf are the facts of a request. An error says that the request cannot be judged; Decide denies it.
func FactsOf(a *perdure.Agent, r perdure.Request, now time.Time) (Facts, error) {
	f := a.Fold()
	t := perdure.TimeOf(now.Truncate(time.Second))
	moment := momentOf(f, &r, t)
	facts := Facts{
		"version":  int64(factsVersion),
		"agent":    agentFacts(f),
		"policies": hashes(f.Charter.Policies),
		"context":  moment,
	}
	facts["resource"] = f.Agent.String()
	switch x := r.Action.(type) {
	case perdure.Execute:
		facts["action"], facts["resource"] = "execute", x.Tool
		addSpending(moment, f, t)
		return facts, addCall(moment, f, &x, r.Effect, t)
	case perdure.Delegate:
		facts["action"], facts["resource"] = "delegate", x.Scope
		if x.Scope == "" {
			facts["resource"] = f.Charter.Scope
		}
		addSpending(moment, f, t)
		moment["child"] = childFacts(&x)
	case perdure.Mutate:
		facts["action"] = "mutate"
		moment["changes"], moment["narrows"] = changes(&x)
	case perdure.Sleep:
		facts["action"] = "sleep"
	case perdure.Wake:
		facts["action"] = "wake"
	case perdure.End:
		facts["action"] = "end"
	default:
		return nil, fmt.Errorf("facts of agent %s: no such action %T", f.Agent.Short(), r.Action)
	}
	return facts, nil
}

// Hash is the SHA-256 of the canonical bytes of the facts.
func (f Facts) Hash() (perdure.Hash, error) {
	d, err := f.data()
	return perdure.HashOf(d), err
}

func (f Facts) data() (perdure.Data, error) { return perdure.DataOf(map[string]any(f)) }

// MarshalJSON writes the facts as JSON.
func (f Facts) MarshalJSON() ([]byte, error) {
	d, err := f.data()
	if err != nil {
		return nil, err
	}
	return d.MarshalJSON()
}

// agentFacts is who is asking.
func agentFacts(f *perdure.Fold) map[string]any {
	labels := make(map[string]any, len(f.Intent.Labels))
	for k, v := range f.Intent.Labels {
		labels[k] = v
	}
	return map[string]any{
		"id": f.Agent.String(), "name": f.Intent.Name, "kind": f.Intent.Kind, "owner": f.Charter.Owner.String(), "scope": f.Charter.Scope,
		"child": f.Lineage != nil && f.Lineage.Relation == perdure.Child, "labels": labels,
	}
}

// momentOf is the facts every action has.
func momentOf(f *perdure.Fold, r *perdure.Request, t perdure.Time) map[string]any {
	weekday := int64(t.Go().Weekday())
	if weekday == 0 {
		weekday = 7
	}
	m := make(map[string]any, 24) // room for what the action adds: growing would cost more than the rest
	m["now"], m["weekday"], m["age"] = int64(t), weekday, max(int64(t-f.Created)/1000, 0)
	m["node"], m["approvals"] = r.Node.String(), int64(r.Approvals)
	m["depth"], m["tainted"], m["turns"], m["denials"] = f.Charter.Depth, !f.Taint.IsZero(), f.Turns, f.Denials
	return m
}

// addSpending adds what has been spent and what is under way.
func addSpending(m map[string]any, f *perdure.Fold, t perdure.Time) {
	if f.Intent.Deadline != 0 {
		m["deadline"] = int64(f.Intent.Deadline)
	}
	living := int64(0)
	for i := range f.Children {
		if !f.Children[i].Ended {
			living++
		}
	}
	m["spent"], m["reserved"], m["left"] = amounts(f.Spent), amounts(f.Reserved()), limits(f.Left())
	m["open"], m["children"] = int64(len(f.Open)), living
	m["calls"] = allCalls(f, t).facts()
}

// addCall adds what is known of the tool and of this call.
func addCall(m map[string]any, f *perdure.Fold, x *perdure.Execute, effect perdure.Effect, t perdure.Time) error {
	if effect != perdure.Read && effect != perdure.Idempotent {
		effect = perdure.Once
	}
	m["tool"], m["effect"] = x.Tool, effect.String()
	m["toolCalls"], m["failures"] = toolCalls(f, x.Tool, t).facts(), failures(f, x.Tool)
	args, err := argsOf(x.Args)
	m["args"] = args
	return err
}

// argsOf is arguments as a record. Arguments that read differently from how they are written are refused: the tool might see others.
func argsOf(d perdure.Data) (map[string]any, error) {
	if len(d) == 0 {
		return map[string]any{}, nil
	}
	v := d.Value()
	if back, err := perdure.DataOf(v); err != nil || !bytes.Equal(back, d) {
		return nil, fmt.Errorf("arguments: want canonical data with text keys")
	}
	switch v := v.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, fmt.Errorf("arguments: want a record of named values, got %T", v)
}

func childFacts(x *perdure.Delegate) map[string]any {
	child := map[string]any{"kind": x.Intent.Kind, "advisor": x.Intent.Advisor, "depth": x.Depth, "budget": limits(x.Intent.Budget)}
	if x.Intent.Tools != nil {
		child["tools"] = texts(x.Intent.Tools)
	}
	return child
}

// changes names what a mutation changes, and says whether it is bounds alone.
func changes(x *perdure.Mutate) (names []any, narrows bool) {
	names, narrows = []any{}, true
	add := func(name string, present, bound bool) {
		if present {
			names, narrows = append(names, name), narrows && bound
		}
	}
	add("goal", x.Goal != nil, false)
	add("kind", x.Kind != nil, false)
	add("inputs", len(x.Inputs) > 0, false)
	add("labels", x.Labels != nil, false)
	add("scope", x.Scope != nil, true)
	add("budget", x.Budget != nil, true)
	add("deadline", x.Deadline != 0, true)
	add("tools", x.Tools != nil, true)
	add("depth", x.Depth != nil, true)
	return names, narrows
}

func amounts(s perdure.Spend) map[string]any {
	return map[string]any{"cost": s.Cost, "tokens": s.Tokens, "calls": s.Calls}
}

func limits(b *perdure.Budget) map[string]any {
	m := map[string]any{}
	add := func(name string, p *int64) {
		if p != nil {
			m[name] = *p
		}
	}
	if b != nil {
		add("cost", b.Cost)
		add("tokens", b.Tokens)
		add("calls", b.Calls)
	}
	return m
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

func hashes(list []perdure.Hash) []any {
	out := make([]any, len(list))
	for i, h := range list {
		out[i] = h.String()
	}
	return out
}

// advisorRecord reports whether a record of signals is of an advisor, not of a tool.
func advisorRecord(name string) bool { return strings.HasPrefix(name, "advisor:") }
