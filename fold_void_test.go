package perdure

import (
	"fmt"
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
	names := map[Hash]string{}
	for name, e := range d.entries {
		names[e.Name] = name
	}
	a, err := FoldEntries(each(d.all()))
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for e, err := range a.Fold().Counting(each(d.all())) {
		if err != nil {
			t.Fatal(err)
		}
		read[names[e.Name]] = true
	}
	for name := range d.entries {
		if read[name] != want(name) {
			t.Errorf("%s counts: %v, want %v", name, read[name], want(name))
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
