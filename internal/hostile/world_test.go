package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
)

// binary is the program under attack, built once.
var binary string

func TestMain(m *testing.M) {
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// build builds the program and runs the tests.
func build(m *testing.M) (int, error) {
	if len(os.Args) > 1 && os.Args[1] == serveArg { // this process is the MCP server of a test
		return 0, serve(os.Args[2])
	}
	if len(os.Args) > 1 && os.Args[1] == detachedArg {
		return 0, payOnceTold()
	}
	dir, err := os.MkdirTemp("", "perdure-hostile-*")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays does no harm
	binary = filepath.Join(dir, "perdure")
	c := exec.Command("go", "build", "-o", binary, "github.com/perdure/perdure/cmd/perdure")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// Policies and scripts that every place has.
const (
	openPolicy = `@id("all")
permit (principal, action, resource);
`
	forbidPolicy = openPolicy + `
@id("no-shell")
@reason("no shell and no writing of files, ever")
forbid (principal, action == Action::"execute", resource)
when { resource == Tool::"shell" || resource == Tool::"files.write" };
`
	// writes ask, but for those of the agent that shows that a node is at work
	nodePolicy = openPolicy + `
@id("writes-ask")
@obligation("approval:owner")
forbid (principal, action == Action::"execute", resource)
unless { context.effect == Effect::"read" || resource == Tool::"files.append" };
`
	askPolicy = openPolicy + `
@id("writes-ask")
@reason("it changes something")
@obligation("approval:owner,carol")
forbid (principal, action == Action::"execute", resource)
unless { context.effect == Effect::"read" };
`
	payScript = `turns:
  - execute: {tool: shell, args: {script: "echo paid >>ledger"}}
  - end: {}
`
	beaconScript = `turns:
  - sleep: {after: 300ms}
  - execute: {tool: files.append, args: {path: beacon, text: seen}}
  - end: {}
`
	waitScript = `turns:
  - sleep: {on: never}
`
	endScript = `turns:
  - end: {}
`
)

// place is a folder where somebody keeps agents: a home with a key, and beside it the folder that tools work in.
type place struct {
	t     *testing.T
	dir   string
	owner *perdure.Signer
	store string // what --store says; none: the home
}

// newPlace is a place whose home is new.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir()}
	must(t, os.Mkdir(p.path(".perdure"), 0o700))
	must(t, os.Mkdir(p.path("work"), 0o700))
	for name, text := range map[string]string{
		"open.cedar": openPolicy, "forbid.cedar": forbidPolicy, "ask.cedar": askPolicy, "ask-beacon.cedar": nodePolicy,
		"pay.yaml": payScript, "beacon.yaml": beaconScript, "end.yaml": endScript, "wait.yaml": waitScript,
	} {
		p.write(name, text)
	}
	p.ok("key", "new", "--name", "victim")
	p.owner = have(keyfile.Read(p.path(".perdure", "key")))(t)
	return p
}

// inFolder is p with its agents in a folder, one file each.
func (p *place) inFolder() *place {
	q := *p
	q.store = "dir:agents"
	must(p.t, os.MkdirAll(p.path("agents"), 0o700))
	return &q
}

func (p *place) path(names ...string) string {
	return filepath.Join(append([]string{p.dir}, names...)...)
}

// write writes a file of the place.
func (p *place) write(name, text string) {
	p.t.Helper()
	must(p.t, os.WriteFile(p.path(name), []byte(text), 0o600))
}

// propose writes a script that proposes one call, with arguments in YAML, and then the end.
func (p *place) propose(script, tool, args string) {
	p.t.Helper()
	p.write(script+".yaml", "turns:\n  - execute: {tool: "+tool+", args: {"+args+"}}\n  - end: {}\n")
}

// copy copies a file of the place.
func (p *place) copy(from, to string) {
	p.t.Helper()
	p.write(to, string(have(os.ReadFile(p.path(from)))(p.t)))
}

// got is what a command came to.
type got struct {
	code     int
	out, err string
}

func (g got) String() string {
	return fmt.Sprintf("exit code %d\nstdout: %s\nstderr: %s", g.code, g.out, g.err)
}

// says reports whether the command printed a text anywhere.
func (g got) says(text string) bool { return strings.Contains(g.out+g.err, text) }

// command is a run of the program at the place.
func (p *place) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, binary, args...)
	c.Dir = p.dir
	c.Env = []string{
		"HOME=" + p.dir, "XDG_DATA_HOME=" + p.path("data"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		"NO_COLOR=1",
	}
	if p.store != "" {
		c.Env = append(c.Env, "PERDURE_STORE="+p.store)
	}
	return c
}

