package hostile

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/keyfile"
)

// intrusion is something to write into an agent that is here.
type intrusion struct {
	name  string
	right string // what a key must be trusted with to write it
	write func(a *attack) *attack
}

// intrusions change an agent, each in its own way, when the owner writes them.
var intrusions = []intrusion{
	{"an approval", "approve", func(a *attack) *attack { return a.vote() }},
	{"a refusal", "approve", func(a *attack) *attack {
		q := a.asked()
		return a.tell("approval", perdure.Approval{Decision: q.Decision, Digest: q.Digest})
	}},
	{"a forged question", "author", func(a *attack) *attack {
		return a.ask(note(a.t), perdure.Verdict{Asked: []string{a.by.Name}})
	}},
	{"an allowed decision", "author", func(a *attack) *attack { return a.open(note(a.t), perdure.Read) }},
	{"an advice", "author", func(a *attack) *attack {
		return a.write(perdure.Advice{Actions: []perdure.Action{note(a.t)}})
	}},
	{"a message", "author", func(a *attack) *attack { return a.write(perdure.Event{Name: "hello"}) }},
	{"a value of its state", "author", func(a *attack) *attack {
		return a.write(perdure.Event{Name: "set", Set: map[string]perdure.Data{"limit": have(perdure.DataOf(9))(a.t)}})
	}},
	{"an outcome", "author", func(a *attack) *attack {
		return a.write(perdure.Outcome{Decision: a.agent.Fold().Open[0].Decision, Signal: perdure.OK})
	}},
	{"a settling", "author", func(a *attack) *attack {
		return a.tell("settle", perdure.Settle{Decision: a.agent.Fold().Open[0].Decision, Signal: perdure.OK})
	}},
	{"a pause", "author", func(a *attack) *attack { return a.tell("pause", perdure.Pause{}) }},
	{"a resume", "approve", func(a *attack) *attack {
		return a.tell("resume", perdure.Resume{Of: a.agent.Fold().Paused})
	}},
	{"a cancel", "author", func(a *attack) *attack { return a.tell("cancel", perdure.Cancel{}) }},
	{"an edit", "author", func(a *attack) *attack {
		goal := "pay mallory"
		return a.tell("edit", perdure.Edit{Mutate: perdure.Mutate{Goal: &goal}})
	}},
	{"a grant", "own", func(a *attack) *attack {
		return a.tell("grant", perdure.Grant{Amount: perdure.Spend{Calls: 1000}})
	}},
	{"a new owner", "own", func(a *attack) *attack { return a.tell("key", perdure.KeyChange{Owner: a.by.Key()}) }},
	{"a revocation", "own", func(a *attack) *attack {
		return a.tell("key", perdure.KeyChange{Revoke: stranger(a.t).Key()})
	}},
}

// bill is an agent of the owner's with everything in it that somebody could want to answer: a question, an effect
// nobody knows the outcome of, a budget and a pause.
func bill(p *place) *attack {
	p.t.Helper()
	calls := int64(10)
	a := begin(p.t, p.owner, perdure.Genesis{Intent: perdure.Intent{Name: "bill", Goal: "pay the bill",
		Budget: &perdure.Budget{Calls: &calls}}})
	a.ask(pay(p.t), perdure.Verdict{}).open(pay(p.t), perdure.Once).tell("pause", perdure.Pause{Note: "wait"})
	p.ok("import", "--ready", a.capsule(p, "bill.agent"))
	return a
}

// named are the intrusions of these names.
func named(names ...string) []intrusion {
	return slices.DeleteFunc(slices.Clone(intrusions), func(i intrusion) bool {
		return !slices.Contains(names, i.name)
	})
}

