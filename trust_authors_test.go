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
