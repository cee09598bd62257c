package perdure

import "testing"

// TestWhoSaidIt is what an advisor is told of who said something, by what the key may here.
func TestWhoSaidIt(t *testing.T) {
	key := func(name string) Key { return people[name].key }
	owner, bob, eve := key("owner"), key("bob"), key("eve")
	a, err := FoldEntries(seq(lineage(t, "G").all()))
	if err != nil {
		t.Fatal(err)
	}
	named := func(k Key, name string, right Right) Trustee {
		return Trustee{Key: k, Name: name, Rights: right, Scope: AnyScope}
	}
	root := NewTrust(named(owner, "root", MayOwn))
	al := root.With(named(bob, "al", MayAuthor))
	short := "key " + bob.Short()
	stranger := "a stranger (key " + bob.Short() + ", under the name root)"
	for name, c := range map[string]struct {
		trust *Trust
		do    func(c *Fold)
		by    Key
		as    string
		want  string
		known bool
	}{
		"the owner":                {al, nil, owner, "root", "root", true},
		"a server for a person":    {al, nil, owner, "ann", "ann", true},
		"an author":                {al, nil, bob, "al", "al", true},
		"an author without a word": {al, nil, bob, "", "al", true},
		"an author as the owner":   {al, nil, bob, "root", "al (under the name root)", true},
		"an author as the runtime": {al, nil, bob, "runtime", "al (under the name runtime)", true},
		"an author without a name": {root.With(named(bob, "", MayAuthor)), nil, bob, "root",
			short + " (under the name root)", true},
		"an owner of another scope": {root.With(Trustee{Key: bob, Name: "al", Rights: MayOwn, Scope: "other"}), nil,
			bob, "root", "al (under the name root)", true},
		"nobody": {root, nil, bob, "root", stranger, false},
		"an approver of the charter": {root, func(f *Fold) { f.Charter.Approvers = []Key{bob} }, bob, "root",
			short + " (under the name root)", true},
		"a delegate of the charter": {root, func(f *Fold) { f.Charter.Delegates = []Key{bob} }, bob, "",
			bob.Short(), true},
		"a delegate of a stranger": {NewTrust(named(eve, "root", MayOwn)),
			func(f *Fold) { f.Charter.Delegates = []Key{bob} }, bob, "root", stranger, false},
		"a delegate of a charter that is hearsay": {root, func(f *Fold) {
			f.Charter.Delegates, f.Begun = []Key{bob}, eve
		}, bob, "root", stranger, false},
		"a delegate who was taken back here": {root.With(Trustee{Key: bob, Revoked: true}),
			func(f *Fold) { f.Charter.Delegates = []Key{bob} }, bob, "root", stranger, false},
		"an author who was taken back here": {al.With(Trustee{Key: bob, Name: "al", Revoked: true}), nil, bob, "root",
			"al (under the name root)", false},
		"a delegate whom the owner revoked": {root, func(f *Fold) {
			f.Charter.Delegates, f.Revoked = []Key{bob}, []Key{bob}
		}, bob, "root", short + " (under the name root)", true},
		"an owner before one who is nobody here": {NewTrust(named(eve, "root", MayOwn)),
			func(f *Fold) { f.Former = []Key{bob} }, bob, "root", stranger, false},
		"an author who owned it before one who is nobody here": {
			NewTrust(named(eve, "root", MayOwn), named(bob, "al", MayAuthor)),
			func(f *Fold) { f.Former = []Key{bob} }, bob, "root", "al (under the name root)", true},
		"a server whose owner has a new key": {root, func(f *Fold) { f.Former = []Key{bob} }, bob, "ann", "ann", true},
	} {
		b := *a
		b.fold, b.asker = a.fold.clone(), c.trust
		if c.do != nil {
			c.do(b.fold)
		}
		if who, known := b.SaidBy(c.by, c.as); who != c.want || known != c.known {
			t.Errorf("%s: %q, known %v, want %q, %v", name, who, known, c.want, c.known)
		}
	}
	if who, known := a.SaidBy(eve, "root"); who != "root" || !known {
		t.Errorf("nobody asks: %q, %v", who, known)
	}
	vote := &Event{By: "ann", Notice: Approval{Approve: true}} // it counts for the key, whoever that speaks for
	if who, known := root.SaidBy(a.fold, owner, vote); who != "root (under the name ann)" || !known {
		t.Errorf("a vote by a server for a person: %q, %v", who, known)
	}
}
