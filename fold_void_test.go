package perdure

import (
	"fmt"
	"slices"
	"testing"
)

// Far more void entries than a fold remembers conflicts, and far more ordinary conflicts after a void entry, leave none
// of them to be taken for something that counts; and what the revocation had seen goes on to count.
func TestNoVoidEntryIsForgotten(t *testing.T) {
	d := lineage(t, `G -> K -> R`, by("bob", "K"), says("R", event(KeyChange{Revoke: people["bob"].key})))
	before := "K"
	for i := range 3 * maxConflicts {
		name := fmt.Sprint("V", i)
		d.by[name] = "bob"
		d.add(name, before)
		before = name
	}
	d.add("J", before, "R")
	before = "J"
	for i := range 2 * maxConflicts {
		name := fmt.Sprint("C", i)
		d.body[name] = func(d *dag) Body { return event(Approval{Decision: d.name("G"), Digest: d.name("G")}) }
		d.add(name, before)
		before = name
	}
	counting(t, d, func(name string) bool { return name[0] != 'V' })
}

// Of two revocations that had not seen each other, what either had not seen is void. One that only the owner may make,
// and somebody else made, voids nothing.
func TestWhatIsVoidIsAMatterOfAncestry(t *testing.T) {
	revoke := event(KeyChange{Revoke: people["bob"].key})
	d := lineage(t, `
G -> K -> A -> R
          | -> V
     | -> F -> L
     | -> Q
V,R,L,Q -> J
`, by("bob", "K", "A", "V"), by("eve", "F"), says("R", revoke), says("F", revoke), says("Q", revoke))
	counting(t, d, func(name string) bool { return name != "A" && name != "V" })
}

// counting checks which entries of a memory count, for who reads all of it and for who reads what an agent holds.
func counting(t *testing.T, d *dag, want func(name string) bool) {
	t.Helper()
	names := d.namesOf()
	a, err := FoldEntries(each(d.all()))
	if err != nil {
		t.Fatal(err)
	}
	counts := whatCounts(t, d, d.all())
	for name := range d.entries {
		if read := slices.Contains(counts, name); read != want(name) {
			t.Errorf("%s counts: %v, want %v", name, read, want(name))
		}
	}
	held := map[string]bool{}
	for e := range a.Counting() {
		held[names[e.Name]] = true
	}
	for e := range a.Recent() {
		if name := names[e.Name]; held[name] != want(name) {
			t.Errorf("%s, which is held, counts: %v, want %v", name, held[name], want(name))
		}
	}
}

// namesOf is what entries are called in a drawing.
func (d *dag) namesOf() map[Hash]string {
	names := map[Hash]string{}
	for name, e := range d.entries {
		names[e.Name] = name
	}
	return names
}

// whatCounts is which entries of a memory count for who reads them out of a store, in the order they are read in. It is
// the same whether an agent or its fold reads, and for who reads part by part.
func whatCounts(t *testing.T, d *dag, memory []*Entry) (read []string) {
	t.Helper()
	s := new(MemStore)
	id := d.entries["G"].ID()
	if err := s.Put(t.Context(), id, memory...); err != nil {
		t.Fatal(err)
	}
	a, err := Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	names := d.namesOf()
	for _, r := range []*Reader{a.Reader(s), a.Fold().Reader(s)} {
		var got []string
		for e, err := range r.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, names[e.Name])
		}
		if read != nil && !slices.Equal(got, read) {
			t.Errorf("the fold alone reads %q, the agent %q", got, read)
		}
		read = got
	}
	for _, e := range memory {
		r := a.Reader(s)
		found, err := r.Find(t.Context(), e.Name)
		if err != nil || found == nil {
			t.Fatalf("find %s: %v, %v", names[e.Name], found, err)
		}
		counts, err := r.Counts(t.Context(), found)
		if err != nil || counts != slices.Contains(read, names[e.Name]) {
			t.Errorf("%s counts by itself: %v, %v; want as in %q", names[e.Name], counts, err, read)
		}
	}
	return read
}

// without is the entries of a drawing, those of these names without their bodies.
func (d *dag) without(gone ...string) (all []*Entry) {
	for _, name := range d.names {
		e := d.entries[name]
		if slices.Contains(gone, name) {
			e = e.Drop()
		}
		all = append(all, e)
	}
	return all
}

// snapshot adds a snapshot of everything drawn so far.
func (d *dag) snapshot(name string, parents ...string) {
	f := *d.agent().fold
	d.body[name] = func(*dag) Body { return Snapshot{Fold: f} }
	d.add(name, parents...)
}

