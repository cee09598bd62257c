package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/mcp"
)

// versions are the protocols that are served.
var versions = []string{"2026-07-28", "2025-11-25"}

// transports are the ways to reach a server.
var transports = []string{"pipe", "http"}

// world is a home with a server, and a node that runs agents when a test says so.
type world struct {
	t      *testing.T
	home   *home.Home
	store  perdure.Store
	server *mcp.Server
	node   *perdure.Node
	files  string
}

// script is an advisor that writes a file, which policy asks about, asks a person something, and ends.
const script = `turns:
  - execute: {tool: files.write, args: {path: hello.txt, text: "hello\nworld"}}
  - sleep: {on: answer, note: "which colour?"}
  - end: {note: "done", result: {answer: 12345678901234567}}
`

// inWorld runs a test in a home of its own.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	inWorldOf(t, script, test)
}

// inWorldOf is inWorld with an advisor of one's own.
func inWorldOf(t *testing.T, script string, test func(w *world)) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	dir := filepath.Join(t.TempDir(), "home")
	w := &world{t: t, files: t.TempDir()}
	file := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	w.home = &home.Home{URL: dir, Acts: true}
	err := w.home.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		w.store = s
		n, err := w.home.Node(ctx, s)
		if err != nil {
			return err
		}
		p := &home.Powers{Advisors: []string{"script:" + file}, Files: w.files}
		if w.node, err = p.Node(ctx, w.home, s, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		w.server = &mcp.Server{Home: w.home, Store: s, Node: n}
		test(w)
		return p.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test with a client of every protocol over every transport, each in a world of its own.
func each(t *testing.T, person elicit, test func(w *world, c *client)) {
	for _, transport := range transports {
		for _, version := range versions {
			t.Run(transport+" "+version, func(t *testing.T) {
				inWorld(t, func(w *world) { test(w, w.connect(transport, version, person)) })
			})
		}
	}
}

// elicit is what a person does with a form; nil: the client cannot show any.
type elicit func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error)

// client is somebody else's program.
type client struct {
	*sdk.ClientSession
	t       *testing.T
	updated chan string
}

func (w *world) connect(transport, version string, person elicit) *client {
	w.t.Helper()
	c := &client{t: w.t, updated: make(chan string, 16)}
	options := &sdk.ClientOptions{ElicitationHandler: person, Capabilities: &sdk.ClientCapabilities{},
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			c.updated <- r.Params.URI
		}}
	if person != nil {
		options.Capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}
	}
	var to sdk.Transport
	ctx, stop := context.WithCancel(context.Background())
	if transport == "http" {
		web := httptest.NewServer(w.server.Handler(ctx))
		w.t.Cleanup(web.Close)
		to = &sdk.StreamableClientTransport{Endpoint: web.URL}
	} else {
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		go func() { _ = w.server.Serve(ctx, fromClient, toClient) }()
		to = &sdk.IOTransport{Reader: fromServer, Writer: toServer}
	}
	var err error
	c.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, options).Connect(ctx, to,
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close(); stop() })
	if got := c.InitializeResult().ProtocolVersion; got != version {
		w.t.Fatalf("the protocol is %s, want %s", got, version)
	}
	return c
}

// call calls a tool, which must work, and decodes what it returns.
func (c *client) call(name string, args map[string]any) map[string]any {
	c.t.Helper()
	res, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	if res.IsError {
		c.t.Fatalf("%s: %s", name, textOf(res))
	}
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		c.t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		c.t.Fatalf("%s: %v in %s", name, err, text)
	}
	return out
}

// fails calls a tool, which must fail with these words.
func (c *client) fails(name string, args map[string]any, words ...string) {
	c.t.Helper()
	res, err := c.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: args})
	text := ""
	switch {
	case err != nil:
		text = err.Error()
	case !res.IsError:
		c.t.Errorf("%s %v: it worked: %s", name, args, textOf(res))
		return
	default:
		text = textOf(res)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			c.t.Errorf("%s %v: got %q, want %q in it", name, args, text, word)
		}
	}
}

func textOf(res *sdk.CallToolResult) string {
	var all []string
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return strings.Join(all, "\n")
}

// run runs an agent until it rests.
func (w *world) run(name string) {
	w.t.Helper()
	id, err := w.home.FindAgent(w.t.Context(), w.store, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.node.RunAgent(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
}

// events are what an agent was told, as NAME by WHO.
func (w *world) events(name string) (all []string) {
	w.t.Helper()
	id, err := w.home.FindAgent(w.t.Context(), w.store, name)
	if err != nil {
		w.t.Fatal(err)
	}
	for e, err := range perdure.Memory(w.t.Context(), w.store, id) {
		if err != nil {
			w.t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok && ev.By != "" {
			all = append(all, ev.Name+" by "+ev.By)
		}
	}
	return all
}
