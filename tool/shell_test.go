//go:build unix

package tool_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

func anyShell(t *testing.T) tool.Shell {
	t.Helper()
	return tool.Shell{Dir: t.TempDir(), Allow: []string{"*"}}
}

func TestACommandRunsInItsFolderWithoutAShell(t *testing.T) {
	s := anyShell(t)
	v := value(t, call(t, s, map[string]any{"command": []string{"printf", "%s|", "$HOME; ls", "`pwd`", "*"}}))
	if diff := cmp.Diff(map[string]any{"exit": int64(0), "stdout": "$HOME; ls|`pwd`|*|", "stderr": ""}, v); diff != "" {
		t.Error(diff)
	}
	v = value(t, call(t, s, map[string]any{"script": "echo a > f; pwd; ls >&2"}))
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if v["stdout"] != dir+"\n" || v["stderr"] != "f\n" {
		t.Errorf("got %v, want %s and f", v, dir)
	}
}

func TestShellDefaultsAreTheMostCareful(t *testing.T) {
	spec := tool.Shell{}.Spec()
	if spec.Effect != perdure.Once || spec.Name != "shell" || spec.Deadline != tool.DefaultTimeout ||
		len(spec.Args) == 0 {
		t.Errorf("got spec %+v", spec)
	}
	if spec := (tool.Shell{Effect: perdure.Read, Name: "look"}).Spec(); spec.Effect != perdure.Read ||
		spec.Name != "look" {
		t.Errorf("got spec %+v", spec)
	}
	fails(t, call(t, tool.Shell{Allow: []string{"*"}}, map[string]any{"command": []string{"true"}}), "Dir")
	fails(t, call(t, tool.Shell{Dir: t.TempDir()}, map[string]any{"command": []string{"true"}}), "not allowed")
}

