package webhook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/keeper"
	"github.com/perdure/perdure/webhook"
)

// shop is a node with a tool that policy asks people about, hooks for two people and a program, and their server.
type shop struct {
	handler *webhook.Handler
	t       *testing.T
	node    *perdure.Node
	url     string
	secret  map[string]webhook.Key
	paid    int
	quorum  int64
	sent    int

	asksFirst bool // a question comes before the payment
}

func signer(t *testing.T, name string) *perdure.Signer {
	t.Helper()
	s, err := perdure.GenerateSigner(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newShop(t *testing.T) *shop {
	s := &shop{t: t, secret: map[string]webhook.Key{}}
	own, ana, bob, eve := signer(t, "node"), signer(t, "ana"), signer(t, "bob"), signer(t, "eve")
	trust := perdure.NewTrust(
		perdure.Trustee{Key: own.Key(), Name: "node", Rights: perdure.MayOwn, Scope: perdure.AnyScope},
		perdure.Trustee{Key: ana.Key(), Name: "ana", Rights: perdure.MayApprove, Scope: perdure.AnyScope},
		perdure.Trustee{Key: bob.Key(), Name: "bob", Rights: perdure.MayApprove, Scope: perdure.AnyScope},
	)
	s.node = &perdure.Node{
		Store: new(perdure.MemStore), Key: own, Trust: trust, Tools: []perdure.Tool{pay{s}},
		Policy: perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
			if x, ok := r.Action.(perdure.Execute); ok && x.Tool == "pay" {
				return perdure.Verdict{Answer: perdure.Ask, Rules: []string{"people"}, Quorum: s.quorum}
			}
			return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"all"}}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				acts := []perdure.Action{perdure.Execute{Tool: "pay"},
					perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}, Note: "what now?"},
					perdure.End{Signal: perdure.OK}}
				if s.asksFirst {
					acts[0], acts[1] = acts[1], acts[0]
				}
				return perdure.Advice{Actions: acts[a.Fold().Turns : a.Fold().Turns+1]}, nil
			})},
	}
	h := (&home.Desk{Home: &home.Home{}, Store: s.node.Store, Node: s.node}).Hooked()
	s.handler = h
	for name, person := range map[string]*perdure.Signer{"ana": ana, "bob": bob, "eve": eve, "crm": nil} {
		s.secret[name] = mustKey(t, "whsec_"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat(name, 11))))
		h.Hooks = append(h.Hooks, webhook.Hook{Name: name, Keys: []webhook.Key{s.secret[name]}, Person: person})
	}
	h.Hooks = append(h.Hooks, webhook.Hook{Name: "far", Keys: []webhook.Key{mustKey(t,
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}, Scope: "elsewhere"})
	s.secret["far"] = h.Hooks[len(h.Hooks)-1].Keys[0]
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

type pay struct{ *shop }

func (pay) Spec() perdure.Spec { return perdure.Spec{Name: "pay", Effect: perdure.Once} }
func (p pay) Call(context.Context, perdure.Call) (perdure.Result, error) {
	p.paid++
	return perdure.Result{}, nil
}

func (s *shop) run(id perdure.AgentID) *perdure.Fold {
	s.t.Helper()
	if _, err := s.node.RunAgent(s.t.Context(), id); err != nil {
		s.t.Fatal(err)
	}
	return s.load(id)
}

func (s *shop) load(id perdure.AgentID) *perdure.Fold {
	s.t.Helper()
	a, err := s.node.Load(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.Fold()
}

// asking is an agent that asks whether it may pay.
func (s *shop) asking() (perdure.AgentID, perdure.Hash) {
	s.t.Helper()
	a, err := s.node.Create(s.t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "be tested"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		s.t.Fatal(err)
	}
	f := s.run(a.ID())
	if len(f.Asks) != 1 {
		s.t.Fatalf("it asks %d things, want 1", len(f.Asks))
	}
	return a.ID(), f.Asks[0].Digest
}

type reply struct {
	code           int
	Status, Detail string
	Hint           string
}

func (s *shop) post(as, path, body string) reply {
	s.sent++
	return s.postAs(as, path, body, fmt.Sprint("msg_", s.sent), time.Now())
}

func (s *shop) postAs(as, path, body, id string, at time.Time) (out reply) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := webhook.Sign(r.Header, id, at, []byte(body), s.secret[as]); err != nil {
		s.t.Fatal(err)
	}
	return s.do(r)
}

func (s *shop) do(r *http.Request) (out reply) {
	s.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var raw map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&raw); err != nil {
		s.t.Fatalf("%s: %v", resp.Status, err)
	}
	out.code = resp.StatusCode
	out.Status, _ = raw["status"].(string)
	out.Detail, _ = raw["detail"].(string)
	out.Hint, _ = raw["hint"].(string)
	return out
}

