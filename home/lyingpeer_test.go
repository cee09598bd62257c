package home_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
)

// liar is a server that says what it likes, and keeps what it is sent.
type liar struct {
	names   []perdure.AgentID // that have changed there, it says
	private []perdure.AgentID // the same, of roles
	list    any               // the agents there
	has     bool              // it has the first entry of every agent, it says
	found   perdure.AgentID   // what every name means there
	node    map[string]any    // of itself
	gives   perdure.Store     // what it sends when it is asked for an agent
	answer  func(*exchange.Receipt, *http.Request)

	mu     sync.Mutex
	rounds int
	asked  map[string]bool // which agents it was asked about
	taken  map[string]int  // how many entries it was sent, by agent
	heads  map[string][]perdure.Hash
	url    string
}

func (l *liar) serve(t *testing.T) *liar {
	t.Helper()
	l.asked, l.taken, l.heads = map[string]bool{}, map[string]int{}, map[string][]perdure.Hash{}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Perdure-Api", "v1")
	w.Header().Set("Content-Type", "application/json")
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	id, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/exchange/"), "/")
	switch {
	case r.URL.Path == "/v1/nodes":
		say(map[string]any{"nodes": []any{l.node}})
	case r.URL.Path == "/v1/agents":
		say(map[string]any{"agents": l.list})
	case r.URL.Path == "/v1/exchange":
		l.rounds++
		say(exchange.Changes{Agents: l.names, Private: l.private, Position: perdure.Hash{1}.String() + ":1"})
	case what == "missing":
		w.Header().Set("Content-Type", "application/vnd.perdure.entries")
		var agent perdure.AgentID
		if _ = agent.UnmarshalText([]byte(id)); l.gives != nil {
			_ = perdure.WriteMemory(w, perdure.Memory(r.Context(), l.gives, agent))
		}
	case what == "entries":
		one := &exchange.Receipt{Time: time.Now().UTC().Truncate(time.Millisecond), Heads: l.heads[id]}
		_ = one.Agent.UnmarshalText([]byte(id))
		for e, err := range perdure.ReadMemory(r.Body, perdure.Limits{}) {
			if err != nil {
				break
			}
			one.Entries++
			one.Heads = []perdure.Hash{e.Name}
		}
		l.taken[id] += int(one.Entries)
		l.heads[id] = one.Heads
		l.answer(one, r)
		say(one)
	default:
		l.asked[id] = true
		o := exchange.Offer{Heads: l.heads[id]}
		if o.Agent.UnmarshalText([]byte(id)) != nil {
			o.Agent = l.found
		}
		if l.has && !o.Has() {
			o.Heads = []perdure.Hash{perdure.Hash(o.Agent)}
		}
		say(o)
	}
}

// sent is how many entries of an agent it was sent.
func (l *liar) sent(id perdure.AgentID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken[id.String()]
}

// deal has a home deal with the liar as a peer of node.yaml until that was asked a few times what is new there.
func (l *liar) deal(t *testing.T, here home.Local, yaml string) {
	t.Helper()
	l.mu.Lock()
	until := l.rounds + 4
	l.mu.Unlock()
	l.dealUntil(t, here, yaml, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.rounds >= until
	})
}

// dealUntil has a home deal with it until that is enough.
func (l *liar) dealUntil(t *testing.T, here home.Local, yaml string, enough func() bool) {
	t.Helper()
	yaml = "peers:\n  - name: berlin\n    every: 10ms\n    url: " + l.url + "\n" + yaml
	file := filepath.Join(here.Desk.Home.Dir, home.NodeFileName)
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, err := here.Desk.Home.Peering(t.Context(), here.Desk, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for end := time.Now().Add(3 * time.Minute); !enough(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it takes too long")
		}
	}
}

// signs has a key sign what the liar says it took.
func signs(t *testing.T) func(*exchange.Receipt, *http.Request) {
	t.Helper()
	k, err := perdure.GenerateSigner("liar")
	if err != nil {
		t.Fatal(err)
	}
	return func(r *exchange.Receipt, _ *http.Request) { _ = r.Sign(k) }
}

// newOf is a new agent of a kind, in a scope.
func newOf(t *testing.T, l home.Local, name, kind, scope string) perdure.AgentID {
	t.Helper()
	a, err := l.Desk.Node.CreateAsleep(t.Context(), perdure.Genesis{Charter: perdure.Charter{Scope: scope},
		Intent: perdure.Intent{Name: name, Kind: kind, Goal: "hear"}})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID()
}

