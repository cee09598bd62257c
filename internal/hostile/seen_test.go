package hostile

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// To admit a stranger's agent is not to believe the stranger: whose it is, and that its text is harmless, is a claim.
func TestPolicyIsToldWhoOwnsAnAgentHere(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		begin func(p *place) *attack
		want  int
	}{
		"the owner's":                 {func(p *place) *attack { return weather(p.t, p.owner) }, 1},
		"a stranger's":                {func(p *place) *attack { return weather(p.t, stranger(p.t)) }, 0},
		"a fork in the owner's name":  {func(p *place) *attack { return claiming(p.t, p, perdure.Fork) }, 0},
		"a child in the owner's name": {func(p *place) *attack { return claiming(p.t, p, perdure.Child) }, 0},
		"a child of an author's in the owner's name": {func(p *place) *attack {
			child, _ := childOf(begin(p.t, p.owner, perdure.Genesis{Charter: perdure.Charter{Depth: 2}}),
				trusted(p, "nora", "author", "home"))
			return child
		}, 0},
		"a child by somebody who may begin it": {func(p *place) *attack {
			child, _ := childOf(begin(p.t, p.owner, perdure.Genesis{Charter: perdure.Charter{Depth: 2}}),
				trusted(p, "nora", "author,begin", "home"))
			return child
		}, 0},
		"a child by somebody who may own it": {func(p *place) *attack {
			child, _ := childOf(begin(p.t, p.owner, perdure.Genesis{Charter: perdure.Charter{Depth: 2}}),
				trusted(p, "nora", "own", "home"))
			return child
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("mine.cedar", `@id("rest")
permit (principal, action in [Action::"sleep", Action::"wake", Action::"end"], resource);

@id("mine")
permit (principal, action == Action::"execute", resource)
when { principal.owner == Key::"`+p.owner.Key().String()+`" };
`)
			a := of.begin(p)
			p.ok("import", "--ready", a.capsule(p, "weather.agent"))
			p.run(a.agent.ID().String(), "mine", "pay")
			p.done(of.want, name+", where only the owner's agents may pay")
			if g := p.perdure("verify", a.agent.ID().String(), "--policy", "mine.cedar"); g.code != 0 {
				t.Errorf("its decisions cannot be derived again: %v", g)
			}
		})
	}
}

func TestTextOfAStrangerTaintsWhatWasAdmitted(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		rights string
		write  func(a *attack) *attack
		want   int
	}{
		"its goal": {"", func(a *attack) *attack { return a }, 0},
		"a message": {"", func(a *attack) *attack {
			return a.write(perdure.Event{Name: "message", By: "victim"})
		}, 0},
		"whom it trusts wrote": {"own", func(a *attack) *attack { return a }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("taint.cedar", taintPolicy)
			mallory := stranger(t)
			if of.rights != "" {
				p.trust(mallory, of.rights, "home")
			}
			p.ok("import", "--ready", weather(t, mallory).capsule(p, "weather.agent"))
			if g := of.write(p.of("weather", mallory)).enters(p); g.code != 0 {
				t.Fatal(g)
			}
			p.ok("fork", "weather", "--live", "--name", "mine")
			p.run("weather", "taint", "pay")
			p.done(of.want, "a payment by a stranger's agent: "+name)
			p.run("mine", "taint", "pay")
			p.done(2*of.want, "a payment by a fork of it: "+name)
			if g := p.perdure("verify", "weather", "--policy", "taint.cedar"); g.code != 0 {
				t.Errorf("its decisions cannot be derived again: %v", g)
			}
		})
	}
}

// A chat that a stranger began in somebody's name is not theirs to go on with.
func TestChatOfAStrangerIsNotOpened(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := claiming(t, p, perdure.Fork)
	g := a.entries[0].Content().(perdure.Genesis)
	g.Intent.Kind, g.Intent.Name = "chat", "chat-2"
	b := begin(t, stranger(t), g)
	p.ok("import", b.capsule(p, "chat.agent"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := p.command(ctx, "chat", "--advisor", "script:end.yaml")
	c.Stdin = strings.NewReader("my password is hunter2\n")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if log := p.ok("log", b.agent.ID().String(), "--json"); strings.Contains(log, "hunter2") {
		t.Error("what somebody typed is in a stranger's agent")
	}
}

// The reason, the rule and the class of an effect are in the decision that asks, which any author can write.
func TestPeopleSeeWhoAsks(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		rights string
		want   bool
	}{"somebody who may own it": {"own", false}, "an author": {"author", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			nora := trusted(p, "nora", of.rights, "home")
			a := weather(t, p.owner).as(nora).write(perdure.Decision{Action: pay(t), Effect: perdure.Read,
				Verdict: perdure.Verdict{Answer: perdure.Ask, Rules: []string{"default.read"}, Asked: []string{"owner"},
					Reason: "reviewed; harmless"}})
			p.ok("import", "--ready", a.capsule(p, "weather.agent"))
			for _, args := range [][]string{{"inbox"}, {"show", "weather"}, {"inbox", "--json"},
				{"approve", "weather", "--yes"}} {
				said := p.ok(args...)
				if !strings.Contains(said, "reviewed; harmless") ||
					strings.Contains(said, "asked by nora ("+nora.Key().Short()+"), whose word") != of.want {
					t.Errorf("%v: want the reason, and by whom it is: %v, got:\n%s", args, of.want, said)
				}
			}
		})
	}
}
