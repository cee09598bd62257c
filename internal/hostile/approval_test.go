package hostile

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// arrive are the ways for a memory to come to a place, which trusts its owner, and be worked on under a policy that
// asks.
var arrive = []door{
	{"import, run", false, func(p *place, a *attack) {
		p.perdure("import", "--ready", a.capsule(p, "weather.agent"))
		p.run("weather", "ask", "end")
	}},
	{"run FILE", false, func(p *place, a *attack) { p.run(a.capsule(p, "weather.agent"), "ask", "end") }},
	{"a file in a folder, run", true, func(p *place, a *attack) {
		a.dropIn(p, "weather.agent")
		p.run("weather", "ask", "end")
	}},
}

// uses adds an open decision that uses the last entry as its approval.
func (a *attack) uses(x perdure.Execute, at time.Time) *attack {
	a.t.Helper()
	vote := a.last()
	a.at = at
	return a.write(perdure.Decision{
		Action: x, Verdict: allowed, Effect: perdure.Idempotent, Approvals: []perdure.Hash{vote},
		Deadline: perdure.TimeOf(at.Add(time.Second)),
	})
}

// harmless is a call that writes a file, and not the ledger.
func harmless(t *testing.T) perdure.Execute {
	t.Helper()
	return perdure.Execute{Tool: "files.write", Args: have(perdure.DataOf(
		map[string]any{"path": "receipt", "text": "nothing"}))(t)}
}

// An author decides, with the owner's approval of something.
func TestApprovalOfOneActionIsNoneOfAnother(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		asked func(*testing.T) perdure.Execute
		want  int
	}{"the same action": {note, 1}, "another action": {harmless, 0}} {
		for _, d := range arrive {
			t.Run(name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				p := d.at(t)
				a := weather(t, p.owner).ask(of.asked(t), perdure.Verdict{}).vote()
				d.enter(p, a.as(trusted(p, "nora", "author", "home")).uses(note(t), a.at))
				p.done(of.want, "a payment, with the approval of "+name)
			})
		}
	}
}

// An author decides by a clock of its own, with an approval that held for a minute.
func TestApprovalThatHasLapsedLetsNothingHappen(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		holds time.Duration
		want  int
	}{"holds": {24 * time.Hour, 1}, "has lapsed": {time.Minute, 0}} {
		for _, d := range arrive {
			t.Run(name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				p := d.at(t)
				a := weather(t, p.owner).ask(note(t), perdure.Verdict{})
				q := a.asked()
				a.tell("approval", perdure.Approval{
					Decision: q.Decision, Digest: q.Digest, Approve: true, Expires: perdure.TimeOf(a.at.Add(of.holds)),
				})
				d.enter(p, a.fork(t, trusted(p, "nora", "author", "home")).uses(note(t), a.at.Add(time.Second)))
				p.done(of.want, "a payment, with an approval that "+name)
				other := d.at(t) // where nobody has decided yet
				b := weather(t, other.owner).ask(note(t), perdure.Verdict{})
				b.tell("approval", perdure.Approval{
					Decision: b.asked().Decision, Digest: b.asked().Digest, Approve: true,
					Expires: perdure.TimeOf(b.at.Add(of.holds)),
				})
				d.enter(other, b)
				other.done(of.want, "a payment to be decided here, with an approval that "+name)
			})
		}
	}
}

// An approver dates a vote back to before the question lapsed; nobody has recorded that it did.
func TestVoteIsLateByTheClockHere(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		lapses time.Duration // after the question was asked, an hour ago
		want   int
	}{"in time": {2 * time.Hour, 1}, "dated back": {time.Minute, 0}} {
		for _, d := range arrive {
			for _, decided := range []bool{false, true} { // by an author who says that this was in time, too
				t.Run(fmt.Sprint(name, "/", d.name, "/decided elsewhere: ", decided), func(t *testing.T) {
					t.Parallel()
					p := d.at(t)
					a := weather(t, p.owner)
					a.ask(note(t), perdure.Verdict{Expires: perdure.TimeOf(a.at.Add(of.lapses))}).vote()
					if decided {
						a.as(trusted(p, "nora", "author", "home")).uses(note(t), a.at.Add(time.Second))
					}
					d.enter(p, a)
					p.done(of.want, "a payment whose approval is "+name)
				})
			}
		}
	}
}

