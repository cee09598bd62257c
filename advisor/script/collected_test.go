package script_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
	"github.com/perdure/perdure/internal/copytest"
)

// moving is an agent of a script that keeps its bodies for an hour, and two stores it may be in.
type moving struct {
	t       *testing.T
	scripts [2]*script.Advisor
	stores  [2]*perdure.MemStore
	at      int // the store that has the seat
	n       *perdure.Node
	id      perdure.AgentID
	*echo
}

func newMoving(t *testing.T, text string) *moving {
	t.Helper()
	m := &moving{t: t, echo: new(echo)}
	for i := range m.stores {
		m.stores[i], m.scripts[i] = new(perdure.MemStore), read(t, text)
		m.scripts[i].Store = m.stores[i]
	}
	m.n = m.node(0)
	a, err := m.n.Create(t.Context(), perdure.Genesis{
		Intent:  perdure.Intent{Goal: "try", TTL: time.Hour.Milliseconds()},
		Charter: perdure.Charter{Scope: "test", Owner: m.n.Key.Key()}})
	if err != nil {
		t.Fatal(err)
	}
	m.id = a.ID()
	return m
}

// node is a new node on one of the stores.
func (m *moving) node(i int) *perdure.Node { return newNode(m.t, m.stores[i], m.scripts[i], m.echo) }

// merge gives the other store what the one with this number has.
func (m *moving) merge(from int) {
	m.t.Helper()
	copytest.Merge(m.t, m.stores[from], m.stores[1-from], m.id)
}

// move hands the seat over to the other store, where another node goes on.
func (m *moving) move() {
	m.t.Helper()
	if err := m.n.GiveSeat(m.t.Context(), m.id, perdure.Key{}, ""); err != nil {
		m.t.Fatal(err)
	}
	m.merge(m.at)
	m.at = 1 - m.at
	m.n = m.node(m.at)
}

// part makes a copy that comes to the end of what it can do, while the one with the seat makes one call; then the first
// store has both. What is done there comes last in the order of memory.
func (m *moving) part() {
	m.t.Helper()
	m.merge(0)
	for range 40 {
		copytest.Write(m.t, m.stores[0], m.id, m.n.Key, perdure.Event{Name: "noise"})
	}
	for len(m.calls) == 0 {
		m.cycle()
	}
	run(m.t, m.node(1), m.id)
	m.merge(1)
	m.n = m.node(0)
}

func (m *moving) cycle() {
	m.t.Helper()
	if _, err := m.n.Cycle(m.t.Context(), m.id); err != nil {
		m.t.Fatal(err)
	}
}

// resume tells the agent to go, and runs it.
func (m *moving) resume() {
	m.t.Helper()
	tell(m.t, m.n, m.id, perdure.Event{Name: "go"})
	run(m.t, m.n, m.id)
}

// did fails unless the agent has ended well after these calls.
func (m *moving) did(calls ...string) {
	m.t.Helper()
	ended(m.t, load(m.t, m.n, m.id), perdure.OK, `"done"`)
	if diff := cmp.Diff(calls, m.calls); diff != "" {
		m.t.Error(diff)
	}
}

// collect drops what a memory says, two hours later.
func collect(t *testing.T, n *perdure.Node, id perdure.AgentID) {
	t.Helper()
	time.Sleep(2 * time.Hour)
	if c, err := n.Collect(t.Context(), id); err != nil || c.Entries == 0 {
		t.Fatalf("collected %d bodies: %v", c.Entries, err)
	}
}

// Where nothing is left to read of what a script did, it goes on where it was when its seat moves on.
func TestACollectedScriptGoesOnWhereItsSeatMoves(t *testing.T) {
	const text = `
turns:
  - {execute: {tool: echo, args: {n: 1}}, repeat: 2}
  - sleep: {on: go}
    repeat: 2
  - end: {result: done}
`
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t, text)
		run(t, m.n, m.id)
		for range 2 { // to another store, and back
			collect(t, m.n, m.id)
			m.move()
			m.resume()
		}
		m.did(`{"n":1}`, `{"n":1}`)
	})
}

// What of a turn nobody decided where the seat was is done where it is, and the rest of the turn not again.
func TestACollectedTurnThatWasCutOffIsFinished(t *testing.T) {
	const text = `
turns:
  - do:
      - execute: {tool: echo, args: {n: 1}}
      - sleep: {on: go}
  - end: {result: done}
`
	for _, cycles := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			m := newMoving(t, text)
			for range cycles {
				m.cycle()
			}
			if err := m.n.TakeSeat(t.Context(), m.id, "it is here"); err != nil {
				t.Fatal(err)
			}
			collect(t, m.n, m.id)
			m.move()
			run(t, m.n, m.id)
			m.resume()
			m.did(`{"n":1}`)
		})
	}
}

const twoCalls = `
turns:
  - execute: {tool: echo, args: {n: 1}}
  - execute: {tool: echo, args: {n: 2}}
  - sleep: {on: go}
  - end: {result: done}
`

// What copies did apart is kept until the advisor was asked knowing all of it: of the copy that was further the fold
// keeps nothing.
func TestWhatCopiesDidApartIsKeptUntilTheScriptGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving(t, twoCalls)
		m.part()
		collect(t, m.n, m.id)
		m.resume()
		m.did(`{"n":1}`, `{"n":1}`, `{"n":2}`)
	})
}

// A condition on what was collected is not one that does not hold: the script stops, and says what it lacks.
func TestAScriptDoesNotTakeAnotherBranchWithoutItsPast(t *testing.T) {
	for when, stops := range map[string]string{
		`results.pay.signal != "ok"`:                     "results.pay",
		`!has(results.pay)`:                              "results.pay",
		`!("pay" in results)`:                            "results",
		`size(results) == 0`:                             "results",
		`last.size() == 0`:                               "last",
		`results.go.result == "again"`:                   "",
		`turns > 100 && results.later.signal == "never"`: "",
	} {
		text := `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: pay}
  - {sleep: {on: go}, as: go}
  - {when: '` + when + `', execute: {tool: echo, args: {n: 2}}}
  - {when: turns > 1000, execute: {tool: echo, args: {n: 3}}, as: later}
  - end: {result: done}
`
		synctest.Test(t, func(t *testing.T) {
			m := newMoving(t, text)
			run(t, m.n, m.id)
			if strings.Contains(when, "last") {
				tell(t, m.n, m.id, perdure.Event{Name: "go"})
				m.cycle() // it is awake
			}
			collect(t, m.n, m.id)
			m.move()
			m.resume()
			a := load(t, m.n, m.id)
			if diff := cmp.Diff([]string{`{"n":1}`}, m.calls); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
			note := ""
			for _, x := range a.Fold().Incapable {
				note = x.Note
			}
			if got := a.Fold().Ended == nil; got != (stops != "") || !strings.Contains(note, stops) {
				t.Errorf("%s: it stops: %v, %q; want %q", when, got, note, stops)
			}
		})
	}
}
