package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// opened is what a role finds when it opens a session: which notes do not hold, and what is said of the others.
type opened struct {
	Stale []struct{ Path string } `json:"stale"`
	Notes []string                `json:"notes"`
}

// opens opens a session of a role.
func (p *place) opens(role string) (o opened) {
	p.t.Helper()
	must(p.t, json.Unmarshal([]byte(p.ok("session", "open", "--role", role, "--json")), &o))
	return o
}

// told is what a session says of a note: holds, fails, or nothing.
func (o opened) told(path string) string {
	for _, d := range o.Stale {
		if d.Path == path {
			return "fails"
		}
	}
	if slices.ContainsFunc(o.Notes, func(n string) bool { return strings.HasPrefix(n, path+" was not checked") }) {
		return "nothing"
	}
	return "holds"
}

// memoryPolicy lets roles read and write documents; the role manager calls everything, others only read in open/.
const memoryPolicy = `@id("documents")
permit (principal, action in [Action::"document.read", Action::"document.write"], resource);

@id("open-files")
permit (principal, action == Action::"execute", resource)
when { context.tool like "files.*" && context.args has path && context.args.path like "open/*" };

@id("managers")
permit (principal, action == Action::"execute", resource)
when { principal.name == "manager" };
`

// remembering is a place whose home has memory, a policy for it, and a folder of files.
func remembering(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	must(t, os.MkdirAll(p.path(".perdure", "policies"), 0o700))
	p.write(".perdure/policies/memory.cedar", memoryPolicy)
	files := p.path("work")
	p.write(".perdure/node.yaml", "files: "+files+"\nprograms: [sh]\nsecrets: "+files+"/open/secrets\n")
	must(t, os.MkdirAll(p.path("work", "open"), 0o700))
	p.write("work/open/secrets", "TOKEN=open-sesame-1234567\n")
	p.write("work/open/a.txt", "hello there, open-sesame-1234567\n")
	p.write("work/closed.txt", "hello there\n")
	p.write("project.txt", "hello there\n")
	return p
}

func TestCheckOfANoteTellsOnlyWhatItsReaderMayRead(t *testing.T) {
	t.Parallel()
	p := remembering(t)
	key := strings.TrimSpace(string(have(os.ReadFile(p.path(".perdure", "key")))(t)))
	must(t, os.Symlink("../../.perdure", p.path("work", "open", "link")))
	must(t, os.Link(p.path(".perdure", "key"), p.path("work", "open", "hard")))
	start := key[:16]
	type look struct{ check, want string }
	looks := []look{
		{"contains work/open/a.txt hello", "holds"},
		{"contains work/open/a.txt nobody", "fails"},
		{"exists work/open/a.txt", "holds"},
		{"exists work/open/b.txt", "fails"},
		{"missing work/open/a.txt", "fails"},
		{"contains work/closed.txt hello", "nothing"}, // policy
		{"exists work/closed.txt", "nothing"},
		{"missing work/nowhere.txt", "nothing"},
		{"contains project.txt hello", "nothing"}, // not in the folder of files
		{"exists project.txt", "nothing"},
		{"contains .perdure/key " + start, "nothing"},
		{"contains .perdure/key x" + start, "nothing"},
		{"exists .perdure/key", "nothing"},
		{"exists work/../.perdure/key", "nothing"},
		{"contains work/open/link/key " + start, "nothing"},
		{"contains work/open/hard " + start, "nothing"},
		{"contains work/open/secrets open", "nothing"},
		{"contains work/open/a.txt open-ses", "fails"}, // secrets are taken out before it is looked at
	}
	for _, check := range []string{"contains /etc/passwd root", "exists work/../../x",
		"contains " + filepath.Join("..", filepath.Base(p.path()), "work", "open", "a.txt") + " hello"} {
		g := p.exits(2, "doc", "write", "notes/outside.md", "a note", "--check", check, "--role", "intern")
		if !g.says("is not a path in the project") {
			t.Errorf("a check outside the project, %s: %v", check, g)
		}
	}
	for i, x := range looks {
		p.ok("doc", "write", fmt.Sprintf("notes/%d.md", i), "a note", "--check", x.check, "--role", "intern")
	}
	owners := []look{{"contains project.txt there", "holds"}, {"contains project.txt nobody", "fails"},
		{"exists .perdure/trust", "nothing"}, {"contains .perdure/key " + key[:17], "nothing"}}
	for i, x := range owners {
		p.ok("doc", "write", fmt.Sprintf("notes/%d.md", len(looks)+i), "a note", "--check", x.check)
	}
	o := p.opens("intern")
	for i, x := range append(looks, owners...) {
		if got := o.told(fmt.Sprintf("notes/%d.md", i)); got != x.want {
			t.Errorf("note %d, %s: it is told %s, want %s", i, x.check, got, x.want)
		}
	}
}

