package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/store/sqlite"
)

// perdureIn runs the program to its end and returns what it printed and its exit code.
func perdureIn(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd, in, out, errs := startPerdure(t, args...)
	if _, err := io.WriteString(in, stdin); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	code = exitOf(t, cmd.Wait()) // only then is everything written
	return string(b), errs.String(), code
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err == nil {
		return exitOK
	}
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// must runs the program and fails the test unless it ends with a code.
func must(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, errs, got := perdureIn(t, "", args...)
	if got != code {
		t.Fatalf("perdure %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	}
	return out
}

// interrupt sends Ctrl-C to a command that is under way and waits for its end.
func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := exitOf(t, cmd.Wait()); got != exitInterrupted {
		t.Errorf("exit code: got %d, want %d", got, exitInterrupted)
	}
}

// slowBoss is a remote advisor that answers only the second time it is asked; asked is closed the first time.
func slowBoss(t *testing.T, answer string) (url string, asked chan struct{}) {
	asked = make(chan struct{})
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if n.Add(1) == 1 {
			close(asked)
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

const endAnswer = `{"actions":[{"end":{"note":"done"}}]}`

func TestInterruptedRunAndNodeLeaveTheAgentToGoOn(t *testing.T) {
	for _, command := range []string{"run", "node"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			store := filepath.Join(t.TempDir(), "home")
			must(t, exitOK, "new", "wait", "--name", "a", "--store", store)
			url, asked := slowBoss(t, endAnswer)
			args := []string{command, "--store", store, "--advisor", url}
			if command == "run" {
				args = append(args, "a")
			} else {
				args = append(args, "--grace", "100ms")
			}
			cmd, _, _, errs := startPerdure(t, args...)
			<-asked
			interrupt(t, cmd)
			if !strings.Contains(errs.String(), "perdure: interrupted\n") {
				t.Errorf("it does not say that it was interrupted: %s", errs)
			}
			must(t, exitOK, "verify", "a", "--store", store)
			must(t, exitOK, "run", "a", "--store", store, "--advisor", url)
			if got := must(t, exitOK, "show", "a", "--store", store, "--jq", ".ended.note"); got != "done\n" {
				t.Errorf("it did not go on: got %q", got)
			}
		})
	}
}

// Two processes with one key and one store do not fight: what one works on the other leaves alone, and says so.
func TestRunBesideANodeLeavesItsAgentAlone(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "home")
	must(t, exitOK, "new", "wait", "--name", "a", "--store", store)
	url, asked := slowBoss(t, endAnswer)
	node, _, _, _ := startPerdure(t, "node", "--store", store, "--advisor", url, "--grace", "100ms")
	<-asked
	_, errs, code := perdureIn(t, "", "run", "a", "--store", store, "--advisor", url)
	if code != exitConflict || !strings.Contains(errs, "is being run by another node") ||
		!strings.Contains(errs, "hint: watch it with perdure tail") {
		t.Errorf("run beside a node: exit %d: %s", code, errs)
	}
	must(t, exitOK, "send", "a", "hello", "--store", store) // telling it something is never refused
	interrupt(t, node)
	must(t, exitOK, "run", "a", "--store", store, "--advisor", url)
	must(t, exitOK, "verify", "a", "--store", store)
	if got := must(t, exitOK, "show", "a", "--store", store, "--jq", ".ended.note"); got != "done\n" {
		t.Errorf("it did not go on: got %q", got)
	}
}

// An effect that was cut off is not forgotten: a second run knows of it.
func TestInterruptedEffectIsRecorded(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("the program sleep is needed and not installed")
	}
	t.Parallel()
	dir := t.TempDir()
	store := filepath.Join(dir, "home")
	script := filepath.Join(dir, "script.yaml")
	rules := filepath.Join(dir, "all.cedar")
	for name, text := range map[string]string{
		script: "turns:\n  - execute: {tool: shell, args: {command: [sleep, '600']}}\n  - end: {note: over}\n",
		rules:  "@id(\"test.all\")\npermit (principal, action, resource);\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, exitOK, "new", "wait", "--name", "a", "--store", store)
	cmd, _, _, _ := startPerdure(t, "run", "a", "--store", store, "--advisor", "script:"+script, "--files", dir,
		"--program", "sleep", "--policy", rules, "--quiet")
	for !strings.Contains(must(t, exitOK, "log", "a", "--store", store), "allow shell") {
	}
	interrupt(t, cmd)
	must(t, exitOK, "verify", "a", "--store", store)
	if got := must(t, exitOK, "show", "a", "--store", store, "--jq",
		".open[].doubt, .standing, .waits[].kind"); got != "true\nwaiting\nin-doubt\n" {
		t.Errorf("the effect is not in doubt at once: got %q", got)
	}
	for _, talk := range []string{"--transcript", "--reads"} {
		got := must(t, exitOK, "log", "a", "--store", store, talk)
		if !regexp.MustCompile(`in doubt whether this happened: shell \{"command":\["sleep","600"\]\} ` +
			`\((killed|it was cut off): .*\); perdure settle [0-9a-f]{12} [0-9a-f]{12} --signal ok # or failed\n`).MatchString(got) {
			t.Errorf("log %s says\n%swant what is in doubt in words", talk, got)
		}
	}
}

func TestInterruptedFollowingEnds(t *testing.T) {
	store := filepath.Join(t.TempDir(), "home")
	must(t, exitOK, "new", "wait", "--name", "a", "--store", store)
	for _, args := range [][]string{{"tail", "a"}, {"tail", "a", "--json"}, {"log", "a", "--follow"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			cmd, _, out, errs := startPerdure(t, append(args, "--store", store)...)
			if _, err := out.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			interrupt(t, cmd)
			got := errs.String()
			if !strings.HasPrefix(got, "perdure: nobody runs a now: perdure run ") ||
				!strings.HasSuffix(got, "perdure: interrupted\n") && !strings.Contains(got, `"exit":130`) {
				t.Errorf("got %q, want that nobody runs it and that it was interrupted", got)
			}
		})
	}
}

