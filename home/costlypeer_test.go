package home_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
)

// costly has a liar answer some questions without end.
func costly(t *testing.T, l *liar, path string, answer func(n int, r *http.Request) any) *liar {
	t.Helper()
	l.serve(t)
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			l.ServeHTTP(w, r)
			return
		}
		l.mu.Lock()
		n++
		l.rounds++
		say := answer(n, r)
		l.mu.Unlock()
		w.Header().Set(client.APIHeader, "v1")
		_ = json.NewEncoder(w).Encode(say)
	}))
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

// fresh are agents that nobody has named before.
func fresh(n, count int) (all []perdure.AgentID) {
	for i := range count {
		var id perdure.AgentID
		binary.BigEndian.PutUint64(id[:], uint64(n)<<32|uint64(i)|1<<63)
		all = append(all, id)
	}
	return all
}

// A peer that names agents without end keeps nothing else from passing, and its names do not fill the disk.
func TestAPeerThatNamesAgentsWithoutEndHoldsNothingUp(t *testing.T) {
	t.Parallel()
	here, _ := openDesk(t)
	open := newOf(t, here, "open", "", "home")
	l := costly(t, &liar{answer: signs(t)}, "/v1/exchange", func(n int, _ *http.Request) any {
		return exchange.Changes{Agents: fresh(n, 2), Position: fmt.Sprintf("%s:%d", perdure.Hash{1}, n), More: true}
	})
	l.dealUntil(t, here, "", func() bool { return l.sent(open) > 0 })
	greedy := costly(t, &liar{answer: signs(t)}, "/v1/exchange", func(n int, _ *http.Request) any {
		at := fmt.Sprintf("%s:%d", perdure.Hash{1}, n)
		return exchange.Changes{Agents: fresh(n, 20_000), Position: at, More: true}
	})
	greedy.deal(t, here, "")
	file, err := os.Stat(filepath.Join(here.Desk.Home.Dir, "exchange.db"))
	if err != nil || file.Size() > 4<<20 {
		t.Errorf("%+v %v, want nothing noted of what it names", file, err)
	}
}

// What a server lists passes page by page, and a list without end ends with an error that says so.
func TestWhatAServerListsPassesPageByPage(t *testing.T) {
	t.Parallel()
	here, hn := openDesk(t)
	there, tn := openDesk(t)
	trusts(t, here, tn)
	trusts(t, there, hn)
	id := newAgent(t, there, 3)
	o, err := there.Offer(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	came := false
	l := &liar{answer: signs(t), gives: there.Desk.Store}
	costly(t, l, "/v1/agents", func(n int, _ *http.Request) any {
		if n == 1 {
			return client.List{Agents: []client.Listed{{Agent: id, Name: "a"}}, Next: "more"}
		}
		_, err := here.Desk.Store.Heads(t.Context(), id)
		came = err == nil
		return client.List{Agents: []client.Listed{{Agent: id, Name: "a"}}, Next: "more"}
	})
	l.heads[id.String()] = o.Heads
	p, err := here.Desk.Home.OpenPeer(home.PeerConfig{Name: "berlin", URL: l.url}, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := here.Desk.Home.Transfer(t.Context(), here.Desk, p, home.Chosen{}, exchange.Pull)
	if !errors.Is(err, client.ErrExcess) || !strings.Contains(err.Error(), "begins again") || got.Pulled != 1 || !came {
		t.Errorf("%+v %v, came before the second page: %t", got, err, came)
	}
}

// All agents are named to a peer that is met first, a page at a time, and each once; what happens meanwhile follows.
func TestAllAgentsAreNamedPageByPage(t *testing.T) {
	t.Parallel()
	here, _ := openDesk(t)
	want := map[perdure.AgentID]int{}
	for i := range 25 {
		want[newOf(t, here, fmt.Sprintf("n%02d", i), "", "home")] = 0
	}
	at, told := "", perdure.AgentID{}
	for page := 0; ; page++ {
		c, err := here.Changes(t.Context(), at, "", 10)
		if err != nil || len(c.Agents) > 10 || page > 5 {
			t.Fatalf("page %d: %d agents, %v", page, len(c.Agents), err)
		}
		for _, id := range c.Agents {
			want[id]++
		}
		if page == 0 {
			told = c.Agents[0]
			hears(t, here, told, 1)
		}
		if at = c.Position; !c.More {
			break
		}
	}
	for id, n := range want {
		if n != 1 {
			t.Errorf("agent %s was named %d times", id.Short(), n)
		}
	}
	c, err := here.Changes(t.Context(), at, "", 10)
	if err != nil || !slices.Equal(c.Agents, []perdure.AgentID{told}) || c.More {
		t.Errorf("%+v %v, want the one that was told something meanwhile", c, err)
	}
}

// What a place acknowledged that somebody passed an agent to by hand is shown, too.
func TestAReceiptOfAPlaceByHandIsShown(t *testing.T) {
	t.Parallel()
	here, _ := openDesk(t)
	id := newAgent(t, here, 3)
	l := (&liar{answer: signs(t)}).serve(t)
	if got := transfer(t, here, l.url, home.Chosen{Names: []string{"a"}}, exchange.Push); got.Pushed != 1 {
		t.Fatalf("%+v, want it pushed", got)
	}
	all, err := here.Desk.Home.Nodes(t.Context(), here.Desk, "a")
	if err != nil || len(all.Known) != 2 {
		t.Fatalf("%+v %v", all, err)
	}
	if n := all.Known[1]; n.Where != l.url || n.Agent.Receipt == nil || n.Agent.Receipt.Agent != id || n.Agent.Has {
		t.Errorf("%+v, want the receipt of %s", n, l.url)
	}
}
