package hostile

import (
	"testing"

	"github.com/perdure/perdure"
)

// An author claims the seat where it is, without following anybody's claim. It is handed over all the same, and the
// agent pays where it was moved to, and there alone.
func TestClaimBesideTheOwnersKeepsNoSeat(t *testing.T) {
	t.Parallel()
	for _, claims := range []int{1, 100} {
		p, q := newPlace(t), newPlace(t)
		p.ok("new", "pay", "--name", "payer")
		p.ok("export", "payer", p.path("copy.agent"))
		a := reading(t, p.path("copy.agent"), trusted(p, "nora", "author", "home"))
		for range claims {
			a.tell("seat-taken", perdure.SeatTaken{At: a.agent.Fold().Seats[0].At})
		}
		p.ok("import", a.capsule(p, "gift.agent"))
		p.ok("export", "payer", p.path("moved.agent"), "--move")
		p.run("payer", "open", "pay")
		p.done(0, "where it was moved from")
		q.trust(p.owner, "own", "home")
		q.trust(a.by, "author", "home")
		q.ok("import", "--ready", p.path("moved.agent"))
		q.run("payer", "open", "pay")
		q.done(1, "where it was moved to")
	}
}

// Two homes have the same agent. Only the one whose store has its seat pays, whatever others write about the seat.
func TestCopyOfAnAgentDoesNotPay(t *testing.T) {
	t.Parallel()
	seat := func(a *attack) perdure.Seat { return a.agent.Fold().Seats[0] }
	for name, of := range map[string]struct {
		move   bool                      // the owner hands the seat over
		rights string                    // of who writes about it
		write  func(a *attack, q *place) // what they write
		want   int                       // what is paid in the other home
	}{
		"a plain copy": {want: 0},
		"handed over":  {move: true, want: 1},
		"given by an author": {rights: "author", write: func(a *attack, _ *place) {
			a.tell("seat-given", perdure.SeatGiven{At: seat(a).At, Of: []perdure.Hash{seat(a).Claim}})
		}},
		"given by an author who says they own it": {rights: "author", write: func(a *attack, _ *place) {
			a.tell("seat-given", perdure.SeatGiven{At: seat(a).At, Of: []perdure.Hash{seat(a).Claim}, Owned: true})
		}},
		"given by an owner": {rights: "own", want: 1, write: func(a *attack, _ *place) {
			a.tell("seat-given", perdure.SeatGiven{At: seat(a).At, Of: []perdure.Hash{seat(a).Claim}, Owned: true})
		}},
		"claimed by an author where it is, and given": {rights: "author", write: func(a *attack, _ *place) {
			was := seat(a)
			a.tell("seat-taken", perdure.SeatTaken{At: was.At, Of: []perdure.Hash{was.Claim}})
			a.tell("seat-given", perdure.SeatGiven{At: was.At,
				Of: []perdure.Hash{was.Claim, a.entries[len(a.entries)-1].Name}})
		}},
		"claimed by an author, and given on": {rights: "author", write: func(a *attack, _ *place) {
			first, at := seat(a).Claim, perdure.HashOf([]byte("nowhere"))
			a.tell("seat-taken", perdure.SeatTaken{At: at})
			second := a.agent.Fold().Seats[1].Claim
			a.tell("seat-given", perdure.SeatGiven{At: at, Of: []perdure.Hash{first, second}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, q := newPlace(t), newPlace(t)
			p.ok("new", "pay", "--name", "payer")
			export := []string{"export", "payer", p.path("copy.agent")}
			if of.move {
				export = append(export, "--move")
			}
			p.ok(export...)
			q.trust(p.owner, "own", "home")
			a := reading(t, p.path("copy.agent"), p.owner)
			if of.write != nil {
				of.write(a.as(trusted(q, "nora", of.rights, "home")), q)
			}
			q.perdure("import", "--trusted", "--ready", a.capsule(q, "gift.agent"))
			q.run("payer", "open", "pay")
			q.done(of.want, name)
			if !of.move && of.want == 0 {
				p.run("payer", "open", "pay")
				p.done(1, "where the seat is")
			}
		})
	}
}