// intrude tries to write into an agent that is here, and wants nothing changed.
func intrude(t *testing.T, list []intrusion, who func(p *place) *perdure.Signer, hint bool) {
	t.Helper()
	p := newPlace(t)
	by := who(p)
	a := bill(p)
	before := p.state("bill")
	for _, i := range list {
		g := p.perdure("import", i.write(a.fork(t, by)).capsule(p, "gift.agent"))
		if hint {
			p.refused(g, by)
		} else if g.code != 5 || !g.says("key.trusted") || !g.says(by.Key().Short()) {
			t.Errorf("%s: want a refusal that names the key, got %v", i.name, g)
		}
		if now := p.state("bill"); now != before {
			t.Errorf("%s by a key without the right changed the agent:\n%s\nbefore:\n%s", i.name, now, before)
			before = now
		}
		if t.Failed() {
			t.Logf("that was %s", i.name)
			return
		}
	}
}

func TestOwnersEntriesEnterAnAgentThatIsHere(t *testing.T) {
	t.Parallel()
	for _, i := range intrusions {
		t.Run(i.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a := bill(p)
			before := p.state("bill")
			p.ok("import", i.write(a.fork(t, p.owner)).capsule(p, "gift.agent"))
			if p.state("bill") == before {
				t.Error("the owner's own entry changed nothing: the attack would prove nothing")
			}
		})
	}
}

func TestStrangersEntriesDoNotEnterAnAgentThatIsHere(t *testing.T) {
	t.Parallel()
	for _, i := range intrusions {
		t.Run(i.name, func(t *testing.T) {
			t.Parallel()
			intrude(t, []intrusion{i}, func(p *place) *perdure.Signer { return stranger(p.t) }, true)
		})
	}
}

func TestAuthorsMayNotApproveOrOwn(t *testing.T) {
	t.Parallel()
	list := named("an approval", "a refusal", "a resume", "a new owner", "a revocation")
	intrude(t, list, func(p *place) *perdure.Signer {
		s := stranger(p.t)
		p.trust(s, "author", "home")
		return s
	}, true)
}

func TestApproversMayNotAuthor(t *testing.T) {
	t.Parallel()
	list := named("an allowed decision", "an advice", "an edit", "a cancel", "a new owner")
	intrude(t, list, func(p *place) *perdure.Signer {
		s := stranger(p.t)
		p.trust(s, "approve", "home")
		return s
	}, true)
}

// An approver's word is judged by everything that comes with it. Without that it is taken.
func TestApproversWordCarriesNothingElse(t *testing.T) {
	t.Parallel()
	nothing, limit := perdure.HashOf([]byte("nothing")), have(perdure.DataOf(9999))(t)
	words := map[string]perdure.Event{
		"approval": {Notice: perdure.Approval{Decision: nothing, Approve: true}},
		"resume":   {Notice: perdure.Resume{}},
		"settle":   {Notice: perdure.Settle{Decision: nothing, Signal: perdure.OK}},
	}
	loads := map[string]func(ev *perdure.Event){
		"state":                 func(ev *perdure.Event) { ev.Set = map[string]perdure.Data{"limit": limit} },
		"data":                  func(ev *perdure.Event) { ev.Data = have(perdure.DataOf("pay mallory"))(t) },
		"the name of a message": func(ev *perdure.Event) { ev.Name = "go" },
		"the runtime's name":    func(ev *perdure.Event) { ev.By = "runtime" },
		"the word owner":        func(ev *perdure.Event) { ev.By = "Owner" },
	}
	for _, charter := range []bool{false, true} {
		for name, word := range words {
			t.Run(name+map[bool]string{true: ", by the charter"}[charter], func(t *testing.T) {
				t.Parallel()
				p, by, g := newPlace(t), stranger(t), called("weather", "tell the weather")
				if charter {
					g.Charter.Approvers = []perdure.Key{by.Key()}
				} else {
					p.trust(by, "approve", "home")
				}
				a := begin(t, p.owner, g)
				p.ok("import", "--ready", a.capsule(p, "mine.agent"))
				before := p.state("weather")
				word.Name, word.By = name, by.Name
				for what, load := range loads {
					ev := word
					load(&ev)
					g := p.perdure("import", a.fork(t, by).write(ev).capsule(p, "gift.agent"))
					if p.refused(g, by); p.state("weather") != before {
						t.Fatalf("with %s it changed the agent", what)
					}
				}
				p.ok("import", a.fork(t, by).write(word).capsule(p, "gift.agent"))
			})
		}
	}
}