func TestAnApprovalByWebhookResumes(t *testing.T) {
	s := newShop(t)
	id, digest := s.asking()
	path := "/webhook/resume/" + id.String()
	if got := s.post("ana", path, `{"approved":true,"feedback":"looked at it","approver":"ana"}`); got.code != 200 ||
		got.Status != "resuming" {
		t.Fatalf("an approval: %+v", got)
	}
	if got := s.post("ana", path, `{"approved":true,"digest":"`+digest.String()+`"}`); got.code != 200 ||
		got.Status != "already" {
		t.Errorf("an approval that was given: %+v", got)
	}
	count := s.load(id).Count
	s.run(id)
	if s.paid != 1 {
		t.Errorf("paid %d times, want 1", s.paid)
	}
	if got := s.post("ana", path, `{"approved":true,"digest":"`+digest.String()[:8]+`"}`); got.code != 404 {
		t.Errorf("the beginning of a digest that is not asked about: %+v", got)
	}
	// It asks a question of its own now.
	if got := s.post("bob", path, `{"approved":true,"feedback":"buy the blue one","decision":"`+
		s.load(id).Sleep.Decision.String()[:12]+`"}`); got.code != 200 || got.Status != "resuming" {
		t.Errorf("an answer: %+v", got)
	}
	a, err := s.node.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var said, noted bool
	for e := range a.Recent() {
		ev, _ := e.Content().(perdure.Event)
		text, _ := ev.Said()
		said = said || text == "buy the blue one" && ev.By == "bob"
		v, _ := ev.Notice.(perdure.Approval)
		noted = noted || v.Note == "looked at it" && ev.By == "ana"
	}
	if !said || !noted {
		t.Errorf("the answer reached the agent: %v, the feedback: %v", said, noted)
	}
	if f := s.run(id); f.Ended == nil {
		t.Error("it did not end after the answer")
	}
	if got := s.post("ana", path, `{"approved":true,"digest":"`+digest.String()+`"}`); got.code != 200 ||
		got.Status != "already" {
		t.Errorf("an approval that comes again after the end: %+v", got)
	}
	if got := s.post("bob", path, `{"approved":true}`); got.code != 200 || got.Status != "already" {
		t.Errorf("a post to an agent that asks nothing any more: %+v", got)
	}
	if count == 0 || s.paid != 1 {
		t.Errorf("paid %d times, want 1", s.paid)
	}
}

func TestADenialStands(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	path := "/webhook/resume/" + id.String()
	if got := s.post("ana", path, `{"approved":false,"feedback":"too expensive"}`); got.code != 200 ||
		got.Status != "denied" {
		t.Fatalf("a denial: %+v", got)
	}
	s.run(id)
	if s.paid != 0 {
		t.Errorf("paid %d times, want none", s.paid)
	}
}

