package tool

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestCommandsAreReadAsAShellReadsThem(t *testing.T) {
	for line, want := range map[string][]string{
		``:                            nil,
		`  a  b `:                     {"a", "b"},
		`a "b c" 'd "e' f\ g`:         {"a", "b c", `d "e`, "f g"},
		`a ""`:                        {"a", ""},
		`a b"c d"'e f'g`:              {"a", "bc de fg"},
		`a "x\"y\\z\n" 'p\q'`:         {"a", `x"y\z\n`, `p\q`},
		`C\:\\x "$HOME" '*' ` + "\té": {`C:\x`, "$HOME", "*", "é"},
	} {
		got, err := words(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
	for _, line := range []string{`a "b`, `a 'b`, `a \`} {
		if got, err := words(line); err == nil {
			t.Errorf("%q is read as %q", line, got)
		}
	}
}

func TestServersAreNamedInAFile(t *testing.T) {
	const file = `
line: serve "my notes"
url: https://example.org/mcp
parts: {command: serve --x 'a b', dir: /srv, env: {B: "2", A: "secret:TOKEN"}}
list: {command: [serve, a b]}
far: {url: "https://example.org/mcp", headers: {authorization: "secret:TOKEN", x-kind: "Bearer secret:TOKEN"}}
`
	var all map[string]MCPConfig
	if err := yaml.Unmarshal([]byte(file), &all); err != nil {
		t.Fatal(err)
	}
	type server struct {
		Command, Env []string
		URL, Dir     string
		Header       http.Header
	}
	want := map[string]server{
		"line": {Command: []string{"serve", "my notes"}},
		"url":  {URL: "https://example.org/mcp"},
		"parts": {Command: []string{"serve", "--x", "a b"}, Dir: "/srv",
			Env: []string{"PATH", "HOME", "A=hidden", "B=2"}},
		"list": {Command: []string{"serve", "a b"}},
		"far": {URL: "https://example.org/mcp", Header: http.Header{"Authorization": {"hidden"},
			"X-Kind": {"Bearer hidden"}}},
	}
	got := map[string]server{}
	for name, c := range all {
		m, err := c.Server(t.Context(), name, SecretMap{"TOKEN": "hidden"})
		if err != nil {
			t.Fatal(err)
		}
		got[name] = server{m.Command, m.Env, m.URL, m.Dir, m.Header}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestServersThatCannotBeAreRefused(t *testing.T) {
	for file, want := range map[string]string{
		`s: {command: a, url: "https://b"}`:                            "its command or its url",
		`s: {}`:                                                        "its command or its url",
		`s: {url: "https://b", env: {A: b}}`:                           "a url takes headers",
		`s: {command: a, headers: {A: b}}`:                             "a command takes env",
		`s: {command: a, env: {A: "secret:NOWHERE"}}`:                  "unknown secret",
		`s: {command: a, env: {"A=B": c}}`:                             "cannot be set",
		`s: {command: a, env: {"": c}}`:                                "cannot be set",
		`s: {command: a, env: {A: "b\0"}}`:                             "cannot be set",
		`s: {url: "https://b", headers: {"A B": c}}`:                   "cannot be sent",
		`s: {url: "https://b", headers: {A: "b\nc"}}`:                  "cannot be sent",
		`s: {url: "https://b", headers: {A: "Bearer secret:NOWHERE"}}`: "unknown secret",
		`s: {comand: a}`:                                               "there is no field comand",
		`s: 'a "b'`:                                                    "has an unclosed quotation mark",
		`s: ''`:                                                        "want a command or a URL",
	} {
		var all map[string]MCPConfig
		err := yaml.Unmarshal([]byte(file), &all)
		if err == nil {
			_, err = all["s"].Server(t.Context(), "s", nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
}
