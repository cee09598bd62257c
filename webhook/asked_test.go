package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// serve has another process serve the shop, in a home of this folder.
func (s *shop) serve(dir string) {
	s.t.Helper()
	requests, err := (&home.Home{Dir: dir}).OpenRequests(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	h := (&home.Desk{Home: &home.Home{Dir: dir}, Store: s.node.Store, Node: s.node, Requests: requests}).
		Hooked(s.handler.Hooks...)
	server := httptest.NewServer(h)
	s.t.Cleanup(func() {
		server.Close()
		if err := requests.Close(); err != nil {
			s.t.Error(err)
		}
	})
	s.url = server.URL
}

// A message that does not say what it approves was for one agent: also for another server of the home, for one that was
// started since, and when the clock of its sender is ahead.
func TestAMessageIsForOneAgentWhicheverServerItComesTo(t *testing.T) {
	s, dir := newShop(t), t.TempDir()
	first, _ := s.asking()
	second, _ := s.asking()
	send := func(id perdure.AgentID, at time.Time) reply {
		t.Helper()
		return s.postAs("ana", "/webhook/resume/"+id.String(), `{"approved":true}`, "one", at)
	}
	at := time.Now().Add(2 * time.Minute)
	s.serve(dir)
	if got := send(first, at); got.Status != "resuming" {
		t.Fatalf("an approval: %+v", got)
	}
	s.serve(dir)
	if got := send(first, at); got.Status != "already" {
		t.Errorf("again, to another server: %+v", got)
	}
	if got := send(second, at); got.code != 409 || !strings.Contains(got.Detail, "another agent") {
		t.Errorf("to another agent, by another server: %+v", got)
	}
	if s.run(second); s.paid != 0 {
		t.Error("it was taken for an approval")
	}
}

// A message to an agent that asks nothing any more is no approval of another either.
func TestAMessageThatCameTooLateIsForNoOther(t *testing.T) {
	s := newShop(t)
	first, digest := s.asking()
	second, _ := s.asking()
	if got := s.post("bob", "/webhook/resume/"+first.String(), `{"approved":true,"digest":"`+digest.String()+
		`"}`); got.Status != "resuming" {
		t.Fatalf("an approval: %+v", got)
	}
	at := time.Now()
	late := s.postAs("ana", "/webhook/resume/"+first.String(), `{"approved":true}`, "late", at)
	if got := s.postAs("ana", "/webhook/resume/"+second.String(), `{"approved":true}`, "late", at); got.code != 409 {
		t.Errorf("answered with %+v, and for another agent with %+v", late, got)
	}
}

// What was signed while the agent asked one thing does not answer the next, whatever the clock of its sender says.
func TestAnAnswerCountsForWhatCanHaveBeenMeantAlone(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"a clock that is right": 0, "a clock ahead": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			id, _ := s.asking()
			path, at := "/webhook/resume/"+id.String(), time.Now().Add(ahead)
			if got := s.post("bob", path, `{"approved":false}`); got.Status != "denied" {
				t.Fatalf("a refusal: %+v", got)
			}
			if f := s.run(id); f.Sleep == nil {
				t.Fatal("it asks nothing else")
			}
			for message, path := range map[string]string{"a": path, "b": "/v1/agents/" + id.String() + "/events"} {
				body := `{"approved":true}`
				if message == "b" {
					body = `{"name":"answer","data":{"say":"yes"}}`
				}
				if got := s.postAs("ana", path, body, message, at); got.code != 409 {
					t.Errorf("%s, signed before it was asked: %+v", path, got)
				}
			}
			if f := s.load(id); len(f.Inbox) != 0 || f.Sleep == nil {
				t.Errorf("it was told something: %d", len(f.Inbox))
			}
		})
	}
}

// Whoever signs what an agent asks by now need not say what it is.
func TestTheNextQuestionIsAnsweredWithoutItsName(t *testing.T) {
	s := newShop(t)
	id, _ := s.asking()
	path := "/webhook/resume/" + id.String()
	if got := s.post("ana", path, `{"approved":true}`); got.Status != "resuming" {
		t.Fatalf("an approval: %+v", got)
	}
	s.run(id)
	asked := s.load(id).Sleep.Since.Go()
	time.Sleep(time.Until(asked.Truncate(time.Second).Add(time.Second))) // posts name seconds
	got := s.postAs("ana", path, `{"approved":true,"feedback":"stop"}`, "next", time.Now())
	if got.Status != "resuming" {
		t.Errorf("an answer: %+v", got)
	}
	if f := s.run(id); f.Ended == nil {
		t.Error("the answer did not reach it")
	}
}

// The path is not signed: whom a message is for can be said where it is.
func TestAMessageThatNamesItsAgentIsForNoOther(t *testing.T) {
	s := newShop(t)
	first, _ := s.asking()
	second, _ := s.asking()
	body := `{"approved":true,"agent":"` + first.String() + `"}`
	if got := s.post("ana", "/webhook/resume/"+second.String(), body); got.code != 409 {
		t.Errorf("to another agent: %+v", got)
	}
	if got := s.post("ana", "/webhook/resume/"+first.String(), body); got.Status != "resuming" {
		t.Errorf("to that agent: %+v", got)
	}
}

// An event is told once, however much else came since and whichever server of the home is asked again.
func TestAnEventIsToldOnceWhicheverServerItComesTo(t *testing.T) {
	s, dir := newShop(t), t.TempDir()
	id, _ := s.asking()
	path, at := "/v1/agents/"+id.String()+"/events", time.Now()
	first := func() reply { return s.postAs("crm", path, `{"name":"order"}`, "first", at) }
	s.serve(dir)
	if got := first(); got.Status != "accepted" {
		t.Fatalf("the first: %+v", got)
	}
	for i := range 1100 { // more than a memory keeps the ids of
		if i == 600 {
			s.seen(id)
		}
		ev := perdure.Event{Name: "order", By: "crm", ID: fmt.Sprint("other-", i)}
		if _, err := s.node.Tell(t.Context(), id, ev); err != nil {
			t.Fatal(err)
		}
	}
	s.serve(dir)
	if got := first(); got.Status != "already" {
		t.Errorf("the first again, to another server: %+v", got)
	}
}

// fragile is a store that fails when it is told to.
type fragile struct {
	*perdure.MemStore
	fails *bool
}

var errFragile = errors.New("the disk is gone")

func (f fragile) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	if *f.fails {
		return errFragile
	}
	return f.MemStore.Append(ctx, id, heads, es...)
}

func (f fragile) Put(ctx context.Context, id perdure.AgentID, es ...*perdure.Entry) error {
	if *f.fails {
		return errFragile
	}
	return f.MemStore.Put(ctx, id, es...)
}

// An event that could not be stored, or whose server was killed before it was, is told when it comes again.
func TestAnEventThatWasNotStoredIsToldWhenItComesAgain(t *testing.T) {
	s, dir := newShop(t), t.TempDir()
	fails := false
	s.node.Store = fragile{s.node.Store.(*perdure.MemStore), &fails}
	id, _ := s.asking()
	path, at := "/v1/agents/"+id.String()+"/events", time.Now()
	post := func() reply { return s.postAs("crm", path, `{"name":"order"}`, "first", at) }
	s.serve(dir)
	fails = true
	if got := post(); got.code < 500 {
		t.Fatalf("it was answered: %+v", got)
	}
	fails = false
	s.serve(dir)
	if got := post(); got.Status != "accepted" {
		t.Errorf("again: %+v", got)
	}
	if got := post(); got.Status != "already" {
		t.Errorf("and again: %+v", got)
	}
}
