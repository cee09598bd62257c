package perdure

import (
	"testing"
	"time"
)

// forged is an entry with a signature that nobody made.
func forged(e *Entry) *Entry {
	c := *e
	c.Signature, c.verified = make([]byte, signatureSize), 0
	return &c
}

// A signature stands for the earlier ones of its author, so one that does not hold must not.
func TestAForgedSignatureCoversNothing(t *testing.T) {
	d := lineage(t, "G -> A -> B")
	a := forged(d.entries["A"])
	cover([]*Entry{d.entries["G"], a, d.entries["B"]})
	if err := a.verifySignature(); err != nil {
		t.Errorf("a good signature after it does not cover it: %v", err)
	}
	a = forged(d.entries["A"])
	cover([]*Entry{d.entries["G"], a, forged(d.entries["B"])})
	if a.verifySignature() == nil {
		t.Error("a forged signature covers another")
	}
}

// The last entry of a memory has nothing above it that commits to it: its signature alone says whose it is.
func TestAForgedSnapshotIsNotResumedFrom(t *testing.T) {
	d := lineage(t, "G -> A -> S", saysOf("S", snapshotOf("A")))
	id := AgentID(d.name("G"))
	trust := NewTrust(trustee("owner", MayOwn, AnyScope))
	for name, snapshot := range map[string]*Entry{"good": d.entries["S"], "forged": forged(d.entries["S"])} {
		store := new(MemStore)
		if err := store.Put(t.Context(), id, d.entries["G"], d.entries["A"], snapshot); err != nil {
			t.Fatal(err)
		}
		_, err := trust.Load(t.Context(), store, id)
		if (err == nil) != (name == "good") {
			t.Errorf("a %s snapshot: %v", name, err)
		}
	}
}

// Whose memory an entry belongs to is asked before whether its parents are here.
func TestAnEntryOfAnotherAgentIsNamedAsThat(t *testing.T) {
	d := lineage(t, "G -> A -> B")
	other := lineage(t, "G -> A -> B", begins(Genesis{Intent: Intent{Goal: "another"},
		Charter: Charter{Scope: "acme"}}))
	_, err := Verify(seq([]*Entry{d.entries["G"], d.entries["A"], d.entries["B"], other.entries["B"]}), VerifyOptions{})
	rejected(t, err, predAgent.Name)
}

// Where bodies are gone, a snapshot stands for them if its author may own the agent in the scope its genesis names.
func TestTrustFoldsInTheScopeOfTheGenesis(t *testing.T) {
	for scope, want := range map[string]bool{"acme": true, AnyScope: true, "other": false} {
		d := lineage(t, "G -> A -> S -> B", saysOf("S", snapshotOf("A")))
		all := d.all()
		all[1] = all[1].Drop()
		if _, err := NewTrust(trustee("owner", MayOwn, scope)).Fold(seq(all)); (err == nil) != want {
			t.Errorf("its author may own in %s: %v", scope, err)
		}
	}
}

// A stranger whose agent was admitted may go on writing to it, and does not own it here; nor does the stranger take it
// to where other rules hold.
func TestTheOwnerOfAnAdmittedAgentIsNoOwnerHere(t *testing.T) {
	trust, below := NewTrust(trustee("owner", MayOwn, "acme")), "acme/ops"
	for name, c := range map[string]struct {
		body Body
		want bool
	}{"a message": {Event{Name: "hello"}, true}, "another scope": {event(Edit{Mutate{Scope: &below}}), false},
		"a revocation": {event(KeyChange{Revoke: people["bob"].key}), false}} {
		d := lineage(t, "G -> N -> S -> E", by("eve", "G", "E"), by("owner", "N", "S"), says("N", event(Admitted{})),
			saysOf("S", snapshotOf("N")), says("E", c.body))
		if err := trust.Counts(d.agent()); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whoever looks at a question sees who has answered it by now, not whom somebody says it has gone to.
func TestTallyGoesByTheClock(t *testing.T) {
	trust := NewTrust(trustee("owner", MayOwn, "acme"), trustee("cy", MayApprove, "acme"))
	f := &Fold{Charter: Charter{Owner: people["owner"].key, Scope: "acme"}}
	q := &Asking{Stage: 1, Votes: []Vote{{Origin: people["cy"].key, Approve: true}}, Verdict: Verdict{
		Answer: Ask, Asked: []string{askedOwner}, Escalate: []Escalation{{At: TimeOf(later(time.Hour)),
			Asked: []string{"cy"}}},
	}}
	for after, want := range map[time.Duration]int{0: 0, time.Hour: 1} {
		if yes := len(trust.Tally(f, q, later(after)).Votes); yes != want {
			t.Errorf("after %v: %d approve, want %d", after, yes, want)
		}
	}
}
