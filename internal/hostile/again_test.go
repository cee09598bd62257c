package hostile

import (
	"testing"

	"github.com/perdure/perdure"
)

// A live agent has a payment under way whose outcome nobody knows, and an advisor that would pay again. An author says
// of it that it did not happen, in every way there is, and the agent is run again and again, each time by a new
// process.
func TestAdvisorDoesNotPayAgainOnAnAuthorsWord(t *testing.T) {
	t.Parallel()
	signals := map[string]perdure.Signal{
		"failed": perdure.Failed, "denied": perdure.Denied, "timed out": perdure.TimedOut, "silent": perdure.Silent,
		"partial":   perdure.Partial,
		"incapable": perdure.Incapable, "throttled": perdure.Throttled,
	}
	for name, s := range signals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			for what, say := range map[string]func(*attack, perdure.Hash){
				"told": func(a *attack, d perdure.Hash) {
					a.write(perdure.Outcome{Decision: d, Signal: s, RetryAfter: 1})
				},
				"looked": func(a *attack, d perdure.Hash) {
					a.write(perdure.Outcome{Decision: d, Signal: s, Reconciled: true})
				},
				"settle": func(a *attack, d perdure.Hash) { a.tell("settle", perdure.Settle{Decision: d, Signal: s}) },
			} {
				p.ok("new", "pay", "--name", what)
				p.ok("export", what, p.path(what+".agent"))
				a := reading(t, p.path(what+".agent"), p.owner).open(pay(t), perdure.Once)
				p.ok("import", a.capsule(p, what+"-1.agent"))
				decision := a.agent.Fold().Open[0].Decision
				say(a.as(trusted(p, "nora-"+what, "author", "home")), decision)
				p.perdure("import", a.capsule(p, what+"-2.agent")) // that may be refused: what counts is the ledger
				for range 2 {
					p.run(what, "open", "pay")
				}
				p.done(0, "a payment that may have been made, "+what+" by an author as "+name)
			}
		})
	}
}
