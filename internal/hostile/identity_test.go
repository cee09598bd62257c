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
		p.ok("session", "open", "--role", "other")
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

func TestStrangersRoleIsNoRoleHere(t *testing.T) {
	t.Parallel()
	role := func(t *testing.T, by *perdure.Signer, kind, goal string) *attack {
		return begin(t, by, perdure.Genesis{Intent: perdure.Intent{Name: "manager", Kind: kind, Goal: goal}})
	}
	for kind, goal := range map[string]string{
		"role":      "keeps the private notes and session summaries of the role manager",
		"workspace": "keeps the team documents of home",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p, mallory := planning(t), stranger(t)
			for _, goal := range []string{goal, "keeps things"} {
				a := role(t, mallory, kind, goal)
				id := a.entries[0].Name.String()
				p.refused(p.perdure("import", "--ready", a.capsule(p, "gift.agent")), mallory)
				p.ok("import", a.capsule(p, "gift.agent"))
				p.refused(p.perdure("resume", id), mallory)
				p.plans(id, "a stranger's "+kind)
				file := a.capsule(p, "file.agent")
				p.perdure("resume", file)
				p.plans(file, "a stranger's "+kind+" in a file")
			}
			p.ok("doc", "write", "agents/manager/mine.md", "private note", "--role", "manager")
			p.ok("doc", "write", "plans/real.md", "a plan", "--role", "manager")
			for _, id := range []string{role(t, mallory, kind, goal).entries[0].Name.String()} {
				if g := p.perdure("log", id, "--json"); g.says("private note") {
					t.Error("a private note of a role is in a stranger's agent")
				}
			}
		})
	}
	p, ann := planning(t), stranger(t)
	p.trust(ann, "own", "home")
	a := role(t, ann, "role", "keeps the private notes and session summaries of the role manager")
	a.write(perdure.Event{Name: "document", By: "manager", Notice: perdure.Document{
		Path: "agents/manager/theirs.md", Body: have(perdure.DataOf("a note"))(t)}})
	p.ok("import", "--ready", a.capsule(p, "gift.agent"))
	p.ok("doc", "read", "agents/manager/theirs.md", "--role", "manager")
}

// opsPolicy lets agents of a narrower scope do what others may not, and asks before one moves.
const opsPolicy = `@id("rest")
permit (principal, action in [Action::"sleep", Action::"wake", Action::"end", Action::"mutate"], resource);

@id("move-asks")
@obligation("approval:owner")
forbid (principal, action == Action::"mutate", resource);

@id("ops-shell")
permit (principal in Scope::"home/ops", action == Action::"execute", resource);
`

// moves are the ways to say that an agent is in another scope.
var moves = map[string]func(a *attack) *attack{
	"edit": func(a *attack) *attack {
		scope := "home/ops"
		return a.edit(perdure.Mutate{Scope: &scope})
	},
	"mutate": func(a *attack) *attack {
		scope := "home/ops"
		return a.write(perdure.Decision{Action: perdure.Mutate{Scope: &scope}, Verdict: allowed})
	},
	"advice and mutate": func(a *attack) *attack {
		scope := "home/ops"
		a.write(perdure.Advice{Actions: []perdure.Action{perdure.Mutate{Scope: &scope}}})
		return a.write(perdure.Decision{Advice: a.last(), Verdict: allowed})
	},
}

