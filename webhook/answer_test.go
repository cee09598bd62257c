package webhook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// A person's answer, byte for byte, sent to another agent: by /webhook/resume it is refused (see
// TestAMessageApprovesNothingOfAnotherAgent), by /events it is taken.
func TestAPersonsAnswerIsForOneAgent(t *testing.T) {
	s := newShop(t)
	s.asksFirst = true
	var ids []perdure.AgentID
	for range 2 {
		a, err := s.node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "be tested"},
			Charter: perdure.Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		s.run(a.ID())
		ids = append(ids, a.ID())
	}
	at := time.Now().Add(time.Second)
	const body = `{"name":"answer","data":{"say":"yes, pay"}}`
	if got := s.postAs("ana", "/v1/agents/"+ids[0].String()+"/events", body, "one", at); got.Status != "accepted" {
		t.Fatalf("an answer: %+v", got)
	}
	got := s.postAs("ana", "/v1/agents/"+ids[1].String()+"/events", body, "one", at)
	if f := s.load(ids[1]); len(f.Inbox) > 0 {
		t.Errorf("the same message answers another agent's question, as the word of %s: %+v", f.Inbox[0].By, got)
	}
}

// An event is for the agent it came to first, whichever server of the home it comes to next.
func TestAnEventIsForOneAgent(t *testing.T) {
	s, dir := newShop(t), t.TempDir()
	first, _ := s.asking()
	second, _ := s.asking()
	at := time.Now()
	for _, c := range []struct {
		id   perdure.AgentID
		code int
	}{{first, 200}, {second, 409}, {first, 200}} {
		s.serve(dir)
		before := s.load(second).Count
		got := s.postAs("crm", "/v1/agents/"+c.id.String()+"/events", `{"name":"order","data":{"n":1}}`, "one", at)
		if got.code != c.code || c.code == 409 && !strings.Contains(got.Detail, "another agent") {
			t.Errorf("the event of the first agent, sent to %s: %+v, want %d", c.id, got, c.code)
		}
		if s.load(second).Count != before {
			t.Error("the second agent was told what was for the first")
		}
	}
}

// Who is not trusted any more answers nothing by a token, and by a hook.
func TestAHookOfSomebodyWhoseKeyWasRevokedAnswersNothing(t *testing.T) {
	s := newShop(t)
	s.asksFirst = true
	a, err := s.node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "be tested"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	s.run(a.ID())
	var all []perdure.Trustee
	for _, who := range s.node.Trusted().Trustees() {
		if who.Name == "ana" {
			who.Revoked = true
		}
		all = append(all, who)
	}
	s.node.SetTrust(perdure.NewTrust(all...))
	if got := s.post("ana", "/webhook/resume/"+a.ID().String(), `{"approved":true,"feedback":"go"}`); got.code == 200 {
		f := s.load(a.ID())
		t.Errorf("an answer of somebody whose key was revoked: %+v, inbox %d", got, len(f.Inbox))
	}
}

// What a person approves is what everybody reads in the body: a field that comes twice, or in another case, is none.
func TestABodyIsReadInOneWay(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	for _, body := range []string{
		`{"approved":false,"approved":true}`, `{"approved":true,"Approved":false}`, `{"Approved":true}`,
		`{"approved":true,"appro\u0076ed":true}`, `{"approved":true}{"approved":false}`, `{"approved":true}]`,
	} {
		if got := s.post("ana", "/webhook/resume/"+id.String(), body); got.code != 400 {
			t.Errorf("%s: got %+v", body, got)
		}
	}
	if f := s.run(id); s.paid != 0 || len(f.Asks) != 1 {
		t.Errorf("paid %d times, asks %d", s.paid, len(f.Asks))
	}
	if got := s.post("ana", "/webhook/resume/"+id.String(), `{"appro\u0076ed":true}`); got.Status != "resuming" {
		t.Errorf("one that is good: %+v", got)
	}
}
