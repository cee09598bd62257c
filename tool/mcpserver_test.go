package tool_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure/tool"
)

// TestMain is also the MCP server that tests start as a process, and what that server starts.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_MCP") {
	case "server":
		serveStdio()
	case "mute":
		serveMute()
	case "slow":
		serveSlow()
	case "child":
		hold()
	case "broken":
		fmt.Fprintln(os.Stderr, "no folder was given")
		os.Exit(3)
	default:
		tool.ShortenSignOfLife()
		os.Exit(m.Run())
	}
}

// hold tells a test that this process is alive, by a connection that ends with it.
func hold() {
	conn, err := net.Dial("tcp", os.Getenv("TEST_ALIVE"))
	if err != nil {
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, conn)
}

// serveStdio serves until its input ends. With TEST_ALIVE it starts a child that would outlive it.
func serveStdio() {
	if os.Getenv("TEST_ALIVE") != "" {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "TEST_MCP=child")
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
	}
	if err := testServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

func yes() *bool { b := true; return &b }

func no() *bool { b := false; return &b }

// testServer is a server with a tool for each thing a server can do to its client.
func testServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	type none struct{}
	type greeting struct {
		Name string `json:"name" jsonschema:"whom to greet"`
	}
	add := func(name string, a *mcp.ToolAnnotations, fn func(context.Context,
		*mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "does " + name, Annotations: a},
			func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
				res, err := fn(ctx, r)
				return res, nil, err
			})
	}
	text := func(t string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "greets",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, g greeting) (*mcp.CallToolResult, any, error) {
			return text("hello " + g.Name), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "weather"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult,
		map[string]any, error) {
		return nil, map[string]any{"degrees": 21, "sky": "clear"}, nil
	})
	add("key", &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: no()},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(fmt.Sprint(r.Params.Meta[tool.KeyMeta])), nil
		})
	add("put", &mcp.ToolAnnotations{IdempotentHint: true}, func(context.Context,
		*mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("put"), nil
	})
	add("wipe", &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: yes()},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("wiped"), nil
		})
	add("fail", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := text("the shelf is empty")
		res.IsError = true
		return res, nil
	})
	add("image", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "one"}, &mcp.ImageContent{Data: []byte{0x89, 'P', 'N', 'G'}, MIMEType: "image/png"},
			&mcp.TextContent{Text: "two"},
			&mcp.ResourceLink{URI: "file:///a", Name: "a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Text: "b"}},
		}}, nil
	})
	add("long", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("é", 5000)), nil
	})
	add("pid", &mcp.ToolAnnotations{ReadOnlyHint: true}, func(context.Context,
		*mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(fmt.Sprint(os.Getpid())), nil
	})
	add("die", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(1)
		return nil, nil
	})
	add("die-once", &mcp.ToolAnnotations{ReadOnlyHint: true},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if f, err := os.OpenFile(os.Getenv("TEST_DIED"), os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				_ = f.Close()
				os.Exit(1)
			}
			return text("alive again"), nil
		})
	add("hang", nil, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("deaf", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, err := os.Stat(os.Getenv("TEST_RELEASE")); err != nil; _, err = os.Stat(os.Getenv("TEST_RELEASE")) {
			time.Sleep(time.Millisecond)
		}
		return text("done after all"), nil
	})
	return s
}

// inProcess is a way to a server in this process.
func inProcess(s *mcp.Server) func(context.Context) (mcp.Transport, error) {
	return func(ctx context.Context) (mcp.Transport, error) {
		client, server := mcp.NewInMemoryTransports()
		_, err := s.Connect(ctx, server, nil)
		return client, err
	}
}
