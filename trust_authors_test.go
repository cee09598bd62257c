package perdure

import "testing"

func TestMoreAuthorsThanAreToldApartDoNotCount(t *testing.T) {
	d := lineage(t, "G")
	a, err := FoldEntries(seq(d.all()))
	if err != nil {
		t.Fatal(err)
	}
	trust := NewTrust(trustee("owner", MayOwn, AnyScope))
	for i := range maxAuthors + 2 {
		k := Key{1: byte(i), 2: byte(i >> 8), 3: 1}
		trust = trust.With(Trustee{Key: k, Rights: MayOwn, Scope: AnyScope})
		a.authors = used(a.authors, authored{key: k, right: MayAuthor, scope: "acme", entry: HashOf(k[:])})
	}
	rejected(t, trust.Counts(a), "key.trusted")
}

func TestARevokedKeyHasNothingFromACharter(t *testing.T) {
	bob := people["bob"].key
	d := lineage(t, "G -> B", by("bob", "B"))
	a, err := FoldEntries(seq(d.all()))
	if err != nil {
		t.Fatal(err)
	}
	a.fold = a.fold.clone()
	a.fold.Charter.Delegates = []Key{bob}
	trust := NewTrust(trustee("owner", MayOwn, "acme"))
	if err := trust.Counts(a); err != nil {
		t.Errorf("a delegate of the charter does not count: %v", err)
	}
	rejected(t, trust.With(Trustee{Key: bob, Revoked: true}).Counts(a), "key.trusted")
}

// TestWhatACharterGives holds each right that a charter may give, or that answers may lend, against who has it.
func TestWhatACharterGives(t *testing.T) {
	a, err := FoldEntries(seq(lineage(t, "G").all()))
	if err != nil {
		t.Fatal(err)
	}
	owner, bob, cy, eve := people["owner"].key, people["bob"].key, people["cy"].key, people["eve"].key
	ours := NewTrust(trustee("owner", MayOwn, "acme"), trustee("ann", MayApprove, "acme"))
	admits := NewTrust(trustee("heir", MayOwn, "acme"), trustee("ann", MayApprove, "acme"))
	without := ours.With(Trustee{Key: bob, Revoked: true})
	beside := admits.With() // nobody let it in: a snapshot alone vouched for it
	move := func(by Key, let ...Key) authored { return authored{key: by, right: MayOwn, let: let} }
	for name, c := range map[string]struct {
		trust *Trust // in admits the owner is nobody, and the agent was let in
		by    authored
		want  bool
	}{
		"a delegate writes":                          {ours, authored{key: cy, right: MayAuthor}, true},
		"a delegate approves":                        {ours, authored{key: cy, right: MayApprove}, false},
		"a delegate owns":                            {ours, move(cy), false},
		"an approver approves":                       {ours, authored{key: bob, right: MayApprove}, true},
		"an approver writes":                         {ours, authored{key: bob, right: MayAuthor}, false},
		"a delegate moves it, as nobody let it":      {ours, move(cy, eve), false},
		"a delegate moves it, as an approver let it": {ours, move(cy, bob), true},
		"a delegate moves it, as one taken back let": {without, move(cy, bob), false},
		"a delegate moves it, as somebody here did":  {ours, move(cy, people["ann"].key), true},
		"its owner writes, once let in":              {admits, authored{key: owner, right: MayAuthor}, true},
		"its owner writes, as nobody let it in":      {beside, authored{key: owner, right: MayAuthor}, false},
		"its owner lifts a pause, once let in": {
			admits, authored{key: owner, right: MayApprove, here: true}, false},
		"its owner moves it, as its approver let it":  {admits, move(owner, bob), false},
		"its owner moves it, as nobody let it":        {admits, move(owner, eve), false},
		"its owner moves it, as somebody here let it": {admits, move(owner, people["ann"].key), true},
		"one of more authors than are told apart":     {ours, authored{right: MayAuthor}, false},
	} {
		b := *a
		b.fold = a.fold.clone()
		b.fold.Charter.Approvers, b.fold.Charter.Delegates = []Key{bob}, []Key{cy}
		if c.trust == admits {
			b.fold.Admitted = []Key{people["heir"].key}
		}
		if c.by.scope = "acme"; len(c.by.let) > 0 {
			c.by.to = "acme/ops"
		}
		if c.by.right == MayOwn && c.by.key == owner { // of a move: genesis has its own
			c.by.here = true
		}
		if got := c.trust.counts(&b, &c.by); got != c.want {
			t.Errorf("%s: it counts: %v, want %v", name, got, c.want)
		}
	}
}

// A key that began a child in an owner's name, and was taken back here, is not believed that the owner had seen it: of
// that owner there is nothing but what the key wrote itself.
func TestAKeyThatWasTakenBackSpeaksForNoOwner(t *testing.T) {
	a, err := FoldEntries(seq(lineage(t, "G").all()))
	if err != nil {
		t.Fatal(err)
	}
	owner, bob := people["owner"].key, people["bob"].key
	trust := NewTrust(trustee("owner", MayOwn, "acme"), trustee("bob", MayBegin, "acme"),
		Trustee{Key: bob, Revoked: true})
	a.fold = a.fold.clone()
	a.fold.Begun, a.fold.Revoked = bob, []Key{bob}
	genesis := authored{key: bob, right: MayBegin, scope: "acme"}
	a.authors = used(used(nil, authored{key: owner, right: MayOwn, scope: "acme"}), genesis)
	if trust.counts(a, &genesis) {
		t.Error("it counts, and the owner has written nothing")
	}
	a.authors = used(a.authors, authored{key: owner, right: MayAuthor, scope: "acme"})
	if !trust.counts(a, &genesis) {
		t.Error("it does not count, although the owner wrote on top of it")
	}
	nobodys := NewTrust(trustee("bob", MayBegin, "acme"), Trustee{Key: bob, Revoked: true})
	if nobodys.counts(a, &genesis) {
		t.Error("it counts on the word of an owner who is nobody here")
	}
	a.fold.Revoked = []Key{owner}
	thief := authored{key: owner, right: MayAuthor, scope: "acme"}
	if trust.With(Trustee{Key: owner, Revoked: true}).counts(a, &thief) {
		t.Error("an owner who was taken back here counts, as it says itself that it was revoked")
	}
}
