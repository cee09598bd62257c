package perdure

import (
	"testing"
	"time"
)

// TestWhoEndsAnAgent holds the end of an agent in which there is an entry of eve, who is nobody here, against who began
// it: what is ours does not end by a stranger's word, and what is a stranger's is as that stranger says.
func TestWhoEndsAnAgent(t *testing.T) {
	a, err := FoldEntries(seq(lineage(t, "G").all()))
	if err != nil {
		t.Fatal(err)
	}
	owner, bob, eve := people["owner"].key, people["bob"].key, people["eve"].key
	owns, begins := trustee("owner", MayOwn, "acme"), trustee("bob", MayBegin, "acme")
	for name, c := range map[string]struct {
		trust    *Trust
		begun    Key
		admitted []Key
		alone    bool // without eve's entry
		ended    bool
	}{
		"ours, and only ours wrote":                 {NewTrust(owns), Key{}, nil, true, true},
		"ours":                                      {NewTrust(owns), Key{}, nil, false, false},
		"nobody's here":                             {NewTrust(begins), Key{}, nil, false, true},
		"begun by somebody who may":                 {NewTrust(owns, begins), bob, nil, false, false},
		"begun by somebody who may, of nobody":      {NewTrust(begins), bob, nil, false, false},
		"by a stranger in our name":                 {NewTrust(owns), eve, nil, false, true},
		"by a stranger in our name, let in by us":   {NewTrust(owns), eve, []Key{owner}, false, false},
		"by a stranger in our name, let in by them": {NewTrust(owns), eve, []Key{eve}, false, true},
		"of nobody here, let in by us": {
			NewTrust(trustee("heir", MayOwn, "acme")), eve, []Key{people["heir"].key}, false, true},
		"by a stranger for a stranger, let in by us": {NewTrust(begins), eve, []Key{bob}, false, true},
	} {
		b := *a
		b.fold = a.fold.clone()
		b.fold.Ended, b.fold.Begun, b.fold.Admitted = &Ending{}, c.begun, c.admitted
		if !c.alone {
			b.authors = &authored{key: eve, right: MayAuthor, scope: "acme", before: a.authors}
		}
		if got := c.trust.Ended(&b) != nil; got != c.ended {
			t.Errorf("%s: it has ended: %v, want %v", name, got, c.ended)
		}
	}
}

// TestAStrangersAgentWaitsForNobodyOnceItHasEnded: there is nothing to be said to it, so no list has it as waiting.
func TestAStrangersAgentWaitsForNobodyOnceItHasEnded(t *testing.T) {
	a, err := FoldEntries(seq(lineage(t, "G").all()))
	if err != nil {
		t.Fatal(err)
	}
	ended := *a
	ended.fold = a.fold.clone()
	ended.fold.Ended = &Ending{}
	strange := NewTrust(trustee("bob", MayOwn, "acme"))
	if now := time.Now(); !a.listing(strange, now).Waiting || ended.listing(strange, now).Waiting {
		t.Errorf("it waits to be admitted: %v, once it has ended %v; want true and false",
			a.listing(strange, now).Waiting, ended.listing(strange, now).Waiting)
	}
}

// TestWhatIsHearsay holds a charter against who began the agent: only who may own it gives rights in its owner's name.
func TestWhatIsHearsay(t *testing.T) {
	trust := NewTrust(trustee("owner", MayOwn, "acme"), trustee("bob", MayBegin, "acme"))
	owner, bob, cy := people["owner"].key, people["bob"].key, people["cy"].key
	for name, c := range map[string]struct {
		begun                Key
		approvers, delegates []Key
		want                 bool
	}{
		"the owner began it":                 {Key{}, []Key{cy}, []Key{cy}, false},
		"somebody who may own it began it":   {owner, []Key{cy}, []Key{cy}, false},
		"another names who may approve":      {bob, []Key{cy}, nil, true},
		"another names who may run it":       {bob, nil, []Key{cy}, true},
		"another names nobody":               {bob, nil, nil, false},
		"somebody unknown names an approver": {people["eve"].key, []Key{cy}, nil, true},
	} {
		f := &Fold{Begun: c.begun}
		f.Charter = Charter{Owner: owner, Scope: "acme", Approvers: c.approvers, Delegates: c.delegates}
		if got := trust.hearsay(f); got != c.want {
			t.Errorf("%s: it is hearsay: %v, want %v", name, got, c.want)
		}
	}
}