// longAgent makes a store with an agent of many entries.
func longAgent(t *testing.T, base string) {
	t.Helper()
	must(t, exitOK, "new", "remember", "--name", "long", "--store", base)
	key, err := keyfile.Read(filepath.Join(base, home.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), filepath.Join(base, home.StoreFile), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var id perdure.AgentID
	for one, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		id = one.Agent
	}
	a, err := perdure.Load(t.Context(), s, id)
	for range 40 {
		var drafts []perdure.Draft
		for i := range 100 {
			d, err := perdure.DataOf(strings.Repeat(fmt.Sprintf("%d ", i), 1000))
			if err != nil {
				t.Fatal(err)
			}
			drafts = append(drafts, perdure.Draft{Body: perdure.Event{Name: "told", Data: d}})
		}
		var entries []*perdure.Entry
		if err == nil {
			entries, a, err = key.Commit(a, time.Now(), drafts...)
		}
		if err == nil {
			err = s.Put(context.WithoutCancel(t.Context()), id, entries...)
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestInterruptedExportAndImportLeaveNothingHalfWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base := filepath.Join(dir, "home")
	longAgent(t, base)
	whole := filepath.Join(dir, "whole.agent")
	must(t, exitOK, "export", "long", whole, "--store", base)

	t.Run("export", func(t *testing.T) {
		cut := 0
		for try := range 20 {
			out := filepath.Join(dir, fmt.Sprintf("out%d", try))
			if err := os.Mkdir(out, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd, _, _, _ := startPerdure(t, "export", "long", filepath.Join(out, "long.agent"), "--store", base)
			names := []os.DirEntry{}
			var err error
			for len(names) == 0 && err == nil {
				names, err = os.ReadDir(out)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			code := exitOf(t, cmd.Wait())
			if names, err = os.ReadDir(out); err != nil {
				t.Fatal(err)
			}
			switch code {
			case exitInterrupted:
				if cut++; len(names) > 0 {
					t.Errorf("it left %s", names)
				}
			case exitOK:
				must(t, exitOK, "verify", filepath.Join(out, "long.agent"), "--store", base)
			default:
				t.Errorf("exit code %d", code)
			}
			if cut == 3 {
				break
			}
		}
		if cut == 0 {
			t.Error("no export was interrupted in the middle: give the agent more entries")
		}
	})
	t.Run("import", func(t *testing.T) {
		b, err := os.ReadFile(whole)
		if err != nil {
			t.Fatal(err)
		}
		there := filepath.Join(dir, "there")
		must(t, exitOK, "new", "other", "--name", "other", "--store", there)
		cmd, in, _, errs := startPerdure(t, "import", "-", "--store", there)
		if _, err := in.Write(b[:len(b)/2]); err != nil {
			t.Fatal(err)
		}
		interrupt(t, cmd)
		if got, want := errs.String(), "perdure: interrupted\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := must(t, exitOK, "ls", "--store", there, "--jq", ".[].name"); got != "other\n" {
			t.Errorf("agents: got %q, want the one that was there", got)
		}
		if _, errs, code := perdureIn(t, string(b), "import", "-", "--store", there); code != exitOK {
			t.Fatalf("import afterwards: exit %d: %s", code, errs)
		}
		must(t, exitOK, "verify", "long", "--store", there)
	})
}