// An author says that a question has gone on to more people, long before its time.
func TestQuestionGoesOnToOthersInItsTimeOnly(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		after string
		want  int
	}{"in its time": {"1s", 1}, "too early": {"1000h", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("ask.cedar", openPolicy+`
@id("writes-ask")
@obligation("approval:carol;escalate=`+of.after+`:dave")
forbid (principal, action == Action::"execute", resource) unless { context.effect == Effect::"read" };
`)
			p.ok("new", "pay the bill", "--name", "bill")
			if g := p.run("bill", "ask", "pay"); g.code != 7 {
				t.Fatalf("it does not ask: %v", g)
			}
			p.ok("export", "bill", "bill.agent")
			a := reading(t, p.path("bill.agent"), trusted(p, "nora", "author", "home"))
			a.tell("escalated", perdure.Escalated{Decision: a.asked().Decision, Stage: 1})
			p.ok("import", a.as(trusted(p, "dave", "approve", "home")).vote().capsule(p, "gift.agent"))
			p.run("bill", "ask", "pay")
			for end := time.Now().Add(patience); of.want > 0 && p.ledger() == 0 && time.Now().Before(end); {
				p.run("bill", "ask", "pay") // a second is the shortest time that policy knows
			}
			p.done(of.want, "a payment that the second of two may approve, "+name)
		})
	}
}

// refusal is a refusal of what is asked, on top of what there is, which comes before or after an entry in the fold.
func (a *attack) refusal(by *perdure.Signer, than perdure.Hash, before bool) *attack {
	a.t.Helper()
	for i := range 1000 {
		b := a.fork(a.t, by)
		b.at = b.at.Add(time.Duration(i) * time.Millisecond) // another time, another name
		q := b.asked()
		b.tell("approval", perdure.Approval{Decision: q.Decision, Digest: q.Digest})
		if (b.last().Compare(than) < 0) == before {
			return b
		}
	}
	a.t.Fatal("no such name")
	return nil
}

// A payment is approved and made. Then a refusal comes that was written meanwhile, elsewhere.
func TestLateRefusalByWhoeverDoesNotPayTwice(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"dave", "carol"} { // carol was asked, dave was not
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprint(who, ", before the decision: ", before), func(t *testing.T) {
				t.Parallel()
				p := approved(t, false)
				by := trusted(p, who, "approve", "home")
				p.ok("export", "bill", "then.agent")
				p.run("bill", "ask", "pay")
				p.done(1, "an approved payment")
				p.ok("export", "bill", "now.agent")
				now := reading(t, p.path("now.agent"), p.owner)
				i := slices.IndexFunc(now.entries, func(e *perdure.Entry) bool {
					d, ok := e.Content().(perdure.Decision)
					return ok && len(d.Approvals) > 0
				})
				late := reading(t, p.path("then.agent"), by).refusal(by, now.entries[i].Name, before)
				p.ok("import", late.capsule(p, "late.agent"))
				for range 3 {
					p.run("bill", "ask", "pay")
				}
				p.done(1, "a payment that somebody refused when it had been made")
				if n := strings.Count(p.ok("log", "bill", "-o", "jsonl"), "\n"); n > 30 {
					t.Errorf("the memory has %d entries: it goes round in circles", n)
				}
			})
		}
	}
}

func TestRefusalByWhoeverWasNotAskedIsNone(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]int{"carol": 0, "dave": 1} { // carol was asked, dave was not
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			p := approved(t, false)
			p.ok("export", "bill", "bill.agent")
			by := trusted(p, who, "approve", "home")
			a := reading(t, p.path("bill.agent"), by)
			q := a.asked()
			p.ok("import", a.tell("approval", perdure.Approval{Decision: q.Decision, Digest: q.Digest}).
				capsule(p, "no.agent"))
			p.run("bill", "ask", "pay")
			p.done(want, "a payment that the owner approved and "+who+" refused")
		})
	}
}

// A fork begins where the agent was, with its question and its approval behind it.
func TestApprovalIsNoneOnAFork(t *testing.T) {
	t.Parallel()
	p := approved(t, false)
	p.ok("fork", "bill@0", "--live", "--name", "again")
	p.exits(7, append([]string{"run", "again"}, powers("ask", "pay")...)...)
	p.done(0, "a fork of an agent that has an approval")

	// Somebody who may write to it brings the approval along, as it was signed.
	p.ok("export", "again", "again.agent")
	p.ok("export", "bill", "bill.agent")
	bill := reading(t, p.path("bill.agent"), p.owner)
	vote := bill.entries[slices.IndexFunc(bill.entries, func(e *perdure.Entry) bool {
		ev, _ := e.Content().(perdure.Event)
		_, ok := ev.Notice.(perdure.Approval)
		return ok
	})]
	ev, _ := vote.Content().(perdure.Event)
	a := reading(t, p.path("again.agent"), trusted(p, "nora", "author,approve", "home")).write(ev)
	p.perdure("import", a.uses(pay(t), time.Now().Add(-time.Minute)).capsule(p, "gift.agent"))
	p.run("again", "ask", "pay")
	p.done(0, "a fork, and the words of an approval of the other")

	p.run("bill", "ask", "pay")
	p.done(1, "the agent itself")
}

