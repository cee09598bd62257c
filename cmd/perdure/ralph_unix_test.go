//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeAgent does a task by adding its name to a file, at once and before it says so. It fails, meets limits, and dies
// of its own kill -9, by chance.
const fakeAgent = `#!/bin/bash
sleep 0.0$((RANDOM % 9))
case $((RANDOM % 8)) in
0) echo "cannot compile"; exit 1 ;;
1) echo "rate limit reached, try again in 20ms"; exit 1 ;;
2) kill -9 $$ ;;
3) echo "$PERDURE_TASK_TITLE" >> did; kill -9 $$ ;;
4)
	echo "$PERDURE_TASK_TITLE" >> did
	sed -i "s/\[ \] $PERDURE_TASK_TITLE\$/[x] $PERDURE_TASK_TITLE/" TASKS.md
	exit 1
	;;
esac
echo "$PERDURE_TASK_TITLE" >> did
sleep 0.0$((RANDOM % 9))
echo done > $PERDURE_RESULT
`

// The real program, killed with kill -9 at random moments, alone or together with its guard and the command: each task
// is done exactly once.
func TestRalphSurvivesKills(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the fake agent is a bash script")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	kills := 0
	for round := range 3 {
		dir := t.TempDir()
		program := filepath.Join(dir, "perdure") // the name says what a test binary is to do
		work := filepath.Join(dir, "work")
		list := ""
		for i := range 4 {
			list += fmt.Sprintf("- [ ] task-%d\n", i)
		}
		for name, text := range map[string]string{"TASKS.md": list, "agent.sh": fakeAgent} {
			if err := os.MkdirAll(work, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(self, program); err != nil {
			b, err := os.ReadFile(self)
			if err == nil {
				err = os.WriteFile(program, b, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		env := append(os.Environ(), "PERDURE_STORE="+filepath.Join(dir, "home"), "PERDURE_ROLE=", "HOME="+dir)
		start := func(args ...string) (*exec.Cmd, *strings.Builder) {
			c := exec.Command(program, args...)
			c.Dir, c.Env = work, env
			out := new(strings.Builder)
			c.Stdout, c.Stderr = out, out
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			c.WaitDelay = time.Second
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			return c, out
		}
		if c, out := start("init", "--memory"); c.Wait() != nil {
			t.Fatal(out)
		}
		for life := 0; ; life++ {
			c, out := start("ralph", "--quiet", "--no-commit", "--max-failures", "0", "--backoff", "10ms", "--look",
				`grep -qx "$PERDURE_TASK_TITLE" did 2>/dev/null || exit 1`, "--", "./agent.sh")
			over := make(chan error, 1)
			go func() { over <- c.Wait() }()
			if life < 12 {
				select {
				case err := <-over:
					over <- err
				case <-time.After(time.Duration(200+rng.IntN(500)) * time.Millisecond):
					if rng.IntN(2) == 0 {
						killGuards(t, dir)
					}
					kills++
					_ = syscall.Kill(c.Process.Pid, syscall.SIGKILL) // it may have ended
				}
			}
			err := <-over
			if err == nil {
				break
			}
			if c.ProcessState.ExitCode() != -1 || life > 100 {
				t.Fatalf("round %d: %v: %s", round, err, out)
			}
		}
		b, err := os.ReadFile(filepath.Join(work, "did"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if n := strings.Count(string(b), fmt.Sprintf("task-%d\n", i)); n != 1 {
				t.Errorf("round %d: task-%d was done %d times, want once", round, i, n)
			}
		}
		if b, _ := os.ReadFile(filepath.Join(work, "TASKS.md")); strings.Contains(string(b), "[ ]") {
			t.Errorf("round %d: not all is ticked: %s", round, b)
		}
	}
	t.Logf("%d kills", kills)
}

// killGuards kills what this test's ralph has started: processes whose arguments name its folder.
func killGuards(t *testing.T, dir string) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		b, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(b), guardWord+"\x00"+dir) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(name, "/proc/%d/", &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}
