package hostile

import (
	"testing"

	"github.com/perdure/perdure"
)

// door is a way for a memory to come to a place and be worked on there.
type door struct {
	name   string
	folder bool // the agents are in a folder
	enter  func(p *place, a *attack)
}

// The doors by which a stranger's agent comes in and nobody here has let it.
var unadmitted = []door{
	{"import, run", false, func(p *place, a *attack) {
		p.ok("import", a.capsule(p, "weather.agent"))
		p.run("weather", "open", "pay")
	}},
	{"import, node", false, func(p *place, a *attack) {
		p.ok("import", a.capsule(p, "weather.agent"))
		p.node("open", "pay")
	}},
	{"import into a folder, run", true, func(p *place, a *attack) {
		p.ok("import", a.capsule(p, "weather.agent"))
		p.run("weather", "open", "pay")
	}},
	{"run FILE", false, func(p *place, a *attack) {
		p.held(p.run(a.capsule(p, "weather.agent"), "open", "pay"), a)
	}},
	{"a file in a folder, run", true, func(p *place, a *attack) {
		a.dropIn(p, "weather.agent")
		p.held(p.run("weather", "open", "pay"), a)
	}},
	{"a file in a folder, node", true, func(p *place, a *attack) {
		a.dropIn(p, "weather.agent")
		p.node("open", "pay")
	}},
}

// The doors by which it comes in and somebody lets it go on, where policy forbids what it wants.
var forbidden = []door{
	{"import --ready, run", false, func(p *place, a *attack) {
		p.ok("import", "--ready", a.capsule(p, "weather.agent"))
		p.run("weather", "forbid", "end")
	}},
	{"import, resume, run", false, func(p *place, a *attack) {
		p.ok("import", a.capsule(p, "weather.agent"))
		p.ok("resume", "weather")
		p.run("weather", "forbid", "end")
	}},
	{"import --ready, node", false, func(p *place, a *attack) {
		p.ok("import", "--ready", a.capsule(p, "weather.agent"))
		p.node("forbid", "end")
	}},
	{"resume FILE, run FILE", false, func(p *place, a *attack) {
		file := a.capsule(p, "weather.agent")
		p.perdure("resume", file)
		p.run(file, "forbid", "end")
	}},
	{"a file in a folder, resume, run", true, func(p *place, a *attack) {
		a.dropIn(p, "weather.agent")
		p.perdure("resume", "weather")
		p.run("weather", "forbid", "end")
	}},
}

// held fails unless a run said that a person must act first, whose entries do not count, and how to go on.
func (p *place) held(g got, a *attack) {
	p.t.Helper()
	if g.code != 7 || !g.says(a.entries[0].Origin.Short()) {
		p.t.Errorf("want exit code 7 and the key that is not trusted, got %v", g)
	}
	if !g.says("perdure resume") && !g.says("perdure inbox") && !g.says("perdure key trust") {
		p.t.Errorf("nobody is told how to go on: %v", g)
	}
}

// at is a place for a door.
func (d *door) at(t *testing.T) *place {
	p := newPlace(t)
	if d.folder {
		return p.inFolder()
	}
	return p
}

// through tries a memory at each of some doors, and wants an empty ledger.
func through(t *testing.T, doors []door, memory func(t *testing.T, p *place) *attack) {
	t.Helper()
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := d.at(t)
			d.enter(p, memory(t, p))
			p.done(0, d.name)
		})
	}
}

// lies are open decisions a stranger wrote: a shell that claims to be a reading, and a writing of files.
var lies = []struct {
	name string
	open func(a *attack) *attack
}{
	{"shell", func(a *attack) *attack { return a.open(pay(a.t), perdure.Read) }},
	{"files", func(a *attack) *attack { return a.open(note(a.t), perdure.Idempotent) }},
}

func TestOwnersOpenDecisionIsPerformed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := weather(t, p.owner).open(note(t), perdure.Idempotent)
	p.ok("import", "--ready", a.capsule(p, "mine.agent"))
	p.run("weather", "open", "end")
	p.done(1, "the owner's own decision that a dead node left open")
}

func TestStrangersOpenDecisionIsNotPerformedBeforeItIsAdmitted(t *testing.T) {
	t.Parallel()
	for _, l := range lies {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			through(t, unadmitted, func(t *testing.T, _ *place) *attack { return l.open(weather(t, stranger(t))) })
		})
	}
}

func TestStrangersOpenDecisionIsNotPerformedAgainstPolicy(t *testing.T) {
	t.Parallel()
	for _, l := range lies {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			through(t, forbidden, func(t *testing.T, _ *place) *attack { return l.open(weather(t, stranger(t))) })
		})
	}
}