// One approval, used by two nodes that do not know of each other.
func TestApprovalIsUsedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.propose("note", "files.append", "path: ledger, text: paid")
	p.ok("new", "pay the bill", "--name", "bill")
	if g := p.run("bill", "ask", "note"); g.code != 7 {
		t.Fatalf("it does not ask: %v", g)
	}
	p.ok("approve", "bill")
	p.ok("export", "bill", "then.agent")
	p.run("bill", "ask", "note")
	p.done(1, "an approved payment")
	a := reading(t, p.path("then.agent"), trusted(p, "nora", "author", "home"))
	x, _ := a.asked().Action.(perdure.Execute)
	p.perdure("import", a.uses(x, time.Now().Add(-time.Minute)).capsule(p, "gift.agent"))
	p.run("bill", "ask", "end")
	p.done(1, "the same approval, used again on another branch")
}

// A payment that was approved once is made in two copies. When they meet, somebody is asked to look, and nothing is
// made again.
func TestPaymentMadeInTwoCopiesIsAskedAbout(t *testing.T) {
	t.Parallel()
	p := approved(t, false)
	p.ok("export", "bill", "then.agent")
	p.run("bill", "ask", "pay")
	p.done(1, "an approved payment")
	a := reading(t, p.path("then.agent"), trusted(p, "nora", "author", "home"))
	x, _ := a.asked().Action.(perdure.Execute)
	vote := a.asked().Votes[0].Event
	a.write(perdure.Decision{Action: x, Verdict: allowed, Effect: perdure.Once, Approvals: []perdure.Hash{vote},
		Deadline: perdure.TimeOf(time.Now())})
	a.write(perdure.Outcome{Decision: a.last(), Signal: perdure.OK})
	if n := p.ok("inbox", "--json", "--jq", "length"); n != "0" {
		t.Fatalf("%s things wait for somebody before the copies meet", n)
	}
	p.ok("import", a.capsule(p, "gift.agent"))
	for range 2 { // before and after a node has recorded it
		if kinds := p.ok("inbox", "-o", "jsonl", "--jq", ".kind"); kinds != "doubled" {
			t.Errorf("somebody is asked about %q, want what was doubled", kinds)
		}
		p.run("bill", "ask", "pay")
		p.done(1, "a payment that was made in another copy as well")
	}
}

// An agent brings a policy along that asks other people as well, or instead of the owner who does not answer.
func TestPolicyOfAnAgentBringsNoApprovers(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]string{
		"it escalates": "approval:owner;escalate=1s:bob", "it asks others": "approval:bob,carol",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mallory := newPlace(t)
			mallory.write("own.cedar", `@id("own") @obligation("`+own+
				`") forbid (principal, action == Action::"execute", resource);`)
			mallory.write("intent.yaml", "name: weather\ngoal: tell the weather\npolicies: [own.cedar]\n")
			mallory.ok("new", "-f", "intent.yaml")
			mallory.ok("export", "weather", "weather.agent")

			p := newPlace(t)
			bob, carol := trusted(p, "bob", "approve", "home"), trusted(p, "carol", "approve", "home")
			p.propose("write", "files.write", `path: ledger, text: paid`)
			p.write("weather.agent", string(have(os.ReadFile(mallory.path("weather.agent")))(t)))
			p.ok("import", "--ready", "./weather.agent")
			p.run("weather", "ask-beacon", "write")
			for _, by := range []*perdure.Signer{bob, carol} {
				p.ok("export", "--force", "weather", "asked.agent")
				p.ok("import", reading(t, p.path("asked.agent"), by).vote().capsule(p, "voted.agent"))
			}
			time.Sleep(1100 * time.Millisecond) // until the question goes on to others, if it does
			p.run("weather", "ask-beacon", "write")
			p.done(0, "what the policy here asks the owner about, with approvals of others")
			p.ok("approve", "weather", "--yes")
			p.run("weather", "ask-beacon", "write")
			p.done(1, "the same, when the owner approved it, too")
		})
	}
}