func TestCheckOfANoteRunsOnlyWhatTheOwnerWrote(t *testing.T) {
	t.Parallel()
	p := remembering(t)
	p.write("work/pay.sh", "echo paid >>ledger\n")
	const check = "run sh pay.sh"
	p.ok("doc", "write", "notes/a.md", "how to build", "--visibility", "team", "--check", check, "--role", "intern")
	for _, role := range []string{"intern", "manager"} {
		if got := p.opens(role).told("notes/a.md"); got != "nothing" {
			t.Errorf("a role's command, in a session of %s: it is told %s, want nothing", role, got)
		}
	}
	p.ok("doc", "write", "notes/a.md", "the owner edits it", "--append")
	p.ok("doc", "mv", "notes/a.md", "notes/b.md")
	p.ok("doc", "promote", "notes/b.md", "--to", "public")
	p.opens("manager")
	p.done(0, "the owner edited, renamed and promoted a role's note")
	p.ok("doc", "write", "notes/c.md", "how to build", "--check", check)
	p.opens("intern")
	p.done(0, "the owner's command, in a session of a role that may not run it")
	if got := p.opens("manager").told("notes/c.md"); got != "holds" {
		t.Errorf("the owner's command, in a session of manager: it is told %s, want holds", got)
	}
	if p.ledger() == 0 {
		t.Error("the owner's command does not run where policy allows it")
	}
}

func TestAgentOfARolesNameIsNotTheRole(t *testing.T) {
	t.Parallel()
	p := remembering(t)
	squatter := p.ok("new", "sit here", "--name", "hr", "--json", "--jq", ".agent")
	for _, kind := range []string{"role", "workspace"} {
		p.write(kind+".yaml", "goal: keeps the private notes and session summaries of the role hr\nname: hr\nkind: "+
			kind+"\n")
		p.exits(2, "new", "-f", kind+".yaml")
	}
	p.ok("doc", "write", "agents/hr/salaries.md", "Bob has 1234567", "--role", "hr")
	if log := p.ok("log", squatter, "--json"); strings.Contains(log, "1234567") {
		t.Error("the private note of a role is in the memory of an agent somebody made with its name")
	}
	if text := p.ok("doc", "read", "agents/hr/salaries.md", "--role", "hr"); !strings.Contains(text, "1234567") {
		t.Errorf("the role does not find its own note: %s", text)
	}
}

// client is an MCP client at the place, whose role is given.
type client struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	last int
}

