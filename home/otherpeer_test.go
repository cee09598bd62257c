package home_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
)

// mallory serves a copy of an agent with an entry of a stranger on top, and does something before more of it comes.
func mallory(t *testing.T, of home.Local, id perdure.AgentID, then func(sent perdure.Hash)) string {
	t.Helper()
	evil, err := perdure.GenerateSigner("mallory")
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Load(t.Context(), of.Desk.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	more, next, err := evil.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "hello", By: "mallory"}})
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{}
	l.serve(t)
	l.heads[id.String()] = next.Heads()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/missing") {
			l.ServeHTTP(w, r)
			return
		}
		w.Header().Set(client.APIHeader, "v1")
		w.Header().Set("Content-Type", client.EntriesType)
		_ = perdure.WriteMemory(w, perdure.Memory(r.Context(), of.Desk.Store, id))
		for _, e := range more {
			b, _ := e.AppendBinary(nil)
			_, _ = w.Write(b)
		}
		_ = http.NewResponseController(w).Flush()
		then(next.Heads()[0])
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// pulls passes one agent from a place by hand.
func pulls(t *testing.T, here home.Local, from string, id perdure.AgentID) (*home.Transfer, error) {
	t.Helper()
	h := here.Desk.Home
	conf, err := h.PeerNamed(from, "", "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.OpenPeer(conf, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	got, err := h.Transfer(t.Context(), here.Desk, p, home.Chosen{Names: []string{id.String()}}, exchange.Pull)
	if err == nil {
		err = got.Err()
	}
	return got, err
}

// honest serves what a desk has of an agent.
func honest(t *testing.T, of home.Local, id perdure.AgentID) string {
	t.Helper()
	o, err := of.Offer(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{gives: of.Desk.Store}
	l.serve(t)
	l.heads[id.String()] = o.Heads
	return l.url
}

// What one peer began is not mixed into what another sends, whether the agent is new here or not, and whether it broke
// off or trickles on.
func TestWhatOnePeerBeganIsNotMixedIntoAnothers(t *testing.T) {
	t.Parallel()
	there, tn := openDesk(t)
	for _, x := range []struct{ isHere, trickles bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		here, _ := openDesk(t)
		trusts(t, here, tn)
		id := newAgent(t, there, 3)
		if x.isHere {
			if _, err := pulls(t, here, honest(t, there, id), id); err != nil {
				t.Fatal(err)
			}
			hears(t, there, id, 2)
		}
		came, through := make(chan struct{}), make(chan struct{})
		evil := mallory(t, there, id, func(sent perdure.Hash) {
			for end := time.Now().Add(20 * time.Second); !lies(t, here, id, sent) && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // the pull of it has the rest of the time
			}
			close(came)
			if x.trickles {
				<-through
			}
		})
		broke := make(chan error, 1)
		go func() {
			_, err := pulls(t, here, evil, id)
			broke <- err
		}()
		if <-came; !x.trickles {
			if err := <-broke; err == nil {
				t.Errorf("%+v: what broke off was taken in", x)
			}
		}
		got, err := pulls(t, here, honest(t, there, id), id)
		close(through)
		if err != nil || got.Pulled != 1 || got.Passed[0].Pulled.Held != "" {
			t.Errorf("%+v: %+v %v, want all of what the honest peer has", x, got, err)
		}
		if x.trickles {
			if err := <-broke; err == nil {
				t.Errorf("%+v: what broke off was taken in", x)
			}
		}
		want, err := there.Offer(t.Context(), id)
		if o, e := here.Offer(t.Context(), id); e != nil || err != nil || !o.Same(&want) || o.Kept != "" {
			t.Errorf("%+v: %+v %v, want %+v %v", x, o, e, want, err)
		}
	}
}

// lies reports whether what lies there of an agent that somebody sends ends with an entry.
func lies(t *testing.T, l home.Local, id perdure.AgentID, head perdure.Hash) bool {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(l.Desk.Home.Dir, "arriving", id.String()+"-*"))
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		for e, err := range perdure.ReadMemory(f, perdure.Limits{}) {
			if err == nil && e.Name == head {
				_ = f.Close()
				return true
			}
		}
		_ = f.Close()
	}
	return false
}