func TestEffectClassOfAnOpenDecisionIsTheTools(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := weather(t, stranger(t)).open(pay(t), perdure.Read)
	p.ok("import", "--ready", a.capsule(p, "weather.agent"))
	p.run("weather", "open", "end")
	p.done(0, "a shell that may have run already, and claims to be a reading")

	b := begin(t, p.owner, called("mine", "pay")).open(pay(t), perdure.Idempotent)
	p.ok("import", "--ready", b.capsule(p, "mine.agent"))
	p.run("mine", "open", "end")
	p.done(0, "the same in the owner's name: what happened is not known")
}

func TestPausedAgentPerformsNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := weather(t, p.owner).open(note(t), perdure.Idempotent).tell("pause", perdure.Pause{Note: "stop"})
	p.ok("import", "--ready", a.capsule(p, "mine.agent"))
	p.exits(7, append([]string{"run", "weather"}, powers("open", "pay")...)...)
	p.done(0, "an open decision of an agent that is paused")
	p.ok("resume", "weather")
	p.run("weather", "open", "end")
	p.done(1, "the same when it is resumed")
}

func TestAuthorsOpenDecisionIsAQuestionForPolicyHere(t *testing.T) {
	t.Parallel()
	for _, l := range lies {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			author := stranger(t)
			p.trust(author, "author", "home")
			a := l.open(weather(t, p.owner).as(author))
			p.ok("import", "--trusted", "--ready", a.capsule(p, "ours.agent"))
			p.run("weather", "forbid", "end")
			p.done(0, "what a key decided that is trusted as author alone, under a forbid")
		})
	}
}

// An author says of a decision that it was made under the very policy of the node that reads it.
func TestDecisionUnderThePolicyHereIsStillItsAuthors(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("new", "end", "--name", "short")
	p.run("short", "forbid", "end")
	p.ok("export", "short", "short.agent")
	entries := reading(t, p.path("short.agent"), p.owner).entries
	a := weather(t, p.owner).as(trusted(p, "nora", "author", "home"))
	if a.policy = entries[len(entries)-1].Policy; a.policy.IsZero() {
		t.Fatal("the policy of the node is not on record")
	}
	p.ok("import", "--ready", a.open(note(t), perdure.Idempotent).capsule(p, "ours.agent"))
	p.run("weather", "forbid", "end")
	p.done(0, "what an author decided, and calls a decision under the policy here")
}

func TestOwnDecisionUnderAnotherPolicyIsAskedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := weather(t, p.owner).open(note(t), perdure.Idempotent)
	p.ok("import", "--ready", a.capsule(p, "mine.agent"))
	p.run("weather", "forbid", "end")
	p.done(0, "what this key decided before policy forbade it")

	p = newPlace(t)
	p.write("work/plain", "nothing")
	read := perdure.Execute{Tool: "files.read", Args: have(perdure.DataOf(map[string]any{"path": "plain"}))(t)}
	b := weather(t, p.owner).open(read, perdure.Read).open(note(t), perdure.Idempotent)
	p.ok("import", "--ready", b.capsule(p, "mine.agent"))
	p.run("weather", "forbid", "end")
	p.done(0, "the same beside what policy still allows")
}

func TestStrangersAgentAsksNoAdvisor(t *testing.T) {
	t.Parallel()
	through(t, unadmitted, func(t *testing.T, _ *place) *attack { return weather(t, stranger(t)) })
}

func TestStrangersAgentRunsOnceAdmitted(t *testing.T) {
	t.Parallel()
	for _, d := range []door{
		{"resume", false, func(p *place, a *attack) {
			p.ok("import", a.capsule(p, "weather.agent"))
			p.ok("resume", "weather")
			p.run("weather", "open", "pay")
		}},
		{"import --ready", false, func(p *place, a *attack) {
			p.ok("import", "--ready", a.capsule(p, "weather.agent"))
			p.run("weather", "open", "pay")
		}},
		{"a file in a folder, resume", true, func(p *place, a *attack) {
			a.dropIn(p, "weather.agent")
			p.run("weather", "open", "pay")
			p.ok("resume", "weather")
			p.run("weather", "open", "pay")
		}},
		{"resume FILE", false, func(p *place, a *attack) {
			file := a.capsule(p, "weather.agent")
			p.run(file, "open", "pay")
			p.ok("resume", file)
			p.run(file, "open", "pay")
		}},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := d.at(t)
			d.enter(p, weather(t, stranger(t)))
			p.done(1, d.name)
		})
	}
}