// That the agent was handed on is not forgotten with the body that said so: what the heir revokes later is revoked, and
// what the heir had seen of it counts.
func TestWhatAnHeirSawOfARevokedKeyCountsAfterTheHandoverWasCollected(t *testing.T) {
	d := lineage(t, `G -> H`, by("bob", "K", "V"), by("heir", "R", "J"),
		says("H", event(KeyChange{Owner: people["heir"].key})), says("R", event(KeyChange{Revoke: people["bob"].key})))
	d.snapshot("S", "H")
	d.add("K", "S")
	d.add("R", "K")
	d.add("V", "K")
	d.add("J", "R", "V")
	for _, memory := range [][]*Entry{d.all(), d.without("H")} {
		if got, want := whatCounts(t, d, memory), []string{"G", "H", "S", "K", "R", "J"}; !slices.Equal(got, want) {
			t.Errorf("%q counts, want %q", got, want)
		}
	}
}

// A revocation by somebody who owns the agent no more counts for nothing, also when it is not on record any more that
// they handed it on.
func TestAFormerOwnerRevokesNothingAfterTheHandoverWasCollected(t *testing.T) {
	d := lineage(t, `G -> H`, by("ann", "Y"), by("heir", "R"),
		says("H", event(KeyChange{Owner: people["heir"].key})), says("X", event(KeyChange{Revoke: people["ann"].key})),
		says("R", event(KeyChange{Revoke: people["bob"].key})))
	d.snapshot("S", "H")
	d.add("X", "S")
	d.add("Y", "X")
	d.add("Z", "X")
	d.add("R", "Y", "Z")
	for _, memory := range [][]*Entry{d.all(), d.without("H")} {
		a, err := FoldEntries(each(memory))
		if err != nil {
			t.Fatal(err)
		}
		if a.fold.Charter.Owner != people["heir"].key {
			t.Errorf("it is owned by %s", a.fold.Charter.Owner.Short())
		}
		if got := whatCounts(t, d, memory); len(got) != len(memory) {
			t.Errorf("only %q counts", got)
		}
	}
}

// Of a key that was revoked before bodies went, what every revocation had seen counts, if one is still there; else
// nothing that the key wrote does.
func TestWhatARevocationSawCountsAsLongAsItIsThere(t *testing.T) {
	d := lineage(t, `
G -> N -> K -> R
          | -> V
V,R -> J
`, by("bob", "K", "V"), says("R", event(KeyChange{Revoke: people["bob"].key})))
	d.snapshot("S", "J")
	d.add("E", "S")
	for _, of := range []struct {
		gone []string
		want []string
	}{
		{nil, []string{"G", "N", "K", "R", "J", "S", "E"}},
		{[]string{"N"}, []string{"G", "N", "K", "R", "J", "S", "E"}},
		{[]string{"N", "R"}, []string{"G", "N", "R", "J", "S", "E"}},
	} {
		if got := whatCounts(t, d, d.without(of.gone...)); !slices.Equal(got, of.want) {
			t.Errorf("without %q: %q counts, want %q", of.gone, got, of.want)
		}
	}
}

// What a stolen key says a read came to is not what advice rests on, nor what a fork rehearses with.
func TestAVoidOutcomeIsNeitherABasisNorRehearsed(t *testing.T) {
	read := Execute{Tool: "price", Call: "c"}
	mine, _ := DataOf("mine")
	theirs, _ := DataOf("theirs")
	for _, late := range []bool{false, true} {
		d := lineage(t, `G -> K -> A -> D`, by("bob", "K", "V"), says("A", Advice{Actions: []Action{read}}),
			saysOf("D", func(d *dag) Body {
				return Decision{Advice: d.name("A"), Effect: Read, Verdict: Verdict{Answer: Allow}}
			}),
			saysOf("V", func(d *dag) Body { return Outcome{Decision: d.name("D"), Signal: OK, Result: theirs} }),
			saysOf("O", func(d *dag) Body { return Outcome{Decision: d.name("D"), Signal: OK, Result: mine} }),
			says("R", event(KeyChange{Revoke: people["bob"].key})))
		d.add("E", "D")
		if late {
			d.add("O", "D")
			d.add("V", "E")
		} else {
			d.add("V", "D")
			d.add("O", "E")
		}
		d.add("R", "O")
		a := d.agent()
		if b := a.remember(&Basis{Reads: []Assumption{{Read: read}}}); b.Reads[0].Result != HashOf(mine) {
			t.Errorf("late %v: advice rests on what a stolen key said", late)
		}
		ended, _, err := callsOf(t.Context(), a, nil, Hash{})
		if err != nil || len(ended) != 1 || ended[0].entry != d.name("O") {
			t.Errorf("late %v: rehearsed with %v, %v; want the one outcome that counts", late, ended, err)
		}
	}
}
