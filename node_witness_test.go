package perdure_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// anyState moves every state to every schema as it is.
type anyState struct{}

func (anyState) CheckState(perdure.Hash, map[string]perdure.Data) error { return nil }
func (anyState) MoveState(_, _ perdure.Hash, v map[string]perdure.Data) (map[string]perdure.Data, error) {
	return v, nil
}

// An older copy of an agent that has paid since stays one, whatever is written to it meanwhile.
func TestNothingThatIsWrittenToAnOlderCopyMakesItTheNewest(t *testing.T) {
	for what, write := range map[string]func(*testing.T, *perdure.Node, perdure.AgentID){
		"nothing": func(*testing.T, *perdure.Node, perdure.AgentID) {},
		"an upgrade": func(t *testing.T, n *perdure.Node, id perdure.AgentID) {
			if _, err := n.UpgradeState(t.Context(), id, perdure.HashOf([]byte("v2"))); !errors.Is(err,
				perdure.ErrDenied) {
				t.Errorf("the upgrade of an older copy: %v, want it denied", err)
			}
		},
		"events": func(t *testing.T, n *perdure.Node, id perdure.AgentID) {
			for range 10 {
				if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "note"}); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a snapshot": func(t *testing.T, n *perdure.Node, id perdure.AgentID) {
			if _, err := n.Snapshot(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		},
		"a collection": func(t *testing.T, n *perdure.Node, id perdure.AgentID) {
			if _, err := n.Collect(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		},
	} {
		store, old := new(perdure.MemStore), new(perdure.MemStore)
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, store, scripted(steps("pay", 1)), pay)
		n.Place, n.State, n.Witness = perdure.Place{ID: perdure.HashOf(nil)}, anyState{},
			&memoryWitness{seen: map[perdure.AgentID][]perdure.Hash{}}
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{StateSchema: perdure.HashOf([]byte("v1"))}})
		merge(t, store, old, id) // a backup
		run(t, n, id)
		back := func() *perdure.Node {
			return &perdure.Node{Store: old, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Tools: n.Tools,
				Advisors: n.Advisors,
				Place:    n.Place, State: n.State, Witness: n.Witness}
		}
		write(t, back(), id)
		idle := run(t, back(), id)
		if _, total := calls(seen); total != 1 || !idle.Is(phase.RestOlder) {
			t.Errorf("%s: paid %d times, idle %+v; want 1, and to hear that the copy is old", what, total, idle)
		}
	}
}

// A node runs, and holds an agent that sleeps; a copy of it goes on in a file meanwhile, and pays. At the time to wake
// the node asks how far the agent has come, although nothing changed in its store.
func TestARunningNodeAsksHowFarOtherCopiesCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, file := new(perdure.MemStore), new(perdure.MemStore)
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, store, scripted(func(_ *perdure.Agent, i int64) []perdure.Action {
			return [][]perdure.Action{{perdure.Sleep{Trigger: perdure.After{Millis: 3600_000}}},
				{perdure.Execute{Tool: "pay"}}, {perdure.End{Signal: perdure.OK}}}[i]
		}), pay)
		n.Place, n.Witness = perdure.Place{ID: perdure.HashOf(nil)},
			&memoryWitness{seen: map[perdure.AgentID][]perdure.Hash{}}
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		merge(t, store, file, id)
		time.Sleep(2 * time.Hour)
		run(t, &perdure.Node{Store: file, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Tools: n.Tools,
			Advisors: n.Advisors, Place: n.Place, Witness: n.Witness}, id)
		idle := run(t, n, id)
		if _, total := calls(seen); total != 1 || !idle.Is(phase.RestOlder) {
			t.Errorf("paid %d times, idle %+v; want 1, and to hear that the copy is old", total, idle)
		}
	})
}

// An agent that is to exist once was here, and the store was put back to before: who creates it again does not begin
// from nothing.
func TestAnAgentThatIsCreatedAgainIsAnOlderCopy(t *testing.T) {
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 1)), pay)
	n.Place, n.Witness = perdure.Place{ID: perdure.HashOf(nil)},
		&memoryWitness{seen: map[perdure.AgentID][]perdure.Hash{}}
	g := perdure.Genesis{Intent: perdure.Intent{Goal: "pay"}, Charter: perdure.Charter{Scope: "test"}}
	for range 2 {
		a, err := n.CreateOnce(t.Context(), g, nil)
		if err != nil {
			t.Fatal(err)
		}
		run(t, n, a.ID())
		n = &perdure.Node{Store: new(perdure.MemStore), Key: n.Key, Trust: n.Trust, Policy: n.Policy, Tools: n.Tools,
			Advisors: n.Advisors,
			Place:    n.Place, Witness: n.Witness}
	}
	if _, total := calls(seen); total != 1 {
		t.Errorf("paid %d times", total)
	}
}

