package tool_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/tool"
)

// unclean checks that a tool refuses arguments before policy is asked, and again when it is called all the same.
func unclean(t *testing.T, tl perdure.Tool, args any, parts ...string) {
	t.Helper()
	checker, ok := tl.(perdure.ArgumentChecker)
	if !ok {
		t.Fatalf("%s checks no arguments", tl.Spec().Name)
	}
	err := checker.CheckArgs(data(t, args))
	if err == nil {
		t.Errorf("%s: %v was taken for clean", tl.Spec().Name, args)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%s: got %q, want %q in it", tl.Spec().Name, err, p)
		}
	}
	fails(t, call(t, tl, args), parts...)
}

func TestPathsHaveOneSpelling(t *testing.T) {
	f, dir := fileTools(t)
	for _, sub := range []string{"public", "private"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, sub, "x"), []byte(sub), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{
		"public/../private/x", "./private/x", "private//x", "private/./x", "private/x/", "private/x/.", "", "../x",
		"..", "/etc/passwd",
		`public\..\private\x`, `private\x`, "private/x\x00", "private/x\n", "private/\u202ex", "private/e\u0301",
		"a/../..", "./",
		strings.Repeat("a/", 5000) + "a",
	} {
		for _, name := range []string{"read", "list", "stat", "remove"} {
			unclean(t, f(name), map[string]any{"path": p}, "path")
		}
		for _, name := range []string{"write", "append"} {
			unclean(t, f(name), map[string]any{"path": p, "text": "changed"}, "path")
		}
	}
	// as text they are a path in base64
	unclean(t, f("read"), map[string]any{"path": []byte{0xfe, 0x9a, 0xe2}}, "bytes")
	unclean(t, f("read"), map[string]any{"path": "public/../private/x"}, `want "private/x"`)
	if got := onDisk(t, dir, "private", "x"); got != "private" {
		t.Errorf("got %q", got)
	}
	for _, p := range []string{"private/x", "public/x"} {
		value(t, call(t, f("read"), map[string]any{"path": p}))
	}
	for _, p := range []string{".", "private"} {
		value(t, call(t, f("list"), map[string]any{"path": p}))
	}
	for _, p := range []string{"..x", "a..b", "...", "é", "a b", "~", "-", "con.txt", "日本"} {
		value(t, call(t, f("write"), map[string]any{"path": "odd/" + p, "text": "x"}))
	}
}

func TestPathsLeadThroughNoLink(t *testing.T) {
	f, dir := fileTools(t)
	value(t, call(t, f("write"), map[string]any{"path": "private/x", "text": "secret"}))
	value(t, call(t, f("write"), map[string]any{"path": "public/a", "text": "a"}))
	for link, to := range map[string]string{"public/file": "../private/x", "public/folder": "../private"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"public/file", "public/folder/x"} { // a rule about public/* would permit it
		fails(t, call(t, f("read"), map[string]any{"path": p}), "is a link to", "private")
		fails(t, call(t, f("write"), map[string]any{"path": p, "text": "y"}), "is a link to")
		fails(t, call(t, f("append"), map[string]any{"path": p, "text": "y"}), "is a link to")
	}
	fails(t, call(t, f("list"), map[string]any{"path": "public/folder"}), "is a link to")
	fails(t, call(t, f("remove"), map[string]any{"path": "public/folder/x"}), "is a link to")
	if got := value(t, call(t, f("stat"), map[string]any{"path": "public/file"}))["kind"]; got != "link" {
		t.Errorf("got %v", got)
	}
	value(t, call(t, f("remove"), map[string]any{"path": "public/file"})) // the link, not what it leads to
	if got := onDisk(t, dir, "private", "x"); got != "secret" {
		t.Errorf("got %q", got)
	}
}

