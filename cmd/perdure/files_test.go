package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A watched folder is edited while its watcher is killed again and again, and agents write, too: every line that
// anybody wrote is in memory and in the folder at the end, once.
func TestAWatchedFolderSurvivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, folder := filepath.Join(dir, "home"), filepath.Join(dir, "memory")
	args := []string{"--store", store, "--role", "coder"}
	must(t, exitOK, "init", store, "--memory")
	must(t, exitOK, append([]string{"doc", "write", "agents/coder/TASKS.md", "# Now"}, args...)...)
	must(t, exitOK, append([]string{"files", "sync", folder}, args...)...)
	file := filepath.Join(folder, "TASKS.md")
	var want []string
	for n := range 8 {
		cmd, _, _, stderr := startPerdure(t, append([]string{"files", "watch", folder}, args...)...)
		line := fmt.Sprintf("- [ ] line %d of a person", n)
		edit(t, file, func(text string) string { return text + line + "\n" })
		want = append(want, line)
		if n%2 == 0 {
			line := fmt.Sprintf("line %d of an agent", n)
			must(t, exitOK, append([]string{"doc", "write", "agents/coder/TASKS.md", line, "--append"}, args...)...)
			want = append(want, line)
		}
		time.Sleep(time.Duration(rand.IntN(900)) * time.Millisecond) // any moment will do
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if text := stderr.String(); strings.Contains(text, "perdure: sync") {
			t.Errorf("round %d: %s", n, text)
		}
	}
	must(t, exitOK, append([]string{"files", "sync", folder}, args...)...)
	out := must(t, exitOK, append([]string{"files", "sync", folder}, args...)...)
	if !strings.Contains(out, "in step") {
		t.Errorf("it does not come to rest: %s", out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	there := must(t, exitOK, append([]string{"doc", "read", "agents/coder/TASKS.md"}, args...)...)
	for _, line := range want {
		if n, m := strings.Count(string(b), line), strings.Count(there, line); n != 1 || m != 1 {
			t.Errorf("%q is %d times in the folder and %d times in memory", line, n, m)
		}
	}
	must(t, exitOK, "verify", "coder", "--store", store)
}

// edit changes a file as an editor does: it reads it, and puts another in its place, unless it was changed meanwhile.
func edit(t *testing.T, file string, change func(string) string) {
	t.Helper()
	for range 100 {
		was, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		temp := file + "~"
		if err := os.WriteFile(temp, []byte(change(string(was))), 0o600); err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(file); err == nil && string(now) == string(was) {
			if err := os.Rename(temp, file); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the file changes all the time")
}
