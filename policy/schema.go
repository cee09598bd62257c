package policy

import (
	_ "embed"
	"maps"
	"sync"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
)

//go:embed facts.cedarschema
var schemaText []byte

// Schema is the Cedar schema every policy is checked against: the facts there are.
func Schema() string { return string(schemaText) }

const (
	typeAgent  = cedar.EntityType("Agent")
	typeScope  = cedar.EntityType("Scope")
	typeTool   = cedar.EntityType("Tool")
	typeAction = cedar.EntityType("Action")
)

// schemaOf is the schema, read once. It ships with the package, so one that does not read is a fault of the package.
var schemaOf = sync.OnceValue(func() *resolved.Schema {
	var s schema.Schema
	s.SetFilename("facts.cedarschema")
	if err := s.UnmarshalCedar(schemaText); err != nil {
		panic("policy: " + err.Error())
	}
	r, err := s.Resolve()
	if err != nil {
		panic("policy: " + err.Error())
	}
	return r
})

func actionUID(name string) cedar.EntityUID {
	return cedar.NewEntityUID(typeAction, cedar.String(name))
}

// The shapes of the facts of each action, and of those of the agent: its attributes, its id and its labels.
var (
	contextShapes = sync.OnceValue(func() map[string]*shape {
		m := map[string]*shape{}
		for uid, a := range schemaOf().Actions {
			if a.AppliesTo != nil {
				context := shapeOf(a.AppliesTo.Context)
				for _, f := range context.fields {
					f.open = f.name == "args"
				}
				m[string(uid.ID)] = context
			}
		}
		return m
	})
	agentShape = sync.OnceValue(func() *shape {
		attrs := maps.Clone(schemaOf().Entities[typeAgent].Shape)
		attrs["id"] = resolved.Attribute{Type: resolved.StringType{}}
		attrs["labels"] = resolved.Attribute{Type: resolved.RecordType{}}
		agent := shapeOf(attrs)
		for _, f := range agent.fields {
			f.open = f.name == "labels"
		}
		return agent
	})
)

// withArgs is the schema with the arguments of a tool typed.
func withArgs(args resolved.RecordType) *resolved.Schema {
	s := *schemaOf()
	s.Actions = maps.Clone(s.Actions)
	execute := s.Actions[actionUID("execute")]
	applies := *execute.AppliesTo
	applies.Context = maps.Clone(applies.Context)
	applies.Context["args"] = resolved.Attribute{Type: args}
	execute.AppliesTo = &applies
	s.Actions[actionUID("execute")] = execute
	return &s
}
