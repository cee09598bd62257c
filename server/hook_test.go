package server_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/webhook"
)

// The same event at the same path is the same, by a token and by a hook.
func TestAnEventIsTheSameByTokenAndByHook(t *testing.T) {
	key, err := webhook.ParseKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjUPD8ILPZI")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(s *server.Server) {
		s.Webhooks = s.Desk.Hooked(webhook.Hook{Name: "ci", Keys: []webhook.Key{key}})
	})
	id, all := w.agent("a"), w.token("", home.Verbs...)
	body := []byte(`{"name":" deploy ","data":null}`)
	send := func(sign func(*http.Request)) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/v1/agents/"+id.String()+"/events",
			bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		sign(req)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		_ = res.Body.Close()
	}
	send(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+all) })
	send(func(r *http.Request) {
		if err := webhook.Sign(r.Header, "m1", time.Now(), body, key); err != nil {
			t.Fatal(err)
		}
	})
	told := 0
	for e, err := range perdure.Memory(t.Context(), w.store, id) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok && ev.Notice == nil {
			if told++; ev.Name != "deploy" || ev.Data != nil {
				t.Errorf("event %d is %q with %v, want deploy without data", told, ev.Name, ev.Data)
			}
		}
	}
	if told != 2 {
		t.Errorf("it was told %d events", told)
	}
}
