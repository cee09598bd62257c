package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Two processes that keep the memory of one project write notes at once, and one of them is killed: whatever was
// acknowledged is there, verified, and found by search.
func TestNotesOfTwoServersSurviveAKill(t *testing.T) {
	store := filepath.Join(t.TempDir(), "home")
	must(t, exitOK, "init", store, "--memory")
	one, two := startMCP(t, "--store", store, "--no-node"), startMCP(t, "--store", store, "--no-node")
	const each = 200
	var mu sync.Mutex
	acked := map[string]string{} // words by path
	var wait sync.WaitGroup
	for i, p := range []*mcpProcess{one, two} {
		wait.Go(func() {
			for n := range each {
				if p == one && n == each/2 { // in the middle of the next call
					wait.Go(func() { _ = one.cmd.Process.Kill() })
				}
				word := fmt.Sprintf("word%cx%d", 'a'+i, n)
				args := map[string]any{"kind": "observation", "title": fmt.Sprintf("Note %d of %d", n, i),
					"text": "The server said " + word + ".",
					"path": fmt.Sprintf("observations/%d-%d.md", i, n)}
				got, lost, err := p.call(t.Context(), "document_write", args)
				if lost && p == one {
					break
				}
				if err != nil {
					t.Errorf("%s: %v", word, err)
					return
				}
				mu.Lock()
				acked[got["path"].(string)] = word
				mu.Unlock()
			}
			if p == two {
				return
			}
			again := startMCP(t, "--store", store, "--no-node") // the client starts it again
			for n := each / 2; n < each; n++ {
				path, word := fmt.Sprintf("observations/again-%d.md", n), fmt.Sprintf("wordagainx%d", n)
				if _, _, err := again.call(t.Context(), "document_write",
					map[string]any{"path": path, "text": "Once more: " + word}); err != nil {
					t.Errorf("%s: %v", word, err)
					return
				}
				mu.Lock()
				acked[path] = word
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(acked) < 2*each-1 {
		t.Fatalf("only %d were acknowledged", len(acked))
	}
	listed := strings.Fields(must(t, exitOK, "doc", "ls", "--store", store, "--jq", ".[].path"))
	there := map[string]bool{}
	for _, path := range listed {
		there[strings.Trim(path, `"`)] = true
	}
	for path := range acked {
		if !there[path] {
			t.Errorf("%s was acknowledged and is not there", path)
		}
	}
	finder := startMCP(t, "--store", store, "--no-node")
	for path, word := range acked {
		got, _, err := finder.call(t.Context(), "memory_search", map[string]any{"query": "what did the server say " +
			"about " + word})
		if err != nil {
			t.Fatal(err)
		}
		found, _ := got["found"].([]any)
		if len(found) == 0 || found[0].(map[string]any)["path"] != path {
			t.Errorf("%s is not found by %s: %v", path, word, found)
		}
	}
	must(t, exitOK, "verify", "workspace-team", "--store", store)
	t.Logf("%d notes acknowledged, all there, verified and found", len(acked))
}