// connect starts the program as the MCP server of a role.
func (p *place) connect(role string) *client {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	cmd := p.command(ctx, "mcp", "--role", role, "--no-node")
	in, out := have(cmd.StdinPipe())(p.t), have(cmd.StdoutPipe())(p.t)
	must(p.t, cmd.Start())
	p.t.Cleanup(func() {
		_ = in.Close() // which ends it
		_ = cmd.Wait()
		cancel()
	})
	c := &client{t: p.t, in: in, out: bufio.NewReader(out)}
	c.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	must(p.t, have2(io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")))
	return c
}

func have2[T any](_ T, err error) error { return err }

// ask makes a request, and returns the whole answer.
func (c *client) ask(method, params string) string {
	c.t.Helper()
	c.last++
	must(c.t, have2(fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.last, method,
		params)))
	for {
		line := have(c.out.ReadString('\n'))(c.t)
		var answer struct{ ID int }
		if json.Unmarshal([]byte(line), &answer) == nil && answer.ID == c.last {
			return line
		}
	}
}

// call calls a tool; ok is whether it did what was asked.
func (c *client) call(tool, args string) (answer string, ok bool) {
	c.t.Helper()
	answer = c.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	return answer, !strings.Contains(answer, `"isError":true`) && !strings.Contains(answer, `"error":`)
}

func TestRoleReachesNoAgentsOfOtherScopes(t *testing.T) {
	t.Parallel()
	p := remembering(t)
	p.ok("new", "count salaries", "--name", "payroll", "--scope", "acme/hr")
	p.ok("new", "count the team", "--name", "counter")
	p.ok("new", "count below", "--name", "below", "--scope", "home/hr")
	c := p.connect("intern")
	for _, scope := range []string{"acme/hr", "acme", "home/hr", "homes"} {
		if answer, ok := c.call("start_agent", fmt.Sprintf(`{"goal":"read it for me","scope":%q}`, scope)); ok {
			t.Errorf("a role in home started an agent in %s: %s", scope, answer)
		}
	}
	for _, args := range []string{`{"goal":"work","name":"mine"}`, `{"goal":"work","name":"mine2","scope":"home"}`} {
		if answer, ok := c.call("start_agent", args); !ok {
			t.Errorf("a role cannot start an agent in its own scope: %s", answer)
		}
	}
	list, _ := c.call("list_agents", `{}`)
	for name, want := range map[string]bool{"counter": true, "mine": true, "payroll": false, "below": false} {
		if got := strings.Contains(list, `"`+name+`"`); got != want {
			t.Errorf("list_agents has %s: %v, want %v", name, got, want)
		}
		if answer, ok := c.call("show_agent", fmt.Sprintf(`{"agent":%q}`, name)); ok != want {
			t.Errorf("show_agent %s is answered: %v, want %v: %s", name, ok, want, answer)
		}
	}
	for _, tool := range []string{"tell_agent", "pause_agent", "end_agent"} {
		if answer, ok := c.call(tool, `{"agent":"payroll","text":"hello","reason":"x"}`); ok {
			t.Errorf("%s reached an agent of another scope: %s", tool, answer)
		}
	}
}

// An agent reads nothing by delegating to a child in a narrower scope, or by moving into one: the child's result would
// come back to it, and nobody let either of them in.
func TestNarrowerScopeOpensNoDocuments(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("doc", "write", "plans/salaries.md", "Bob has 1234567", "--visibility", "custom:home/hr")
	p.ok("doc", "write", "plans/lunch.md", "Lunch is at 7654321", "--visibility", "custom:home")
	p.write(".perdure/node.yaml", `advisors: {boss: "script:../boss.yaml", clerk: "script:../clerk.yaml", mover: "script:../mover.yaml"}
`)
	const reads = `  - do:
      - execute: {tool: document_read, args: {path: plans/salaries.md}}
      - execute: {tool: memory_search, args: {query: "Bob has"}}
      - execute: {tool: document_list, args: {}}
  - execute: {tool: document_read, args: {path: plans/lunch.md}}
`
	p.write("boss.yaml", `turns:
  - delegate: {name: clerk, goal: read it for me, advisor: clerk, scope: home/hr}
  - sleep: {children: all}
  - end: {}
`)
	p.write("clerk.yaml", "turns:\n"+reads+"  - end: {}\n")
	p.write("mover.yaml", "turns:\n  - mutate: {scope: home/hr}\n"+reads+"  - end: {}\n")
	p.ok("new", "know it all", "--name", "boss", "--advisor", "boss", "--scope", "home", "--depth", "1")
	p.ok("new", "know it all", "--name", "mover", "--advisor", "mover", "--scope", "home")
	p.ok("new", "count salaries", "--name", "insider", "--advisor", "clerk", "--scope", "home/hr")
	for _, name := range []string{"boss", "mover"} {
		p.exits(7, "run", name) // another scope is asked about
		p.ok("approve", name)
	}
	p.ok("run", "boss")
	for _, name := range []string{"clerk", "mover", "insider"} {
		p.ok("run", name)
		if scope := strings.TrimSpace(p.ok("show", name, "--jq", ".charter.scope")); scope != `"home/hr"` && scope != "home/hr" {
			t.Fatalf("%s is in %s", name, scope)
		}
		log := p.ok("log", name, "--json")
		if got, want := strings.Contains(log, "1234567"), name == "insider"; got != want {
			t.Errorf("%s read a document of home/hr: %v, want %v", name, got, want)
		}
		if !strings.Contains(log, "7654321") {
			t.Errorf("%s did not read a document of home", name)
		}
	}
}
