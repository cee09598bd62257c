//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shellHome is a home with an agent whose turns run scripts, which write to the file ledger of a folder and wait at its
// fifo gate.
type shellHome struct {
	t          *testing.T
	dir, store string
	args       []string // of the node
}

func newShellHome(t *testing.T, turns ...string) *shellHome {
	t.Helper()
	return newShellHomeIn(t, filepath.Join(t.TempDir(), "home"), turns...)
}

// newShellHomeIn is newShellHome with a store of one's choice.
func newShellHomeIn(t *testing.T, store string, turns ...string) *shellHome {
	t.Helper()
	dir := t.TempDir()
	h := &shellHome{t: t, dir: filepath.Join(dir, "work"), store: store}
	text := "turns:\n"
	for _, turn := range turns {
		text += fmt.Sprintf("  - execute: {tool: shell, args: {script: %q}}\n", turn)
	}
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gate", "alive"} {
		if err := syscall.Mkfifo(h.file(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script, rules := filepath.Join(dir, "script.yaml"), filepath.Join(dir, "all.cedar")
	for name, text := range map[string]string{script: text + "  - end: {note: over}\n",
		rules: "@id(\"test.all\")\npermit (principal, action, resource);\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, exitOK, "new", "wait", "--name", "a", "--store", h.store)
	h.args = []string{"--store", h.store, "--advisor", "script:" + script, "--files", h.dir, "--program", "sh",
		"--policy", rules}
	return h
}

func (h *shellHome) file(name string) string { return filepath.Join(h.dir, name) }

func (h *shellHome) ledger() string {
	b, err := os.ReadFile(h.file("ledger"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	return string(b)
}

// until waits until something is so.
func (h *shellHome) until(what string, is func() bool) {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("not so after 30 s: %s; the log says\n%s", what,
				must(h.t, exitOK, "log", "a", "--store", h.store))
		}
	}
}

// show is what a filter makes of the agent.
func (h *shellHome) show(jq string) string {
	h.t.Helper()
	return must(h.t, exitOK, "show", "a", "--store", h.store, "--jq", jq)
}

// waits reports whether somebody waits at the gate.
func (h *shellHome) waits() bool {
	f, err := os.OpenFile(h.file("gate"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		_ = f.Close() // which lets them through
	}
	return err == nil
}

const hold = "echo begun >>ledger; read x <gate; echo ended >>ledger"

func TestAPersonStopsANodeAtWork(t *testing.T) {
	for _, word := range []string{"pause", "end"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			h := newShellHome(t, "echo begun >>ledger; exec sleep 600", hold)
			node, _, _, _ := startPerdure(t, append([]string{"node"}, h.args...)...)
			h.until("the first command runs", func() bool { return h.ledger() != "" })
			must(t, exitOK, word, "a", "--store", h.store)
			h.until("what was under way is in doubt", func() bool { return h.show(".open[].doubt") == "true\n" })
			interrupt(t, node)
			if got := h.ledger(); got != "begun\n" {
				t.Errorf("after the %s the ledger says %q, want nothing new", word, got)
			}
			must(t, exitOK, "verify", "a", "--store", h.store)
		})
	}
}

func TestATerminatedNodeLetsEffectsEndAndBeginsNone(t *testing.T) {
	t.Parallel()
	for _, how := range terminations() { // SIGHUP as well, unless whoever started the tests ignores it
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			terminatedNode(t, how)
		})
	}
}

func terminatedNode(t *testing.T, how os.Signal) {
	h := newShellHome(t, hold, hold, hold)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = said.Close() }()
	node, _, _ := startPerdureTo(t, said, append([]string{"node", "--grace", "1m"}, h.args...)...)
	h.until("the first command runs", func() bool { return h.ledger() != "" })
	if err := node.Process.Signal(how); err != nil {
		t.Fatal(err)
	}
	h.until("the node has heard it", func() bool {
		text, err := os.ReadFile(said.Name())
		return err == nil && strings.Contains(string(text), "stopping")
	})
	h.until("the command goes on", func() bool { return h.waits() || strings.Contains(h.ledger(), "ended") })
	if got := exitOf(t, node.Wait()); got != exitOK {
		t.Errorf("exit code %d", got)
	}
	if got := h.ledger(); got != "begun\nended\n" {
		t.Errorf("the ledger says %q, want one command that ended", got)
	}
	if got := h.show(".open | length"); got != "0\n" {
		t.Errorf("%s effects are open, want none", got)
	}
}

func TestAKilledNodeLeavesNothingRunningAndSaysWhatMayBeInDoubt(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"", "dir:"} {
		t.Run("store "+scheme, func(t *testing.T) {
			t.Parallel()
			killedNode(t, scheme)
		})
	}
}

func killedNode(t *testing.T, scheme string) {
	h := newShellHomeIn(t, scheme+filepath.Join(t.TempDir(), "home"),
		"(exec 3>alive; echo begun >>ledger; read x <gate; echo late >>ledger) & wait")
	alive, err := os.OpenFile(h.file("alive"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alive.Close() }()
	node, _, _, _ := startPerdure(t, append([]string{"node"}, h.args...)...)
	h.until("the command runs", func() bool { return h.ledger() != "" })
	if got := h.show(".waits | length"); got != "0\n" {
		t.Errorf("%s things wait for a person while the node is at work", got)
	}
	if err := node.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = node.Wait() // it was killed
	if got := h.show(".waits[] | .kind, .tool"); got != "in-doubt\nshell\n" {
		t.Errorf("show: what waits is %q, want the effect", got)
	}
	if got := must(t, exitOK, "inbox", "--store", h.store); !regexp.MustCompile(
		`perdure settle .* a [0-9a-f]{64} --signal ok`).MatchString(got) ||
		!strings.Contains(got, "the node that began it does not answer any more") {
		t.Errorf("inbox: got %q, want it to offer to settle", got)
	}
	if err := alive.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(alive); err != nil { // until everybody who has it is gone
		t.Errorf("what the command started lives on: %v", err)
	}
	if got := h.ledger(); h.waits() || got != "begun\n" {
		t.Errorf("the ledger says %q, want nothing after the node was killed", got)
	}
	decision := strings.TrimSpace(h.show(".open[].decision"))
	must(t, exitOK, "settle", "a", decision, "--signal", "failed", "--store", h.store)
	must(t, exitOK, append([]string{"run", "a", "--quiet"}, h.args...)...)
	if got := h.show(".ended.note"); got != "over\n" {
		t.Errorf("it did not go on: %q", got)
	}
}
