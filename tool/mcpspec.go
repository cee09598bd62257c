package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/glyph"
)

// spec describes a tool of the server, without the values of secrets.
func (m *MCP) spec(r *redactor, t *mcp.Tool) (perdure.Spec, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || len(schema) > maxServerSchema {
		return perdure.Spec{}, fmt.Errorf("MCP server %s: the schema of tool %s is not JSON of at most %d bytes",
			m.Name, t.Name, maxServerSchema)
	}
	args, err := perdure.DataFromJSON(schema)
	if err != nil {
		return perdure.Spec{}, fmt.Errorf("MCP server %s: the schema of tool %s: %w", m.Name, t.Name, err)
	}
	if args, err = redactData(r, args); err != nil {
		return perdure.Spec{}, fmt.Errorf("MCP server %s: the schema of tool %s: %w", m.Name, t.Name, err)
	}
	description := t.Description
	if description == "" {
		description = t.Title
	}
	timeout := m.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return perdure.Spec{Name: m.Name + "." + t.Name, Description: clip(r.replace(visible(description))), Args: args,
		Effect: m.effect(t), Deadline: timeout}, nil
}

// visible is a text of a stranger without what would change how the text around it is shown, to people or to a model.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if glyph.Control(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// effect is the class of a tool: what Effects says, else what its annotations claim if they are believed, else once.
func (m *MCP) effect(t *mcp.Tool) perdure.Effect {
	if e, ok := m.Effects[t.Name]; ok {
		return e
	}
	if e, ok := m.Effects["*"]; ok {
		return e
	}
	a := t.Annotations
	switch {
	case a == nil || !m.TrustHints:
		return perdure.Once
	case a.ReadOnlyHint:
		return perdure.Read
	case a.IdempotentHint && (a.DestructiveHint == nil || !*a.DestructiveHint):
		return perdure.Idempotent
	}
	return perdure.Once
}
