package perdure_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// payers are two nodes with a store each, for an agent that pays once and ends. The agent is in both stores.
type payers struct {
	here, there *perdure.MemStore
	a, b        *perdure.Node
	id          perdure.AgentID
	paid        func() int
}

func newPayers(t *testing.T, change ...func(*payers)) *payers {
	pay, seen := counter("pay", perdure.Once)
	adv := scripted(func(a *perdure.Agent, _ int64) []perdure.Action { // until it has paid
		for _, t := range a.Fold().Tools {
			if t.Tool == "pay" && slices.ContainsFunc(t.Last, func(r perdure.SignalRecord) bool {
				return r.Signal == perdure.OK
			}) {
				return []perdure.Action{perdure.End{Signal: perdure.OK}}
			}
		}
		return []perdure.Action{perdure.Execute{Tool: "pay"}}
	})
	p := &payers{here: new(perdure.MemStore), there: new(perdure.MemStore)}
	p.a, p.b = newNode(t, p.here, adv, pay), newNode(t, p.there, adv, pay)
	p.paid = func() int { _, total := calls(seen); return total }
	for _, f := range change {
		f(p)
	}
	p.id = create(t, p.a, perdure.Genesis{})
	merge(t, p.here, p.there, p.id)
	return p
}

// together puts all that is in either store into both.
func (p *payers) together(t *testing.T) {
	t.Helper()
	merge(t, p.there, p.here, p.id)
	merge(t, p.here, p.there, p.id)
}

func TestACopyDecidesNoOnceEffect(t *testing.T) {
	p := newPayers(t)
	idle := run(t, p.b, p.id)
	if p.paid() != 0 || !idle.Is(phase.RestGiven, phase.RestDisputed, phase.RestElsewhere) || !idle.Person {
		t.Fatalf("the copy paid %d times and is %+v", p.paid(), idle)
	}
	run(t, p.a, p.id)
	if p.paid() != 1 {
		t.Fatalf("paid %d times where the seat is", p.paid())
	}
	p.together(t)
	run(t, p.b, p.id)
	if f := load(t, p.there, p.id); p.paid() != 1 || f.Ended == nil || len(f.Doubles()) != 0 {
		t.Errorf("paid %d times; ended: %v; doubled: %v", p.paid(), f.Ended, f.Doubles())
	}
}

func TestACopyMayRepeatWhatCanBeRepeated(t *testing.T) {
	for _, effect := range []perdure.Effect{perdure.Read, perdure.Idempotent} {
		tool, seen := counter("get", effect)
		here, there := new(perdure.MemStore), new(perdure.MemStore)
		a := newNode(t, here, scripted(steps("get", 1)), tool)
		b := newNode(t, there, scripted(steps("get", 1)), tool)
		id := create(t, a, perdure.Genesis{})
		merge(t, here, there, id)
		run(t, b, id)
		if _, total := calls(seen); total != 1 || load(t, there, id).Ended == nil {
			t.Errorf("%s: called %d times in a copy", effect, total)
		}
	}
}

func TestACopyCreatesNoChild(t *testing.T) {
	adv := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn > 0 {
			return nil
		}
		return []perdure.Action{perdure.Delegate{Intent: perdure.Intent{Goal: "help"}}}
	})
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	a, b := newNode(t, here, adv), newNode(t, there, adv)
	id := create(t, a, perdure.Genesis{Charter: perdure.Charter{Depth: 1}})
	merge(t, here, there, id)
	run(t, b, id)
	if n := len(load(t, there, id).Children); n != 0 {
		t.Errorf("a copy has %d children", n)
	}
	run(t, a, id)
	children := load(t, here, id).Children
	if len(children) != 1 {
		t.Fatalf("%d children where the seat is", len(children))
	}
	if f := load(t, here, children[0].Agent); len(f.Seats) != 1 || f.Seats[0].At != load(t, here, id).Seats[0].At {
		t.Errorf("the seat of the child is %+v", f.Seats)
	}
}

