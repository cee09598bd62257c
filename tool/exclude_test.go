package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

func TestFilesKeepOutOfTheHome(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, ".perdure")
	if err := os.MkdirAll(filepath.Join(home, "vault"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".perdure/key": "KEY", ".perdure/vault/k": "KEY", "secrets": "KEY",
		"plain": "plain", "two": "two"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": home, "deep": filepath.Join(home, "vault"),
		"keylink": filepath.Join(home, "key")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"hard": ".perdure/key", "sub/hard": ".perdure/vault/k",
		"hardsecret": "secrets", "three": "two"} {
		if err := os.Link(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	tools := func(root string, exclude ...string) func(name string) perdure.Tool {
		r, err := os.OpenRoot(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		all := tool.Files(r, exclude...)
		return func(name string) perdure.Tool { return named(t, all, "files."+name) }
	}
	elsewhere := t.TempDir() // the home by another path, through a link above it
	if err := os.Symlink(dir, filepath.Join(elsewhere, "to")); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{home, filepath.Join(elsewhere, "to", ".perdure")} {
		f := tools(dir, where, filepath.Join(dir, "secrets"), "", filepath.Join(dir, "later"))
		for _, p := range []string{".perdure/key", ".perdure/vault/k", ".PERDURE/key", ".perdure/new", ".perdure",
			"link/key", "deep/k", "keylink", "hard", "sub/hard", "secrets", "hardsecret", "later", "later/x", "Later"} {
			res := call(t, f("read"), map[string]any{"path": p})
			fails(t, res)
			if strings.Contains(string(res.Data), "KEY") {
				t.Errorf("%s was read", p)
			}
			fails(t, call(t, f("append"), map[string]any{"path": p, "text": "x"}))
			if p == "hard" || p == "sub/hard" || p == "hardsecret" || strings.HasSuffix(p, "link") {
				continue // another name may be replaced, or removed: what it names stays
			}
			fails(t, call(t, f("write"), map[string]any{"path": p, "text": "x"}))
			fails(t, call(t, f("list"), map[string]any{"path": p}))
			fails(t, call(t, f("remove"), map[string]any{"path": p}))
			if p != "deep/k" && p != "link/key" {
				fails(t, call(t, f("stat"), map[string]any{"path": p}), "outside")
			}
		}
		for _, item := range value(t, call(t, f("list"), map[string]any{"path": "."}))["entries"].([]any) {
			if name := item.(map[string]any)["name"]; name == ".perdure" || name == "secrets" {
				t.Errorf("%v is listed", name)
			}
		}
		for _, p := range []string{"plain", "three"} {
			value(t, call(t, f("read"), map[string]any{"path": p}))
		}
		value(t, call(t, f("append"), map[string]any{"path": "sub/new", "text": "x"}))
	}
	for _, inside := range []string{home, filepath.Join(home, "vault")} {
		f := tools(inside, home)
		for _, p := range []string{".", "key", "k", "new"} {
			fails(t, call(t, f("read"), map[string]any{"path": p}), "outside")
			fails(t, call(t, f("list"), map[string]any{"path": p}), "outside")
			fails(t, call(t, f("write"), map[string]any{"path": p, "text": "x"}))
		}
	}
	for _, p := range []string{"key", "vault/k"} {
		if got := onDisk(t, home, p); got != "KEY" {
			t.Errorf("%s: got %q", p, got)
		}
	}
}

func TestCommandsDoNotRunInTheHome(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(home, "policies"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{home, filepath.Join(home, "policies"), link, filepath.Join(link, "policies"),
		filepath.Join(dir, "x", "..", "home")} {
		s := tool.Shell{Dir: in, Allow: []string{"*"}, Exclude: []string{home}}
		fails(t, call(t, s, map[string]any{"script": "touch here"}))
	}
	if _, err := os.Stat(filepath.Join(home, "here")); err == nil {
		t.Error("a command ran in the home")
	}
	value(t, call(t, tool.Shell{Dir: dir, Allow: []string{"*"}, Exclude: []string{home}},
		map[string]any{"script": "true"}))
}

// TestFilesKeepOutOfEveryHome keeps agents out of the homes that nobody told the tools of: those of other nodes.
func TestFilesKeepOutOfEveryHome(t *testing.T) {
	f, dir := fileTools(t)
	const key = "PRIVATE+KEY+ann+00000000+SEED"
	for _, name := range []string{"other/.perdure/key", "other/.perdure/trust", "data/key", "data/trust"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"other/.perdure/key", "other/.Perdure/trust", "data/key", "new/.perdure/node.yaml"} {
		for _, args := range []map[string]any{{"path": p}, {"path": p, "offset": 5}} {
			res := call(t, f("read"), args)
			fails(t, res)
			if strings.Contains(string(res.Data), "SEED") {
				t.Errorf("%s was read", p)
			}
		}
		if p == "data/key" {
			continue
		}
		for _, name := range []string{"list", "stat", "remove"} {
			fails(t, call(t, f(name), map[string]any{"path": p}), "may reach")
		}
		for _, name := range []string{"write", "append"} {
			fails(t, call(t, f(name), map[string]any{"path": p, "text": "x"}), "may reach")
		}
	}
	if got := onDisk(t, filepath.Join(dir, "other/.perdure/trust")); got != key {
		t.Errorf("the trust file of another home has %q", got)
	}
	value(t, call(t, f("write"), map[string]any{"path": "perdure", "text": "x"}))
	value(t, call(t, f("write"), map[string]any{"path": ".perdure.md", "text": "x"}))
}
