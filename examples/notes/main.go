// Command notes is an MCP server with two tools: list reads the notes in a file, add appends one. The tutorial gives
// them to an agent. It speaks MCP on standard input and output, so any MCP client can start it: notes FILE.
package main

import (
	"context"
	"errors"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: notes FILE")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := server(os.Args[1]).Run(ctx, &mcp.StdioTransport{}); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// server offers the notes in a file, one per line.
func server(file string) *mcp.Server {
	type none struct{}
	type notes struct {
		Notes []string `json:"notes"`
	}
	type note struct {
		Text string `json:"text" jsonschema:"what to write down"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "list", Description: "lists the notes"},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, notes, error) {
			lines, err := read(file)
			return nil, notes{Notes: lines}, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "adds a note"},
		func(_ context.Context, _ *mcp.CallToolRequest, n note) (*mcp.CallToolResult, any, error) {
			if err := add(file, n.Text); err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "added"}}}, nil, nil
		})
	return s
}

// read returns the notes; a file that is not there has none.
func read(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return append([]string{}, strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })...), nil
}

// add appends a note as one line.
func add(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(strings.Fields(text), " ") + "\n")
	return errors.Join(err, f.Close())
}