// What wakes an agent is an author's to say.
func TestApproverWakesNobody(t *testing.T) {
	t.Parallel()
	p, by := newPlace(t), stranger(t)
	p.write("sleep.yaml", "turns:\n  - sleep: {on: go}\n"+payScript[len("turns:\n"):])
	p.trust(by, "approve", "home")
	p.ok("new", "pay when told to", "--name", "payer")
	p.run("payer", "open", "sleep")
	p.ok("export", "payer", "payer.agent")
	a := reading(t, p.path("payer.agent"), by)
	a.write(perdure.Event{Name: "go", By: "victim", Notice: perdure.Settle{Signal: perdure.OK}})
	p.refused(p.perdure("import", a.capsule(p, "gift.agent")), by)
	p.run("payer", "open", "sleep")
	p.done(0, "an approver's settlement of nothing, by the name of what the agent waits for")
	p.ok("send", "payer", "go")
	p.run("payer", "open", "sleep")
	p.done(1, "the owner's own event")
}

func TestTrustInAnotherScopeIsNoneHere(t *testing.T) {
	t.Parallel()
	intrude(t, named("an approval", "a cancel", "an edit", "a message", "a new owner"), func(p *place) *perdure.Signer {
		s := stranger(p.t)
		p.trust(s, "own", "elsewhere")
		return s
	}, true)
}

func TestRevokedKeyIsAStranger(t *testing.T) {
	t.Parallel()
	intrude(t, named("an approval", "a cancel", "an edit", "a message", "a new owner"), func(p *place) *perdure.Signer {
		s := stranger(p.t)
		p.trust(s, "own", "*")
		p.ok("key", "trust", s.VerifierKey(), "--revoke")
		return s
	}, false)
}

func TestTrustedKeysEntriesEnter(t *testing.T) {
	t.Parallel()
	for _, i := range named("an approval", "a cancel", "a message") {
		t.Run(i.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			by := stranger(t)
			a := bill(p)
			before := p.state("bill")
			file := i.write(a.fork(t, by)).capsule(p, "gift.agent")
			p.refused(p.perdure("import", file), by)
			p.trust(by, i.right, "home")
			p.ok("import", file)
			if p.state("bill") == before {
				t.Error("what a key wrote that is trusted with it changed nothing")
			}
		})
	}
}

// Only the end of a memory is a door, too.
func TestStrangersEndOfAMemoryDoesNotEnter(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	by := stranger(t)
	a := bill(p)
	before := p.state("bill")
	b := a.fork(t, by).snapshot(func(f *perdure.Fold) {
		f.Paused, f.Asks, f.Open = nil, nil, nil
	}).tell("hello", perdure.Pause{})
	b.file(p.path("end.agent"), capsule.Options{Depth: perdure.Last(0)})
	p.refused(p.perdure("import", "end.agent"), by)
	if now := p.state("bill"); now != before {
		t.Errorf("the end of a memory by a stranger changed the agent: %s", now)
	}
}

// ballot is a question and who votes for it.
type ballot struct {
	name   string
	asked  []string
	quorum int64
	lapsed bool // the question lapsed before the votes
	cast   func(p *place, a *attack)
	want   int

	chartered bool // the charter names an approver
}

// voters make keys of a place.
func trusted(p *place, name, rights, scope string) *perdure.Signer {
	s := have(perdure.GenerateSigner(name))(p.t)
	p.trust(s, rights, scope)
	return s
}