// What does not count here gets no upgrade in this node's name.
func TestAStrangersAgentIsNotUpgraded(t *testing.T) {
	n := newNode(t, new(perdure.MemStore), scripted(nothing))
	n.State = anyState{}
	s := newStranger(t, perdure.Genesis{Intent: perdure.Intent{StateSchema: perdure.HashOf([]byte("v1"))}})
	put(t, n.Store, s.a.ID(), s.all...)
	if _, err := n.UpgradeState(t.Context(), s.a.ID(), perdure.HashOf([]byte("v2"))); !errors.Is(err,
		perdure.ErrRejected) {
		t.Errorf("got %v, want it refused", err)
	}
}

// copyWitness remembers all it was told of copies, too.
type copyWitness struct {
	memoryWitness
	told perdure.Sighting
}

func (w *copyWitness) See(_ perdure.AgentID, s perdure.Sighting) { w.told = s }

func (w *copyWitness) Seen(context.Context, perdure.AgentID) (perdure.Sighting, error) {
	return w.told, nil
}

// What is told to a copy whose seat is elsewhere is not the newest there is of the agent: it is seen as that of a copy,
// so that the memory that has the seat does not pass for an older one. The copy itself does, when it is put back, until
// the node that has it, whoever owns the agent, says that it is to go on.
func TestWhatACopyIsToldMakesNoOtherAnOlderOne(t *testing.T) {
	there, here, old := new(perdure.MemStore), new(perdure.MemStore), new(perdure.MemStore)
	n := newNode(t, there, scripted(nothing))
	n.Place = perdure.Place{ID: perdure.HashOf([]byte("there"))}
	id := create(t, n, perdure.Genesis{})
	merge(t, there, here, id)
	merge(t, there, old, id)
	loaded := func(s perdure.Store) *perdure.Agent {
		a, err := perdure.Load(t.Context(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	w := new(copyWitness)
	key, err := perdure.GenerateSigner("other")
	if err != nil {
		t.Fatal(err)
	}
	m := &perdure.Node{Store: here, Key: key, Witness: w, Place: perdure.Place{ID: perdure.HashOf([]byte("here"))},
		Trust: perdure.NewTrust(
			perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope},
			perdure.Trustee{Key: n.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})}
	for _, notice := range []perdure.Notice{nil, perdure.Pause{Note: "wait"}} {
		if _, err := m.Tell(t.Context(), id, perdure.Event{Name: "note", Notice: notice}); err != nil {
			t.Fatal(err)
		}
		if a := loaded(here); !w.told.Copy || !slices.Equal(w.told.Heads, a.Heads()) {
			t.Errorf("the witness was told of %+v, want a copy with the heads %v", w.told, a.Heads())
		}
	}
	seated := &perdure.Node{Store: old, Key: key, Witness: w, Place: n.Place, Trust: m.Trust}
	if _, err := seated.Accept(t.Context(), id, ""); !errors.Is(err, perdure.ErrDenied) {
		t.Errorf("who does not own it accepts an older copy that has the seat: %v", err)
	}
	put := &perdure.Node{Store: old, Key: key, Witness: w, Place: m.Place, Trust: m.Trust}
	for _, want := range []bool{true, false} {
		a := loaded(old)
		missing, _, err := a.Behind(t.Context(), old, put.Place, put.Trust, w.told)
		if err != nil || (len(missing) > 0) != want {
			t.Errorf("what was put back lacks %v, %v, want it older: %v", missing, err, want)
		}
		if want {
			if _, err := put.Accept(t.Context(), id, "it is what is left"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// lazyWitness remembers what it was told only when it must.
type lazyWitness struct {
	memoryWitness
	fresh map[perdure.AgentID][]perdure.Hash
}

func (w *lazyWitness) See(id perdure.AgentID, s perdure.Sighting) {
	w.fresh[id] = s.Heads
}
func (w *lazyWitness) Sync() { maps.Copy(w.seen, w.fresh) }

// A process is killed in the middle of a payment, and the store is put back to what it was before: the home knows.
func TestWhatMustHappenOnceIsSeenBeforeItHappens(t *testing.T) {
	store, old := new(perdure.MemStore), new(perdure.MemStore)
	w := &lazyWitness{memoryWitness{seen: map[perdure.AgentID][]perdure.Hash{}}, map[perdure.AgentID][]perdure.Hash{}}
	paid := 0
	var killed map[perdure.AgentID][]perdure.Hash // what is left of the witness of a process that is killed as it pays
	pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once},
		call: func(context.Context, perdure.Call) (perdure.Result, error) {
			paid++
			killed = maps.Clone(w.seen)
			return perdure.Result{}, nil
		}}
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	n.Place, n.Witness = perdure.Place{ID: perdure.HashOf(nil)}, w
	id := create(t, n, perdure.Genesis{})
	merge(t, store, old, id)
	run(t, n, id)
	w.seen = killed
	clear(w.fresh)
	back := &perdure.Node{Store: old, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Tools: n.Tools,
		Advisors: n.Advisors, Place: n.Place, Witness: w}
	if idle := run(t, back, id); paid != 1 || !idle.Is(phase.RestOlder) {
		t.Errorf("paid %d times, idle %+v; want 1, and to hear that the copy is old", paid, idle)
	}
}

// failingWitness finds out only when it must remember that it cannot.
type failingWitness struct{ memoryWitness }

func (w *failingWitness) Sync() { w.fault = errors.New("disk full") }

// What must happen once has not begun where nobody could tell afterwards that it did, and is done once they can.
func TestNothingThatMustHappenOnceBeginsUnseen(t *testing.T) {
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 1)), pay)
	n.Witness = &failingWitness{memoryWitness{seen: map[perdure.AgentID][]perdure.Hash{}}}
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if _, total := calls(seen); total != 0 {
		t.Errorf("paid %d times, and nobody remembers", total)
	}
}

// killable is a witness in a process that may be killed at any time: what was not synced is lost then.
type killable struct {
	perdure.Witness
	told, kept perdure.Sighting
	fault      error
}

func (w *killable) Seen(context.Context, perdure.AgentID) (perdure.Sighting, error) {
	return w.told, nil
}

func (w *killable) See(_ perdure.AgentID, s perdure.Sighting) {
	w.told = s
}

func (w *killable) Sync() { w.kept = w.told }

func (w *killable) Fault() error { return w.fault }

func (w *killable) kill() { w.told = w.kept }

// What says that the seat was handed over leaves after GiveSeat. Whoever is killed then, and has the store put back,
// does not do as well what is done where the seat went.
func TestAHandOverIsNotedBeforeItCanLeave(t *testing.T) {
	for name, again := range map[string]bool{"at once": false, "again, after a kill that lost the note": true} {
		t.Run(name, func(t *testing.T) {
			store, old := new(perdure.MemStore), new(perdure.MemStore)
			pay, paid := counter("pay", perdure.Once)
			n := newNode(t, store, scripted(steps("pay", 1)), pay)
			w := new(killable)
			n.Place, n.Witness = perdure.Place{ID: perdure.HashOf(nil)}, w
			id := create(t, n, perdure.Genesis{Seat: n.Place.ID})
			merge(t, store, old, id) // a backup
			in := func(s perdure.Store) *perdure.Node {
				return &perdure.Node{Store: s, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Tools: n.Tools,
					Advisors: n.Advisors, Place: n.Place, Witness: n.Witness}
			}
			w.fault = errors.New("no room")
			if err := n.GiveSeat(t.Context(), id, perdure.Key{}, ""); err == nil ||
				!strings.Contains(err.Error(), "no room") {
				t.Errorf("a hand-over that cannot be noted: %v", err)
			}
			if load(t, store, id).HandedOver(n.Place) {
				t.Error("it was handed over all the same")
			}
			w.fault = nil
			if err := n.GiveSeat(t.Context(), id, perdure.Key{}, ""); err != nil {
				t.Fatal(err)
			}
			if again {
				w.told, w.kept = perdure.Sighting{}, perdure.Sighting{}
				if err := in(store).GiveSeat(t.Context(), id, perdure.Key{}, ""); err != nil {
					t.Fatal(err)
				}
			}
			w.kill()
			idle := run(t, in(old), id)
			if _, total := calls(paid); total != 0 || !idle.Is(phase.RestOlder) || !idle.Reasons[0].Given {
				t.Errorf("paid %d times, idle %+v; want 0, and that it was handed over", total, idle)
			}
		})
	}
}

// A copy that was handed over lacks what was seen in another store because the agent went on there. What its own store
// saw, it lacks because it is older: the agent came back and went on here.
func TestWhatAStoreSawItselfItCannotLackBecauseTheAgentWentOn(t *testing.T) {
	for name, elsewhere := range map[string]bool{"here": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, new(perdure.MemStore), nil)
			w := new(killable)
			n.Place, n.Witness = perdure.Place{ID: perdure.HashOf(nil)}, w
			id := create(t, n, perdure.Genesis{Seat: n.Place.ID})
			if err := n.GiveSeat(t.Context(), id, perdure.Key{}, ""); err != nil {
				t.Fatal(err)
			}
			newer := perdure.Sighting{Heads: []perdure.Hash{perdure.HashOf([]byte("newer"))}, Elsewhere: elsewhere}
			w.told = newer
			idle := run(t, n, id)
			if !idle.Is(phase.RestGiven) == elsewhere || !idle.Is(phase.RestOlder) != elsewhere {
				t.Errorf("it rests for %+v", idle.Reasons)
			}
			if err := n.GiveSeat(t.Context(), id, perdure.Key{}, ""); (err == nil) != elsewhere {
				t.Errorf("to hand it over again: %v", err)
			}
			if err := n.TakeSeat(t.Context(), id, "lost"); !errors.Is(err, perdure.ErrDenied) {
				t.Errorf("to take its seat: %v", err)
			}
			if elsewhere && !slices.Equal(w.told.Heads, newer.Heads) {
				t.Error("what went on elsewhere passes for older now")
			}
		})
	}
}