func TestTheSeatIsHandedOver(t *testing.T) {
	p := newPayers(t)
	if err := p.a.GiveSeat(t.Context(), p.id, perdure.Key{}, "moving"); err != nil {
		t.Fatal(err)
	}
	if idle := run(t, p.a, p.id); p.paid() != 0 || !idle.Is(phase.RestGiven, phase.RestDisputed,
		phase.RestElsewhere) {
		t.Fatalf("whoever handed it over goes on: %+v", idle)
	}
	before := load(t, p.here, p.id).Count
	if err := p.a.GiveSeat(t.Context(), p.id, perdure.Key{}, "again"); err != nil ||
		load(t, p.here, p.id).Count != before {
		t.Errorf("to hand over again what was handed over: %v", err)
	}
	if err := p.a.GiveSeat(t.Context(), p.id, p.b.Key.Key(), ""); !errors.Is(err, perdure.ErrDenied) ||
		load(t, p.here, p.id).Count != before { // whoever has the first copy takes the seat as well
		t.Errorf("what was handed over to whoever takes it is handed over to a key: %v", err)
	}
	merge(t, p.here, p.there, p.id)
	run(t, p.b, p.id)
	f := load(t, p.there, p.id)
	if p.paid() != 1 || len(f.Seats) != 1 || f.Seats[0].Epoch != 2 || f.Seats[0].Given {
		t.Errorf("paid %d times, the seat is %+v", p.paid(), f.Seats)
	}
	p.together(t)
	run(t, p.a, p.id)
	if f := load(t, p.here, p.id); p.paid() != 1 || len(f.Conflicts) > 0 {
		t.Errorf("paid %d times, conflicts %v", p.paid(), f.Conflicts)
	}
}

// Whoever handed the seat over leaves the agent alone, also once it knows where the seat is: two places would think,
// and both would do what can be repeated.
func TestWhoHandedItOverStaysOutOfIt(t *testing.T) {
	get, seen := counter("get", perdure.Idempotent)
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	awake := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		return [][]perdure.Action{{perdure.Sleep{Trigger: perdure.On{Event: "go"}}},
			{perdure.Execute{Tool: "get"}}, {perdure.End{Signal: perdure.OK}}}[turn]
	})
	a, b := newNode(t, here, awake, get), newNode(t, there, awake, get)
	id := create(t, a, perdure.Genesis{})
	if err := a.GiveSeat(t.Context(), id, perdure.Key{}, ""); err != nil {
		t.Fatal(err)
	}
	merge(t, here, there, id)
	run(t, b, id) // takes it, and sleeps
	merge(t, there, here, id)
	if _, err := a.Tell(t.Context(), id, perdure.Event{Name: "go"}); err != nil {
		t.Fatal(err)
	}
	if idle := run(t, a, id); !idle.Is(phase.RestElsewhere) {
		t.Errorf("where the seat was it rests as %+v", idle)
	}
	if _, total := calls(seen); total != 0 {
		t.Errorf("called %d times where the seat was handed over", total)
	}
}