func TestTwoPeopleAreTwoVotesAndOneTwiceIsOne(t *testing.T) {
	s := newShop(t)
	s.quorum = 2
	id, digest := s.asking()
	path := "/webhook/resume/" + id.String()
	if got := s.post("ana", path, `{"approved":true}`); got.Status != "recorded" ||
		!strings.Contains(got.Detail, "1 more") {
		t.Errorf("the first of two: %+v", got)
	}
	if got := s.post("ana", path, `{"approved":true}`); got.Status != "already" {
		t.Errorf("the same person again: %+v", got)
	}
	if s.run(id); s.paid != 0 {
		t.Fatal("one person twice was two")
	}
	if got := s.post("bob", path, `{"approved":true,"digest":"`+digest.String()[:12]+`"}`); got.Status != "resuming" {
		t.Errorf("the second of two: %+v", got)
	}
	if s.run(id); s.paid != 1 {
		t.Errorf("paid %d times, want 1", s.paid)
	}
}

func TestHooksThatMayNotAreRefusedAndToldWhatToConfigure(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	before := s.load(id).Count
	path := "/webhook/resume/" + id.String()
	for name, c := range map[string]struct {
		as, path, body string
		want           int
		hint           string
	}{
		"a program":               {"crm", path, `{"approved":true}`, 403, "approver and key"},
		"a key that is not asked": {"eve", path, `{"approved":true}`, 403, "perdure new --approver"},
		"for somebody else":       {"ana", path, `{"approved":true,"approver":"bob"}`, 403, "hook of their own"},
		"another scope":           {"far", path, `{"approved":true}`, 404, ""},
		"a program that answers": {"crm", "/v1/agents/" + id.String() + "/events",
			`{"name":"answer","data":{"say":"yes"}}`, 403, "approver and key"},
		"without a decision": {"ana", path, `{"feedback":"hm"}`, 400, ""},
		"no JSON":            {"ana", path, `approved=true`, 400, ""},
		"two values":         {"ana", path, `{"approved":true}{"approved":false}`, 400, ""},
		"an unknown field":   {"ana", path, `{"approve":true}`, 400, ""},
		"an unknown agent":   {"ana", "/webhook/resume/nobody", `{"approved":true}`, 404, ""},
		"a short digest":     {"ana", path, `{"approved":true,"digest":"ab"}`, 400, ""},
		"another digest": {"ana", path, `{"approved":true,"digest":"` + strings.Repeat("ab", 32) + `"}`, 404,
			""},
		"a digest of nothing":   {"ana", path, `{"approved":false,"digest":"` + strings.Repeat("0", 64) + `"}`, 404, ""},
		"an event without name": {"crm", "/v1/agents/" + id.String() + "/events", `{"data":1}`, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.post(c.as, c.path, c.body)
			if got.code != c.want || !strings.Contains(got.Hint, c.hint) {
				t.Errorf("got %+v, want %d with a hint about %q", got, c.want, c.hint)
			}
		})
	}
	if now := s.load(id).Count; now != before {
		t.Errorf("%d entries were written", now-before)
	}
}

func TestBadSignaturesReplaysAndLongBodiesAreRefused(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	before := s.load(id).Count
	path, body := "/webhook/resume/"+id.String(), `{"approved":true}`
	s.secret["stranger"] = mustKey(t, "whsec_"+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("s"), 32)))
	if got := s.post("stranger", path, body); got.code != 401 {
		t.Errorf("another secret: %+v", got)
	}
	if got := s.post("stranger", "/webhook/resume/nobody", body); got.code != 401 {
		t.Errorf("another secret, and an agent there is not: %+v", got)
	}
	if got := s.postAs("ana", path, body, "old", time.Now().Add(-time.Hour)); got.code != 409 {
		t.Errorf("a replay: %+v", got)
	}
	if got := s.post("ana", path, `{"approved":true,"feedback":"`+strings.Repeat("x", webhook.MaxBody)+
		`"}`); got.code != 413 {
		t.Errorf("a long body: %+v", got)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.do(r); got.code != 400 {
		t.Errorf("no signature: %+v", got)
	}
	if now := s.load(id).Count; now != before {
		t.Errorf("%d entries were written", now-before)
	}
}