func TestOnlyAllowedProgramsRun(t *testing.T) {
	s := tool.Shell{Dir: t.TempDir(), Allow: []string{"echo"}}
	marker := filepath.Join(s.Dir, "marker")
	if err := os.WriteFile(filepath.Join(s.Dir, "echo"), []byte("#!/bin/sh\ntouch marker\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	value(t, call(t, s, map[string]any{"command": []string{"echo", "x"}})) // that of the PATH, not that of the folder
	for _, args := range []map[string]any{
		{"command": []string{"touch", marker}},
		{"command": []string{"./echo"}},
		{"command": []string{filepath.Join(s.Dir, "echo")}},
		{"command": []string{"/bin/sh", "-c", "touch marker"}},
		{"command": []string{"sh", "-c", "touch marker"}},
		{"command": []string{"ECHO"}},
		{"command": []string{"echo "}},
		{"command": []string{"echo;touch marker"}},
		{"script": "echo x; touch marker"},
		{"command": []string{"*"}},
	} {
		fails(t, call(t, s, args), "not allowed")
	}
	for _, args := range []map[string]any{{}, {"command": []string{}}, {"command": []string{""}},
		{"command": []string{"echo"}, "script": "x"}, {"command": []string{"echo", "a\x00b"}}, {"command": "echo"}} {
		fails(t, call(t, s, args), "command")
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program that is not allowed ran")
	}
}

func TestACommandThatExitsWithAnErrorFailsWithItsOutput(t *testing.T) {
	res := call(t, anyShell(t), map[string]any{"script": "echo out; echo err >&2; exit 7"})
	fails(t, res, "exit status 7")
	if diff := cmp.Diff(map[string]any{"exit": int64(7), "stdout": "out\n", "stderr": "err\n"},
		fields(t, res)); diff != "" {
		t.Error(diff)
	}
	fails(t, call(t, anyShell(t), map[string]any{"command": []string{"no-such-program-here"}}), "no-such-program-here")
	fails(t, call(t, tool.Shell{Dir: filepath.Join(t.TempDir(), "gone"), Allow: []string{"*"}},
		map[string]any{"command": []string{"true"}}), "gone")
}

func TestACommandGetsOnlyTheListedEnvironment(t *testing.T) {
	t.Setenv("TOOL_TEST_LISTED", "yes")
	t.Setenv("TOOL_TEST_OTHER", "leaked")
	s := anyShell(t)
	s.Env = []string{"PATH", "TOOL_TEST_LISTED", "TOOL_TEST_ABSENT", "FIXED=1"}
	out := value(t, call(t, s, map[string]any{"command": []string{"env"}}))["stdout"].(string)
	for _, want := range []string{"TOOL_TEST_LISTED=yes\n", "FIXED=1\n", tool.KeyVariable + "=key-1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("got %q, want %q in it", out, want)
		}
	}
	s.Env = []string{}
	out += value(t, call(t, s, map[string]any{"command": []string{"/usr/bin/env"}}))["stdout"].(string)
	if strings.Contains(out, "leaked") || strings.Contains(out, "ABSENT") || strings.Contains(out, "HOME=") {
		t.Errorf("got %q, want only what is listed", out)
	}
}

func TestLongOutputIsCutInTheMiddleAndSaysSo(t *testing.T) {
	s := anyShell(t)
	s.OutputLimit = 100
	v := cut(t, call(t, s,
		map[string]any{"script": "echo begin; i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo " +
			"end"}))
	out := v["stdout"].(string)
	if v["truncated"] != true || !strings.HasPrefix(out, "begin\n") || !strings.HasSuffix(out, "line 1999\nend\n") ||
		!strings.Contains(out, "bytes left out") || len(out) > 200 {
		t.Errorf("got %q, truncated %v", out, v["truncated"])
	}
	v = value(t, call(t, s, map[string]any{"script": `printf 'a\377\0b'`}))
	if v["stdout"] != "a\uFFFD\x00b" || v["truncated"] != nil {
		t.Errorf("got %q", v)
	}
}

// held makes a pipe in dir that a script writes to as long as something it started is alive. open is closed once that
// has the pipe, gone once nothing has it any more.
func held(t *testing.T, dir string) (open, gone chan struct{}) {
	t.Helper()
	name := filepath.Join(dir, "held")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	open, gone = make(chan struct{}), make(chan struct{})
	go func() {
		f, err := os.Open(name)
		close(open)
		if err == nil {
			_, _ = io.Copy(io.Discard, f)
			_ = f.Close()
		}
		close(gone)
	}()
	return open, gone
}

func TestTheWholeProcessGroupIsKilledAtTheDeadline(t *testing.T) {
	t.Parallel()
	args := map[string]any{"script": "echo started; (trap '' TERM INT HUP; exec sleep 600 3>held) & wait"}
	t.Run("of the tool", func(t *testing.T) {
		t.Parallel()
		s := anyShell(t)
		s.Effect, s.Timeout = perdure.Idempotent, 3*time.Second // the script must have started what is to be killed
		_, gone := held(t, s.Dir)
		res := call(t, s, args)
		if res.Signal != perdure.TimedOut || fields(t, res)["stdout"] != "started\n" {
			t.Errorf("got %s, %s, want timed-out with the output so far", res.Signal, res.Data.JSON())
		}
		<-gone
	})
	t.Run("of the decision", func(t *testing.T) {
		t.Parallel()
		s := anyShell(t)
		_, gone := held(t, s.Dir)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		res, err := s.Call(ctx, perdure.Call{Args: data(t, args)})
		if !errors.Is(err, perdure.ErrInDoubt) || !strings.Contains(err.Error(), "started") {
			t.Errorf("got %s, %v, want doubt with the output so far", res.Signal, err)
		}
		<-gone
	})
}

func TestACommandKilledByAnotherIsInDoubt(t *testing.T) {
	s := anyShell(t)
	doubts(t, s, map[string]any{"script": "echo half; kill -9 $$"}, "killed by somebody else", "half")
	s.Effect = perdure.Read
	if res := call(t, s, map[string]any{"script": "kill -9 $$"}); res.Signal != perdure.Silent {
		t.Errorf("got %s, want silent: a read may be done again", res.Signal)
	}
}

func TestACommandGivenUpIsKilledAndItsOutcomeIsNotKnown(t *testing.T) {
	s := anyShell(t)
	open, gone := held(t, s.Dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-open
		cancel(errors.New("enough"))
	}()
	_, err := s.Call(ctx, perdure.Call{Args: data(t, map[string]any{"script": "echo half; sleep 600 3>held & wait"})})
	if !errors.Is(err, perdure.ErrInDoubt) || !strings.Contains(err.Error(), `killed: enough; it had written "half"`) {
		t.Errorf("got %v, want doubt that says why, and how far it came", err)
	}
	<-gone
}

func TestNothingACommandStartedOutlivesIt(t *testing.T) {
	s := anyShell(t)
	_, gone := held(t, s.Dir)
	v := value(t, call(t, s, map[string]any{"script": "exec 3>held; sleep 600 & echo done"}))
	if v["stdout"] != "done\n" || v["exit"] != int64(0) {
		t.Errorf("got %v", v)
	}
	<-gone
}