// While a node is at work, the seat stays where it is, and whoever wants it is told why and what to do.
func TestTheSeatStaysWhileANodeIsAtWork(t *testing.T) {
	p := newPayers(t)
	other := perdure.Key{1}
	c, err := p.here.Claim(t.Context(), p.id, other, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	err = p.a.GiveSeat(t.Context(), p.id, perdure.Key{}, "")
	var hint *perdure.Hint
	if !errors.Is(err, perdure.ErrConflict) || !strings.HasSuffix(err.Error(), ": a node is at work on it") ||
		!errors.As(err, &hint) || !strings.Contains(hint.Do, "perdure pause "+p.id.Short()) {
		t.Errorf("%v; %+v", err, hint)
	}
	if err := p.here.Release(t.Context(), c, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := p.a.GiveSeat(t.Context(), p.id, perdure.Key{}, ""); err != nil {
		t.Error(err)
	}
}

// An agent that arrived with its seat can be handed on before anybody has run it here.
func TestASeatIsHandedOnUnused(t *testing.T) {
	p := newPayers(t)
	if err := p.a.GiveSeat(t.Context(), p.id, perdure.Key{}, ""); err != nil {
		t.Fatal(err)
	}
	merge(t, p.here, p.there, p.id)
	if err := p.b.GiveSeat(t.Context(), p.id, perdure.Key{}, ""); err != nil {
		t.Fatal(err)
	}
	if f := load(t, p.there, p.id); len(f.Seats) != 1 || !f.Seats[0].Given || f.Seats[0].Epoch != 2 {
		t.Errorf("the seat is %+v, want one that was taken and handed over", f.Seats)
	}
	merge(t, p.there, p.here, p.id)
	run(t, p.b, p.id)
	if p.paid() != 0 {
		t.Error("whoever handed it on goes on")
	}
	if run(t, p.a, p.id); p.paid() != 1 {
		t.Errorf("paid %d times where the seat came back to", p.paid())
	}
}

func TestOnlyWhoItIsForTakesTheSeat(t *testing.T) {
	p := newPayers(t)
	keys, _ := fleet()
	other := keys[0].Key()
	for _, k := range keys {
		if k.Key() != p.a.Key.Key() && k.Key() != p.b.Key.Key() {
			other = k.Key()
		}
	}
	if err := p.a.GiveSeat(t.Context(), p.id, other, ""); err != nil {
		t.Fatal(err)
	}
	merge(t, p.here, p.there, p.id)
	run(t, p.b, p.id)
	if p.paid() != 0 {
		t.Error("somebody else took the seat")
	}
	if err := p.a.GiveSeat(t.Context(), p.id, p.b.Key.Key(), ""); !errors.Is(err, perdure.ErrDenied) {
		t.Errorf("what was handed over to one key is handed over to another: %v", err)
	}
	if err := p.a.TakeSeat(t.Context(), p.id, "it never arrived"); err != nil {
		t.Fatal(err)
	}
	if err := p.a.GiveSeat(t.Context(), p.id, p.b.Key.Key(), ""); err != nil {
		t.Fatal(err)
	}
	merge(t, p.here, p.there, p.id)
	run(t, p.b, p.id)
	if p.paid() != 1 {
		t.Errorf("paid %d times where the seat was handed to", p.paid())
	}
}

func TestTwoWhoTakeOneSeatWaitForTheOwner(t *testing.T) {
	p := newPayers(t)
	third := new(perdure.MemStore)
	c := newNode(t, third, p.a.Advisors[""], p.a.Tools...)
	c.Policy = perdure.PolicyFunc(askWrites)
	p.b.Policy = c.Policy
	if err := p.a.GiveSeat(t.Context(), p.id, perdure.Key{}, ""); err != nil {
		t.Fatal(err)
	}
	merge(t, p.here, p.there, p.id)
	merge(t, p.here, third, p.id)
	run(t, p.b, p.id) // both take the seat and ask
	run(t, c, p.id)
	merge(t, third, p.there, p.id)
	f := load(t, p.there, p.id)
	if !f.Disputed() || !waiting(t, p.there, p.id) {
		t.Fatalf("the seats are %+v", f.Seats)
	}
	for i := range f.Asks {
		approve(t, p.b, p.id, &f.Asks[i])
	}
	if idle := run(t, p.b, p.id); p.paid() != 0 || !idle.Person {
		t.Fatalf("paid %d times while two claim the seat: %+v", p.paid(), idle)
	}
	if err := p.b.TakeSeat(t.Context(), p.id, "it is theirs"); !errors.Is(err, perdure.ErrDenied) {
		t.Errorf("somebody who is not the owner took the seat: %v", err)
	}
	owner := *newNode(t, p.there, p.a.Advisors[""], p.a.Tools...)
	owner.Key = p.a.Key
	if err := owner.TakeSeat(t.Context(), p.id, ""); err == nil {
		t.Error("the seat was taken without a reason")
	}
	if err := owner.TakeSeat(t.Context(), p.id, "the third machine is gone"); err != nil {
		t.Fatal(err)
	}
	if f := load(t, p.there, p.id); f.Disputed() || f.Seats[0].Epoch != 3 {
		t.Errorf("after the owner took it the seats are %+v", f.Seats)
	}
	run(t, p.b, p.id)
	if p.paid() == 0 {
		t.Error("nothing is paid after the dispute was settled")
	}
}

func TestTheOwnerTakesALostSeat(t *testing.T) {
	p := newPayers(t)
	p.b.Key = p.a.Key
	if err := p.b.TakeSeat(t.Context(), p.id, "the disk died"); err != nil {
		t.Fatal(err)
	}
	run(t, p.b, p.id)
	if p.paid() != 1 {
		t.Fatalf("paid %d times after the seat was taken", p.paid())
	}
	p.together(t) // the lost one comes back
	run(t, p.a, p.id)
	if p.paid() != 1 {
		t.Errorf("paid %d times once the lost store was back", p.paid())
	}
}

func TestWhoMayNotOwnTakesNoSeat(t *testing.T) {
	p := newPayers(t)
	at, err := p.there.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	thief, err := perdure.GenerateSigner("thief")
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Load(t.Context(), p.there, p.id)
	if err != nil {
		t.Fatal(err)
	}
	of := []perdure.Hash{a.Fold().Seats[0].Claim}
	for _, lost := range []bool{true, false} {
		_, next, err := thief.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "seat-taken",
			Notice: perdure.SeatTaken{At: at.ID, Of: of, Lost: lost}}})
		if err != nil {
			t.Fatal(err)
		}
		trust := p.b.Trust.With(perdure.Trustee{Key: thief.Key(), Name: "thief", Rights: perdure.MayAuthor,
			Scope: perdure.AnyScope})
		if counts := trust.Counts(next) == nil; counts == lost {
			t.Errorf("lost %v: the entry counts: %v", lost, counts)
		}
		if f := next.Fold(); !lost && (f.Disputed() || f.Seats[0].Claim != of[0]) {
			t.Errorf("a seat that was not handed over was taken: %+v", f.Seats)
		}
	}
}

