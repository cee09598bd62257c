package policy

import (
	"fmt"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"

	"github.com/perdure/perdure"
)

// question is facts in the form Cedar is asked in. It is the store of entities of that one request.
type question struct {
	request   cedar.Request
	agent     cedar.Entity
	args      map[string]any // of an execute
	policies  []perdure.Hash
	now       perdure.Time
	approvals int64
}

// newQuestion holds facts against the schema.
func newQuestion(f Facts) (*question, error) {
	if v, ok := f["version"].(int64); !ok || v != factsVersion || len(f) != 6 {
		return nil, fmt.Errorf("want version %d with action, resource, agent, policies and context", factsVersion)
	}
	action, _ := f["action"].(string)
	want := contextOf(action)
	if want == nil {
		return nil, fmt.Errorf("action: no such action")
	}
	context, ok := f["context"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("context: want a record, got %s", kindOf(f["context"]))
	}
	q := &question{}
	if err := q.setContext(want, context); err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	if err := q.setAgent(f["agent"]); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	q.request.Principal, q.request.Action = q.agent.UID, actionUID(action)
	resource, ok := f["resource"].(string)
	if !ok {
		return nil, fmt.Errorf("resource: want a String, got %s", kindOf(f["resource"]))
	}
	kind := typeAgent
	switch action {
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
	return q, q.setPolicies(f["policies"])
}

// setContext takes the facts of the action. Arguments are typed rule by rule, so they are left out here.
func (q *question) setContext(want resolved.RecordType, context map[string]any) error {
	typed := context
	if _, has := want["args"]; has {
		args, ok := context["args"].(map[string]any)
		if !ok {
			return fmt.Errorf("args: want a record, got %s", kindOf(context["args"]))
		}
		q.args = args
		typed = make(map[string]any, len(context))
		for k, v := range context {
			typed[k] = v
		}
		typed["args"] = map[string]any{}
	}
	rec, err := convertRecord(want, typed)
	if err != nil {
		return err
	}
	q.request.Context, _ = rec.(types.Record)
	now, _ := context["now"].(int64)
	q.now = perdure.Time(now)
	q.approvals, _ = context["approvals"].(int64)
	return nil
}

// setAgent takes who is asking.
func (q *question) setAgent(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("want a record, got %s", kindOf(v))
	}
	id, ok := m["id"].(string)
	if !ok || id == "" {
		return fmt.Errorf("id: want a String, got %s", kindOf(m["id"]))
	}
	labels, ok := m["labels"].(map[string]any)
	if !ok {
		return fmt.Errorf("labels: want a record, got %s", kindOf(m["labels"]))
	}
	tags := make(types.RecordMap, len(labels))
	for k, l := range labels {
		text, ok := l.(string)
		if !ok {
			return fmt.Errorf("labels: want Strings")
		}
		tags[types.String(k)] = types.String(text)
	}
	attrs := make(map[string]any, len(m))
	for k, a := range m {
		if k != "id" && k != "labels" {
			attrs[k] = a
		}
	}
	shape := schemaOf().Entities[typeAgent].Shape
	rec, err := convertRecord(shape, attrs)
	if err != nil {
		return err
	}
	scope, _ := m["scope"].(string)
	if err := perdure.CheckScope(scope); err != nil {
		return err
	}
	q.agent = cedar.Entity{
		UID: cedar.NewEntityUID(typeAgent, types.String(id)), Parents: cedar.NewEntityUIDSet(cedar.NewEntityUID(typeScope, types.String(scope))), Tags: types.NewRecord(tags),
	}
	q.agent.Attributes, _ = rec.(types.Record)
	return nil
}

// setPolicies takes the agent's own policies.
func (q *question) setPolicies(v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("policies: want a list, got %s", kindOf(v))
	}
	for _, e := range list {
		text, _ := e.(string)
		h, err := perdure.ParseHash(text)
		if err != nil {
			return fmt.Errorf("policies: %w", err)
		}
		q.policies = append(q.policies, h)
	}
	return nil
}

// Get finds an entity: the agent, or a scope, which is in the scope above it.
func (q *question) Get(uid cedar.EntityUID) (cedar.Entity, bool) {
	switch uid.Type {
	case typeAgent:
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