// What a peer says that it has, or that has changed there, has nothing sent to it: the private notes of a role go where
// somebody here passed them on by name, and nobody else is even asked about them.
func TestAPeerIsGivenNoPrivateNotesOnItsWord(t *testing.T) {
	t.Parallel()
	here, _ := openDesk(t)
	role, open := newOf(t, here, "coder", "role", "home"), newOf(t, here, "open", "", "home")
	quiet := (&liar{has: true, answer: signs(t)}).serve(t)
	quiet.deal(t, here, "")
	if quiet.asked[role.String()] || quiet.sent(role) > 0 || quiet.sent(open) == 0 {
		t.Errorf("asked about the role: %t; %d entries of it sent, %d of what is for all",
			quiet.asked[role.String()], quiet.sent(role), quiet.sent(open))
	}
	for name, l := range map[string]*liar{"named": {names: []perdure.AgentID{role}},
		"named as private": {private: []perdure.AgentID{role}}} {
		l.has, l.answer = true, signs(t)
		l.serve(t).deal(t, here, "")
		if l.sent(role) > 0 || l.sent(open) == 0 {
			t.Errorf("%s: %d entries of the role sent, %d of what is for all", name, l.sent(role), l.sent(open))
		}
	}
}

// Once somebody has passed them on by name, they go on to that place, and to no other that is called the same.
func TestPrivateNotesGoOnToWhereTheyWerePassed(t *testing.T) {
	t.Parallel()
	here, _ := openDesk(t)
	role := newOf(t, here, "coder", "role", "home")
	l, other := (&liar{answer: signs(t)}).serve(t), (&liar{has: true, answer: signs(t)}).serve(t)
	l.deal(t, here, "")
	if n := l.sent(role); n > 0 {
		t.Fatalf("%d entries were sent before somebody passed them on", n)
	}
	got := transfer(t, here, "berlin", home.Chosen{Names: []string{"coder"}}, exchange.Push)
	if got.Pushed != 1 {
		t.Fatalf("%+v, want it pushed", got)
	}
	before := l.sent(role)
	for _, path := range []string{"a.md", "b.md", "c.md"} {
		heads, err := here.Desk.Store.Heads(t.Context(), role)
		if err == nil {
			_, err = here.Desk.Node.Write(t.Context(), role, heads, perdure.Writing{Document: perdure.Document{
				Path: "agents/coder/" + path, Kind: "note", Title: path}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if l.deal(t, here, ""); l.sent(role) != before+3 {
		t.Errorf("%d entries were sent after %d, want 3 more", l.sent(role), before)
	}
	if other.deal(t, here, ""); other.sent(role) > 0 || other.asked[role.String()] {
		t.Error("another place with the name of the peer has it, too")
	}
}

// transfer passes agents by hand.
func transfer(t *testing.T, here home.Local, to string, c home.Chosen, way exchange.Way) *home.Transfer {
	t.Helper()
	h := here.Desk.Home
	conf, err := h.PeerNamed(to, "", "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.OpenPeer(conf, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	got, err := h.Transfer(t.Context(), here.Desk, p, c, way)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The scope of a peer bounds what passes, whoever names the agent.
func TestAPeerIsGivenNothingOutsideItsScope(t *testing.T) {
	t.Parallel()
	here, _ := openDesk(t)
	out, in := newOf(t, here, "out", "", "home/secret"), newOf(t, here, "in", "", "home/pub")
	l := (&liar{names: []perdure.AgentID{out, in}, answer: signs(t)}).serve(t)
	l.deal(t, here, "    scope: home/pub\n")
	if l.sent(out) > 0 || l.sent(in) == 0 || l.asked[out.String()] {
		t.Errorf("%d entries sent from outside the scope (asked about it: %t), %d from inside", l.sent(out),
			l.asked[out.String()], l.sent(in))
	}
	// nor does it bring anything
	far, _ := openDesk(t)
	trusts(t, here, far.Desk.Node)
	alien, friend := newOf(t, far, "alien", "", "home/secret"), newOf(t, far, "friend", "", "home/pub")
	secret := newOf(t, far, "coder", "role", "home/pub")
	from := &liar{names: []perdure.AgentID{alien, friend, secret}, has: true, gives: far.Desk.Store, answer: signs(t)}
	from.serve(t).deal(t, here, "    scope: home/pub\n")
	for id, want := range map[perdure.AgentID]bool{alien: false, friend: true, secret: false} {
		if _, err := here.Desk.Store.Heads(t.Context(), id); (err == nil) != want {
			t.Errorf("%s: %v, want it here: %t", id.Short(), err, want)
		}
	}
}

// What the other place alone names or lists is pulled: nothing of it leaves on its word.
func TestASyncByHandGivesNothingOnTheWordOfThePeer(t *testing.T) {
	t.Parallel()
	here, _ := openDesk(t)
	role, out := newOf(t, here, "coder", "role", "home"), newOf(t, here, "out", "", "home/secret")
	in := newOf(t, here, "in", "", "home/pub")
	l := &liar{has: true, found: out, answer: signs(t)}
	l.list = []any{map[string]any{"agent": role, "name": "x", "scope": "home/pub"},
		map[string]any{"agent": out, "name": "y", "scope": "home/pub"}}
	l.serve(t)
	transfer(t, here, l.url, home.Chosen{Names: []string{"nobody"}}, exchange.Both)
	transfer(t, here, l.url, home.Chosen{Filter: perdure.Filter{Scope: "home/pub"}}, exchange.Both)
	if l.sent(role) > 0 || l.sent(out) > 0 || l.sent(in) == 0 {
		t.Errorf("%d entries of the role and %d from outside the scope were sent, %d from inside", l.sent(role),
			l.sent(out), l.sent(in))
	}
}

// A seat goes to the node that shows, when it is asked, that it has the key it names: no word of others, and none that
// it once gave, moves it.
func TestASeatGoesToWhoeverShowsTheKey(t *testing.T) {
	t.Parallel()
	there, err := perdure.GenerateSigner("there")
	if err != nil {
		t.Fatal(err)
	}
	asked := func(r *http.Request) (h perdure.Hash) {
		_ = h.UnmarshalText([]byte(r.URL.Query().Get("challenge")))
		return h
	}
	other := signs(t)
	for name, x := range map[string]struct {
		answer func(*exchange.Receipt, *http.Request)
		moved  bool
	}{
		"another key": {answer: func(r *exchange.Receipt, q *http.Request) {
			r.Challenge = asked(q)
			other(r, q)
		}},
		"another's name": {answer: func(r *exchange.Receipt, q *http.Request) {
			r.Challenge = asked(q)
			other(r, q)
			r.Key = there.Key()
		}},
		"an older word": {answer: func(r *exchange.Receipt, _ *http.Request) { _ = r.Sign(there) }},
		"the answer to another question": {answer: func(r *exchange.Receipt, _ *http.Request) {
			r.Challenge = perdure.Hash{9}
			_ = r.Sign(there)
		}},
		"the word of another server, to which the question was passed on": {answer: func(r *exchange.Receipt,
			q *http.Request) {
			r.Challenge, r.At = asked(q), "berlin.example.com"
			_ = r.Sign(there)
		}},
		"the word of a server that does not know where it is": {answer: func(r *exchange.Receipt, q *http.Request) {
			r.Challenge = asked(q)
			_ = r.Sign(there)
		}},
		"the word of another server, put right": {answer: func(r *exchange.Receipt, q *http.Request) {
			r.Challenge, r.At = asked(q), "berlin.example.com"
			_ = r.Sign(there)
			r.At = q.Host
		}},
		"the key": {moved: true, answer: func(r *exchange.Receipt, q *http.Request) {
			r.Challenge, r.At = asked(q), q.Host
			_ = r.Sign(there)
		}},
	} {
		here, n := openDesk(t)
		for _, key := range []perdure.Key{there.Key(), n.Key.Key()} {
			if key == n.Key.Key() && x.moved {
				continue
			}
			err := here.Desk.Home.TrustKey(perdure.Trustee{Key: there.Key(), Rights: perdure.MayAuthor, Scope: "home"})
			if err != nil {
				t.Fatal(err)
			}
			id := newAgent(t, here, 2)
			l := &liar{answer: x.answer, node: map[string]any{"name": "l", "key": key, "runs": true, "version": "1"}}
			which := home.Chosen{Names: []string{id.String()}, Move: true}
			got := transfer(t, here, l.serve(t).url, which, exchange.Push)
			a, err := here.Desk.Home.Load(t.Context(), here.Desk.Store, id)
			if err != nil {
				t.Fatal(err)
			}
			seat, err := here.Desk.Home.Seated(t.Context(), here.Desk.Store, a)
			if err != nil || seat.Here == x.moved || (len(got.Failed) == 0) != x.moved {
				t.Errorf("%s: %+v %v; failed: %+v", name, seat, err, got.Failed)
			}
		}
	}
}
