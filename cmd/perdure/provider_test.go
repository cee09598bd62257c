package main

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perdure/perdure/internal/dev/wiretest"
)

// startProvider starts a server that speaks the protocol of a provider, and puts its address into the variable URL:
// provider openai answers.txt. Each line of the file is one answer: text, a call as => NAME {ARGUMENTS}, both, or an
// error as !STATUS MESSAGE; the last is given again and again. The key it wants is in the variable KEY.
func startProvider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: provider anthropic|openai|gemini FILE")
	}
	var turns []wiretest.Turn
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if status, message, failed := strings.Cut(strings.TrimPrefix(line, "!"), " "); failed && line[0] == '!' {
			code, err := strconv.Atoi(status)
			ts.Check(err)
			turns = append(turns, wiretest.Turn{Status: code, Kind: "error", Message: message})
			continue
		}
		t := wiretest.Turn{In: 1000, Out: 10}
		said, call, calls := strings.Cut(line, "=>")
		if said = strings.TrimSpace(said); said != "" {
			t.Text = []string{said[:len(said)/2], said[len(said)/2:]}
		}
		if calls {
			name, arguments, _ := strings.Cut(strings.TrimSpace(call), " ")
			t.Calls = []wiretest.Call{{ID: "c", Name: name, Args: []string{arguments}}}
		}
		turns = append(turns, t)
	}
	start := map[string]func(func(int, map[string]any) wiretest.Turn) (*wiretest.Server, error){
		"anthropic": wiretest.Anthropic, "openai": wiretest.OpenAI, "gemini": wiretest.Gemini,
	}[args[0]]
	if start == nil {
		ts.Fatalf("there is no provider %s", args[0])
	}
	s, err := start(wiretest.Turns(turns...))
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.Close()) })
	ts.Setenv("URL", s.URL)
	ts.Setenv("KEY", wiretest.Key)
}

// serveWords is an MCP server on standard input and output: count counts words, pay writes to the file ledger and dies
// before it answers, seen tells how the server was started.
func serveWords() {
	s := mcp.NewServer(&mcp.Implementation{Name: "words", Version: "1"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "count", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, t text) (*mcp.CallToolResult, map[string]any, error) {
			return nil, map[string]any{"words": len(strings.Fields(t.Text))}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, text) (*mcp.CallToolResult, any,
		error) {
		f, err := os.OpenFile("ledger", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = f.WriteString("paid\n")
		}
		os.Exit(1)
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "seen"}, func(context.Context, *mcp.CallToolRequest, text) (*mcp.CallToolResult,
		map[string]any, error) {
		return nil, map[string]any{"seen": []any{os.Args[1:], os.Getenv("TOKEN"), os.Getenv("OUTSIDE")}}, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}
