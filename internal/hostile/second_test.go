package hostile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// What a second look found, beyond what was known.

// claiming is a stranger's agent that says it descends from somewhere: then its genesis may name another owner than its
// author.
func claiming(t *testing.T, p *place, relation perdure.Relation) *attack {
	t.Helper()
	g := perdure.Genesis{Charter: perdure.Charter{Owner: p.owner.Key(), Scope: "home"}}
	g.Lineage = &perdure.Lineage{Parent: perdure.AgentID(perdure.HashOf([]byte("parent"))),
		Cause: perdure.HashOf([]byte("cause")), Relation: relation}
	by := stranger(t)
	g.Charter.Delegates, g.Charter.Approvers = []perdure.Key{by.Key()}, []perdure.Key{by.Key()}
	return begin(t, by, g)
}

func TestAgentThatNamesItsOwnerIsNotTheirs(t *testing.T) {
	t.Parallel()
	for name, relation := range map[string]perdure.Relation{"fork": perdure.Fork, "child": perdure.Child} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, unadmitted, func(t *testing.T, p *place) *attack {
				return claiming(t, p, relation).open(note(t), perdure.Idempotent)
			})
		})
	}
}

func TestClaimedOwnerDoesNotAdmitAnAgent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	must(t, os.Mkdir(p.path(".perdure", "policies"), 0o700))
	p.write(".perdure/policies/friends.cedar", openPolicy+`
@id("friends")
permit (principal, action == Action::"admit", resource) when { context.trusted };
@id("ask-others")
@obligation("approval:operator")
forbid (principal, action == Action::"admit", resource) unless { context.trusted };
`)
	a := begin(t, p.owner, called("mine", "pay"))
	p.ok("import", a.capsule(p, "mine.agent"))
	p.run("mine", "open", "pay")
	p.done(1, "the owner's agent, which policy admits")
	p.perdure("import", claiming(t, p, perdure.Fork).capsule(p, "claim.agent"))
	p.run("weather", "open", "pay")
	p.done(1, "a stranger's agent that names the owner as its own")
}

func TestPermitForAllActionsAdmitsNobody(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	must(t, os.Mkdir(p.path(".perdure", "policies"), 0o700))
	p.write(".perdure/policies/all.cedar", openPolicy)
	p.ok("import", weather(t, stranger(t)).capsule(p, "weather.agent"))
	p.run("weather", "open", "pay")
	p.done(0, "a stranger's agent under a permit that was written about agents that are here")
}

func TestProposalsAndPollsOfAHeldAgentAreNotTakenUp(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(a *attack) *attack{
		"a proposal": func(a *attack) *attack { return a.write(perdure.Advice{Actions: []perdure.Action{pay(a.t)}}) },
		"a poll": func(a *attack) *attack {
			every := perdure.Every{Millis: 1, Poll: pay(a.t), Until: "false"}
			return a.write(perdure.Decision{Action: perdure.Sleep{Trigger: every}, Verdict: allowed})
		},
		"a recheck": func(a *attack) *attack {
			sleep := perdure.Sleep{Trigger: perdure.At{Time: perdure.TimeOf(a.at)}, Stale: 1,
				Recheck: []perdure.Execute{pay(a.t)}}
			return a.write(perdure.Decision{Action: sleep, Verdict: allowed})
		},
		"a debt": func(a *attack) *attack {
			a.open(note(a.t), perdure.Idempotent)
			return a.write(perdure.Outcome{Decision: a.last(), Signal: perdure.Throttled, RetryAfter: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, unadmitted, func(t *testing.T, _ *place) *attack { return write(weather(t, stranger(t))) })
		})
	}
}

func TestImportOfASetChecksEveryAgent(t *testing.T) {
	t.Parallel()
	mallory := newPlace(t)
	mallory.ok("import", "--ready", weather(t, mallory.owner).open(note(t), perdure.Idempotent).
		capsule(mallory, "weather.agent"))
	mallory.ok("export", "--set", "set", "weather")
	p := newPlace(t)
	must(t, os.CopyFS(p.path("set"), os.DirFS(mallory.path("set"))))
	p.perdure("import", "set")
	p.run("weather", "open", "pay")
	p.done(0, "an agent out of a stranger's set")
}

func TestStrangersEntryBelowATrustedOneIsStillAStrangers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	by, author := stranger(t), stranger(t)
	p.trust(author, "author", "home")
	a := bill(p)
	before := p.state("bill")
	b := a.fork(t, by).vote().as(author).write(perdure.Event{Name: "hello"})
	p.refused(p.perdure("import", b.capsule(p, "gift.agent")), by)
	if now := p.state("bill"); now != before {
		t.Errorf("a stranger's vote came in below the entry of an author: %s", now)
	}
}

// Synchronisation leaves copies beside an agent's file, and what is in them is merged.
func TestStrangersCopyBesideAnAgentChangesNothing(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(a *attack) *attack{
		"an approval": func(a *attack) *attack { return a.vote() },
		"a cancel":    func(a *attack) *attack { return a.tell("cancel", perdure.Cancel{}) },
		"a question and its answer": func(a *attack) *attack {
			q := a.ask(note(a.t), perdure.Verdict{Asked: []string{"mallory"}}).agent.Fold().Asks
			last := q[len(q)-1]
			return a.tell("approval", perdure.Approval{Decision: last.Decision, Digest: last.Digest, Approve: true})
		},
		"an open decision": func(a *attack) *attack {
			a.at = time.Now().Add(-time.Hour)
			return a.open(note(a.t), perdure.Idempotent)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t).inFolder()
			p.ok("new", "pay the bill", "--name", "bill")
			if g := p.run("bill", "ask", "pay"); g.code != 7 {
				t.Fatalf("it does not ask: %v", g)
			}
			p.ok("export", "bill", "bill.agent")
			write(reading(t, p.path("bill.agent"), stranger(t))).dropIn(p, "bill.sync-conflict.agent")
			p.run("bill", "ask", "pay")
			p.done(0, name+" in a copy beside the agent")
			if g := p.perdure("show", "bill", "--jq", ".standing"); strings.Contains(g.out, "terminated") {
				t.Errorf("%s in a copy beside the agent ended it", name)
			}
		})
	}
}

