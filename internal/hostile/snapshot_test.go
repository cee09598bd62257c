package hostile

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// claims is a lie that a snapshot tells: this agent is the victim's, in a scope where much is allowed, nobody paused
// it, and the victim itself has allowed what it is about to do.
func claims(p *place, x perdure.Execute, class perdure.Effect) func(*perdure.Fold) {
	return func(f *perdure.Fold) {
		calls := int64(1 << 40)
		f.Charter.Owner, f.Charter.Scope, f.Charter.Approvers = p.owner.Key(), "home", nil
		f.Intent.Budget, f.Intent.Tools = &perdure.Budget{Calls: &calls}, nil
		f.Granted, f.Paused, f.Contested = perdure.Spend{Calls: 1 << 40}, nil, false
		f.Open = []perdure.Open{{
			Decision: perdure.HashOf([]byte("decision")), Key: perdure.HashOf([]byte("key")), Action: x, Effect: class,
			Since: perdure.TimeOf(time.Now().Add(-time.Hour)), Deadline: perdure.TimeOf(time.Now().Add(-time.Minute)),
			Origin: p.owner.Key(), Attempt: 1,
		}}
	}
}

// votes is a lie: the owner has approved.
func votes(p *place, a *attack) func(*perdure.Fold) {
	return func(f *perdure.Fold) {
		q := a.asked()
		q.Votes = []perdure.Vote{{Event: perdure.HashOf([]byte("vote")), Origin: p.owner.Key(), Approve: true}}
		f.Asks, f.Paused, f.Charter.Owner, f.Charter.Scope = []perdure.Asking{q}, nil, p.owner.Key(), "home"
	}
}

// A memory of a stranger's that ends with a lying snapshot, without the bodies that would show it.
var snapshots = []struct {
	name string
	make func(t *testing.T, p *place) *attack
}{
	{"an open decision", func(t *testing.T, p *place) *attack {
		a := weather(t, stranger(t)).write(perdure.Event{Name: "hello"})
		return a.snapshot(claims(p, note(t), perdure.Idempotent)).dropped(1, false)
	}},
	{"a shell that claims to read", func(t *testing.T, p *place) *attack {
		a := weather(t, stranger(t)).write(perdure.Event{Name: "hello"})
		return a.snapshot(claims(p, pay(t), perdure.Read)).dropped(1, false)
	}},
	{"without the body of genesis", func(t *testing.T, p *place) *attack {
		a := weather(t, stranger(t)).write(perdure.Event{Name: "hello"})
		return a.snapshot(claims(p, note(t), perdure.Idempotent)).dropped(1, true)
	}},
	{"votes of the owner", func(t *testing.T, p *place) *attack {
		a := weather(t, stranger(t)).ask(pay(t), perdure.Verdict{})
		return a.snapshot(votes(p, a)).dropped(1, false)
	}},
}

func TestOwnersSnapshotIsResumedFrom(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := weather(t, p.owner).write(perdure.Event{Name: "hello"}).open(note(t), perdure.Idempotent)
	a.snapshot(func(*perdure.Fold) {}).dropped(1, false)
	p.run(a.capsule(p, "weather.agent"), "open", "end")
	p.done(1, "the owner's own snapshot stands for bodies that are gone")
}

func TestLyingSnapshotIsNotResumedFrom(t *testing.T) {
	t.Parallel()
	for _, s := range snapshots {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			through(t, []door{
				{"import, run", false, func(p *place, a *attack) {
					p.perdure("import", a.capsule(p, "weather.agent"))
					p.run("weather", "open", "pay")
				}},
				{"import --trusted, run", false, func(p *place, a *attack) {
					p.refused(p.perdure("import", "--trusted", "--ready", a.capsule(p, "weather.agent")), a.by)
					p.run("weather", "open", "pay")
				}},
				{"run FILE", false, func(p *place, a *attack) {
					if g := p.run(a.capsule(p, "weather.agent"), "open", "pay"); g.code == 0 {
						p.t.Errorf("it ran: %v", g)
					}
				}},
				{"a file in a folder, run", true, func(p *place, a *attack) {
					a.dropIn(p, "weather.agent")
					if g := p.run("weather", "open", "pay"); g.code == 0 {
						p.t.Errorf("it ran: %v", g)
					}
				}},
				{"a file in a folder, node", true, func(p *place, a *attack) {
					a.dropIn(p, "weather.agent")
					p.node("open", "pay")
				}},
				{"import --ready, run", false, func(p *place, a *attack) {
					p.exits(5, "import", "--ready", a.capsule(p, "weather.agent"))
					p.run("weather", "forbid", "end")
				}},
			}, s.make)
		})
	}
}