func TestWhatWasDoneTwiceIsFlaggedUntilSettled(t *testing.T) {
	p := newPayers(t, func(p *payers) { // as nodes of before seats were: each thinks the seat is its own
		p.a.Place, p.b.Place = perdure.Place{ID: perdure.HashOf(nil)}, perdure.Place{ID: perdure.HashOf(nil)}
	})
	run(t, p.a, p.id)
	run(t, p.b, p.id)
	if p.paid() != 2 {
		t.Fatalf("paid %d times, want a payment in each copy", p.paid())
	}
	p.together(t)
	f := load(t, p.here, p.id)
	if len(f.Doubles()) != 1 || !waiting(t, p.here, p.id) {
		t.Fatalf("doubled: %v; waiting: %v", f.Doubles(), waiting(t, p.here, p.id))
	}
	if got, want := load(t, p.there, p.id), f; len(got.Doubles()) != 1 || got.Doubles()[0] != want.Doubles()[0] {
		t.Errorf("the copies do not agree: %v and %v", got.Doubles(), want.Doubles())
	}
	run(t, p.a, p.id) // which records it
	if f = load(t, p.here, p.id); len(f.Doubled) != 1 || len(f.Doubles()) != 1 {
		t.Errorf("on record: %v of %v", f.Doubled, f.Doubles())
	}
	said := strings.Join(loaded(t, p.here, p.id).Diverged(), "\n")
	if !strings.Contains(said, "happened twice") {
		t.Errorf("nobody is told: %s", said)
	}
	if _, err := p.a.Tell(t.Context(), p.id, perdure.Event{Name: "settle",
		Notice: perdure.Settle{Decision: f.Doubles()[0].Second, Signal: perdure.OK, Note: "refunded"}}); err != nil {
		t.Fatal(err)
	}
	if f := load(t, p.here, p.id); len(f.Doubles()) != 0 || waiting(t, p.here, p.id) {
		t.Errorf("after it was settled: doubled %v, waiting %v", f.Doubles(), waiting(t, p.here, p.id))
	}
}

func TestPayingTwiceInARowIsNotDoubled(t *testing.T) {
	pay, seen := counter("pay", perdure.Once)
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(steps("pay", 3)), pay)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if _, total := calls(seen); total != 3 {
		t.Fatalf("paid %d times, want 3", total)
	}
	if f := load(t, store, id); len(f.Doubles()) > 0 {
		t.Errorf("doubled %v", f.Doubles())
	}
}

