package tool_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// The servers of other people that are driven, at the versions this was written against.
var npmServers = []string{"@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31"}

// npmInstalled is a folder with the servers, installed once and kept in the user's cache. The test is skipped where that cannot be done.
func npmInstalled(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: the MCP servers of npm are not driven", program)
		}
	}
	if testing.Short() {
		t.Skip("short: the MCP servers of npm are not driven")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "perdure-test", "npm-2026.8.31")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Skipf("no place to install MCP servers to: %v", err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "install-")
	if err != nil {
		t.Skipf("no place to install MCP servers to: %v", err)
	}
	defer os.RemoveAll(fresh)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", append([]string{"install", "--prefix", fresh, "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0"}, npmServers...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install the MCP servers (is its registry within reach?): %v: %s", err, out[max(0, len(out)-300):])
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func npmServer(t *testing.T, name, server string, args ...string) []perdure.Tool {
	t.Helper()
	script := filepath.Join(npmInstalled(t), "node_modules", "@modelcontextprotocol", server, "dist", "index.js")
	return connected(t, &tool.MCP{Name: name, Command: append([]string{"node", script}, args...), TrustHints: true})
}

func TestFilesystemServerOfNpmIsDriven(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tools := npmServer(t, "fs", "server-filesystem", dir)
	path := filepath.Join(dir, "note.txt")
	for name, want := range map[string]perdure.Effect{"fs.read_text_file": perdure.Read, "fs.list_directory": perdure.Read, "fs.create_directory": perdure.Idempotent, "fs.write_file": perdure.Once, "fs.edit_file": perdure.Once} {
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
	if got := value(t, call(t, named(t, tools, "all.echo"), map[string]any{"message": "hello"}))["text"]; !strings.Contains(got.(string), "hello") {
		t.Errorf("echo: got %v", got)
	}
	if got := value(t, call(t, named(t, tools, "all.get-sum"), map[string]any{"a": 2, "b": 40}))["text"]; !strings.Contains(got.(string), "42") {
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
