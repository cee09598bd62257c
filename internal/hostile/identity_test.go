package hostile

import (
	"os"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// plansPolicy is the rule that the documentation gives for what only a role may write, besides what all may.
const plansPolicy = memoryPolicy + `
@id("documents-of-agents")
permit (principal, action == Action::"execute", resource == Tool::"document_write");

@id("plans-are-the-managers")
forbid (principal, action == Action::"document.write", resource)
when { context.path like "plans/*" }
unless { principal.kind == "role" && principal.name == "manager" };
`

// planning is a place whose role manager alone writes plans.
func planning(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.ok("init", "--memory")
	must(t, os.MkdirAll(p.path(".perdure", "policies"), 0o700))
	p.write(".perdure/policies/plans.cedar", plansPolicy)
	p.write("plan.yaml", `turns:
  - execute: {tool: document_write, args: {path: plans/evil.md, text: evil}}
  - sleep: {on: never}
`)
	return p
}

// plans has an agent write a plan, which it may not.
func (p *place) plans(agent, what string) {
	p.t.Helper()
	p.perdure("run", agent, "--advisor", "script:plan.yaml", "--quiet")
	if strings.Contains(p.ok("doc", "ls"), "plans/evil.md") {
		p.t.Errorf("%s writes what only the role may", what)
	}
}

// of exports an agent that is here, for somebody to write to.
func (p *place) of(agent string, by *perdure.Signer) *attack {
	p.t.Helper()
	p.ok("export", agent, "of.agent", "--force")
	return reading(p.t, p.path("of.agent"), by)
}

// edit adds an edit.
func (a *attack) edit(m perdure.Mutate) *attack {
	a.t.Helper()
	return a.tell("edit", perdure.Edit{Mutate: m})
}

// enters has what somebody wrote come in, or be refused: what came of it is looked at afterwards.
func (a *attack) enters(p *place) got {
	a.t.Helper()
	return p.perdure("import", a.capsule(p, "gift.agent"))
}

// remakers are those who may write to an agent of the victim's: what it is, nobody of them changes.
func remakers(t *testing.T, try func(t *testing.T, p *place, by *perdure.Signer)) {
	for _, rights := range []string{"author", "own", "owner"} {
		t.Run(rights, func(t *testing.T) {
			t.Parallel()
			p := planning(t)
			by := p.owner
			if rights != "owner" {
				by = stranger(t)
				p.trust(by, rights, "home")
			}
			try(t, p, by)
		})
	}
}

func TestNoAgentBecomesARole(t *testing.T) {
	t.Parallel()
	remakers(t, func(t *testing.T, p *place, by *perdure.Signer) {
		t.Helper()
		id := p.ok("new", "keep things", "--name", "manager", "--json", "--jq", ".agent")
		role := "role"
		p.of(id, by).edit(perdure.Mutate{Kind: &role}).enters(p)
		p.plans(id, "an agent that somebody says is a role")
		other := "work"
		m := perdure.Mutate{Kind: &other, Labels: map[string]string{"a": "b"}}
		if g := p.of(id, by).edit(m).enters(p); g.code != 0 {
			t.Errorf("another kind was refused: %v", g)
		}
		if kind := p.ok("show", id, "--jq", ".intent.kind"); kind != other {
			t.Errorf("the kind is %q, want %q", kind, other)
		}
	})
}

func TestWhatKeepsDocumentsStaysThat(t *testing.T) {
	t.Parallel()
	kind := "work"
	remakers(t, func(t *testing.T, p *place, by *perdure.Signer) {
		t.Helper()
		p.ok("doc", "write", "decisions/x.md", "the team decided")
		p.ok("doc", "write", "agents/coder/secret.md", "TOPSECRET note", "--role", "coder")
		for _, agent := range []string{"workspace-team", "coder"} {
			a := p.of(agent, by)
			for _, m := range []perdure.Mutate{
				{Labels: map[string]string{"tier": "public"}}, {Labels: map[string]string{}}, {Kind: &kind},
			} {
				a.edit(m)
			}
			a.enters(p)
		}
		if ls := p.ok("doc", "ls"); !strings.Contains(ls, "decisions/x.md") {
			t.Errorf("the documents of the team are gone: %s", ls)
		}
		p.ok("doc", "write", "decisions/y.md", "again")
		if ls := p.ok("doc", "ls", "--role", "other"); !strings.Contains(ls, "decisions/y.md") ||
			strings.Contains(ls, "secret.md") {
			t.Errorf("another role finds: %s", ls)
		}
		p.ok("push", "--all", p.path("peer"))
		for _, f := range have(os.ReadDir(p.path("peer")))(t) {
			if strings.HasPrefix(f.Name(), "coder") {
				t.Errorf("private notes were passed on in %s", f.Name())
			}
		}
	})
}