func TestAnAuthorGivesNoSeatAway(t *testing.T) {
	p := newPayers(t)
	f := load(t, p.there, p.id)
	a, err := perdure.Load(t.Context(), p.there, p.id)
	if err != nil {
		t.Fatal(err)
	}
	claim := f.Seats[0]
	for _, owned := range []bool{false, true} {
		give := perdure.SeatGiven{At: claim.At, Of: []perdure.Hash{claim.Claim}, To: p.b.Key.Key(), Owned: owned}
		_, next, err := p.b.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "seat-given",
			Notice: give}})
		if err != nil {
			t.Fatal(err)
		}
		if got := next.Fold().Seats[0].Given; got != owned {
			t.Errorf("owned %v: the seat is given: %v", owned, got)
		}
		trust := perdure.NewTrust(perdure.Trustee{Key: p.a.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope},
			perdure.Trustee{Key: p.b.Key.Key(), Rights: perdure.MayAuthor, Scope: perdure.AnyScope})
		if counts := trust.Counts(next) == nil; counts == owned {
			t.Errorf("owned %v: it counts: %v", owned, counts)
		}
	}
}

func TestWhatACopyThoughtIsNotDoneWhereTheSeatIs(t *testing.T) {
	p := newPayers(t)
	for range 4 { // so that its advice is folded last
		if _, err := p.b.Tell(t.Context(), p.id, perdure.Event{Name: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	run(t, p.b, p.id)
	p.a.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
		if _, ends := r.Action.(perdure.End); ends && a.Fold().Turns < 3 {
			return perdure.Verdict{Reason: "not yet"}
		}
		return allow(a, r, now)
	})
	run(t, p.a, p.id)
	if p.paid() != 1 {
		t.Fatalf("paid %d times", p.paid())
	}
	p.together(t)
	run(t, p.a, p.id)
	if p.paid() != 1 {
		t.Errorf("paid %d times once the thoughts of a copy were here", p.paid())
	}
}

func TestAParentDoesNotLeaveItsChildrenBehind(t *testing.T) {
	adv := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn > 0 {
			return nil
		}
		return []perdure.Action{perdure.Delegate{Intent: perdure.Intent{Goal: "help", Advisor: "nobody"}}}
	})
	n := newNode(t, new(perdure.MemStore), adv)
	id := create(t, n, perdure.Genesis{Charter: perdure.Charter{Depth: 1}})
	run(t, n, id)
	before, _ := n.Store.Heads(t.Context(), id)
	if err := n.GiveSeat(t.Context(), id, perdure.Key{}, ""); !errors.Is(err, perdure.ErrConflict) {
		t.Errorf("a parent left its child behind: %v", err)
	}
	if after, err := n.Store.Heads(t.Context(), id); err != nil || !slices.Equal(before, after) {
		t.Error("a seat that could not be handed over was taken")
	}
}

// Who may only write to an agent says again that its seat is where it is, and then hands it over as if they had taken
// it.
func TestAnAuthorDoesNotMoveTheSeat(t *testing.T) {
	eve := on(t, nil)
	author := perdure.Trustee{Key: eve.key.Key(), Name: "eve", Rights: perdure.MayAuthor, Scope: "test"}
	p := newPayers(t, func(p *payers) { p.a.Trust, p.b.Trust = p.a.Trust.With(author), p.b.Trust.With(author) })
	var err error
	if eve.a, err = perdure.Load(t.Context(), p.there, p.id); err != nil {
		t.Fatal(err)
	}
	was := eve.a.Fold().Seats[0]
	eve.write(perdure.Event{Name: "seat-taken", Notice: perdure.SeatTaken{At: was.At, Of: []perdure.Hash{was.Claim}}})
	if now := eve.a.Fold().Seats; len(now) != 1 || now[0] != was {
		t.Errorf("a claim of what it has already made the seat %+v, want %+v", now, was)
	}
	eve.write(perdure.Event{Name: "seat-given", Notice: perdure.SeatGiven{At: was.At,
		Of: []perdure.Hash{eve.all[0].Name, was.Claim}}})
	put(t, p.there, p.id, eve.all...)
	if idle := run(t, p.b, p.id); p.paid() != 0 {
		t.Errorf("the copy paid: %+v", idle)
	}
	run(t, p.a, p.id)
	if p.paid() != 1 {
		t.Errorf("paid %d times", p.paid())
	}
}