func TestAnEventIsToldOnceHoweverOftenItComes(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	before := s.load(id).Count
	path := "/v1/agents/" + id.String() + "/events"
	var wait sync.WaitGroup
	answers := make(chan string, 20)
	for range 20 {
		wait.Go(func() {
			answers <- s.postAs("crm", path, `{"name":"order","data":{"n":1}}`, "order-17", time.Now()).Status
		})
	}
	wait.Wait()
	close(answers)
	count := map[string]int{}
	for a := range answers {
		count[a]++
	}
	if count["accepted"] != 1 || count["already"] != 19 {
		t.Errorf("answers: %v, want one accepted and 19 already", count)
	}
	if now := s.load(id).Count; now != before+1 {
		t.Errorf("%d entries were written, want 1", now-before)
	}
	if got := s.postAs("ana", path, `{"name":"order","data":{"n":1}}`, "order-17",
		time.Now()); got.Status != "accepted" {
		t.Errorf("the same id of another sender: %+v", got)
	}
}

// TestAnAnswerToAnEarlierQuestionIsNotOneToALater has somebody answer without saying what, and the agent ask something
// since.
func TestAnAnswerToAnEarlierQuestionIsNotOneToALater(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	if got := s.postAs("ana", "/webhook/resume/"+id.String(), `{"approved":true}`, "early",
		time.Now().Add(-time.Minute)); got.code != 409 {
		t.Errorf("an approval from before the question: %+v", got)
	}
	if s.run(id); s.paid != 0 {
		t.Error("it was taken for an approval")
	}
}

// TestAMessageThatComesAgainAnswersNothingElse has a message sent again, signed anew and with the same id, when the
// agent asks something else.
func TestAMessageThatComesAgainAnswersNothingElse(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	path := "/webhook/resume/" + id.String()
	send := func(message string) reply {
		t.Helper()
		return s.postAs("ana", path, `{"approved":true,"feedback":"go"}`, message, time.Now())
	}
	if got := send("one"); got.Status != "resuming" {
		t.Fatalf("an approval: %+v", got)
	}
	if f := s.run(id); f.Sleep == nil || s.paid != 1 {
		t.Fatalf("it does not ask what to do now, and paid %d times", s.paid)
	}
	if got := send("one"); got.Status != "already" {
		t.Errorf("the approval again, while it asks something: %+v", got)
	}
	if f := s.run(id); f.Ended != nil {
		t.Fatal("the approval that came again answered the question")
	}
	if got := s.postAs("ana", path, `{"approved":true}`, "two", time.Now().Add(-time.Minute)); got.code != 409 {
		t.Errorf("a message of before the question: %+v", got)
	}
	f := s.load(id)
	if got := s.postAs("ana", path, `{"approved":true,"decision":"`+f.Sleep.Decision.String()+`"}`, "three",
		time.Now()); got.Status != "resuming" {
		t.Errorf("an answer: %+v", got)
	}
	if f := s.run(id); f.Ended == nil {
		t.Error("the answer did not reach it")
	}
}

// TestAMessageApprovesNothingOfAnotherAgent has a message sent, byte for byte, to another agent.
func TestAMessageApprovesNothingOfAnotherAgent(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	other, _ := s.asking()
	at := time.Now()
	send := func(id perdure.AgentID) reply {
		t.Helper()
		return s.postAs("ana", "/webhook/resume/"+id.String(), `{"approved":true}`, "one", at)
	}
	if got := send(id); got.Status != "resuming" {
		t.Fatalf("an approval: %+v", got)
	}
	if got := send(other); got.code != 409 || !strings.Contains(got.Detail, "another agent") {
		t.Errorf("to another agent: %+v", got)
	}
	if s.run(other); s.paid != 0 {
		t.Error("it was taken for an approval")
	}
}

