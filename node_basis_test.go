package perdure_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// market is a node with an agent that looks at a price, and then proposes to pay, on the basis of the price.
type market struct {
	resting
	price  int
	looks  int
	paid   int
	stale  int64
	unread bool             // it pays without having looked at the price
	after  []perdure.Action // before it pays
	heard  []string         // the events that its advisor was shown
}

func newMarket(t *testing.T) *market {
	t.Helper()
	s := &market{price: 10}
	look := &tool{spec: perdure.Spec{Name: "price", Effect: perdure.Read},
		call: func(context.Context, perdure.Call) (perdure.Result, error) {
			s.looks++
			d, err := perdure.DataOf(map[string]any{"price": s.price})
			return perdure.Result{Data: d}, err
		}}
	pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once},
		call: func(context.Context, perdure.Call) (perdure.Result, error) {
			s.paid++
			return perdure.Result{}, nil
		}}
	adv := perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		for _, m := range a.Fold().Inbox {
			s.heard = append(s.heard, m.Name)
		}
		switch a.Fold().Turns {
		case 0:
			look := perdure.Execute{Tool: "price"}
			if s.unread {
				look.Args = []byte{0xa0}
			}
			return perdure.Advice{Actions: []perdure.Action{look}}, nil
		case 1:
			return perdure.Advice{
				Actions: append(s.after, perdure.Execute{Tool: "pay"}),
				Basis: &perdure.Basis{Stale: s.stale,
					Reads: []perdure.Assumption{{Read: perdure.Execute{Tool: "price"}}}},
			}, nil
		}
		return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
	})
	n := newNode(t, new(perdure.MemStore), adv, look, pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	s.resting = resting{t, n, create(t, n, perdure.Genesis{})}
	return s
}

// want checks what has happened in the world.
func (s *market) want(looks, paid int, turns int64) {
	s.t.Helper()
	if f := s.fold(); s.looks != looks || s.paid != paid || f.Turns != turns {
		s.t.Errorf("got %d looks, %d payments and %d turns, want %d, %d and %d", s.looks, s.paid, f.Turns, looks, paid,
			turns)
	}
}

// TestALateApprovalIsUsedAfterAnotherLook: if things are as they were, what was approved is done; if not, the advisor
// is asked again.
func TestALateApprovalIsUsedAfterAnotherLook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after       time.Duration
		stale       int64
		price       int
		looks, paid int
		turns       int64
	}{
		{after: 30 * time.Minute, price: 10, looks: 1, paid: 1, turns: 3},               // in time: no other look
		{after: 30 * time.Minute, price: 20, looks: 1, paid: 1, turns: 3},               // nobody looked
		{after: 2 * time.Hour, price: 10, looks: 2, paid: 1, turns: 3},                  // as it was
		{after: 2 * time.Hour, price: 20, looks: 2, paid: 0, turns: 3},                  // not as it was
		{after: 2 * time.Minute, stale: 60_000, price: 20, looks: 2, paid: 0, turns: 3}, // by a bound of its own
	} {
		t.Run(fmt.Sprint(c.after, c.price), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newMarket(t)
				s.stale = c.stale
				s.run()
				time.Sleep(c.after)
				s.price = c.price
				s.answer(true)
				s.run()
				s.want(c.looks, c.paid, c.turns)
				f := s.fold()
				if f.Ended == nil || len(f.Conflicts) > 0 {
					t.Errorf("got %s and conflicts %v, want it ended", f.State(), f.Conflicts)
				}
			})
		})
	}
}

// TestABasisThatHoldsTooShortIsRefused: it would be out of date when it has been looked at.
func TestABasisThatHoldsTooShortIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMarket(t)
		s.stale = 4999
		s.run()
		for _, b := range bodies(t, s.n.Store, s.id) {
			if a, ok := b.(perdure.Advice); ok && a.Basis != nil {
				t.Errorf("advice with a basis of %d ms is recorded", a.Basis.Stale)
			} else if ok && a.Signal != 0 && strings.Contains(a.Text, "at least 5s") {
				return
			}
		}
		t.Error("nothing says that the advice was refused")
	})
}

// TestWhatWasNeverReadIsNotSaidToHaveChanged: a proposal may rest on what its advisor has not looked at.
func TestWhatWasNeverReadIsNotSaidToHaveChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMarket(t)
		s.unread = true
		s.run()
		time.Sleep(2 * time.Hour)
		s.answer(true)
		s.run()
		for _, b := range bodies(t, s.n.Store, s.id) {
			if o, ok := b.(perdure.Outcome); ok && o.Signal == perdure.Denied &&
				strings.Contains(o.Note, "price, which it rests on, was not read before") {
				return
			}
		}
		t.Error("nothing says why it was not done")
	})
}

// TestWhatChangedIsSaid in the record, of the approval that came to nothing.
func TestWhatChangedIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMarket(t)
		s.run()
		time.Sleep(2 * time.Hour)
		s.price = 11
		s.answer(true)
		s.run()
		said := false
		for _, b := range bodies(t, s.n.Store, s.id) {
			if o, ok := b.(perdure.Outcome); ok && o.Signal == perdure.Denied {
				said = said || strings.Contains(o.Note, "price, which it rests on, is not what it was")
			}
		}
		if !said {
			t.Error("nothing says why it was not done")
		}
	})
}