var ballots = []ballot{
	// these count
	{"the owner", nil, 1, false, func(p *place, a *attack) { a.vote() }, 1, false},
	{"an approver of the charter", nil, 1, false, func(p *place, a *attack) { a.as(approver(p)).vote() }, 1, true},
	{"somebody asked by name", []string{"carol"}, 1, false, func(p *place, a *attack) {
		a.as(trusted(p, "carol", "approve", "home")).vote()
	}, 1, false},
	{"two who were asked", []string{"owner", "carol"}, 2, false, func(p *place, a *attack) {
		a.vote().as(trusted(p, "carol", "approve", "home")).vote()
	}, 1, false},
	// these do not
	{"nobody", nil, 1, false, func(*place, *attack) {}, 0, false},
	{"a stranger", nil, 1, false, func(p *place, a *attack) { a.as(stranger(p.t)).vote() }, 0, false},
	{"a stranger of the name that is asked", []string{"carol"}, 1, false, func(p *place, a *attack) {
		a.as(have(perdure.GenerateSigner("carol"))(p.t)).vote()
	}, 0, false},
	{"a stranger who calls itself owner", nil, 1, false, func(p *place, a *attack) {
		a.as(have(perdure.GenerateSigner("owner"))(p.t)).vote()
	}, 0, false},
	{"an author", []string{"mallory"}, 1, false, func(p *place, a *attack) {
		a.as(trusted(p, "mallory", "author", "home")).vote()
	}, 0, false},
	{"an approver of another scope", []string{"mallory"}, 1, false, func(p *place, a *attack) {
		a.as(trusted(p, "mallory", "approve", "elsewhere")).vote()
	}, 0, false},
	{"a revoked approver", []string{"mallory"}, 1, false, func(p *place, a *attack) {
		s := trusted(p, "mallory", "approve", "home")
		p.ok("key", "trust", s.VerifierKey(), "--revoke")
		a.as(s).vote()
	}, 0, false},
	{"an approver who was not asked", []string{"carol"}, 1, false, func(p *place, a *attack) {
		trusted(p, "carol", "approve", "home")
		a.as(trusted(p, "dave", "approve", "home")).vote()
	}, 0, false},
	{"one key twice", nil, 2, false, func(p *place, a *attack) { a.vote().vote() }, 0, false},
	{"the owner and a stranger, of two", nil, 2, false, func(p *place, a *attack) {
		a.vote().as(stranger(p.t)).vote()
	}, 0, false},
	{"the owner, for another digest", nil, 1, false, func(p *place, a *attack) {
		a.tell("approval", perdure.Approval{Decision: a.asked().Decision, Digest: perdure.HashOf([]byte("else")),
			Approve: true})
	}, 0, false},
	{"the owner, for another decision", nil, 1, false, func(p *place, a *attack) {
		a.tell("approval", perdure.Approval{Decision: perdure.HashOf([]byte("else")), Digest: a.asked().Digest,
			Approve: true})
	}, 0, false},
	{"the owner, too late", nil, 1, true, func(p *place, a *attack) { a.vote() }, 0, false},
}

// approver is the key that the charter of a ballot names.
func approver(p *place) *perdure.Signer {
	p.t.Helper()
	path := p.path("approver")
	if s, err := keyfile.Read(path); err == nil {
		return s
	}
	s := have(perdure.GenerateSigner("erin"))(p.t)
	must(p.t, keyfile.Write(path, s))
	return s
}

// hold asks and lets people vote.
func (b *ballot) hold(p *place) *attack {
	g := perdure.Genesis{}
	if b.chartered {
		g.Charter.Approvers = []perdure.Key{approver(p).Key()}
	}
	a := begin(p.t, p.owner, g)
	v := perdure.Verdict{Asked: b.asked, Quorum: b.quorum, Rules: []string{"writes-ask"}}
	if b.lapsed {
		v.Expires = perdure.TimeOf(a.at.Add(time.Minute))
	}
	a.ask(pay(p.t), v)
	a.at = time.Now().Add(-time.Second)
	b.cast(p, a)
	return a
}

