package policy

import (
	"fmt"
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
	attrs     map[string]any // what agent is to be made of, until it is
	args      map[string]any // of an execute
	now       perdure.Time
	approvals int64
	contested bool // of an admit
}

// newQuestion holds facts against the schema. Every fact is checked; those that no rule of the sets reads are not handed to Cedar.
func newQuestion(f Facts, sets []*Set) (*question, error) {
	if v, ok := f["version"].(int64); !ok || v != factsVersion || len(f) != 6 {
		return nil, fmt.Errorf("want version %d with action, resource, agent, policies and context", factsVersion)
	}
	q := &question{}
	q.action, _ = f["action"].(string)
	want := contextShapes()[q.action]
	if want == nil {
		return nil, fmt.Errorf("action: no such action")
	}
	context, ok := f["context"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("context: want a record, got %s", kindOf(f["context"]))
	}
	if err := q.setContext(want, context, sets); err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	if err := q.setAgent(f["agent"]); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	q.request.Principal, q.request.Action = q.agent.UID, actionUID(q.action)
	resource, ok := f["resource"].(string)
	if !ok {
		return nil, fmt.Errorf("resource: want a String, got %s", kindOf(f["resource"]))
	}
	kind := typeAgent
	switch q.action {
	case "execute":
		if kind = typeTool; context["tool"] != resource {
			return nil, fmt.Errorf("resource: want the tool of the context")
		}
	case "delegate":
		kind = typeScope
	default:
		if string(q.agent.UID.ID) != resource {
			return nil, fmt.Errorf("resource: want the agent itself")
		}
	}
	q.request.Resource = cedar.NewEntityUID(kind, types.String(resource))
	return q, nil
}

// setContext takes the facts of the action. Arguments have no shape of their own: each rule that looks at them judges them first.
func (q *question) setContext(want *shape, context map[string]any, sets []*Set) error {
	var rules []*actionRules
	for _, s := range sets {
		if r := s.actions[q.action]; r != nil {
			rules = append(rules, r)
		}
	}
	reads := func(name types.String) bool {
		for _, r := range rules {
			if r.whole || r.facts[name] {
				return true
			}
		}
		return false
	}
	out := make(types.RecordMap, 8)
	if err := want.fill(out, context, reads); err != nil {
		return err
	}
	if q.args, _ = context["args"].(map[string]any); q.args != nil && reads("args") {
		out["args"] = looseArgs(q.args, rules)
	}
	q.request.Context = types.NewRecord(out)
	now, _ := context["now"].(int64)
	q.now = perdure.Time(clamp(now))
	q.approvals, _ = context["approvals"].(int64)
	q.contested, _ = context["contested"].(bool)
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
func (q *question) setAgent(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("want a record, got %s", kindOf(v))
	}
	if err := agentShape().fill(nil, m, nil); err != nil {
		return err
	}
	labels, _ := m["labels"].(map[string]any)
	for _, l := range labels {
		if _, ok := l.(string); !ok {
			return fmt.Errorf("labels: want Strings")
		}
	}
	scope, _ := m["scope"].(string)
	if err := perdure.CheckScope(scope); err != nil {
		return err
	}
	id, _ := m["id"].(string)
	if id == "" {
		return fmt.Errorf("id: want the name of the agent")
	}
	q.agent.UID, q.attrs = cedar.NewEntityUID(typeAgent, types.String(id)), m
	return nil
}

// build makes the entity of the agent, once a rule asks for it. What it is made of has been checked.
func (q *question) build() {
	attrs, tags := types.RecordMap{}, types.RecordMap{}
	declared := schemaOf().Entities[typeAgent].Shape
	if err := agentShape().fill(attrs, q.attrs, func(name types.String) bool { _, ok := declared[name]; return ok }); err != nil {
		return
	}
	labels, _ := q.attrs["labels"].(map[string]any)
	for k, l := range labels {
		text, _ := l.(string)
		tags[types.String(k)] = types.String(text)
	}
	scope, _ := q.attrs["scope"].(string)
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
