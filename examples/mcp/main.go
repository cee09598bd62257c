// Command mcp is an agent that uses the tools of an MCP server. The server is in this program; set Command or URL
// instead of Transport to use any other.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/tool"
)

//go:embed mcp.yaml
var turns string

func main() {
	file := flag.String("store", "", "keep the agents in this SQLite file (default: in memory)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := open(ctx, *file)
	if err == nil {
		err = errors.Join(run(ctx, store, os.Stdout), store.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// open opens the store in a file, or one in memory if there is no file.
func open(ctx context.Context, file string) (perdure.Store, error) {
	if file == "" {
		return new(perdure.MemStore), nil
	}
	return sqlite.Open(ctx, file, sqlite.Options{})
}

func run(ctx context.Context, store perdure.Store, out io.Writer) (err error) {
	words := &tool.MCP{Name: "words", TrustHints: true, Transport: func(ctx context.Context) (mcp.Transport, error) {
		client, server := mcp.NewInMemoryTransports()
		_, err := wordServer().Connect(ctx, server, nil)
		return client, err
	}}
	defer func() { err = errors.Join(err, words.Close()) }()
	tools, err := words.Tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		fmt.Fprintf(out, "%s (%s): %s\n", t.Spec().Name, t.Spec().Effect, t.Spec().Description)
	}
	key, err := perdure.GenerateSigner("reader")
	if err != nil {
		return err
	}
	said, err := script.Load(strings.NewReader(turns))
	if err != nil {
		return err
	}
	said.Store = store // for results of long ago
	node := &perdure.Node{
		Store: store, Key: key, Policy: perdure.PolicyFunc(careful), Tools: append(tools, tool.Builtins(store)...),
		Advisors: map[string]perdure.Advisor{"": said},
	}
	inputs, err := perdure.DataOf(map[string]any{"text": "what is not recorded did not happen"})
	if err != nil {
		return err
	}
	a, err := node.Create(ctx, perdure.Genesis{
		Intent:  perdure.Intent{Name: "words", Goal: "count the words", Inputs: inputs},
		Charter: perdure.Charter{Scope: "reading"},
	})
	if err != nil {
		return err
	}
	if _, err := node.RunAgent(ctx, a.ID()); err != nil {
		return err
	}
	if a, err = node.Load(ctx, a.ID()); err != nil {
		return err
	}
	if a.Fold().Ended == nil {
		return fmt.Errorf("it has not ended, it is %s", a.Standing(nil, perdure.Place{}, time.Now()))
	}
	end, tainted := a.Fold().Ended, !a.Fold().Taint.IsZero()
	fmt.Fprintf(out, "it has ended, %s: %s; what the server said is marked as not trusted: %t\n",
		end.Signal, end.Result.JSON(), tainted)
	return nil
}

// careful is a policy in Go: whatever tools there are, the agent may read and remember.
func careful(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
	x, isCall := r.Action.(perdure.Execute)
	if !isCall || r.Effect == perdure.Read || x.Tool == "remember" {
		return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"careful"}}
	}
	return perdure.Verdict{
		Answer: perdure.Ask, Rules: []string{"careful"}, Reason: "it changes something outside the agent",
	}
}

// wordServer is an MCP server.
func wordServer() *mcp.Server {
	type args struct {
		Text string `json:"text" jsonschema:"the text to look at"`
	}
	type count struct {
		Words int `json:"words"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "words", Version: "1"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "count", Description: "counts words", Annotations: reads},
		func(_ context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, count, error) {
			return nil, count{Words: len(strings.Fields(a.Text))}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "longest", Description: "finds the longest word", Annotations: reads},
		func(_ context.Context, _ *mcp.CallToolRequest, a args) (*mcp.CallToolResult, any, error) {
			var longest string
			for _, w := range strings.Fields(a.Text) {
				if len(w) > len(longest) {
					longest = w
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: longest}}}, nil, nil
		})
	return s
}
