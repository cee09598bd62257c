package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/npmtest"
	"github.com/perdure/perdure/tool"
)

// The servers of other people that are driven, at the versions this was written against.
var npmServers = []string{"@modelcontextprotocol/server-everything@2026.8.31",
	"@modelcontextprotocol/server-filesystem@2026.8.31"}

func npmServer(t *testing.T, name, server string, args ...string) []perdure.Tool {
	t.Helper()
	script := filepath.Join(npmtest.Installed(t, "npm-2026.8.31", 50*time.Second, npmServers...), "node_modules",
		"@modelcontextprotocol", server, "dist", "index.js")
	return connected(t, &tool.MCP{Name: name, Command: append([]string{"node", script}, args...), TrustHints: true})
}

func TestFilesystemServerOfNpmIsDriven(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tools := npmServer(t, "fs", "server-filesystem", dir)
	path := filepath.Join(dir, "note.txt")
	for name, want := range map[string]perdure.Effect{"fs.read_text_file": perdure.Read,
		"fs.list_directory": perdure.Read, "fs.create_directory": perdure.Idempotent, "fs.write_file": perdure.Once,
		"fs.edit_file": perdure.Once} {
		if got := named(t, tools, name).Spec().Effect; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	value(t, call(t, named(t, tools, "fs.write_file"), map[string]any{"path": path, "content": "from an agent"}))
	if b, err := os.ReadFile(path); err != nil || string(b) != "from an agent" {
		t.Errorf("got %q, %v on disk", b, err)
	}
	got := fields(t, call(t, named(t, tools, "fs.read_text_file"), map[string]any{"path": path}))
	if s, _ := got["structured"].(map[string]any); got["text"] != "from an agent" && s["content"] != "from an agent" {
		t.Errorf("got %v", got)
	}
	fails(t, call(t, named(t, tools, "fs.read_text_file"), map[string]any{"path": "/etc/hostname"}), "outside")
	fails(t, call(t, named(t, tools, "fs.read_text_file"), map[string]any{}), "path")
}

func TestEverythingServerOfNpmIsDriven(t *testing.T) {
	tools := npmServer(t, "all", "server-everything")
	if got := value(t, call(t, named(t, tools, "all.echo"),
		map[string]any{"message": "hello"}))["text"]; !strings.Contains(got.(string), "hello") {
		t.Errorf("echo: got %v", got)
	}
	if got := value(t, call(t, named(t, tools, "all.get-sum"),
		map[string]any{"a": 2, "b": 40}))["text"]; !strings.Contains(got.(string), "42") {
		t.Errorf("get-sum: got %v", got)
	}
	image := value(t, call(t, named(t, tools, "all.get-tiny-image"), nil))
	list, _ := image["content"].([]any)
	part, _ := list[0].(map[string]any)
	if b, _ := part["data"].([]byte); !strings.HasPrefix(string(b), "\x89PNG") || part["mime"] != "image/png" {
		t.Errorf("get-tiny-image: got %v", image)
	}
	weather := value(t, call(t, named(t, tools, "all.get-structured-content"), map[string]any{"location": "New York"}))
	if s, _ := weather["structured"].(map[string]any); s["temperature"] == nil {
		t.Errorf("get-structured-content: got %v", weather)
	}
}