func TestURLsHaveOneSpelling(t *testing.T) {
	var asked atomic.Int64
	_, u := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	h := httpTools(t, tool.HTTP{Allow: []string{u, "*", "http://*"}, Loopback: true})
	for _, c := range []string{
		"", "x", "https://", "https:///x", "HTTPS://example.com/", "Http://example.com/", "ftp://example.com/",
		"//example.com/", "https:example.com",
		"https://example.com", "https://example.com?q", "https://Example.com/", "https://example.com./",
		"https://.example.com/", "https://a..b/",
		"https://user@example.com/", "https://user:pw@example.com/", "https://@example.com/",
		"https://example.com:443/", "http://example.com:80/",
		"https://example.com:/", "https://example.com:0443/", "https://example.com:0/", "https://example.com:65536/",
		"https://example.com:x/",
		"https://example.com:8443:8443/", "https://bücher.example/", "https://ex%61mple.com/", "https://ex ample.com/",
		"https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.0.0.01/",
		"https://127.0.0.0x1/",
		"https://1.2.3.4.5/", "https://999.1.1.1/", "https://[::0001]/", "https://[::FFFF]/",
		"https://[::ffff:1.2.3.4]/", "https://[fe80::1%25eth0]/",
		"https://[::1/", "https://::1/", "https://[::1]x/",
		"https://example.com/a/../b", "https://example.com/..", "https://example.com/./a", "https://example.com/a/.",
		"https://example.com/..;x/b",
		"https://example.com/%2e%2e/b", "https://example.com/%2E%2E/b", "https://example.com/.%2e/b",
		"https://example.com/a%2Fb", "https://example.com/a%5Cb",
		"https://example.com/%61", "https://example.com/%7Ea", "https://example.com/%c3%A9", "https://example.com/%",
		"https://example.com/%4", "https://example.com/%zz",
		"https://example.com/%+1", "https://example.com/%00", "https://example.com/%0A", "https://example.com//a",
		"https://example.com/a//b", "https://example.com//",
		"https://example.com/a#b", "https://example.com/#", "https://example.com/a?", "https://example.com/a?x=%61",
		"https://example.com/a?x=%2f",
		`https://example.com\@evil.example/`, `https://example.com/a\b`, "https://example.com/a b",
		"https://example.com/a\tb", "https://example.com/a\nb",
		"https://example.com/é", " https://example.com/", "https://example.com/ ", "https://example.com/{x}",
		"https://example.com/\x7f",
		"https://example.com/" + strings.Repeat("a", 9<<10),
	} {
		unclean(t, h("get"), map[string]any{"url": c}, "url")
		unclean(t, h("post"), map[string]any{"url": c}, "url")
	}
	unclean(t, h("get"), map[string]any{"url": "https://user:pw@example.com/"},
		"a name or password does not belong in it")
	if asked.Load() != 0 {
		t.Errorf("the server was asked %d times", asked.Load())
	}
	for _, c := range []string{
		"https://example.com/", "https://example.com/a/b?x=1&y=a%20b", "https://example.com/a/",
		"https://example.com/%C3%A9", "https://example.com/a;v=1",
		"https://example.com/a?u=https:%2F%2Fb.example%2F..", "https://example.com/a?u=https://b.example/../x?y",
		"https://xn--bcher-kva.example/", "http://192.0.2.1:8080/x",
		"https://[2001:db8::1]/", "https://[2001:db8::1]:8443/", "https://example.com/...", "https://example.com/..a",
		"https://a_b.example/~x/@y:z,(w)", "https://1.example/",
		"https://example.com/%25", "https://example.com/?k=secret:KEY",
	} {
		if err := h("get").(perdure.ArgumentChecker).CheckArgs(data(t, map[string]any{"url": c})); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

func TestHeadersCannotChangeWhatPolicyJudged(t *testing.T) {
	var asked atomic.Int64
	_, u := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	h := httpTools(t, tool.HTTP{Allow: []string{u}, Loopback: true})
	for _, name := range []string{"X-HTTP-Method-Override", "x-http-method", "X-Method-Override",
		"X_HTTP_Method_Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Host"} {
		fails(t, call(t, h("get"), map[string]any{"url": u + "/", "headers": map[string]any{name: "DELETE"}}),
			"not for the caller")
	}
	unclean(t, h("get"), map[string]any{"url": u + "/", "headers": map[string]any{"Authorization": "a",
		"authorization": "b"}}, "Authorization", "twice")
	unclean(t, h("get"), map[string]any{"url": u + "/", "headers": map[string]any{"X-A": "a", "X_A": "b"}}, "twice")
	if asked.Load() != 0 {
		t.Errorf("the server was asked %d times", asked.Load())
	}
}

func TestProgramsAreNamedInOneWay(t *testing.T) {
	s := tool.Shell{Dir: t.TempDir(), Allow: []string{"*"}}
	for _, name := range []string{"../x", "a/b", "./../x", ".//x", "./a/../x", "/bin/../bin/echo", "//bin/echo",
		"/bin//echo", "/bin/./echo", `.\x`, "e\ncho", "echo\x00", "", ".", "..", "./", "./."} {
		unclean(t, s, map[string]any{"command": []string{name}}, "command")
	}
	unclean(t, s, map[string]any{"script": "a\x00b"}, "script")
	// /bin/cat in base64
	unclean(t, s, map[string]any{"command": []any{[]byte{0xfd, 0xb8, 0xa7, 0xfd, 0xc6, 0xad}}}, "bytes")
	if err := os.WriteFile(filepath.Join(s.Dir, "run"), []byte("#!/bin/sh\necho ran\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"echo", "ran"}, {"./run"}, {filepath.Join(s.Dir, "run")}} {
		if got := value(t, call(t, s, map[string]any{"command": argv}))["stdout"]; got != "ran\n" {
			t.Errorf("%v: got %q", argv, got)
		}
	}
}

func TestOfSeveralUncleanFieldsTheSameIsAlwaysNamed(t *testing.T) {
	tools, err := tool.HTTP{Allow: []string{"api.example.com"}}.Tools()
	if err != nil {
		t.Fatal(err)
	}
	args := data(t, map[string]any{"url": "https://API.example.com/",
		"headers": map[string]any{"A-B": "1", "a_b": "2"}})
	for range 100 {
		if err := tools[0].(perdure.ArgumentChecker).CheckArgs(args); err == nil ||
			!strings.HasPrefix(err.Error(), "field headers: ") {
			t.Fatalf("got %v, want the first field by name", err)
		}
	}
}

func TestWrappedToolsCheckTheirArguments(t *testing.T) {
	f, _ := fileTools(t)
	tools := []perdure.Tool{f("read")}
	trusted, err := tool.Trust(tools, "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrapped := range [][]perdure.Tool{trusted, tool.WithSecrets(tools, tool.SecretMap{}),
		tool.WithSecrets(trusted, tool.SecretMap{})} {
		unclean(t, wrapped[0], map[string]any{"path": "./a"}, `want "a"`)
	}
	reader := tool.WithSecrets(tools, tool.SecretMap{"WHERE": "../../etc/passwd"})[0]
	// what the reference stands for is checked at the call
	fails(t, call(t, reader, map[string]any{"path": "secret:WHERE"}), "leads out")
	plain := tool.Func("f", "", perdure.Read, func(context.Context, perdure.Call, struct{}) (int, error) {
		return 0, nil
	})
	if err := tool.WithSecrets([]perdure.Tool{plain}, tool.SecretMap{})[0].(perdure.ArgumentChecker).
		CheckArgs(nil); err != nil {
		t.Error(err)
	}
}

func TestPolicyAboutAPathCannotBePassedBySpellingItOtherwise(t *testing.T) {
	set, err := policy.Parse(policy.File{Name: "p.cedar", Text: []byte(`
@id("public") permit (principal, action == Action::"execute", resource) when { context.args has path && context.args.path like "public/*" };
@id("no-private") forbid (principal, action == Action::"execute", resource) when { context.args has path && context.args.path like "private/*" };
@id("rest") permit (principal, action, resource) unless { action == Action::"execute" };`)})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"public/x": "public", "private/x": "no-private", "public/../private/x": ruling.Arguments,
		"./private/x": ruling.Arguments, "other/x": "policy.default",
	} {
		f, dir := fileTools(t)
		for _, p := range []string{"public", "private", "other"} {
			if err := os.MkdirAll(filepath.Join(dir, p), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, p, "x"), []byte(p), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		node := nodeWith(t, f("read"), perdure.Execute{Tool: "files.read", Args: data(t, map[string]any{"path": path})})
		node.Policy, node.PolicyHash = set, set.Hash()
		v := decisionOf(t, node)
		if v.Rules[0] != want || (v.Answer == perdure.Allow) != (want == "public") {
			t.Errorf("%s: got %s by %v (%s), want %s", path, v.Answer, v.Rules, v.Reason, want)
		}
	}
}

// decisionOf runs a node's agent and returns the verdict on what it first proposed.
func decisionOf(t *testing.T, node *perdure.Node) perdure.Verdict {
	t.Helper()
	a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "read"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	for e, err := range node.Store.Entries(t.Context(), a.ID(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Content().(perdure.Decision); ok {
			return d.Verdict
		}
	}
	t.Fatal("there is no decision")
	return perdure.Verdict{}
}