func TestShallowCapsuleWithALyingSnapshotIsNotResumedFrom(t *testing.T) {
	t.Parallel()
	shallow := func(p *place, a *attack) string {
		a.file(p.path("weather.agent"), capsule.Options{Depth: perdure.Headers})
		return "./weather.agent"
	}
	through(t, []door{
		{"import, run", false, func(p *place, a *attack) {
			p.perdure("import", shallow(p, a))
			p.run("weather", "open", "pay")
		}},
		{"import --trusted, run", false, func(p *place, a *attack) {
			p.refused(p.perdure("import", "--trusted", "--ready", shallow(p, a)), a.by)
			p.run("weather", "open", "pay")
		}},
		{"run FILE", false, func(p *place, a *attack) { p.run(shallow(p, a), "open", "pay") }},
	}, func(t *testing.T, p *place) *attack {
		a := weather(t, stranger(t)).write(perdure.Event{Name: "hello"})
		return a.snapshot(claims(p, note(t), perdure.Idempotent))
	})
}

// The agent is the victim's own; a stranger adds a snapshot and takes the bodies away.
func TestStrangersSnapshotInTheOwnersMemoryIsNotResumedFrom(t *testing.T) {
	t.Parallel()
	through(t, []door{
		{"import over the agent", false, func(p *place, a *attack) {
			b := *a
			b.entries = a.entries[:1]
			p.ok("import", "--ready", b.capsule(p, "mine.agent"))
			if g := p.perdure("import", a.capsule(p, "weather.agent")); g.code != 5 {
				// the bodies are gone, and nobody's word stands for them
				p.t.Errorf("want a refusal, exit code 5, got %v", g)
			}
			p.run("weather", "open", "end")
		}},
		{"run FILE", false, func(p *place, a *attack) { p.run(a.capsule(p, "weather.agent"), "open", "end") }},
		{"a file in a folder, run", true, func(p *place, a *attack) {
			a.dropIn(p, "weather.agent")
			p.run("weather", "open", "end")
		}},
		{"a file in a folder, resume, run", true, func(p *place, a *attack) {
			a.dropIn(p, "weather.agent")
			p.perdure("resume", "weather")
			p.run("weather", "open", "end")
		}},
	}, func(t *testing.T, p *place) *attack {
		a := weather(t, p.owner).write(perdure.Event{Name: "hello"}).as(stranger(t))
		return a.snapshot(claims(p, note(t), perdure.Idempotent)).dropped(1, false)
	})
}

// With all bodies there, what a snapshot says changes nothing.
func TestLyingSnapshotBesideItsBodiesChangesNothing(t *testing.T) {
	t.Parallel()
	lying := func(t *testing.T, p *place) *attack {
		a := weather(t, stranger(t)).write(perdure.Event{Name: "hello"})
		return a.snapshot(claims(p, note(t), perdure.Idempotent))
	}
	through(t, []door{
		{"verify, import", false, func(p *place, a *attack) {
			p.exits(5, "verify", a.capsule(p, "weather.agent"))
			p.exits(5, "import", "--ready", "./weather.agent")
			if names := p.agents(); len(names) > 0 {
				p.t.Errorf("something was written: %v", names)
			}
		}},
		{"run FILE", false, func(p *place, a *attack) { p.run(a.capsule(p, "weather.agent"), "open", "pay") }},
		{"resume FILE, run FILE", false, func(p *place, a *attack) {
			file := a.capsule(p, "weather.agent")
			p.perdure("resume", file)
			p.run(file, "open", "end")
		}},
		{"a file in a folder, run", true, func(p *place, a *attack) {
			a.dropIn(p, "weather.agent")
			p.run("weather", "open", "pay")
		}},
		{"a file in a folder, resume, run", true, func(p *place, a *attack) {
			a.dropIn(p, "weather.agent")
			p.perdure("resume", "weather")
			p.run("weather", "open", "end")
		}},
	}, lying)
}

