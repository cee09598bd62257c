package perdure

import (
	"strings"
	"testing"
	"time"
)

// What is answered is the action that is shown, of this agent and decision, and in time: a snapshot that stands for
// bodies which are gone may say otherwise.
func TestOnlyWhatIsShownIsAnsweredAndInTime(t *testing.T) {
	owner, now := people["owner"], TimeOf(time.Now())
	a, err := FoldEntries(seq(lineage(t, "G").all()))
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Store: new(MemStore), Key: owner}
	decision, action := HashOf([]byte("decision")), Execute{Tool: "pay"}
	digest, err := effectDigest(a.ID(), decision, action)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		action  Action
		expires Time
		want    string
	}{
		"as it was asked":   {action, now + 1e9, ""},
		"another action":    {Execute{Tool: "pay-all"}, 0, "is not that of the action"},
		"the time was over": {action, now - 1, "lapsed"},
	} {
		b := *a
		b.fold = a.fold.clone()
		b.fold.Asks = []Asking{{Decision: decision, Action: c.action, Digest: digest, Since: now - 2,
			Verdict: Verdict{Answer: Ask, Quorum: 1, Expires: c.expires}}}
		for _, approve := range []bool{true, false} {
			q, err := n.Votable(&b, digest, approve)
			if c.want == "" && (err != nil || q == nil) ||
				c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, approve %v: %v, want %q", name, approve, err, c.want)
			}
		}
	}
}

// No admission makes a stranger's agent count that keeps documents: it would be the role of that name. Nor does an
// agent delegate to one, or to one whose labels say whose it is.
func TestNoAdmissionMakesAStrangersRoleCount(t *testing.T) {
	owner, eve, now := people["owner"], people["eve"], time.Now()
	trust := NewTrust(trustee("owner", MayOwn, "acme"))
	for _, kind := range []string{"", "role", "workspace"} {
		e, err := eve.Genesis(Genesis{Intent: Intent{Name: "a", Goal: "g", Kind: kind},
			Charter: Charter{Scope: "acme", Depth: 1}}, now)
		if err != nil {
			t.Fatal(err)
		}
		a, err := FoldEntries(seq([]*Entry{e}))
		if err != nil {
			t.Fatal(err)
		}
		entries, err := owner.Admission(a, now, "")
		if err == nil {
			a, err = a.Apply(entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := trust.Counts(a); (err == nil) != (kind == "") {
			t.Errorf("of kind %q: %v", kind, err)
		}
	}
	a, err := FoldEntries(seq(lineage(t, "G").all()))
	if err != nil {
		t.Fatal(err)
	}
	f := a.fold.clone()
	f.Charter.Depth = 1
	for label, want := range map[string]bool{"team": true, "once": false, "a2a-client": false} {
		why := f.OutOfBounds(Delegate{Intent: Intent{Goal: "g", Labels: map[string]string{label: "x"}}})
		if (why == "") != want {
			t.Errorf("a child with the label %s: %q", label, why)
		}
	}
	if f.OutOfBounds(Delegate{Intent: Intent{Goal: "g", Kind: "role"}}) == "" {
		t.Error("a child that keeps documents is in bounds")
	}
}

// An answer counts where the agent runs. Where it is held, nobody's is taken that would be nothing there: that of who
// owns this home, for one to its owner, or one on top of a pause of this home.
func TestWhereAnAgentIsHeldAnswersAreForWhereItRuns(t *testing.T) {
	bob, now := people["bob"], TimeOf(time.Now())
	decision, action := HashOf([]byte("decision")), Execute{Tool: "pay"}
	trust := NewTrust(Trustee{Key: bob.key, Name: "bobby", Rights: MayOwn, Scope: "acme"})
	for name, c := range map[string]struct {
		drawn, asked, want string
	}{
		"somebody by name":         {"G", "bobby", ""},
		"its owner":                {"G", askedOwner, "would not count where it runs"},
		"under a pause from here":  {"G -> P", "bobby", "under a pause of this home"},
		"the operator where it is": {"G", askedOperator, "would not count where it runs"},
	} {
		d := lineage(t, c.drawn, by("bob", "P"), says("P", event(Pause{})))
		a, err := FoldEntries(seq(d.all()))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := effectDigest(a.ID(), decision, action)
		if err != nil {
			t.Fatal(err)
		}
		a.fold = a.fold.clone()
		a.fold.Asks = []Asking{{Decision: decision, Action: action, Digest: digest, Since: now - 2,
			Verdict: Verdict{Answer: Ask, Quorum: 1, Asked: []string{c.asked}}}}
		n := &Node{Store: new(MemStore), Key: bob, Trust: trust}
		if err := n.init(); err != nil {
			t.Fatal(err)
		}
		_, err = n.Votable(a, digest, true)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
