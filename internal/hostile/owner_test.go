package hostile

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// Who may author an agent may stop it, but not let it go on: that is a person's word.
func TestAuthorDoesNotLiftAPause(t *testing.T) {
	t.Parallel()
	lift := func(a *attack) *attack { return a.tell("resume", perdure.Resume{Of: a.agent.Fold().Paused}) }
	for rights, want := range map[string]int{"approve": 1, "own": 1, "author": 0} {
		for _, d := range []door{
			{"import", false, func(p *place, a *attack) {
				p.ok("import", "--ready", a.capsule(p, "mine.agent"))
				p.perdure("import", lift(a.as(trusted(p, "nora", rights, "home"))).capsule(p, "gift.agent"))
			}},
			{"a file in a folder", true, func(p *place, a *attack) {
				a.dropIn(p, "weather.agent")
				p.perdure("show", "weather")
				lift(a.as(trusted(p, "nora", rights, "home"))).dropIn(p, "weather.sync-conflict.agent")
			}},
		} {
			t.Run(rights+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				p := d.at(t)
				d.enter(p, weather(t, p.owner).tell("pause", perdure.Pause{Note: "wait"}))
				p.run("weather", "open", "pay")
				p.done(want, "a paused agent, resumed by a key that may "+rights)
			})
		}
	}
}

// An agent was admitted, whose owner may go on writing to it; then its owner hands it on.
func TestFormerOwnerWritesNoMore(t *testing.T) {
	t.Parallel()
	more := func(a *attack, by *perdure.Signer) *attack {
		return a.as(by).write(perdure.Advice{Actions: []perdure.Action{pay(a.t)}})
	}
	for name, of := range map[string]struct {
		handed, revoked, beside bool
		want                    int
	}{
		"the owner":            {false, false, false, 1},
		"handed on":            {true, false, false, 0},
		"on a branch, revoked": {true, true, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			mallory, heir := stranger(t), have(perdure.GenerateSigner("heir"))(t)
			p.ok("import", "--ready", weather(t, mallory).capsule(p, "weather.agent"))
			p.ok("export", "weather", "here.agent")
			a := reading(t, p.path("here.agent"), mallory)
			beside := a.fork(t, mallory)
			if of.handed {
				p.trust(heir, "own", "home")
				p.trust(mallory, "own", "home") // to hand it on takes the right
				a.tell("owner", perdure.KeyChange{Owner: heir.Key()})
				if of.revoked {
					a.as(heir).tell("revoked", perdure.KeyChange{Revoke: mallory.Key()})
				}
				p.ok("import", a.capsule(p, "handed.agent"))
				p.ok("key", "trust", mallory.VerifierKey(), "--revoke")
			}
			if of.beside {
				a = beside
			}
			g := p.perdure("import", more(a, mallory).capsule(p, "gift.agent"))
			p.run("weather", "open", "end")
			p.done(of.want, "what "+name+" proposes")
			if !of.handed && g.code != 0 {
				t.Errorf("the owner may not write: %v", g)
			}
		})
	}
}

// More budget is the owner's to give.
func TestAuthorGrantsNothing(t *testing.T) {
	t.Parallel()
	for rights, want := range map[string]int{"": 1, "author": 0, "author,approve": 0} {
		t.Run("by "+rights, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a := begin(t, p.owner, perdure.Genesis{Intent: perdure.Intent{Name: "weather", Goal: "pay",
				Budget: &perdure.Budget{Calls: new(int64)}}})
			if rights != "" {
				a.as(trusted(p, "nora", rights, "home"))
			}
			p.ok("import", "--ready", a.tell("grant", perdure.Grant{Amount: perdure.Spend{Calls: 10}}).
				capsule(p, "weather.agent"))
			p.run("weather", "open", "pay")
			p.done(want, "a payment that takes more budget")
		})
	}
}

