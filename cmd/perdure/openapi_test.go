package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/npmtest"
)

// openAPITools are a validator, a generator of types, a client that uses them, and a compiler.
var openAPITools = []string{
	"@seriousme/openapi-schema-validator@2.11.0",
	"openapi-typescript@7.13.0",
	"openapi-fetch@0.17.0",
	"typescript@5.9.3",
	"@types/node@20.19.25",
}

// servedStore is a server that runs in a process of its own.
type servedStore struct {
	t    *testing.T
	args []string
	cmd  *exec.Cmd
	url  string
	log  string // the file of its log
}

// serve starts a server of a store, and waits until it listens.
func serve(t *testing.T, store string, args ...string) *servedStore {
	t.Helper()
	s := &servedStore{t: t, log: filepath.Join(t.TempDir(), "serve.log"),
		args: append([]string{"serve", "--store", store, "--log-format", "text"}, args...)}
	s.start("127.0.0.1:0")
	t.Cleanup(func() { s.kill() })
	return s
}

// start starts it on an address.
func (s *servedStore) start(address string) {
	s.t.Helper()
	f, err := os.Create(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s.cmd = exec.Command("perdure", append(s.args, "--listen", address)...)
	s.cmd.Stderr = f
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(s.log)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, rest, ok := strings.Cut(string(b), "msg=serving at="); ok && strings.Contains(rest, " ") {
			s.url, _, _ = strings.Cut(rest, " ")
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("it does not serve: %s", b)
		}
	}
}

// kill ends it at once, as a crash would.
func (s *servedStore) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
}

// token makes a token.
func token(t *testing.T, store string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(
		must(t, exitOK, append([]string{"token", "new", "--jq", ".token", "--store", store}, args...)...),
	)
}

// run runs a program of npm.
func npm(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", program, args, err, out)
	}
	return string(out)
}

func TestAClientMadeFromTheOpenAPIDocumentDrivesAnAgent(t *testing.T) {
	tools := npmtest.Installed(t, "openapi-2.11.0", 4*time.Minute, openAPITools...)
	bin := filepath.Join(tools, "node_modules", ".bin")
	store, files, work := filepath.Join(t.TempDir(), "home"), t.TempDir(), t.TempDir()
	script := filepath.Join(work, "script.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("script.yaml", `turns:
  - sleep: {on: go}
  - execute: {tool: files.write, args: {path: hello.txt, text: hello}}
  - end: {note: done}
`)
	program, person := token(t, store, "ts", "--verbs", "read,create,event,approve"), token(t, store, "anna",
		"--person")
	s := serve(t, store, "--advisor", "script:"+script, "--files", files)

	res, err := http.Get(s.url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	write("openapi.json", string(doc))
	var head struct{ OpenAPI string }
	if err := json.Unmarshal(doc, &head); err != nil || !strings.HasPrefix(head.OpenAPI, "3.1") {
		t.Errorf("it is OpenAPI %q, %v", head.OpenAPI, err)
	}
	if said := npm(t, work, filepath.Join(bin, "validate-api"), "openapi.json"); !strings.Contains(
		said,
		`"valid": true`,
	) {
		t.Errorf("the validator says %s", said)
	}

	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(work, "node_modules")); err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile("testdata/openapi/main.ts")
	if err != nil {
		t.Fatal(err)
	}
	write("main.ts", string(main))
	write("package.json", `{"type": "module"}`)
	npm(t, work, filepath.Join(bin, "openapi-typescript"), "openapi.json", "-o", "api.d.ts")
	npm(t, work, filepath.Join(bin, "tsc"), "--strict", "--target", "es2022", "--module", "nodenext", "--types",
		"node", "--skipLibCheck", "main.ts")
	got := npm(t, work, "node", "main.js", s.url, program, person)
	const want = `{"standing":"terminated","signal":"ok","first":"genesis","entries":true}`
	if strings.TrimSpace(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if b, err := os.ReadFile(filepath.Join(files, "hello.txt")); err != nil || string(b) != "hello" {
		t.Errorf("the file: %q, %v", b, err)
	}
}
