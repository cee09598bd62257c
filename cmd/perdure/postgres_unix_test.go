//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/pgtest"
)

// shell is a folder with a home, a script and policies, in which the program runs over a store on a server.
type shell struct {
	t   *testing.T
	dir string
	env []string
}

const (
	payScript = `turns:
  - execute: {tool: shell, args: {script: "sleep 0.02; echo $PERDURE_KEY >>ledger"}}
  - execute: {tool: shell, args: {script: "sleep 0.02; echo $PERDURE_KEY >>ledger"}}
  - execute: {tool: shell, args: {script: "sleep 0.02; echo $PERDURE_KEY >>ledger"}}
  - end: {note: done}
`
	allPolicy = "@id(\"test.all\")\npermit (principal, action, resource);\n"
	askPolicy = allPolicy + "@id(\"test.ask\")\n@obligation(\"approval:owner\")\n" +
		"forbid (principal, action == Action::\"execute\", resource);\n"
)

func newShell(t *testing.T, url string) *shell {
	dir := t.TempDir()
	files := map[string]string{"pay.yaml": payScript, "all.cedar": allPolicy, "ask.cedar": askPolicy}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PERDURE_STORE="+url, "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"))
	return &shell{t, dir, env}
}

// command is the program with arguments, not started yet.
func (s *shell) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), self)
	cmd.Args, cmd.Dir, cmd.Env = append([]string{"perdure"}, args...), s.dir, s.env
	return cmd
}

// run runs the program to its end and fails unless that is with a code. It looks for the password in what is said.
func (s *shell) run(code int, args ...string) string {
	s.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if got := exitOf(s.t, err); got != code {
		s.t.Fatalf("perdure %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	if strings.Contains(string(out), pgtest.Password) {
		s.t.Errorf("perdure %s says the password", strings.Join(args, " "))
	}
	return string(out)
}

func powers(policy string) []string {
	return []string{"--program", "sh", "--files", ".", "--policy", policy, "--advisor", "script:pay.yaml"}
}

// node starts a node over the store.
func (s *shell) node() *exec.Cmd {
	s.t.Helper()
	cmd := s.command(append([]string{"node", "--concurrency", "2", "--grace", "1s"}, powers("all.cedar")...)...)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// ledger is the keys of the effects that happened, in order.
func (s *shell) ledger() []string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "ledger"))
	return strings.Fields(string(b))
}

// until waits for something, and fails when it does not come.
func (s *shell) until(what string, f func() bool) {
	s.t.Helper()
	for began := time.Now(); !f(); <-time.After(50 * time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			s.t.Fatalf("it never came to this: %s", what)
		}
	}
}

