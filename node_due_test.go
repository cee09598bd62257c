package perdure

import (
	"testing"
	"time"
)

// TestWhenAnArrivalIsDueIsNotItsAuthorsWord writes entries that say that nobody need look, or not for a year, at an
// agent that has work to do, and the other way round.
func TestWhenAnArrivalIsDueIsNotItsAuthorsWord(t *testing.T) {
	key := must(GenerateSigner("author"))
	now := time.Now()
	soon := func(d Time) bool { return d != 0 && d <= TimeOf(now.Add(time.Minute)) }
	never := func(d Time) bool { return d == 0 }
	for what, c := range map[string]struct {
		body Body
		due  Time
		want func(Time) bool
	}{
		"never, with work to do":      {Event{Name: "news"}, 0, soon},
		"in a year, with work to do":  {Event{Name: "news"}, TimeOf(now.AddDate(1, 0, 0)), soon},
		"at once, with nothing to do": {Event{Name: "pause", Notice: Pause{}}, TimeOf(now), never},
	} {
		s := new(MemStore)
		n := &Node{Store: s, Key: key}
		g := must(key.Genesis(Genesis{Intent: Intent{Goal: "work"}, Charter: Charter{Scope: "test"}}, now))
		a := must(Begin(g))
		e := &Entry{Header: Header{Agent: a.ID(), Parents: a.Heads(), Seq: 1, Time: TimeOf(now), Kind: KindEvent,
			Due: c.due}, content: c.body}
		if err := key.build(e); err != nil {
			t.Fatal(err)
		}
		if err := key.seal(e); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), a.ID(), g, e); err != nil {
			t.Fatal(err)
		}
		if err := n.Arrived(t.Context(), a.ID()); err != nil {
			t.Fatal(err)
		}
		var due Time
		for look, err := range s.Due(t.Context(), now.AddDate(10, 0, 0)) {
			if err != nil {
				t.Fatal(err)
			}
			due = look.Due
		}
		if !c.want(due) {
			t.Errorf("%s: the store has it due at %v", what, due)
		}
	}
}
