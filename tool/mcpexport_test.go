package tool

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
)

// ShortenSignOfLife makes servers that do not answer be given up sooner.
func ShortenSignOfLife() { signOfLife = 100 * time.Millisecond }

// ResultOf is what a server's answer becomes.
func ResultOf(m *MCP, res *mcp.CallToolResult) (perdure.Result, error) { return m.result(nil, res) }

// Impatient makes a server be greeted as older ones are almost at once.
func Impatient(m *MCP) *MCP {
	m.probe = 10 * time.Millisecond
	return m
}

// Protocol is what is spoken with a server at present.
func Protocol(m *MCP) string { return m.current.InitializeResult().ProtocolVersion }