// TestNodesShareAServer runs two nodes over one PostgreSQL, kills one, and looks for effects that happened twice.
func TestNodesShareAServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newShell(t, strings.Replace(server.URL(), "@", ":"+pgtest.Password+"@", 1))
	const agents = 12
	for i := range agents {
		s.run(exitOK, "new", "pay", "--name", fmt.Sprintf("pay-%02d", i))
	}
	one, two := s.node(), s.node()
	s.until("some effects happened", func() bool { return len(s.ledger()) >= 6 })
	if err := one.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = one.Wait() // killed
	// What the killed node had begun may be in doubt: nobody repeats it. Everything else goes on.
	s.until("the other node ended what can be ended", func() bool {
		return strings.Count(s.run(exitOK, "ls", "--state", "terminated"), "pay-") >= agents-2
	})
	if err := two.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = two.Wait() // interrupted
	seen := map[string]bool{}
	for _, key := range s.ledger() {
		if seen[key] {
			t.Errorf("the effect %s happened twice", key)
		}
		seen[key] = true
	}
	if len(seen) < 3*(agents-2) || len(seen) > 3*agents {
		t.Errorf("%d effects of %d agents", len(seen), agents)
	}
	for i := range agents {
		s.run(exitOK, "verify", fmt.Sprintf("pay-%02d", i))
	}
	if out := s.run(exitOK, "doctor"); strings.Contains(out, "wrong") ||
		!strings.Contains(out, "synchronous_commit=on") {
		t.Errorf("doctor: %s", out)
	}
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(b), pgtest.Password) {
			t.Errorf("%s has the password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOperatorsAreToldWhatADatabaseLacks has users who lack rights, names that are not right, and a store of a newer
// version: each is said as it is, with what to do.
func TestOperatorsAreToldWhatADatabaseLacks(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newShell(t, server.URL())
	s.run(exitOK, "new", "hear", "--name", "one")
	sql := func(text string) {
		t.Helper()
		if err := server.SQL(text); err != nil {
			t.Fatal(err)
		}
	}
	sql(`CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA perdure TO reader;
		GRANT SELECT ON ALL TABLES IN SCHEMA perdure TO reader; CREATE ROLE nobody LOGIN;
		CREATE SCHEMA foreigner; CREATE TABLE foreigner.meta(x int)`)
	as := func(user string, parameters ...string) string {
		return strings.Replace(server.URL(parameters...), pgtest.User+"@", user+"@", 1)
	}
	const grants = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "perdure" TO "reader"`
	for _, x := range []struct {
		code int
		args []string
		says []string
	}{
		{exitFailure, []string{"doctor", "--store", as("reader")}, []string{"may not write to", grants}},
		{exitFailure, []string{"new", "x", "--store", as("reader")}, []string{"permission denied", grants}},
		{exitFailure, []string{"ls", "--store", as("nobody")}, []string{"GRANT USAGE ON SCHEMA"}},
		{exitFailure, []string{"ls", "--store", as("missing")}, []string{"createuser"}},
		{exitFailure, []string{"ls", "--store", as(pgtest.User, "foo=bar")}, []string{"foo", "leave it out of"}},
		{exitUsage, []string{"ls", "--store", as(pgtest.User, "pool_max_conns=0")}, []string{"pool_max_conns=0: want"}},
		{exitFailure, []string{"ls", "--store", as(pgtest.User, "schema=foreigner")},
			[]string{"schema foreigner is not one of perdure's", "?schema=NAME"}},
		{exitFailure, []string{"ls", "--store", "postgres://nobody@/?host=" + server.Dir},
			[]string{`there is no database "nobody"`}},
	} {
		out := strings.Join(strings.Fields(s.run(x.code, x.args...)), " ")
		for _, want := range x.says {
			if !strings.Contains(out, want) {
				t.Errorf("perdure %q does not say %q: %s", x.args, want, out)
			}
		}
	}
	s.run(exitOK, "doctor", "--store", server.URL())
	sql("UPDATE perdure.meta SET version=99")
	for _, args := range [][]string{{"doctor"}, {"doctor", "--repair"}, {"ls"}} {
		out := s.run(exitFailure, args...)
		if !strings.Contains(out, "use a newer perdure") || strings.Contains(out, "backup") {
			t.Errorf("perdure %q of a newer store: %s", args, out)
		}
	}
}

// TestPeopleAndFilesOverAServer asks a person, and carries an agent to another store and back.
func TestPeopleAndFilesOverAServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newShell(t, server.URL())
	s.run(exitNotFound, "ls")
	for _, args := range [][]string{{"node"}, {"serve", "--listen", "127.0.0.1:0"}} {
		if out := s.run(exitNotFound, args...); !strings.Contains(out, "there is no store at") {
			t.Errorf("%s with a typing error: %s", args[0], out)
		}
	}
	s.run(exitNotFound, "ls") // nobody made it
	s.run(exitOK, "new", "pay", "--name", "asks")
	s.run(exitWaiting, append([]string{"run", "asks", "--quiet"}, powers("ask.cedar")...)...)
	if out := s.run(exitOK, "show", "asks"); !strings.Contains(out, "approve") {
		t.Errorf("show does not say how to approve: %s", out)
	}
	s.run(exitOK, "approve", "asks")
	s.run(exitWaiting, append([]string{"run", "asks", "--quiet"}, powers("ask.cedar")...)...)
	if got := len(s.ledger()); got != 1 {
		t.Errorf("%d effects, want the one that was approved", got)
	}
	s.run(exitOK, "export", "asks", "asks.agent")
	other := &shell{t, s.dir, append(s.env, "PERDURE_STORE="+server.URL("schema=other"))}
	other.run(exitOK, "import", "asks.agent")
	other.run(exitOK, "verify", "asks")
	if out := other.run(exitOK, "show", "asks"); !strings.Contains(out, "seat") {
		t.Errorf("show in the other store: %s", out)
	}
	// Copies go from engine to file and back, and find everything there.
	s.run(exitOK, "copy", "--from", server.URL(), "--to", "file.db")
	s.run(exitOK, "copy", "--from", "file.db", "--to", server.URL("schema=third"))
	if out := s.run(
		exitOK,
		"copy",
		"--from",
		"file.db",
		"--to",
		server.URL("schema=third"),
		"--jq",
		".same",
	); out != "1\n" {
		t.Errorf("copied again: %s", out)
	}
	s.run(exitOK, "verify", "asks", "--store", server.URL("schema=third"))
	// Nodes that share the server are measured, too.
	steps := []string{"bench", "steps", "--agents", "6", "--steps", "3", "--nodes", "1,2"}
	if out := s.run(exitOK, append(steps, "--store", server.URL())...); !strings.Contains(out, "nodes=1") ||
		!strings.Contains(out, "nodes=2") {
		t.Errorf("bench: %s", out)
	}
	s.run(exitUsage, steps...)
	appends := []string{"bench", "append", "--writers", "1,3", "--each", "4", "--rounds", "1", "--store", server.URL()}
	out := s.run(exitOK, append(appends, "--json")...)
	for _, want := range []string{
		`"floor":"raw pgx, group commit, which compares the head`, `"label":"plain","name":"raw pgx, a statement`,
		`"label":"bare","name":"raw pgx, group commit of one INSERT`,
	} {
		if strings.Count(out, want) != 2 {
			t.Errorf("bench append does not say %s: %s", want, out)
		}
	}
	if out := s.run(exitOK, appends...); !strings.Contains(out, "PLAIN/s") ||
		!strings.Contains(out, "plain: raw pgx, a statement and a commit per append") {
		t.Errorf("bench append: %s", out)
	}
}

// TestARepairedMemoryWithoutItsEndWaits loses the end of a memory on a server: once what is left was repaired, a home
// that has seen none of it does nothing again that must happen once, until somebody says so.
func TestARepairedMemoryWithoutItsEndWaits(t *testing.T) {
	t.Parallel()
	for what, lost := range map[string]string{"end": "1", "middle": "1 LIMIT 1"} {
		server := pgtest.Start(t)
		s := newShell(t, server.URL())
		s.run(exitOK, "new", "pay", "--name", "pay")
		s.run(exitOK, append([]string{"run", "pay"}, powers("all.cedar")...)...)
		paid := len(s.ledger())
		if err := server.SQL("DELETE FROM perdure.log WHERE pos IN (SELECT pos FROM perdure.log ORDER BY pos OFFSET " +
			lost + ")"); err != nil {
			t.Fatal(err)
		}
		seen, err := filepath.Glob(filepath.Join(s.dir, "data", "perdure", "*", "seen.db*"))
		if more, _ := filepath.Glob(filepath.Join(s.dir, "data", "perdure", "seen.db*")); err == nil {
			seen = append(seen, more...)
		}
		if len(seen) == 0 {
			t.Fatal("the home keeps nothing of what it has seen")
		}
		for _, file := range seen {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if err := server.SQL("UPDATE perdure.agents SET node=sha256('another'), " +
			"due=(extract(epoch FROM now())*1000)::bigint+" + fmt.Sprint(perdure.MaxLease.Milliseconds())); err != nil {
			t.Fatal(err)
		}
		if out := s.run(exitFailure, "doctor", "--repair"); !strings.Contains(out, "stop it, and repair again") {
			t.Errorf("%s: while a node is at work, doctor says %s", what, out)
		}
		if err := server.SQL("UPDATE perdure.agents SET node=NULL, due=says"); err != nil {
			t.Fatal(err)
		}
		node := filepath.Join(filepath.Dir(seen[0]), "node.yaml")
		if what == "middle" {
			if err := os.WriteFile(node, []byte("secrets: ["), 0o600); err != nil {
				t.Fatal(err)
			}
			if out := s.run(exitFailure, "doctor", "--repair"); !strings.Contains(out, "repaired, but not paused") ||
				!regexp.MustCompile("perdure pause [0-9a-f]{12}").MatchString(out) {
				t.Errorf("%s: with a node.yaml that is damaged, doctor says %s", what, out)
			}
			if err := os.Remove(node); err != nil {
				t.Fatal(err)
			}
			s.run(exitOK, "pause", "pay")
		} else if out := s.run(exitOK, "doctor", "--repair"); !regexp.MustCompile(
			"perdure resume [0-9a-f]{12}").MatchString(out) {
			t.Errorf("%s: doctor says %s", what, out)
		}
		s.run(exitWaiting, append([]string{"run", "pay"}, powers("all.cedar")...)...)
		if got := len(s.ledger()); paid != 3 || got != paid {
			t.Errorf("%s: paid %d times, and %d times after the repair, want 3 and no more", what, paid, got)
		}
		s.run(exitOK, "resume", "pay")
		if what == "middle" { // what lies aside stays there, and pauses it once
			for _, paused := range []bool{true, false, false} {
				if out := s.run(exitOK, "doctor", "--repair"); strings.Contains(out, "it is paused") != paused {
					t.Errorf("%s: repaired again, doctor says %s; want it paused: %t", what, out, paused)
				}
				if paused {
					s.run(exitOK, "resume", "pay")
				}
			}
		}
		s.run(exitOK, append([]string{"run", "pay"}, powers("all.cedar")...)...)
		if got := len(s.ledger()); got != 2*paid {
			t.Errorf("%s: paid %d times after a person let it go on, want %d", what, got, 2*paid)
		}
	}
}
