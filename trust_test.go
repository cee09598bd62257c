package perdure

import (
	"strings"
	"testing"
)

func trustee(who string, r Right, scope string) Trustee {
	return Trustee{Key: people[who].key, Name: who, Rights: r, Scope: scope}
}

func TestTrustFileComesBackInOneForm(t *testing.T) {
	ann, bob := people["ann"], people["bob"]
	text := "\n# whom we trust\n" + ann.VerifierKey() + "   own  acme # ann\n" + bob.key.String() +
		" approve,author acme/ops\n\n-" + people["eve"].key.String() + " # left\n" +
		bob.key.String() + " author,approve acme/ops # again\n"
	trust, err := ParseTrust(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := "-" + people["eve"].key.String() + " # left\n" + ann.VerifierKey() + " own acme # ann\n" +
		bob.key.String() + " author,approve acme/ops\n"
	if got := trust.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again, err := ParseTrust(strings.NewReader(trust.String()))
	if err != nil || again.String() != want {
		t.Errorf("got %v\n%s", err, again)
	}
	var b strings.Builder
	if n, err := trust.WriteTo(&b); err != nil || b.String() != want || n != int64(len(want)) {
		t.Errorf("got %d bytes, %v", n, err)
	}
	if got := len(trust.Trustees()); got != 3 {
		t.Errorf("got %d lines, want 3", got)
	}
}

func TestBadTrustLineIsNamed(t *testing.T) {
	ann := people["ann"].key.String()
	for text, want := range map[string]string{
		"x own acme":                                 "line 1: key",
		"\n" + ann + " rule acme":                    "line 2: right \"rule\": want one of author, approve, own",
		"\n\n" + ann + " own":                        "line 3: got 2 words, want KEY RIGHTS SCOPE",
		ann + " own a//b":                            "line 1: scope",
		"-" + ann + " own":                           "taken back",
		strings.Repeat("0", 64) + " own acme":        "is no key",
		ann + "+1 own acme":                          "line 1: key",
		ann + " own acme " + strings.Repeat("x", 70): "got 4 words",
	} {
		if _, err := ParseTrust(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := ParseTrust(strings.NewReader(strings.Repeat("x", 1<<20))); err == nil {
		t.Error("a line of a mebibyte was read")
	}
}

func TestTrustAgain(t *testing.T) {
	bob := trustee("bob", MayAuthor, "acme")
	trust := NewTrust(bob, Trustee{Key: bob.Key, Revoked: true})
	again := trust.Again(bob)
	if !again.Allows(bob.Key, MayAuthor, "acme") {
		t.Error("a key that is trusted again is not")
	}
	other := trustee("eve", MayApprove, "acme")
	other.Name = "bob"
	if k, taken := again.Namesake(other); !taken || k != bob.Key {
		t.Errorf("two keys of one name: %v", taken)
	}
}

func TestTrustGivenAfterARevocationIsAllThereIs(t *testing.T) {
	ann, bob := trustee("ann", MayOwn, AnyScope), trustee("bob", MayOwn, AnyScope)
	trust := NewTrust(ann, bob, trustee("bob", MayApprove, "home"), Trustee{Key: bob.Key, Revoked: true})
	again := trust.Again(trustee("bob", MayAuthor, "acme"))
	for _, c := range []struct {
		right Right
		scope string
		want  bool
	}{{MayAuthor, "acme", true}, {MayOwn, "acme", false}, {MayAuthor, "home", false}, {MayApprove, "home", false}} {
		if got := again.Allows(bob.Key, c.right, c.scope); got != c.want {
			t.Errorf("bob, revoked and trusted again as author in acme: %v in %s is %v, want %v", c.right, c.scope, got,
				c.want)
		}
	}
	if !again.Allows(ann.Key, MayOwn, "home") {
		t.Error("another key lost its rights")
	}
	if more := again.Again(trustee("bob", MayApprove, "acme")); !more.Allows(bob.Key, MayAuthor, "acme") {
		t.Error("a second right took the first away")
	}
	// What the key was trusted with is still known while it is revoked: what it wrote before depends on it.
	if gone := NewTrust(bob).Again(Trustee{Key: bob.Key, Revoked: true}); !gone.granted(bob.Key, MayOwn, "acme") {
		t.Error("a revocation forgot what the key was trusted with before")
	}
}

func TestRevokedAndUnprovedKeysHaveNoSay(t *testing.T) {
	owner, eve := people["owner"].key, people["eve"].key
	trust := NewTrust(trustee("owner", MayOwn, "acme"), trustee("eve", MayOwn, "acme"),
		Trustee{Key: eve, Revoked: true})
	self := lineage(t, "G -> R -> A", by("eve", "G", "R", "A"), says("R", event(KeyChange{Revoke: eve})))
	if a, err := FoldEntries(seq(self.all()[:2])); err != nil || trust.Counts(a) == nil {
		t.Errorf("a revoked key that revokes itself counts (%v)", err)
	}
	f := &Fold{Charter: Charter{Owner: owner, Scope: "acme", Approvers: []Key{eve}}}
	q := &Asking{Verdict: Verdict{Asked: []string{askedOwner}}}
	if trust.MayAnswer(f, q, eve) {
		t.Error("a revoked approver answers")
	}
	eves := NewTrust(trustee("owner", MayOwn, "acme"), trustee("eve", MayOwn, "acme"))
	if f.Revoked = []Key{eve}; eves.MayAnswer(f, q, eve) {
		t.Error("an approver answers whom the owner revoked in the agent alone")
	}
	bob := people["bob"].key
	claims := NewTrust(trustee("owner", MayOwn, "acme"), trustee("bob", MayAuthor, "acme"))
	f.Charter.Approvers, f.Begun = []Key{bob}, bob
	here := &Asking{Verdict: claims.asksHere(f, Verdict{Answer: Ask, Asked: q.Verdict.Asked})}
	if claims.MayAnswer(f, q, bob) || claims.MayAnswer(f, here, bob) || !claims.MayAnswer(f, here, owner) {
		t.Error("an author made itself approver, by a charter its owner did not sign")
	}
}

func TestNobodyIsTrustedUnlessNamed(t *testing.T) {
	trust := NewTrust(trustee("ann", MayOwn, "acme"), trustee("bob", MayAuthor, "acme/ops"),
		trustee("cy", MayApprove, AnyScope), trustee("eve", MayOwn, AnyScope),
		Trustee{Key: people["eve"].key, Revoked: true})
	for _, c := range []struct {
		who   string
		right Right
		scope string
		want  bool
	}{
		{"ann", MayOwn, "acme", true}, {"ann", MayAuthor, "acme/ops/db", true}, {"ann", MayApprove, "acme", true},
		{"ann", MayOwn, "acmeops", false}, {"ann", MayOwn, "other", false},
		{"bob", MayAuthor, "acme/ops", true}, {"bob", MayAuthor, "acme", false}, {"bob", MayApprove, "acme/ops", false},
		{"bob", MayOwn, "acme/ops", false},
		{"cy", MayApprove, "anything", true}, {"cy", MayAuthor, "anything", false},
		{"cy", MayAuthor | MayApprove, "anything", false},
		{"eve", MayAuthor, "acme", false}, {"dee", MayAuthor, "acme", false}, {"bob", MayAuthor, NoScope, false},
		{"cy", MayApprove, NoScope, true}, {"dee", 0, NoScope, false},
	} {
		if got := trust.Allows(people[c.who].key, c.right, c.scope); got != c.want {
			t.Errorf("%s %s in %s: got %v", c.who, c.right, c.scope, got)
		}
	}
	if new(Trust).Allows(people["ann"].key, 0, "acme") {
		t.Error("an empty trust file trusts somebody")
	}
}

// trusted verifies a memory by whom is trusted.
func trusted(t *Trust, entries []*Entry) error {
	_, err := Verify(seq(entries), VerifyOptions{Trust: t})
	return err
}

func TestTrustIsCheckedInTheScopeInForce(t *testing.T) {
	narrow := "acme/ops"
	all := []Trustee{trustee("owner", MayOwn, "acme"), trustee("bob", MayAuthor, "acme/ops"),
		trustee("ann", MayApprove, "acme")}
	check := func(d *dag, trustees ...Trustee) error { return trusted(NewTrust(trustees...), d.all()) }
	after := lineage(t, "G -> N -> B", says("N", allowed(Mutate{Scope: &narrow})), by("bob", "B"))
	if err := check(after, all...); err != nil {
		t.Errorf("bob may write once the scope is his: %v", err)
	}
	before := lineage(t, "G -> B -> N", says("N", allowed(Mutate{Scope: &narrow})), by("bob", "B"))
	r := rejected(t, check(before, all...), "key.trusted")
	if !strings.Contains(r.Want, "author in scope acme") || !strings.Contains(r.Hint, people["bob"].key.String()) {
		t.Errorf("got %v, want to be told which right is missing", r)
	}
	for name, d := range map[string]*dag{
		"an approver writes an event": lineage(t, "G -> A", by("ann", "A")),
		"an author changes keys": lineage(t, "G -> N -> B", says("N", allowed(Mutate{Scope: &narrow})),
			by("bob", "B"), says("B", event(KeyChange{Revoke: people["ann"].key}))),
		"an author approves": lineage(t, "G -> N -> B", says("N", allowed(Mutate{Scope: &narrow})),
			by("bob", "B"), says("B", event(Approval{}))),
		"an approver by another name":   lineage(t, "G -> A", by("ann", "A"), says("A", event(Approval{}))),
		"a stranger writes":             lineage(t, "G -> A", by("eve", "A")),
		"it is handed on to a stranger": lineage(t, "G -> A", says("A", event(KeyChange{Owner: people["eve"].key}))),
		"a stranger owns it":            lineage(t, "G -> A", by("eve", "G", "A")),
	} {
		if err := check(d, all...); err == nil {
			t.Errorf("%s, and is trusted", name)
		} else {
			rejected(t, err, "key.trusted")
		}
	}
	vouched := lineage(t, "G -> A -> S -> B", by("eve", "A"), saysOf("S", snapshotOf("A")))
	vouched.entries["A"] = vouched.entries["A"].Drop()
	if err := check(vouched, all...); err != nil {
		t.Errorf("the owner vouches for what came before its snapshot: %v", err)
	}
	rejected(t, check(lineage(t, "G -> A -> S -> B", by("eve", "A", "S"), saysOf("S", snapshotOf("A"))), all...),
		"key.trusted")
	vote := Event{Name: "approval", Notice: Approval{}}
	if err := check(lineage(t, "G -> A", by("ann", "A"), says("A", vote)), all...); err != nil {
		t.Errorf("an approver may approve: %v", err)
	}
	rejected(t, check(lineage(t, "G")), "key.trusted")
}

func TestLateNarrowingIsJudgedAtItsPlace(t *testing.T) {
	narrow := "acme/ops"
	d := lineage(t, `
G -> N
| -> A -> B
`, says("N", allowed(Mutate{Scope: &narrow})), by("bob", "B"))
	trust := NewTrust(trustee("owner", MayOwn, "acme"), trustee("bob", MayAuthor, narrow))
	entries := d.all()
	for _, order := range [][]*Entry{entries, {entries[0], entries[2], entries[3], entries[1]}} {
		if err := trusted(trust, order); err != nil {
			t.Errorf("B stands after the narrowing in every order: %v", err)
		}
	}
}

func TestTrustTakenBackHoldsWhatTheOwnerHadSeen(t *testing.T) {
	trust := NewTrust(trustee("owner", MayOwn, "acme"), trustee("bob", MayAuthor, "acme"),
		Trustee{Key: people["bob"].key, Revoked: true})
	revoked := lineage(t, `
G -> B -> R -> A
| -> B2
`, by("bob", "B", "B2"), says("R", event(KeyChange{Revoke: people["bob"].key})))
	if err := trusted(trust, revoked.all()); err != nil {
		t.Errorf("the owner had seen B, and B2 counts for nothing: %v", err)
	}
	rejected(t, trusted(trust, lineage(t, "G -> B -> A", by("bob", "B")).all()), "key.trusted")
	never := NewTrust(trustee("owner", MayOwn, "acme"), Trustee{Key: people["bob"].key, Revoked: true})
	rejected(t, trusted(never, revoked.all()), "key.trusted")
}

func TestEntriesThatDoNotCountJoinNoAgentThatDoes(t *testing.T) {
	narrow := "acme/ops"
	d := lineage(t, `
G -> N -> B
| -> C
| -> A
`, says("N", allowed(Mutate{Scope: &narrow})), by("eve", "A"), by("bob", "B", "C"))
	trust := NewTrust(trustee("owner", MayOwn, "acme"), trustee("bob", MayAuthor, narrow))
	had := []*Entry{d.entries["G"], d.entries["N"]}
	here, err := FoldEntries(seq(had))
	if err != nil {
		t.Fatal(err)
	}
	joins := func(trust *Trust, names ...string) error {
		var more []*Entry
		for _, n := range names {
			more = append(more, d.entries[n])
		}
		return trust.Joins(here, seq(had), seq(more), func(h Hash) bool { return h == had[0].Name || h == had[1].Name })
	}
	if err := joins(trust, "G", "N", "B"); err != nil {
		t.Errorf("bob may write where the scope is his: %v", err)
	}
	r := rejected(t, joins(trust, "G", "A"), "key.trusted")
	if want := "perdure key trust " + people["eve"].key.String() +
		" --rights author --scope acme"; !strings.Contains(r.Hint, want) {
		t.Errorf("got hint %q, want %q", r.Hint, want)
	}
	if err := joins(new(Trust), "A"); err != nil {
		t.Errorf("an agent that does not count gets more of the same: %v", err)
	}
}
