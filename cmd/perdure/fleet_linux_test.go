package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/pgtest"
)

// rollScript has an agent leave three marks, each of which must be there once in the end. What a person says did not
// happen it does again.
const rollScript = `turns:
  - {as: one, execute: {tool: shell, args: {script: "sleep 0.05; echo x >> ${inputs.name}-1"}}}
  - when: results.one.signal != "ok"
    execute: {tool: shell, args: {script: "echo x >> ${inputs.name}-1"}}
  - {as: two, execute: {tool: shell, args: {script: "sleep 0.05; echo x >> ${inputs.name}-2"}}}
  - when: results.two.signal != "ok"
    execute: {tool: shell, args: {script: "echo x >> ${inputs.name}-2"}}
  - {as: three, execute: {tool: shell, args: {script: "sleep 0.05; echo x >> ${inputs.name}-3"}}}
  - when: results.three.signal != "ok"
    execute: {tool: shell, args: {script: "echo x >> ${inputs.name}-3"}}
  - end: {note: done}
`

// logged starts a node whose log goes to a file of its own.
func (s *shell) logged(name, policy string, more ...string) *exec.Cmd {
	s.t.Helper()
	log, err := os.Create(filepath.Join(s.dir, name+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	args := append([]string{"node", "--concurrency", "2", "--grace", "1m"}, powers(policy)...)
	cmd := s.command(append(args, more...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	_ = log.Close() // the node has it
	return cmd
}

// log is what a node has logged.
func (s *shell) log(name string) string {
	b, _ := os.ReadFile(filepath.Join(s.dir, name+".log"))
	return string(b)
}

// marks are the files that effects leave, with what is in them.
func (s *shell) marks() map[string]string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "roll-*-?"))
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range found {
		b, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		all[filepath.Base(name)] = string(b)
	}
	return all
}

// atWork reports whether a process of this machine has a word in its command.
func atWork(word string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if b, err := os.ReadFile(name); err == nil && bytes.Contains(b, []byte(word)) {
			return true
		}
	}
	return false
}

// settleAll does what a person does about effects in doubt: looks whether they happened, and says so.
func (s *shell) settleAll() {
	s.t.Helper()
	out := s.run(exitOK, "inbox", "--jq", `.[] | select(.kind=="in-doubt") | "\(.name) \(.decision) \(.what)"`)
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		for step := 1; step <= 3; step++ {
			mark := fmt.Sprintf("%s-%d", words[0], step)
			if !strings.Contains(line, mark) {
				continue
			}
			s.until("nobody is at work on it any more", func() bool { return !atWork(">> " + mark) })
			signal := "failed"
			if s.marks()[mark] != "" {
				signal = "ok"
			}
			out, err := s.command("settle", words[0], words[1], "--signal", signal).CombinedOutput()
			switch code := exitOf(s.t, err); code {
			case exitOK, exitNotFound, exitConflict: // else its node was about to say what came of it
			default:
				s.t.Errorf("settle %s: exit %d\n%s", mark, code, out)
			}
		}
	}
}

// TestNodesAreRestartedOneAfterTheOther: two are told to stop and one is killed, while agents do what must happen once.
// Every agent ends, and nothing is lost or happens twice. What the killed node had begun a person settles.
func TestNodesAreRestartedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for a lease to end")
	}
	server := pgtest.Start(t)
	s := newShell(t, server.URL())
	if err := os.WriteFile(filepath.Join(s.dir, "pay.yaml"), []byte(rollScript), 0o600); err != nil {
		t.Fatal(err)
	}
	const agents = 24
	for i := range agents {
		name := fmt.Sprintf("roll-%02d", i)
		s.run(exitOK, "new", "roll", "--name", name, "--input", "name="+name)
	}
	nodes := make([]*exec.Cmd, 3)
	for i := range nodes {
		nodes[i] = s.logged(fmt.Sprint("node", i), "all.cedar")
	}
	for i, n := range nodes {
		before := len(s.marks())
		s.until("effects go on", func() bool { return len(s.marks()) >= min(before+6, 3*agents) })
		if i == 1 {
			_ = n.Process.Kill()
			_ = n.Wait() // killed
		} else {
			if err := n.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := n.Wait(); err != nil && exitOf(t, err) != exitInterrupted {
				t.Errorf("node %d did not stop well: %v\n%s", i, err, s.log(fmt.Sprint("node", i)))
			}
		}
		nodes[i] = s.logged(fmt.Sprint("again", i), "all.cedar")
	}
	s.until("every agent has ended", func() bool {
		s.settleAll()
		return strings.Count(s.run(exitOK, "ls", "--state", "terminated"), "roll-") == agents
	})
	for _, n := range nodes {
		if err := n.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = n.Wait() // it was told to
	}
	marks := s.marks()
	for i := range agents {
		for step := 1; step <= 3; step++ {
			if name := fmt.Sprintf("roll-%02d-%d", i, step); marks[name] != "x\n" {
				t.Errorf("effect %s: %q, want it once", name, marks[name])
			}
		}
		s.run(exitOK, "verify", fmt.Sprintf("roll-%02d", i))
	}
	if out := s.run(exitOK, "nodes", "--jq", "map(select(.member)) | length"); out != "1\n" {
		t.Errorf("%s nodes are known after all have stopped, want the killed one, which could not say so",
			strings.TrimSpace(out))
	}
}

// TestANodeWithAnotherPolicySaysSo in its log, and everybody sees it.
func TestANodeWithAnotherPolicySaysSo(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newShell(t, server.URL())
	s.run(exitOK, "new", "pay", "--name", "asks", "--scope", "other")
	s.logged("one", "all.cedar", "--serves", "acme/ops")
	members := func() string {
		return s.run(exitOK, "nodes", "--jq", `.[] | select(.member) | "\(.about.scopes) \(.member.differs)"`)
	}
	s.until("the first is on the roster", func() bool { return strings.Count(members(), "\n") == 1 })
	two := s.logged("two", "ask.cedar", "--serves", "acme/sales")
	s.until("the second is on the roster", func() bool { return strings.Count(members(), "\n") == 2 })
	s.until("it says that it differs", func() bool {
		return strings.Contains(s.log("two"), "nodes of this store do not go by the same rules")
	})
	for _, want := range []string{"acme/ops", "acme/sales"} {
		if out := s.run(exitOK, "nodes"); !strings.Contains(out, want) || !strings.Contains(out, "another policy") {
			t.Errorf("nodes: %s", out)
		}
	}
	out := s.run(exitOK, "doctor", "--policy", "all.cedar", "--jq", `.[] | select(.what=="nodes") | .found`)
	if strings.Count(out, "has a different policy") != 1 {
		t.Errorf("doctor: %s", out)
	}
	if err := two.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = two.Wait() // it was told to
	if got := members(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "acme/ops") {
		t.Errorf("after the second has left: %s", got)
	}
	if got := s.ledger(); len(got) != 0 {
		t.Errorf("an agent of a scope that no node is for did %d things", len(got))
	}
}
