package policy

import (
	"fmt"
	"slices"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"

	"github.com/perdure/perdure"
)

// question is facts in the form Cedar is asked in. It is the store of entities of that one request.
type question struct {
	action    string
	request   cedar.Request
	agent     cedar.Entity
	attrs     *value         // what agent is to be made of, until it is
	args      map[string]any // of an execute, if some rule looks at them
	now       perdure.Time
	approvals int64
	contested bool // of an admit
	facts     *value
	text      int   // see longest
	compared  int64 // see affords
}

// newQuestion holds facts against the schema. Every fact is checked; those that no rule of the sets reads are not
// handed to Cedar.
func newQuestion(f *value, sets []*Set) (*question, error) {
	if v := f.field("version"); v.kind != isLong || v.num != factsVersion || len(f.rec) != 6 {
		return nil, fmt.Errorf("want version %d with action, resource, agent, policies and context", factsVersion)
	}
	q := &question{action: f.field("action").text, facts: f}
	want := contextShapes()[q.action]
	if want == nil {
		return nil, fmt.Errorf("action: no such action")
	}
	context := f.field("context")
	if context.kind != isRecord {
		return nil, fmt.Errorf("context: want a record, got %s", kindOf(context.plain()))
	}
	if err := q.setContext(want, context, sets); err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	if err := q.setAgent(f.field("agent")); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	q.request.Principal, q.request.Action = q.agent.UID, actionUID(q.action)
	resource := f.field("resource")
	if resource.kind != isText {
		return nil, fmt.Errorf("resource: want a String, got %s", kindOf(resource.plain()))
	}
	kind := typeAgent
	switch q.action {
	case "execute":
		if kind = typeTool; context.field("tool").text != resource.text {
			return nil, fmt.Errorf("resource: want the tool of the context")
		}
	case "delegate", actionRead, actionWrite:
		kind = typeScope
	default:
		if string(q.agent.UID.ID) != resource.text {
			return nil, fmt.Errorf("resource: want the agent itself")
		}
	}
	q.request.Resource = cedar.NewEntityUID(kind, types.String(resource.text))
	return q, nil
}

// setContext takes the facts of the action. Arguments have no shape of their own: each rule that looks at them judges
// them first.
func (q *question) setContext(want *shape, context *value, sets []*Set) error {
	var rules []*actionRules
	var reads *reading
	for _, s := range sets {
		if r := s.actions[q.action]; r != nil {
			rules, reads = append(rules, r), both(reads, &r.reads)
		}
	}
	out := make(types.RecordMap, 8)
	if err := want.fill(out, context.rec, reads); err != nil {
		return err
	}
	if slices.ContainsFunc(rules, func(r *actionRules) bool { return len(r.args) > 0 }) {
		q.args, _ = context.field("args").plain().(map[string]any)
		out["args"] = looseArgs(q.args, rules)
	}
	q.request.Context = types.NewRecord(out)
	q.now = perdure.Time(clamp(context.field("now").num))
	q.approvals = context.field("approvals").num
	q.contested = context.field("contested").num != 0
	return nil
}

// looseArgs is the arguments some rule looks at.
func looseArgs(args map[string]any, rules []*actionRules) types.Record {
	out := types.RecordMap{}
	for _, a := range rules {
		for _, r := range a.args {
			for name := range r.args.fields {
				if v := args[name]; v != nil && out[types.String(name)] == nil {
					out[types.String(name)] = loose(v, 0)
				}
			}
		}
	}
	return types.NewRecord(out)
}

// setAgent takes who is asking.
func (q *question) setAgent(v *value) error {
	if v.kind != isRecord {
		return fmt.Errorf("want a record, got %s", kindOf(v.plain()))
	}
	if err := agentShape().fill(nil, v.rec, nil); err != nil {
		return err
	}
	for _, l := range v.field("labels").rec {
		if l.kind != isText {
			return fmt.Errorf("labels: want Strings")
		}
	}
	if err := perdure.CheckScope(v.field("scope").text); err != nil {
		return err
	}
	id := v.field("id").text
	if id == "" {
		return fmt.Errorf("id: want the name of the agent")
	}
	q.agent.UID, q.attrs = cedar.NewEntityUID(typeAgent, types.String(id)), v
	return nil
}

// build makes the entity of the agent, once a rule asks for it. What it is made of has been checked.
func (q *question) build() {
	attrs, tags := types.RecordMap{}, types.RecordMap{}
	want := agentShape()
	declared := new(reading)
	for name := range schemaOf().Entities[typeAgent].Shape {
		declared.mark(want, []string{string(name)})
	}
	if err := want.fill(attrs, q.attrs.rec, declared); err != nil {
		return
	}
	for _, l := range q.attrs.field("labels").rec {
		tags[types.String(l.name)] = types.String(l.text)
	}
	scope := q.attrs.field("scope").text
	q.agent.Parents = cedar.NewEntityUIDSet(cedar.NewEntityUID(typeScope, types.String(scope)))
	q.agent.Attributes, q.agent.Tags, q.attrs = types.NewRecord(attrs), types.NewRecord(tags), nil
}

// Get finds an entity: the agent, or a scope, which is in the scope above it.
func (q *question) Get(uid cedar.EntityUID) (cedar.Entity, bool) {
	switch uid.Type {
	case typeAgent:
		if q.attrs != nil {
			q.build()
		}
		return q.agent, uid == q.agent.UID
	case typeScope:
		e := cedar.Entity{UID: uid}
		if i := strings.LastIndexByte(string(uid.ID), '/'); i > 0 {
			e.Parents = cedar.NewEntityUIDSet(cedar.NewEntityUID(typeScope, uid.ID[:i]))
		}
		return e, true
	}
	return cedar.Entity{UID: uid}, true
}
