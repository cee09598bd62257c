package home_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/webhook"
)

// rival is a store in which something happens just before each time that this process adds to it.
type rival struct {
	perdure.Store
	first func()
}

func (r *rival) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, e ...*perdure.Entry) error {
	if r.first != nil {
		r.first()
	}
	return r.Store.Append(ctx, id, heads, e...)
}

func (r *rival) Put(ctx context.Context, id perdure.AgentID, e ...*perdure.Entry) error {
	if r.first != nil {
		r.first()
	}
	return r.Store.Put(ctx, id, e...)
}

// TestAnAgentThatLeavesTheScopeOfAHookIsNotThereForIt has copies of an agent meet, while a post of the hook waits for
// its turn, that moved to scopes which exclude each other.
func TestAnAgentThatLeavesTheScopeOfAHookIsNotThereForIt(t *testing.T) {
	t.Parallel()
	h := &home.Home{Dir: t.TempDir()}
	key, err := webhook.ParseKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjUPD8ILPZI")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := new(perdure.MemStore)
		desk := &home.Desk{Home: h, Store: s, Node: &perdure.Node{Store: s, Key: signer}}
		to := desk.Hooked(webhook.Hook{Name: "ci", Scope: "acme/ops", Keys: []webhook.Key{key}})
		for moves, want := range map[bool]int{false: http.StatusOK, true: http.StatusNotFound} {
			a, err := desk.Node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "listen"},
				Charter: perdure.Charter{Scope: "acme/ops"}})
			if err != nil {
				t.Fatal(err)
			}
			body := []byte(`{"name":"deploy"}`)
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/agents/"+a.ID().String()+"/events",
				bytes.NewReader(body))
			if err := webhook.Sign(r.Header, a.ID().String(), time.Now(), body, key); err != nil {
				t.Fatal(err)
			}
			turn, err := desk.Turns.Take(t.Context(), a.ID())
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			go to.ServeHTTP(w, r)
			synctest.Wait() // it has found the agent
			for _, scope := range []string{"acme/ops/one", "acme/ops/two"} {
				e, _, err := signer.Commit(a, time.Now(), perdure.Draft{Body: perdure.Decision{
					Action: perdure.Mutate{Scope: &scope}, Verdict: perdure.Verdict{Answer: perdure.Allow}}})
				if err == nil && moves {
					err = s.Put(t.Context(), a.ID(), e...)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			turn()
			synctest.Wait()
			if w.Code != want {
				t.Errorf("it moves: %v, the hook is answered %d: %s; want %d", moves, w.Code, w.Body, want)
			}
			if a, err = perdure.Load(t.Context(), s, a.ID()); err != nil || (len(a.Fold().Inbox) > 0) == moves {
				t.Errorf("it moves: %v, it was told: %v, %v", moves, len(a.Fold().Inbox) > 0, err)
			}
		}
	})
}

// TestAMessageThatComesToTwoServersAtOnceIsOneEntry has a message come to the second server of a home while the first
// is about to store it.
func TestAMessageThatComesToTwoServersAtOnceIsOneEntry(t *testing.T) {
	t.Parallel()
	h := &home.Home{Dir: t.TempDir()}
	key, err := webhook.ParseKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjUPD8ILPZI")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	shared := new(perdure.MemStore)
	slow := &rival{Store: shared}
	var two [2]*webhook.Handler
	var nodes [2]*perdure.Node
	for i, s := range []perdure.Store{slow, shared} {
		r, err := h.OpenRequests(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		nodes[i] = &perdure.Node{Store: s, Key: signer}
		two[i] = (&home.Desk{Home: h, Store: s, Node: nodes[i], Requests: r}).
			Hooked(webhook.Hook{Name: "ci", Keys: []webhook.Key{key}})
	}
	a, err := nodes[1].Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "listen"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	post := func(to http.Handler, message string) (got webhook.Answer) {
		t.Helper()
		body := []byte(`{"name":"deploy","data":{"n":1}}`)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/agents/"+a.ID().String()+"/events",
			bytes.NewReader(body))
		if err := webhook.Sign(r.Header, message, time.Now(), body, key); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		to.ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body, err)
		}
		return got
	}
	for _, message := range []string{"m1", "m2"} { // the agent is new to the first server, then it has it at hand
		var other webhook.Answer
		slow.first = func() {
			slow.first = nil
			other = post(two[1], message)
		}
		if mine := post(two[0], message); mine.Status != webhook.Already || other.Status != webhook.Accepted {
			t.Errorf("%s: the server that was late says %s, the other %s; want already and accepted", message,
				mine.Status, other.Status)
		}
		if again := post(two[0], message); again.Status != webhook.Already {
			t.Errorf("%s: sent again: %s, want already", message, again.Status)
		}
	}
	// A message that gives way to others is told in the end, however many they are.
	others := 0
	slow.first = func() {
		others++
		if _, err := nodes[1].Tell(t.Context(), a.ID(), perdure.Event{Name: "else", By: "desk"}); err != nil {
			t.Error(err)
		}
	}
	if got := post(two[0], "m3"); got.Status != webhook.Accepted {
		t.Errorf("a message beside %d others: %s, want accepted", others, got.Status)
	}
	slow.first = nil
	told := map[string]int{}
	for e, err := range perdure.Memory(t.Context(), shared, a.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok && ev.ID != "" {
			told[ev.ID]++
		}
	}
	if len(told) != 3 || told["m1"] != 1 || told["m2"] != 1 || told["m3"] != 1 {
		t.Errorf("of each message there are so many entries, want one: %v", told)
	}
}