// patience is how long a command may take. A file that keeps one busy for longer is an attack that worked.
const patience = time.Minute

// perdure runs the program at the place.
func (p *place) perdure(args ...string) got {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	c := p.command(ctx, args...)
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if ctx.Err() != nil {
		p.t.Fatalf("perdure %s: still busy after %v\n%s", strings.Join(args, " "), patience, errs.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return got{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// ok runs the program, which must succeed, and returns what it printed.
func (p *place) ok(args ...string) string {
	p.t.Helper()
	g := p.perdure(args...)
	if g.code != 0 {
		p.t.Fatalf("perdure %s: %v", strings.Join(args, " "), g)
	}
	return strings.TrimSpace(g.out)
}

// exits runs the program, which must exit with a code.
func (p *place) exits(code int, args ...string) got {
	p.t.Helper()
	g := p.perdure(args...)
	if g.code != code {
		p.t.Errorf("perdure %s: want exit code %d, got %v", strings.Join(args, " "), code, g)
	}
	return g
}

// powers are the flags of a node that can write the ledger: by a shell, and by writing files.
func powers(policy, script string) []string {
	return []string{
		"--files", "work", "--program", "sh", "--policy", policy + ".cedar", "--advisor", "script:" + script + ".yaml",
		"--quiet",
	}
}

// run works on an agent with these powers.
func (p *place) run(agent, policy, script string) got {
	p.t.Helper()
	return p.perdure(append([]string{"run", agent}, powers(policy, script)...)...)
}

// node runs a node until an agent made for that has been worked on: then it has looked at every other one, too.
func (p *place) node(policy, script string) {
	p.t.Helper()
	p.ok("new", "beacon", "--name", "beacon", "--advisor", "beacon")
	p.nodeUntil(func() bool { return p.exists("work", "beacon") }, policy, script)
}

// nodeUntil runs a node until something has happened.
func (p *place) nodeUntil(happened func() bool, policy, script string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	flags := powers(policy, script)[:8] // a node has no --quiet
	c := p.command(ctx, append([]string{"node", "--advisor", "beacon=script:beacon.yaml"}, flags...)...)
	var errs bytes.Buffer
	c.Stderr = &errs
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 5 * time.Second
	must(p.t, c.Start())
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for ctx.Err() == nil && !happened() {
			time.Sleep(20 * time.Millisecond) // between two looks
		}
	}()
	<-seen
	late := ctx.Err() != nil
	cancel()
	_ = c.Wait() // it was interrupted
	if late {
		p.t.Fatalf("the node did no work:\n%s", errs.String())
	}
}

func (p *place) exists(names ...string) bool {
	_, err := os.Stat(p.path(names...))
	return err == nil
}

// ledger is how often the deed was done.
func (p *place) ledger() int {
	p.t.Helper()
	b, err := os.ReadFile(p.path("work", "ledger"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	must(p.t, err)
	return strings.Count(string(b), "paid")
}

// done fails unless the deed was done so often.
func (p *place) done(times int, what string) {
	p.t.Helper()
	if n := p.ledger(); n != times {
		p.t.Errorf("%s: the ledger has %d lines, want %d", what, n, times)
	}
}

// state is everything an agent comes to.
func (p *place) state(agent string) string {
	p.t.Helper()
	return p.ok("state", agent, "--json")
}

// standing is where an agent stands.
func (p *place) standing(agent string) string {
	p.t.Helper()
	return p.ok("show", agent, "--jq", ".standing")
}

// agents are the names of the agents of the place.
func (p *place) agents() []string {
	p.t.Helper()
	g := p.perdure("ls", "--json")
	if g.code == 3 {
		return nil // there is no store yet
	}
	var list []struct{ Name string }
	must(p.t, json.Unmarshal([]byte(g.out), &list))
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return names
}

// trust lets a key do something here.
func (p *place) trust(s *perdure.Signer, rights, scope string) {
	p.t.Helper()
	p.ok("key", "trust", s.VerifierKey(), "--rights", rights, "--scope", scope)
}

// refused fails unless a command was refused because it does not trust a key, and says whom and what to do about it.
func (p *place) refused(g got, who *perdure.Signer) {
	p.t.Helper()
	if g.code != 5 {
		p.t.Errorf("want a refusal, exit code 5, got %v", g)
		return
	}
	for _, text := range []string{"key.trusted", who.Key().Short(), "perdure key trust"} {
		if !g.says(text) {
			p.t.Errorf("the refusal does not say %q: %v", text, g)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// have is a value, which must be had: have(f())(t).
func have[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}