// TestALongPauseAndAGapAreFollowedByAnotherLook: the agent had not decided yet what it had been advised.
func TestALongPauseAndAGapAreFollowedByAnotherLook(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pause", "gap"} {
		for _, price := range []int{10, 20} {
			t.Run(fmt.Sprint(kind, price), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newMarket(t)
					s.n.Policy = perdure.PolicyFunc(allow)
					for s.fold().Turns < 2 { // a cycle at a time, so that it stops in the middle
						if _, err := s.n.Cycle(t.Context(), s.id); err != nil {
							t.Fatal(err)
						}
					}
					if s.paid != 0 {
						t.Fatal("it went on too far")
					}
					if kind == "pause" {
						s.tell(perdure.Event{Name: "pause", Notice: perdure.Pause{}})
						s.run()
					}
					time.Sleep(3 * time.Hour)
					s.price = price
					if kind == "pause" {
						s.tell(perdure.Event{Name: "resume", Notice: perdure.Resume{Of: s.fold().Paused}})
					}
					s.run()
					paid := 1
					if price != 10 {
						paid = 0
					}
					s.want(2, paid, 3)
				})
			})
		}
	}
}

// TestWithoutABasisNothingIsLookedAtAgain.
func TestWithoutABasisNothingIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		look, calls := counter("look", perdure.Once)
		n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn > 0 {
				return []perdure.Action{perdure.End{Signal: perdure.OK}}
			}
			return []perdure.Action{perdure.Execute{Tool: "look"}}
		}), look)
		n.Policy = perdure.PolicyFunc(askWrites)
		s := &resting{t, n, create(t, n, perdure.Genesis{})}
		s.run()
		time.Sleep(1000 * time.Hour)
		before := s.fold().Count
		s.answer(true)
		s.run()
		// vote, decision, outcome, advice, end
		if _, total := countCalls(calls); total != 1 || s.fold().Count != before+5 {
			t.Errorf("got %d calls and %d more entries, want 1 and 5", total, s.fold().Count-before)
		}
	})
}

// TestAReadThatIsRefusedCountsAsChanged: policy denies it, or a person.
func TestAReadThatIsRefusedCountsAsChanged(t *testing.T) {
	t.Parallel()
	for _, answer := range []perdure.Answer{perdure.Deny, perdure.Ask} {
		t.Run(answer.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newMarket(t)
				s.run()
				time.Sleep(2 * time.Hour)
				s.answer(true)
				s.n.Policy = policyOf(map[string]perdure.Verdict{"execute": {Answer: answer}})
				s.run()
				if answer == perdure.Ask {
					f := s.fold()
					q := f.Asks[len(f.Asks)-1]
					s.tell(perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: q.Decision,
						Digest: q.Digest}})
					s.run()
				}
				s.want(1, 0, 3)
			})
		})
	}
}

// advisedAfter makes the agent hear of an offer, and stops it once it was advised what to do about it.
func (s *market) advisedAfter(event string) {
	s.t.Helper()
	s.n.Policy = perdure.PolicyFunc(allow)
	for s.fold().Turns < 2 {
		if s.fold().Turns == 1 && !slices.Contains(s.heard, event) && len(s.fold().Inbox) == 0 {
			s.tell(perdure.Event{Name: event})
		}
		if _, err := s.n.Cycle(s.t.Context(), s.id); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestWhatChangedIsNoReasonToTellTheRestAgain: an advisor that is asked again, as what its advice rests on has changed,
// remembers what it was told.
func TestWhatChangedIsNoReasonToTellTheRestAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMarket(t)
		s.advisedAfter("offer")
		time.Sleep(3 * time.Hour)
		s.price = 20
		s.run()
		s.want(2, 0, 3)
		if len(s.heard) != 1 {
			t.Errorf("heard %v, want one offer", s.heard)
		}
	})
}

// TestWhatRestsOnAReadIsDroppedWhereACopyWasAskedSince: the fold holds the basis of the last advice only. The advisor
// is asked again, with what it was told.
func TestWhatRestsOnAReadIsDroppedWhereACopyWasAskedSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMarket(t)
		copied := new(perdure.MemStore)
		merge(t, s.n.Store, copied, s.id)
		n := newNode(t, copied, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.Execute{Tool: "price"}}
		}), s.n.Tools[0])
		n.Key = s.n.Key
		tellTimes(t, n, s.id, 9, perdure.Event{Name: "hello"}) // what it is advised comes after the seat's
		if _, err := n.Cycle(t.Context(), s.id); err != nil {
			t.Fatal(err)
		}
		s.advisedAfter("offer")
		merge(t, copied, s.n.Store, s.id)
		time.Sleep(3 * time.Hour)
		s.price = 20
		s.run()
		if s.paid != 0 || s.fold().Ended == nil {
			t.Errorf("paid %d times, %s", s.paid, s.fold().State())
		}
	})
}