// count holds a ballot at a door.
func (b *ballot) count(t *testing.T, enter func(p *place, a *attack), folder bool) {
	t.Run(b.name, func(t *testing.T) {
		t.Parallel()
		d := door{folder: folder}
		p := d.at(t)
		enter(p, b.hold(p))
		p.done(b.want, "votes of "+b.name)
	})
}

func TestOnlyVotesOfThoseAskedCountInAFile(t *testing.T) {
	t.Parallel()
	for _, b := range ballots {
		b.count(t, func(p *place, a *attack) {
			file := a.capsule(p, "weather.agent")
			p.perdure("resume", file) // whoever lets it go on has not voted
			p.run(file, "ask", "end")
		}, false)
	}
}

func TestOnlyVotesOfThoseAskedCountInAFolder(t *testing.T) {
	t.Parallel()
	for _, b := range ballots {
		b.count(t, func(p *place, a *attack) {
			a.dropIn(p, "weather.agent")
			p.perdure("resume", "weather")
			p.run("weather", "ask", "end")
		}, true)
	}
}

func TestOnlyVotesOfThoseAskedCountAfterImport(t *testing.T) {
	t.Parallel()
	for _, b := range ballots {
		b.count(t, func(p *place, a *attack) {
			p.perdure("import", "--ready", a.capsule(p, "weather.agent"))
			p.run("weather", "ask", "end")
		}, false)
	}
}

func TestStrangersApprovalDoesNotPay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("new", "pay the bill", "--name", "bill")
	if g := p.run("bill", "ask", "pay"); g.code != 7 {
		t.Fatalf("it does not ask: %v", g)
	}
	p.ok("export", "bill", "bill.agent")
	by := stranger(t)
	a := reading(t, p.path("bill.agent"), by).vote()
	p.refused(p.perdure("import", a.capsule(p, "gift.agent")), by)
	p.exits(7, append([]string{"run", "bill"}, powers("ask", "pay")...)...)
	p.done(0, "an approval by a stranger")

	p.ok("approve", "bill")
	p.run("bill", "ask", "pay")
	p.done(1, "an approval by the owner")
}

func TestForgedQuestionWithItsOwnAnswerDoesNotPay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("new", "wait", "--name", "bill")
	p.ok("export", "bill", "bill.agent")
	by := stranger(t)
	a := reading(t, p.path("bill.agent"), by).ask(pay(t), perdure.Verdict{Asked: []string{"mallory"}}).vote()
	p.refused(p.perdure("import", a.capsule(p, "gift.agent")), by)
	p.run("bill", "ask", "end")
	p.done(0, "a stranger's question with the stranger's answer")
}

// TestStrangersWordsInAFileStopNothing: a copy of an agent with a stranger's entry on top, run as a file, neither makes
// the agent that is here an older copy nor ends it for whoever looks at the file.
func TestStrangersWordsInAFileStopNothing(t *testing.T) {
	t.Parallel()
	for _, i := range named("a message", "a cancel") {
		t.Run(i.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a := bill(p)
			before := p.state("bill")
			file := i.write(a.fork(t, stranger(t))).capsule(p, "gift.agent")
			if g := p.run(file, "open", "end"); g.code != 7 || g.says("has ended") {
				t.Errorf("run of the file: want it held, got %v", g)
			}
			if g := p.perdure("show", file); !g.says("held") || g.says("terminated") {
				t.Errorf("show of the file: want it held, got %v", g)
			}
			if g := p.run("bill", "open", "end"); g.says("older") {
				t.Errorf("the agent here is taken for an older copy: %v", g)
			}
			if now := p.state("bill"); now != before {
				t.Errorf("it changed:\n%s\nbefore:\n%s", now, before)
			}
		})
	}
}