// Whose the agent is and in what scope it acts is read from genesis and the key changes, whatever a snapshot says.
func TestOwnerAndScopeAreNotASnapshotsWord(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	by := stranger(t)
	p.trust(by, "own", "sandbox")
	for _, genesis := range []bool{false, true} { // is the body of genesis gone as well?
		a := begin(t, by, perdure.Genesis{Charter: perdure.Charter{Scope: "bank"}}).write(perdure.Event{Name: "hello"})
		a.snapshot(func(f *perdure.Fold) { f.Charter.Scope = "sandbox" }).dropped(1, genesis)
		p.exits(5, "import", "--trusted", a.capsule(p, "weather.agent"))
		p.exits(7, "run", "./weather.agent") // it is held
	}
	bare := begin(t, by, perdure.Genesis{Charter: perdure.Charter{Scope: "sandbox"}}).
		write(perdure.Event{Name: "hello"})
	got := p.perdure("run", bare.dropped(1, true).capsule(p, "bare.agent"))
	if id := bare.entries[0].ID().Short(); got.code != 5 || !strings.Contains(got.err, id) {
		t.Errorf("want that agent %s cannot be read, got %s", id, got)
	}

	b := begin(t, by, perdure.Genesis{Charter: perdure.Charter{Scope: "sandbox"}}).write(perdure.Event{Name: "hello"})
	p.ok("import", "--trusted", b.capsule(p, "good.agent"))
}

func TestEndedStrangerDoesNotCancelSomebodysAgent(t *testing.T) {
	t.Parallel()
	for _, d := range []door{
		{"import, run", false, func(p *place, a *attack) {
			p.perdure("import", a.capsule(p, "weather.agent"))
			p.run("weather", "open", "end")
		}},
		{"import --ready, run", false, func(p *place, a *attack) {
			p.perdure("import", "--ready", a.capsule(p, "weather.agent"))
			p.run("weather", "open", "end")
		}},
		{"a file in a folder, run", true, func(p *place, a *attack) {
			a.dropIn(p, "weather.agent")
			p.run("weather", "open", "end")
		}},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := d.at(t)
			p.ok("new", "guard the house", "--name", "guard")
			p.ok("export", "guard", "guard.agent")
			id := reading(t, p.path("guard.agent"), p.owner).agent.ID()
			a := weather(t, stranger(t))
			a.write(perdure.Decision{Action: perdure.End{Signal: perdure.OK}, Verdict: allowed})
			a.snapshot(func(f *perdure.Fold) {
				f.Children = []perdure.ChildInfo{{Agent: id, Decision: perdure.HashOf([]byte("decision"))}}
			}).dropped(1, false)
			d.enter(p, a)
			if s := p.standing("guard"); s != "ready" {
				t.Errorf("an agent that says it is its parent has ended, and guard is %s", s)
			}
		})
	}
}

// delegation adds an open delegation: the agent that comes of it pays.
func (a *attack) delegation() *attack {
	a.t.Helper()
	d := perdure.Delegate{Intent: perdure.Intent{Name: "spawn", Goal: "pay"}}
	g := have(a.agent.Fold().ChildGenesis(&d, perdure.Hash{}))(a.t)
	child := have(have(a.by.Genesis(g, a.at))(a.t).MarshalBinary())(a.t)
	return a.write(perdure.Decision{
		Action: d, Verdict: allowed, Effect: perdure.Idempotent, Child: child,
		Deadline: perdure.TimeOf(a.at.Add(time.Second)),
	})
}

func parent(t *testing.T, by *perdure.Signer) *attack {
	return begin(t, by, perdure.Genesis{Charter: perdure.Charter{Scope: "home", Depth: 2}}).delegation()
}

func TestOwnersOpenDelegationSpawns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("import", "--ready", parent(t, p.owner).capsule(p, "mine.agent"))
	p.run("weather", "open", "wait")
	p.run("spawn", "open", "pay")
	p.done(1, "the child of an open delegation of the owner's")
}

