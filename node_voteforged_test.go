package perdure_test

import (
	"crypto"
	"crypto/ed25519"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// unheld is a key whose private part somebody else has.
type unheld perdure.Key

func (k unheld) Public() crypto.PublicKey { return ed25519.PublicKey(k[:]) }

func (k unheld) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, ed25519.SignatureSize), nil
}

// TestASignerSignsNothingBesideAnAnswer: what a server prepares for somebody to sign is their answer, and nothing goes
// with it that would be said in their name.
func TestASignerSignsNothingBesideAnAnswer(t *testing.T) {
	ann := signer(t, "ann")
	n, id, q := asking(t, ann)
	a, err := perdure.Load(t.Context(), n.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	server, err := perdure.NewSigner(ann.Name, unheld(ann.Key()))
	if err != nil {
		t.Fatal(err)
	}
	yes := perdure.Approval{Decision: q.Decision, Digest: q.Digest, Approve: true}
	approval := perdure.Event{Name: "approval", By: ann.Name, Notice: yes}
	joined := perdure.Event{Name: "joined", Notice: perdure.Joined{}}
	data, err := perdure.DataOf(map[string]any{"iban": "eve's"})
	if err != nil {
		t.Fatal(err)
	}
	with := func(ev perdure.Event, what func(ev *perdure.Event)) perdure.Event {
		what(&ev)
		return ev
	}
	set := func(ev *perdure.Event) { ev.Set = map[string]perdure.Data{"pay to": data} }
	for name, events := range map[string][]perdure.Event{
		"":                           {approval},
		"state":                      {with(approval, set)},
		"data":                       {with(approval, func(ev *perdure.Event) { ev.Data = data })},
		"a name that wakes somebody": {with(approval, func(ev *perdure.Event) { ev.Name = "paid" })},
		"the runtime's name":         {with(approval, func(ev *perdure.Event) { ev.By = "runtime" })},
		"state before it":            {with(joined, set), approval},
		"data before it":             {with(joined, func(ev *perdure.Event) { ev.Data = data }), approval},
		"an edit before it":          {{Name: "edit", Notice: perdure.Edit{}}, approval},
		"something after it":         {approval, joined},
	} {
		var drafts []perdure.Draft
		for _, ev := range events {
			drafts = append(drafts, perdure.Draft{Body: ev})
		}
		entries, _, err := server.Commit(a, time.Now(), drafts...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := ann.SignVote(entries, id, yes); (err == nil) != (name == "") {
			t.Errorf("with %q: got %v", name, err)
		}
	}
}

// TestAnAnswerNobodySignedIsNotTaken: the name on an answer says nothing, its signature does; and it is to one
// decision.
func TestAnAnswerNobodySignedIsNotTaken(t *testing.T) {
	ann := signer(t, "ann")
	n, id, q := asking(t, ann)
	entries, err := n.PrepareVote(t.Context(), id, ann.Key(), ann.Name, perdure.Approval{Digest: q.Digest,
		Approve: true})
	if err != nil {
		t.Fatal(err)
	}
	entries[len(entries)-1].Signature = make([]byte, ed25519.SignatureSize)
	if _, _, err := n.TakeVote(t.Context(), id, entries); err == nil {
		t.Error("an answer signed by nobody was taken")
	}
	other := perdure.Approval{Decision: perdure.HashOf([]byte("another")), Digest: q.Digest, Approve: true}
	a, err := perdure.Load(t.Context(), n.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err = ann.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "approval", Notice: other}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.TakeVote(t.Context(), id, entries); !errors.Is(err, perdure.ErrInvalid) {
		t.Errorf("an answer to another decision was taken: %v", err)
	}
	if votes := load(t, n.Store, id).Asks[0].Votes; len(votes) > 0 {
		t.Errorf("it counts: %+v", votes)
	}
}
