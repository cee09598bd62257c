package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpProcess is a perdure mcp of its own, with a client that drives it.
type mcpProcess struct {
	*sdk.ClientSession
	cmd *exec.Cmd
}

func startMCP(t *testing.T, args ...string) *mcpProcess {
	t.Helper()
	p := &mcpProcess{cmd: exec.Command("perdure", append([]string{"mcp"}, args...)...)}
	var err error
	p.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, nil).
		Connect(t.Context(), &sdk.CommandTransport{Command: p.cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// call calls a tool. Lost says that the process is gone, and nobody knows what came of it.
func (p *mcpProcess) call(ctx context.Context, name string, args map[string]any) (out map[string]any, lost bool,
	err error) {
	res, err := p.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return nil, true, err
	}
	text := res.Content[0].(*sdk.TextContent).Text
	if res.IsError {
		return nil, false, fmt.Errorf("%s: %s", name, text)
	}
	return out, false, json.Unmarshal([]byte(text), &out)
}

// Processes that serve one store at once lose nothing that they acknowledged, though one is killed in the middle.
func TestTwoServersAndAKillLoseNothing(t *testing.T) {
	store := filepath.Join(t.TempDir(), "home")
	must(t, exitOK, "new", "listen", "--name", "shared", "--store", store)
	one, two := startMCP(t, "--store", store), startMCP(t, "--store", store)
	const writers, each = 4, 40
	var mu sync.Mutex
	acked, made := map[string]bool{}, map[string]bool{}
	var killed sync.Once
	var wait sync.WaitGroup
	for w := range writers {
		p := []*mcpProcess{one, two}[w%2]
		wait.Go(func() {
			for i := range each {
				id := fmt.Sprintf("w%d-%d", w, i)
				if p == one && w == 0 && i == each/2 {
					killed.Do(func() { _ = one.cmd.Process.Kill() })
				}
				_, lost, err := p.call(t.Context(), "tell_agent",
					map[string]any{"agent": "shared", "event": "tick", "id": id, "data": map[string]any{"n": i}})
				if lost && p == one {
					return
				}
				if err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
				mu.Lock()
				acked[id] = true
				mu.Unlock()
				if i%4 != 0 {
					continue
				}
				got, lost, err := p.call(t.Context(), "start_agent", map[string]any{"goal": "g", "name": id})
				if lost && p == one {
					return
				}
				if err != nil {
					t.Errorf("start %s: %v", id, err)
					return
				}
				mu.Lock()
				made[got["agent"].(string)] = true
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(acked) < writers/2*each+each/2 {
		t.Fatalf("only %d of %d were acknowledged", len(acked), writers*each)
	}
	log := must(t, exitOK, "log", "shared", "--store", store, "-o", "jsonl", "--jq",
		`select(.body.event.id) | .body.event.id`)
	seen := map[string]int{}
	for _, id := range strings.Fields(log) {
		seen[id]++
	}
	for id := range acked {
		if seen[id] != 1 {
			t.Errorf("%s was acknowledged and is there %d times", id, seen[id])
		}
	}
	listed := must(t, exitOK, "ls", "--store", store, "--jq", ".[].agent")
	for id := range made {
		if !strings.Contains(listed, id) {
			t.Errorf("agent %s was acknowledged and is gone", id)
		}
	}
	must(t, exitOK, "verify", "shared", "--store", store)
	t.Logf("%d events and %d agents acknowledged, all there", len(acked), len(made))
}

// One of several servers runs the agents; when it is killed, another does.
func TestAnotherServerTakesTheNodeOver(t *testing.T) {
	dir := t.TempDir()
	store, script := filepath.Join(dir, "home"), filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(script, []byte("turns:\n  - end: {note: done}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := startMCP(t, "--store", store, "--advisor", "script:"+script)
	ends := func(p *mcpProcess, name string) {
		t.Helper()
		if _, _, err := p.call(t.Context(), "start_agent", map[string]any{"goal": "end", "name": name}); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
			got, _, err := p.call(t.Context(), "show_agent", map[string]any{"agent": name, "wait": 10})
			if err != nil {
				t.Fatal(err)
			}
			if got["standing"] == "terminated" {
				return
			}
		}
		t.Fatalf("nobody runs %s", name)
	}
	ends(one, "first")
	two := startMCP(t, "--store", store, "--advisor", "script:"+script)
	ends(two, "second")
	if err := one.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ends(two, "third")
}