func TestOpenDelegationOfAHeldAgentSpawnsNothing(t *testing.T) {
	t.Parallel()
	noDelegates := openPolicy + `
@id("no-delegates")
forbid (principal, action == Action::"delegate", resource);
`
	for _, d := range append([]door{
		{"import --ready, run, where policy forbids it", false, func(p *place, a *attack) {
			p.write("alone.cedar", noDelegates)
			p.ok("import", "--ready", a.capsule(p, "weather.agent"))
			p.run("weather", "alone", "wait")
		}},
		{"paused by its owner", false, func(p *place, a *attack) {
			b := parent(p.t, p.owner).tell("pause", perdure.Pause{})
			p.ok("import", "--ready", b.capsule(p, "mine.agent"))
			p.run("weather", "open", "wait")
		}},
	}, unadmitted...) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := d.at(t)
			d.enter(p, parent(t, stranger(t)))
			p.run("spawn", "open", "pay")
			p.done(0, "the child of an agent that is not to run")
			for _, name := range p.agents() {
				if name == "spawn" {
					t.Error("a child was stored")
				}
			}
			left, _ := os.ReadDir(p.path("agents")) // there may be none
			for _, f := range left {
				if len(f.Name()) > 5 && f.Name()[:5] == "spawn" {
					t.Error("a child was written to", f.Name())
				}
			}
		})
	}
}

// A courier leaves bodies out of a file and says that it is whole. What was done before nobody can tell then, and
// nothing is done that must happen once.
func TestCouriersLightFileIsNotWhole(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"whole": 1, "light": 0} {
		for _, d := range []door{
			{"import, run", false, func(p *place, a *attack) {
				p.perdure("import", "--ready", a.capsule(p, "weather.agent"))
				p.run("weather", "open", "end")
			}},
			{"run FILE", false, func(p *place, a *attack) { p.run(a.capsule(p, "weather.agent"), "open", "end") }},
			{"a file in a folder, run", true, func(p *place, a *attack) {
				a.dropIn(p, "weather.agent")
				p.run("weather", "open", "end")
			}},
		} {
			t.Run(name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				p := d.at(t)
				a := weather(t, p.owner).write(perdure.Event{Name: "hello"}, perdure.Event{Name: "again"}).
					snapshot(func(*perdure.Fold) {})
				a.write(perdure.Advice{Actions: []perdure.Action{pay(t)}})
				if name == "light" {
					a.dropped(2, false)
				}
				d.enter(p, a)
				p.done(want, "a payment, by a file that is "+name)
			})
		}
	}
}

// A key that is trusted only as an author adds a snapshot that lies to an agent that is here whole. However it comes,
// it does not join: nobody could verify the agent any more.
func TestAuthorsLyingSnapshotDoesNotJoin(t *testing.T) {
	t.Parallel()
	lies := func(f *perdure.Fold) { f.Intent.Goal = "pay mallory" }
	for name, write := range map[string]func(a *attack) *attack{
		"beside its bodies":      func(a *attack) *attack { return a.snapshot(lies) },
		"in the place of bodies": func(a *attack) *attack { return a.snapshot(lies).dropped(1, false) },
		"with an entry before it": func(a *attack) *attack {
			return a.write(perdure.Event{Name: "hi"}).snapshot(lies)
		},
		"honest, then another that is not": func(a *attack) *attack {
			return a.snapshot(func(*perdure.Fold) {}).snapshot(lies)
		},
	} {
		for _, how := range []string{"import", "pull"} {
			t.Run(name+", by "+how, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				a, by := weather(t, p.owner).write(perdure.Event{Name: "hello"}), stranger(t)
				p.ok("import", "--ready", a.capsule(p, "mine.agent"))
				p.trust(by, "author", "home")
				a.at = time.Now()
				gift := write(a.fork(t, by)).capsule(p, "gift.agent")
				if how == "pull" {
					if err := os.MkdirAll(p.path("shelf"), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.Rename(p.path("gift.agent"), p.path("shelf/gift.agent")); err != nil {
						t.Fatal(err)
					}
					p.perdure("pull", "weather", "./shelf")
				} else {
					p.exits(5, "import", gift)
				}
				p.ok("verify", "weather")
				p.ok("export", "weather", "again.agent")
				p.ok("verify", "./again.agent")
			})
		}
	}
}