func TestScopeMovesByTheWordOfWhoeverMayOwn(t *testing.T) {
	t.Parallel()
	for who, of := range map[string]func(p *place) (a *attack, by *perdure.Signer){
		"an author": func(p *place) (*attack, *perdure.Signer) {
			by := stranger(p.t)
			p.trust(by, "author,approve", "home")
			return weather(p.t, p.owner), by
		},
		"a delegate": func(p *place) (*attack, *perdure.Signer) {
			by := stranger(p.t)
			return begin(p.t, p.owner, perdure.Genesis{Charter: perdure.Charter{
				Delegates: []perdure.Key{by.Key()}}}), by
		},
		"the owner of an admitted agent": func(p *place) (*attack, *perdure.Signer) {
			by := stranger(p.t)
			return weather(p.t, by), by
		},
		"a delegate of an admitted agent": func(p *place) (*attack, *perdure.Signer) {
			by := stranger(p.t)
			return begin(p.t, stranger(p.t), perdure.Genesis{Charter: perdure.Charter{
				Delegates: []perdure.Key{by.Key()}}}), by
		},
		"somebody trusted to own": func(p *place) (*attack, *perdure.Signer) { return weather(p.t, p.owner), p.owner },
	} {
		for how, move := range moves {
			t.Run(who+"/"+how, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				p.write("ops.cedar", opsPolicy)
				a, by := of(p)
				want := 0
				if by == p.owner {
					want = 1
				}
				p.ok("import", "--ready", a.capsule(p, "weather.agent"))
				moved := move(p.of("weather", by)).write(perdure.Advice{Actions: []perdure.Action{pay(t)}})
				if g := moved.enters(p); want == 0 {
					p.refused(g, by)
				}
				p.run("weather", "ops", "wait")
				p.done(want, "what is permitted where "+who+" moved it")

				q := p.inFolder()
				moved.dropIn(q, "weather.agent")
				q.run("weather", "ops", "wait")
				q.run(moved.capsule(q, "moved.agent"), "ops", "wait")
				if want == 0 {
					q.done(0, "the same in a folder and a file")
				}
			})
		}
	}
}

// The owner's answer moves an agent, whoever puts it down.
func TestScopeMovesWhenItsOwnerApproved(t *testing.T) {
	t.Parallel()
	for _, vote := range []bool{true, false} {
		p, by := newPlace(t), stranger(t)
		p.write("ops.cedar", opsPolicy)
		p.trust(by, "author", "home")
		p.ok("new", "tell the weather", "--name", "weather")
		scope := "home/ops"
		a := p.of("weather", by)
		a.write(perdure.Advice{Actions: []perdure.Action{perdure.Mutate{Scope: &scope}}})
		a.write(perdure.Decision{Advice: a.last(), Verdict: perdure.Verdict{Answer: perdure.Ask,
			Asked: []string{"owner"}}})
		q := a.asked()
		d := perdure.Decision{Advice: q.Advice, Verdict: allowed}
		if vote {
			a.as(p.owner).vote().as(by)
			d.Approvals = []perdure.Hash{a.last()}
		}
		g := a.write(d, perdure.Advice{Actions: []perdure.Action{pay(t)}}).enters(p)
		p.run("weather", "ops", "wait")
		if vote {
			p.done(1, "what is permitted where the owner let it go")
		} else {
			p.refused(g, by)
			p.done(0, "what is permitted where nobody let it go")
		}
	}
	p := newPlace(t)
	p.write("ops.cedar", opsPolicy)
	p.ok("new", "tell the weather", "--name", "weather")
	p.ok("edit", "weather", "--scope", "home/ops")
	p.run("weather", "ops", "pay")
	p.done(1, "what is permitted where the owner put it")
}

// admitted is a place that let a stranger's agent in, its owner, and whom its charter calls owner or approver.
func admitted(t *testing.T, who string) (p *place, mallory, by *perdure.Signer) {
	t.Helper()
	p, mallory = newPlace(t), stranger(t)
	eve := stranger(t)
	a := begin(t, mallory, perdure.Genesis{Charter: perdure.Charter{Approvers: []perdure.Key{eve.Key()}}})
	p.ok("import", "--ready", a.capsule(p, "weather.agent"))
	return p, mallory, map[string]*perdure.Signer{"owner": mallory, "approver": eve}[who]
}

// To admit a stranger's agent is not to let the stranger have the last word about it here.
func TestStrangerLiftsNoPauseOfAnAdmittedAgent(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"owner", "approver"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			p, mallory, by := admitted(t, who)
			mine := p.of("weather", mallory).tell("pause", perdure.Pause{Note: "mine"})
			p.refused(mine.tell("resume", perdure.Resume{Of: mine.agent.Fold().Paused}).enters(p), mallory)
			p.ok("pause", "weather", "--note", "STOP")
			b := p.of("weather", by)
			b.tell("resume", perdure.Resume{Of: b.agent.Fold().Paused})
			p.refused(b.enters(p), by)
			p.run("weather", "open", "pay")
			p.run(b.capsule(p, "gift.agent"), "open", "pay")
			q := p.inFolder()
			b.dropIn(q, "weather.agent")
			q.run("weather", "open", "pay")
			p.done(0, "what a stranger let go on")
			p.ok("resume", "weather")
			p.run("weather", "open", "pay")
			p.done(1, "what the operator let go on")
		})
	}
}

