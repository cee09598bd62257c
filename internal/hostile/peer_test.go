package hostile

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// evil is a server that is a peer of somebody, and says what it likes.
type evil struct {
	key    *perdure.Signer // of its own
	claims perdure.Key     // whose key it says that it has
	names  []string        // agents that have changed there, it says
	has    bool            // it has a copy of each agent that it is asked about, it says
	seats  bool            // it takes seats

	mu     sync.Mutex
	rounds int
	got    []byte // everything it was sent
	asked  string // the paths it was asked for
	heads  map[string][]perdure.Hash
}

// peer has a place deal with the server in the background, as node.yaml says, until it was asked what is new a few
// times.
func (s *evil) peer(p *place, yaml string) {
	p.t.Helper()
	s.heads = map[string][]perdure.Hash{}
	if s.key == nil {
		s.key = stranger(p.t)
	}
	if s.claims.IsZero() {
		s.claims = s.key.Key()
	}
	web := httptest.NewServer(s)
	defer web.Close()
	p.write(".perdure/node.yaml", "peers:\n  - {name: berlin, every: 50ms, url: \""+web.URL+"\""+yaml+"}\n")
	p.nodeUntil(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.rounds > 5
	}, "open", "wait")
}

func (s *evil) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, body...)
	s.asked += r.URL.Path + "\n"
	w.Header().Set("Perdure-Api", "v1")
	w.Header().Set("Content-Type", "application/json")
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	id, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/exchange/"), "/")
	var agent perdure.AgentID
	_ = agent.UnmarshalText([]byte(id))
	switch {
	case r.URL.Path == "/v1/nodes":
		say(map[string]any{"nodes": []any{map[string]any{"name": "evil", "key": s.claims, "version": "1",
			"runs":    s.seats,
			"place":   perdure.HashOf([]byte("evil")),
			"capable": map[string]any{"advisors": []string{"", "big"}, "tools": []string{"shell"}}}}})
	case r.URL.Path == "/v1/exchange":
		s.rounds++
		say(map[string]any{"agents": s.names, "private": s.names, "position": perdure.Hash{1}.String() + ":1"})
	case what == "missing":
		w.Header().Set("Content-Type", "application/vnd.perdure.entries")
	case what == "entries":
		now := time.Now().UTC().Truncate(time.Millisecond)
		receipt := &exchange.Receipt{Agent: agent, Time: now, Heads: s.heads[id]}
		for e, err := range perdure.ReadMemory(bytes.NewReader(body), perdure.Limits{}) {
			if err != nil {
				break
			}
			receipt.Entries++
			receipt.Heads = []perdure.Hash{e.Name}
		}
		s.heads[id] = receipt.Heads
		_ = receipt.Challenge.UnmarshalText([]byte(r.URL.Query().Get("challenge")))
		receipt.At = r.Host
		_ = receipt.Sign(s.key)
		say(receipt)
	default:
		o := exchange.Offer{Agent: agent, Heads: s.heads[id]}
		if s.has && !o.Has() {
			o.Heads = []perdure.Hash{{7}}
		}
		say(o)
	}
}

// A peer says that it has the private notes of a role, or that an agent outside its scope has changed there. It is sent
// neither, and is not even asked about what it does not name.
func TestPeerIsSentNothingOnItsWord(t *testing.T) {
	t.Parallel()
	both := []string{"role", "secret"}
	for name, of := range map[string]struct {
		has   bool
		names []string
		yaml  string
	}{
		"it has everything":            {has: true},
		"it has everything, in scope":  {has: true, yaml: ", scope: home"},
		"it names them":                {has: true, names: both, yaml: ", scope: home"},
		"it names them, and has none":  {names: both, yaml: ", scope: home"},
		"it is to be pulled from only": {has: true, names: both, yaml: ", scope: home, way: pull"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.ok("doc", "write", "--role", "coder", "agents/coder/plan.md", "PRIVATE-NOTE")
			p.ok("new", "FOR-ALL", "--name", "open", "--scope", "home")
			open := strings.Trim(p.ok("show", "open", "--jq", ".agent"), `"`)
			ids := map[string]string{"role": p.ok("show", "coder", "--jq", ".agent")}
			if of.yaml != "" {
				p.ok("new", "OUTSIDE-PLAN", "--name", "far", "--scope", "elsewhere")
				ids["secret"] = p.ok("show", "far", "--jq", ".agent")
			}
			s := &evil{has: of.has}
			for _, name := range of.names {
				s.names = append(s.names, strings.Trim(ids[name], `"`))
			}
			s.peer(p, of.yaml)
			for _, text := range []string{"PRIVATE-NOTE", "OUTSIDE-PLAN"} {
				if bytes.Contains(s.got, []byte(text)) {
					t.Errorf("the peer was sent %s", text)
				}
			}
			for name, id := range ids {
				if strings.Contains(s.asked, strings.Trim(id, `"`)) {
					t.Errorf("the peer was asked about %s", name)
				}
			}
			if pulls := strings.Contains(of.yaml, "pull"); !pulls && !strings.Contains(s.asked, open) {
				t.Error("the peer was not asked about what is for it")
			} else if want := !pulls && !of.has; bytes.Contains(s.got, []byte("FOR-ALL")) != want {
				t.Errorf("the peer was sent what is for it: %t, want %t", !want, want) // nothing to who lies about it
			}
		})
	}
}

// A peer says that it has the advisor an agent needs, and that its key is one that counts here. The seat goes to it
// only if it is.
func TestPeerTakesNoSeatInTheNameOfAnother(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		as   func(p *place, author *perdure.Signer) *evil
		paid int // here, once the agent has what it needs
	}{
		"as the victim":           {func(p *place, _ *perdure.Signer) *evil { return &evil{claims: p.owner.Key()} }, 1},
		"as an author":            {func(_ *place, nora *perdure.Signer) *evil { return &evil{claims: nora.Key()} }, 1},
		"as itself":               {func(*place, *perdure.Signer) *evil { return new(evil) }, 1},
		"as an author that it is": {func(_ *place, nora *perdure.Signer) *evil { return &evil{key: nora} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.ok("new", "pay", "--name", "payer", "--advisor", "big")
			s := of.as(p, trusted(p, "nora", "author", "home"))
			s.seats = true
			s.peer(p, "")
			if !bytes.Contains(s.got, []byte("payer")) {
				t.Error("the peer was not sent the agent")
			}
			p.perdure("run", "payer", "--files", "work", "--program", "sh", "--policy", "open.cedar", "--advisor",
				"big=script:pay.yaml", "--quiet")
			p.done(of.paid, "where the agent began")
		})
	}
}