func TestNameOfAnAgentIsNoPath(t *testing.T) {
	t.Parallel()
	p := newPlace(t).inFolder()
	a := begin(t, stranger(t), called("../../.perdure/trust", "be written"))
	p.ok("import", a.capsule(p, "x.agent"))
	p.ok("export", a.agent.ID().String())
	must(t, filepath.WalkDir(filepath.Dir(p.dir), func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		rel := have(filepath.Rel(p.dir, path))(t)
		if strings.Contains(filepath.Base(path), "perdure-trust") && filepath.Dir(rel) != "agents" &&
			filepath.Dir(rel) != "." {
			t.Errorf("an agent wrote %s", rel)
		}
		return nil
	}))
	if trust := string(have(os.ReadFile(p.path(".perdure", "trust")))(t)); strings.Count(trust, "\n") != 1 {
		t.Errorf("the trust file changed: %s", trust)
	}
}

func TestYAMLThatUnfoldsIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var b strings.Builder
	b.WriteString("name: laugh\ngoal: laugh\ninputs:\n  a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n")
	for i := range 9 {
		was := "*a" + string(rune('0'+i))
		b.WriteString("  a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" +
			strings.TrimSuffix(strings.Repeat(was+", ", 10), ", ") + "]\n")
	}
	p.write("laugh.yaml", b.String())
	if took := p.spent("new", "-f", "laugh.yaml"); took > busy {
		t.Errorf("an intent of %d bytes used %v of a processor", b.Len(), took)
	}
	if names := p.agents(); len(names) > 0 {
		t.Errorf("an agent was made of it: %v", names)
	}
}

func TestYAMLWithManyKeysIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var keys strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&keys, "  k%d: v\n", i)
	}
	p.write("wide.yaml", "goal: g\ninputs:\n"+keys.String())
	p.write("same.yaml", "goal: g\ninputs:\n"+strings.Repeat("  k: v\n", 60_000))
	p.write("table.yaml", "- want: allow\n  context:\n"+strings.ReplaceAll(keys.String(), "  k", "    k"))
	p.write("script.yaml", "turns:\n  - set:\n"+strings.ReplaceAll(keys.String(), "  k", "      k"))
	p.write("note.md", "---\ntitle: x\nmore:\n"+keys.String()+"---\ntext\n")
	p.ok("new", "work", "--name", "worker")
	for _, args := range [][]string{{"new", "-f", "wide.yaml"}, {"new", "-f", "same.yaml"},
		{"policy", "test", "table.yaml"}, {"doc", "import", "note.md"},
		{"run", "worker", "--quiet", "--advisor", "script:script.yaml"}} {
		if took := p.spent(args...); took > busy {
			t.Errorf("perdure %v used %v of a processor", args, took)
		}
	}
	p.exits(2, "new", "-f", "wide.yaml")
	p.write(".perdure/node.yaml", "effects:\n"+keys.String())
	if took := p.spent("ls"); took > busy {
		t.Errorf("a home whose node.yaml has many keys: perdure ls used %v of a processor", took)
	}
	if took := p.spent("tools"); took > busy {
		t.Errorf("a home whose node.yaml has many keys: perdure tools used %v of a processor", took)
	}
}

// An author says of a payment that the owner's node began that it surely did not happen.
func TestAuthorsWordDoesNotRepeatAPayment(t *testing.T) {
	t.Parallel()
	outcome := func(s perdure.Signal) func(*attack) {
		return func(a *attack) {
			a.write(perdure.Outcome{Decision: a.agent.Fold().Open[0].Decision, Signal: s, RetryAfter: 1})
		}
	}
	settle := func(s perdure.Signal) func(*attack) {
		return func(a *attack) {
			a.tell("settle", perdure.Settle{Decision: a.agent.Fold().Open[0].Decision, Signal: s})
		}
	}
	for name, of := range map[string]struct {
		own  bool
		says func(*attack)
		want int
	}{
		"the node itself: throttled": {true, outcome(perdure.Throttled), 1},
		"the node itself: incapable": {true, outcome(perdure.Incapable), 1},
		"throttled":                  {false, outcome(perdure.Throttled), 0},
		"incapable":                  {false, outcome(perdure.Incapable), 0},
		"silent":                     {false, outcome(perdure.Silent), 0},
		"timed out":                  {false, outcome(perdure.TimedOut), 0},
		"settled as throttled":       {false, settle(perdure.Throttled), 0},
		"settled as incapable":       {false, settle(perdure.Incapable), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a := weather(t, p.owner).open(pay(t), perdure.Once)
			if !of.own {
				a.as(trusted(p, "nora", "author", "home"))
			}
			of.says(a)
			p.perdure("import", "--ready", a.capsule(p, "weather.agent"))
			p.run("weather", "open", "end")
			p.done(of.want, "a payment that may have been made, and its author says: "+name)
		})
	}
}
