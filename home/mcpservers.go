package home

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/tool"
)

// mcpServer is an MCP server and what it is called here.
type mcpServer struct {
	name string
	tool.MCPConfig
}

// mcpServers are the servers that flags name, and those of the home's file that no flag does. Those that can be read
// are returned whatever is wrong with the others.
func (p *Powers) mcpServers() ([]mcpServer, error) {
	var all []mcpServer
	var wrong error
	for _, text := range p.Servers {
		name, at, ok := strings.Cut(text, "=")
		c, err := tool.ParseMCP(at)
		if !ok || name == "" {
			err = errors.New("want NAME=COMMAND or NAME=URL")
		}
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("mcp %s: %w", text, err))
			continue
		}
		all = append(all, mcpServer{name, c})
	}
	for _, name := range slices.Sorted(maps.Keys(p.ownServers)) {
		if !slices.ContainsFunc(all, func(s mcpServer) bool { return s.name == name }) {
			all = append(all, mcpServer{name, p.ownServers[name]})
		}
	}
	return all, wrong
}

// open is the server, not started yet.
func (s mcpServer) open(ctx context.Context, p *Powers) (*tool.MCP, error) {
	return s.Server(ctx, s.name, p.Known)
}