func TestStrangerSettlesNothingThatWasBegunHere(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"owner", "approver"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			p, _, by := admitted(t, who)
			begun := p.of("weather", p.owner)
			if g := begun.open(pay(t), perdure.Once).enters(p); g.code != 0 {
				t.Fatal(g)
			}
			before := p.state("weather")
			for what, body := range map[string]perdure.Body{
				"settle": perdure.Event{Name: "settle", Notice: perdure.Settle{Decision: begun.last(),
					Signal: perdure.Failed}},
				"outcome": perdure.Outcome{Decision: begun.last(), Signal: perdure.Throttled, Reconciled: true},
				"grant":   perdure.Event{Name: "grant", Notice: perdure.Grant{Amount: perdure.Spend{Calls: 9}}},
			} {
				p.refused(p.of("weather", by).write(body).enters(p), by)
				if p.state("weather") != before {
					t.Errorf("a stranger has a say in what was begun here, by %s", what)
				}
			}
		})
	}
}

// Whoever may approve here answers for an agent that was admitted, whomever its charter names.
func TestAdmittedAgentAsksPeopleOfThisHome(t *testing.T) {
	t.Parallel()
	p, mallory, eve := newPlace(t), stranger(t), stranger(t)
	p.write("asks.cedar", openPolicy+`
@id("writes-ask")
@obligation("approval:owner")
forbid (principal, action == Action::"execute", resource)
unless { context.effect == Effect::"read" };
`)
	a := begin(t, mallory, perdure.Genesis{Charter: perdure.Charter{Approvers: []perdure.Key{eve.Key()}}})
	p.ok("import", "--ready", a.capsule(p, "weather.agent"))
	p.ok("new", "pay", "--name", "mine")
	p.run("weather", "asks", "pay")
	for _, by := range []*perdure.Signer{mallory, eve} {
		p.of("weather", by).vote().enters(p)
		p.run("weather", "asks", "pay")
		p.done(0, "what strangers approved")
	}
	p.ok("approve", "weather")
	p.run("weather", "asks", "pay")
	p.done(1, "what the operator approved")

	// a question that came along is for those it names: nobody is told that an answer counts which does not
	b := begin(t, mallory, perdure.Genesis{Intent: perdure.Intent{Name: "asked", Goal: "pay"},
		Charter: perdure.Charter{Approvers: []perdure.Key{eve.Key()}}}).ask(pay(t), perdure.Verdict{})
	p.ok("import", "--ready", b.capsule(p, "asked.agent"))
	if g := p.perdure("approve", "asked"); g.code == 0 {
		t.Errorf("approve says that an answer counts which does not: %v", g)
	}
	if inbox := p.ok("inbox"); strings.Contains(inbox, "perdure approve asked") {
		t.Errorf("the inbox offers an answer that does not count: %s", inbox)
	}
}

// Whom a stranger's charter names has no say in a fork that is ours.
func TestForkOfAnAdmittedAgentHearsNoStrangers(t *testing.T) {
	t.Parallel()
	p, eve := newPlace(t), stranger(t)
	a := begin(t, stranger(t), perdure.Genesis{Charter: perdure.Charter{Approvers: []perdure.Key{eve.Key()},
		Delegates: []perdure.Key{eve.Key()}}})
	p.ok("import", "--ready", a.capsule(p, "weather.agent"))
	p.ok("fork", "weather", "--live", "--name", "mine")
	if charter := p.ok("show", "mine", "--jq", ".charter | tojson"); strings.Contains(charter, eve.Key().String()) {
		t.Errorf("the fork hears a stranger: %s", charter)
	}
	b := p.of("mine", eve).write(perdure.Advice{Actions: []perdure.Action{pay(t)}})
	p.refused(b.enters(p), eve)
	p.run("mine", "open", "end")
	p.done(0, "what a stranger proposed in a fork")
}
