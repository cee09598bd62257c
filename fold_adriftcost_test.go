package perdure

import (
	"fmt"
	"testing"
	"time"
)

// events tells the agent n events, each under an id of its own, or under none.
func (w *attack) events(n int, id string) (names []Hash) {
	w.t.Helper()
	for i := range n {
		of := ""
		if id != "" {
			of = fmt.Sprint(id, i)
		}
		names = append(names, w.owner(Event{Name: "e", By: "b", ID: of}).Name)
	}
	return names
}

// What advice has seen that may not count is held in lists, and each entry is held against them: a few passes over
// each, however a memory is made.
func TestAdviceThatMayNotCountCostsLittle(t *testing.T) {
	act := []Action{Execute{Tool: "t"}}
	seat := Genesis{Seat: HashOf([]byte("here"))}
	owner := people["owner"].key
	tests := map[string]struct {
		genesis Genesis
		fill    func(w *attack) (then func()) // what makes the lists long, and an entry that is held against them
		long    func(f *Fold) int             // the list
		most    int64                         // elements per entry
	}{
		"repeated events": {fill: func(w *attack) func() {
			w.events(maxDedupe, "id")
			again := w.events(maxDedupe, "id")
			w.events(maxFallen+2*maxInbox, "")
			w.owner(Advice{Advisor: "m", Seen: again})
			return func() { w.owner(Advice{Advisor: "m", Seen: again}) }
		}, long: func(f *Fold) int { return min(len(f.twins), len(f.fallen)) }, most: 4 * maxFallen},
		"sights": {fill: func(w *attack) func() {
			w.events(maxDedupe, "id")
			w.events(maxDedupe, "id")
			for range maxSights {
				w.owner(Advice{Advisor: "m", Seen: w.events(maxInbox, ""), Actions: act, Epoch: 1})
			}
			return func() { w.owner(Advice{Advisor: "m", Seen: []Hash{w.owner(Event{Name: "e"}).Name}}) }
		}, long: func(f *Fold) int { return 16 * len(f.sights) }, most: 2 * maxSights * maxInbox},
		"advice of a copy": {genesis: seat, fill: func(w *attack) func() {
			for range 17 {
				w.owner(Advice{Advisor: "m", Seen: w.events(maxInbox, ""), Actions: act, Apart: true})
			}
			return func() { w.owner(Advice{Advisor: "m", Seen: w.events(maxInbox, ""), Actions: act, Apart: true}) }
		}, long: func(f *Fold) int { return len(f.drifted) }, most: 4 * maxFallen},
		"marks": {fill: func(w *attack) func() {
			w.put(Event{Name: "aside"}, owner, w.entries[0])
			last := w.put(Event{Name: "e"}, owner, w.entries[0])
			by := []Hash{last.Name}
			for range maxInbox - 2 {
				last = w.put(Event{Name: "e"}, owner, last)
				by = append(by, last.Name)
			}
			allow := Verdict{Answer: Allow}
			last = w.put(Decision{Action: Sleep{Trigger: On{Event: "e"}}, Verdict: allow}, owner, last)
			last = w.put(Decision{Action: Wake{Sleep: last.Name, By: by}, Verdict: allow}, owner, last)
			last = w.put(Advice{Advisor: "m"}, owner, last)
			return func() { last = w.put(Advice{Advisor: "m"}, owner, last) }
		}, long: func(f *Fold) int { return len(f.marks) }, most: 8 * maxInbox},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newAttack(t, tt.genesis)
			then := tt.fill(w)
			a, _ := apply(t, new(Agent), w.entries)
			if n := tt.long(a.fold); n < maxInbox-2 {
				t.Fatalf("the list has %d elements", n)
			}
			from := len(w.entries)
			for range 4 {
				then()
			}
			_, c := apply(t, a, w.entries[from:])
			t.Log(c)
			if c.work > tt.most || c.bytes > 4<<20 {
				t.Errorf("%v, want at most %d and %d", c, tt.most, 4<<20)
			}
		})
	}
}

// Of two effects that are tried again and asked about, what came of one is nothing that came of the other.
func TestALedgerTellsEffectsApartThatAreTriedAgain(t *testing.T) {
	w := newAttack(t, Genesis{})
	x, y := HashOf([]byte("x")), HashOf([]byte("y"))
	ask := func(key Hash) *Entry {
		return w.owner(Decision{Action: Execute{Tool: "pay"}, Key: key, Effect: Once, Verdict: Verdict{Answer: Ask}})
	}
	a, b := ask(x), ask(y)
	yes := w.owner(Decision{Action: Execute{Tool: "pay"}, Key: x, Effect: Once, Verdict: Verdict{Answer: Allow},
		Approvals: []Hash{a.Name}, Deadline: TimeOf(epoch.Add(time.Hour))})
	paid := w.owner(Outcome{Decision: yes.Name, Signal: OK})
	no := w.owner(Outcome{Decision: b.Name, Signal: Denied, Note: "refused"})
	agent, _ := apply(t, new(Agent), w.entries)
	var l Ledger
	for _, e := range []*Entry{a, b, yes, paid, no} {
		if !l.Counts(agent.fold, e) {
			t.Errorf("entry %d does not count", e.Seq)
		}
	}
}