// TestAnAnswerThatComesAgainApprovesNothing is the other way round.
func TestAnAnswerThatComesAgainApprovesNothing(t *testing.T) {
	s := newShop(t)
	s.asksFirst = true
	a, err := s.node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "be tested"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	s.run(a.ID())
	path := "/webhook/resume/" + a.ID().String()
	at := time.Now().Add(2 * time.Second)
	if got := s.postAs("ana", path, `{"approved":true,"feedback":"go"}`, "one", at); got.Status != "resuming" {
		t.Fatalf("an answer: %+v", got)
	}
	if f := s.run(a.ID()); len(f.Asks) != 1 {
		t.Fatalf("it asks about %d effects, want 1", len(f.Asks))
	}
	if got := s.postAs("ana", path, `{"approved":true,"feedback":"go"}`, "one", at); got.Status != "already" {
		t.Errorf("the answer again, while it asks whether it may pay: %+v", got)
	}
	if s.run(a.ID()); s.paid != 0 {
		t.Error("the answer that came again was an approval")
	}
}

// seen lets the advisor of an agent have seen what it was told.
func (s *shop) seen(id perdure.AgentID) {
	s.t.Helper()
	a, err := perdure.Load(s.t.Context(), s.node.Store, id)
	if err != nil {
		s.t.Fatal(err)
	}
	advice := perdure.Advice{Advisor: "m"}
	for _, m := range a.Fold().Inbox {
		advice.Seen = append(advice.Seen, m.Event)
	}
	entries, _, err := s.node.Key.Commit(a, time.Now(), perdure.Draft{Body: advice})
	if err == nil {
		err = s.node.Store.Put(s.t.Context(), id, entries...)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestAReplayIsSeenAfterManyOthers has more messages come than an agent's memory remembers the ids of, and then the
// first again.
func TestAReplayIsSeenAfterManyOthers(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	path := "/v1/agents/" + id.String() + "/events"
	at := time.Now()
	if got := s.postAs("crm", path, `{"name":"order"}`, "first", at); got.Status != "accepted" {
		t.Fatalf("the first: %+v", got)
	}
	for i := range 1100 {
		if i == 600 {
			s.seen(id)
		}
		if got := s.postAs("crm", path, `{"name":"order"}`, fmt.Sprint("other-", i), at); got.Status != "accepted" {
			t.Fatalf("another: %+v", got)
		}
	}
	if got := s.postAs("crm", path, `{"name":"order"}`, "first", at); got.Status != "already" {
		t.Errorf("the first again: %+v", got)
	}
}

// TestAHookTellsNothingToAgentsThatKeepNotes posts to an agent that keeps documents: for hooks it is not there, as it
// is not for anybody without the right to memory.
func TestAHookTellsNothingToAgentsThatKeepNotes(t *testing.T) {
	s := newShop(t)
	for _, kind := range []string{keeper.Workspace, keeper.Role} {
		a, err := s.node.CreateAsleep(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "notes", Kind: kind},
			Charter: perdure.Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		count := s.load(a.ID()).Count
		id := a.ID().String()
		for _, path := range []string{"/v1/agents/" + id + "/events", "/webhook/resume/" + id} {
			for who, body := range map[string]string{"crm": `{"name":"x"}`, "ana": `{"approved":true}`} {
				if got := s.post(who, path, body); got.code != http.StatusNotFound {
					t.Errorf("%s to %s of kind %s: %+v", who, path, kind, got)
				}
			}
		}
		if now := s.load(a.ID()).Count; now != count {
			t.Errorf("kind %s: it has %d entries, had %d", kind, now, count)
		}
	}
}

// TestAHookNeverVotesWithTheKeyOfTheHome gives a hook the key of the node, as no node file can: what the desk refuses
// to everybody it refuses to hooks.
func TestAHookNeverVotesWithTheKeyOfTheHome(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	for i := range s.handler.Hooks {
		if s.handler.Hooks[i].Name == "ana" {
			s.handler.Hooks[i].Person = s.node.Key
		}
	}
	got := s.post("ana", "/webhook/resume/"+id.String(), `{"approved":true}`)
	if got.code != http.StatusForbidden || !strings.Contains(got.Detail, "never votes") {
		t.Errorf("got %+v", got)
	}
}