// A stranger wrote into an older copy that its store handed the agent over: that does not make it one that went on
// elsewhere, as it should.
func TestAStrangersHandOverMakesNoOlderCopyAGoodOne(t *testing.T) {
	for name, byStranger := range map[string]bool{"its store": false, "a stranger": true} {
		t.Run(name, func(t *testing.T) {
			n, w := newNode(t, new(perdure.MemStore), nil), new(copyWitness)
			n.Place, n.Witness = perdure.Place{ID: perdure.HashOf(nil)}, w
			id := create(t, n, perdure.Genesis{})
			a, err := perdure.Load(t.Context(), n.Store, id)
			if err != nil {
				t.Fatal(err)
			}
			if byStranger {
				s := on(t, a)
				s.write(perdure.Event{Name: "seat-given", Notice: perdure.SeatGiven{At: n.Place.ID,
					Of: []perdure.Hash{s.a.Heads()[0]}, Owned: true}})
				put(t, n.Store, id, s.all...)
			} else if err := n.GiveSeat(t.Context(), id, perdure.Key{}, ""); err != nil {
				t.Fatal(err)
			}
			if a, err = perdure.Load(t.Context(), n.Store, id); err != nil || !a.GoneOn(n.Place) {
				t.Fatalf("it was not handed over: %v", err)
			}
			if run(t, n, id); slices.Equal(w.told.Heads, a.Heads()) == byStranger {
				t.Errorf("the home has seen %v of it", w.told.Heads)
			}
			if is := a.Standing(n.Trust, n.Place, time.Now()); (is == phase.StandingHandedOver) == byStranger {
				t.Errorf("it is %s", is)
			}
			newer := perdure.Sighting{Heads: []perdure.Hash{perdure.HashOf([]byte("newer"))}, Elsewhere: true}
			missing, away, err := a.Behind(t.Context(), n.Store, n.Place, n.Trust, newer)
			if err != nil || away == byStranger || len(missing) > 0 != byStranger {
				t.Errorf("it lacks %v, went on elsewhere: %v, %v", missing, away, err)
			}
		})
	}
}

// Who had the agent handed over since an older copy was made does not go on with that copy, unless the copy knows that
// its seat is elsewhere: nothing that must happen once is done there.
func TestACopyThatKnowsThatItsSeatIsElsewhereGoesOn(t *testing.T) {
	for name, elsewhere := range map[string]bool{"here": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			had, w := newNode(t, new(perdure.MemStore), nil), new(copyWitness)
			had.Place = perdure.Place{ID: perdure.HashOf(nil)}
			id := create(t, had, perdure.Genesis{})
			n := newNode(t, had.Store, nil)
			n.Key, n.Place, n.Witness = had.Key, had.Place, w
			if elsewhere {
				n.Place = perdure.Place{ID: perdure.HashOf([]byte("here"))}
			}
			w.told = perdure.Sighting{Heads: []perdure.Hash{perdure.HashOf([]byte("newer"))}, Given: true}
			idle := run(t, n, id)
			if !idle.Is(phase.RestOlder) || idle.Reasons[0].Given == elsewhere {
				t.Errorf("it rests for %+v", idle.Reasons)
			}
			if _, err := n.Accept(t.Context(), id, "it is what is left"); (err == nil) != elsewhere {
				t.Errorf("to go on with it: %v", err)
			}
		})
	}
}