// Who may author somebody's agent may not begin one of its own.
func TestAuthorOwnsNoAgent(t *testing.T) {
	t.Parallel()
	for rights, want := range map[string]int{"own": 1, "author": 0, "author,approve": 0} {
		for _, d := range unadmitted[3:5] { // a file, and one in a folder
			t.Run(rights+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				p := d.at(t)
				a := weather(t, trusted(p, "nora", rights, "home"))
				if d.folder {
					a.dropIn(p, "weather.agent")
					p.run("weather", "open", "pay")
				} else {
					p.run(a.capsule(p, "weather.agent"), "open", "pay")
				}
				p.done(want, "an agent of a key that may "+rights)
				b := begin(t, trusted(p, "nina", rights, "home"), perdure.Genesis{
					Charter: perdure.Charter{Owner: p.owner.Key()},
					Lineage: &perdure.Lineage{Parent: a.agent.ID(), Cause: a.last(), Relation: perdure.Fork}})
				if d.folder {
					b.dropIn(p, "fork.agent")
				}
				p.run(b.capsule(p, "fork.agent"), "open", "pay")
				p.done(2*want, "a fork in the owner's name by a key that may "+rights)
			})
		}
	}
}

// To admit an agent is to vouch for what is there, and to let its owner go on; nobody else.
func TestAdmissionIsNotForWhatComesLater(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	mallory, eve := stranger(t), have(perdure.GenerateSigner("eve"))(t)
	a := weather(t, mallory).as(eve).write(perdure.Event{Name: "hello"})
	p.ok("import", "--ready", a.capsule(p, "weather.agent"))
	p.ok("export", "weather", "here.agent")
	b := reading(t, p.path("here.agent"), eve).write(perdure.Advice{Actions: []perdure.Action{pay(t)}})
	p.refused(p.perdure("import", b.capsule(p, "gift.agent")), eve)
	p.run(b.capsule(p, "gift.agent"), "open", "end")
	p.run("weather", "open", "end")
	p.done(0, "what somebody proposes who had written before the admission")
}

// The owner vouches for what it saw, not for what somebody wrote beside that.
func TestSnapshotVouchesForItsPastOnly(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		seen bool
		want int
	}{"in its past": {true, 1}, "beside it": {false, 0}} {
		for _, d := range arrive[1:] { // import --ready vouches for all of it
			t.Run(name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				p := d.at(t)
				p.write("ask.cedar", openPolicy)
				a := weather(t, p.owner)
				b := a.fork(t, stranger(t)).write(perdure.Advice{Actions: []perdure.Action{pay(t)}})
				if of.seen {
					a = b.as(p.owner)
				}
				a.write(perdure.Event{Name: "one"}, perdure.Event{Name: "two"}).snapshot(func(*perdure.Fold) {})
				if !of.seen {
					a.entries = append(a.entries, b.entries[1:]...)
				}
				d.enter(p, a)
				p.done(of.want, "what a stranger proposes, "+name)
			})
		}
	}
}

// What the policy of a home permits in a narrower scope, an agent of a wider one does not get by having a child there,
// or by going there, before somebody has said so.
func TestNarrowerScopeIsAskedAbout(t *testing.T) {
	t.Parallel()
	pay := strings.TrimPrefix(payScript, "turns:\n")
	for worker, script := range map[string]string{
		"hand": "  - delegate: {name: hand, goal: pay, advisor: pay, scope: home/ops}\n  - sleep: {children: all}\n",
		"boss": "  - mutate: {scope: home/ops}\n" + pay,
	} {
		t.Run(worker, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			const asks = `context.effect == Effect::"read" ||`
			rules := p.ok("policy", "default")
			if !strings.Contains(rules, asks) {
				t.Fatal("the built-in policy has changed: let this test free home/ops from its questions")
			}
			p.write("home.cedar", strings.Replace(rules, asks, asks+` principal in Scope::"home/ops" ||`, 1))
			p.write("boss.yaml", "turns:\n"+script)
			run := append(powers("home", "pay"), "--advisor", "boss=script:boss.yaml", "--advisor",
				"pay=script:pay.yaml")
			p.ok("new", "have it paid", "--name", "boss", "--advisor", "boss", "--scope", "home", "--depth", "1")
			for range 2 {
				p.exits(7, append([]string{"run", "boss"}, run...)...)
			}
			p.done(0, "before anybody was asked")
			p.ok("approve", "boss")
			p.perdure(append([]string{"run", "boss"}, run...)...)
			p.perdure(append([]string{"run", worker}, run...)...)
			p.done(1, "once the owner let it")
		})
	}
}
