package relist_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/relist"
	"github.com/perdure/perdure/phase"
)

// store counts the memories that are read.
type store struct {
	*perdure.MemStore
	read int
}

func (s *store) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	s.read++
	return s.MemStore.Snapshots(ctx, id)
}

// filled is a store with agents of these names, each listed as it is.
func filled(t *testing.T, names ...string) (*store, *perdure.Signer, []*perdure.Agent) {
	t.Helper()
	s := &store{MemStore: new(perdure.MemStore)}
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: key}
	var agents []*perdure.Agent
	for _, name := range names {
		a, err := n.Create(t.Context(), perdure.Genesis{
			Intent:  perdure.Intent{Goal: "wait", Name: name},
			Charter: perdure.Charter{Owner: key.Key(), Scope: "acme"},
		})
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a)
	}
	return s, key, agents
}

// add adds an entry that nobody lists.
func add(t *testing.T, s perdure.Store, key *perdure.Signer, a *perdure.Agent, body perdure.Body) *perdure.Agent {
	t.Helper()
	entries, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: body})
	if err == nil {
		err = s.Append(t.Context(), a.ID(), a.Heads(), entries...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func names(t *testing.T, l perdure.Lister, f perdure.Filter) (out []string) {
	t.Helper()
	for one, err := range l.List(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(one.Name, " ", one.Entries))
	}
	return out
}

func TestAListSaysOfNoAgentWhatItsMemoryContradicts(t *testing.T) {
	s, key, agents := filled(t, "a", "b", "c", "d")
	add(t, s, key, agents[1], perdure.Event{Name: "pause", Notice: perdure.Pause{}})
	add(t, s, key, agents[2], perdure.Event{Name: "edit", Notice: perdure.Cancel{}})
	l := relist.Of(s, s.MemStore)
	s.read = 0
	for _, c := range []struct {
		filter perdure.Filter
		want   []string
	}{
		{perdure.Filter{}, []string{"a 1", "b 2", "c 2", "d 1"}},
		{perdure.Filter{Waiting: true}, []string{"b 2"}},
		{perdure.Filter{States: []phase.State{phase.Terminated}}, []string{"c 2"}},
		{perdure.Filter{States: []phase.State{phase.Instantiated}}, []string{"a 1", "d 1"}},
		{perdure.Filter{Limit: 2}, []string{"a 1", "b 2"}},
		{perdure.Filter{Prefix: agents[2].ID().String()}, []string{"c 2"}},
	} {
		if got := names(t, l, c.filter); !slices.Equal(got, c.want) {
			t.Errorf("filter %+v lists %q, want %q", c.filter, got, c.want)
		}
	}
	if s.read > 2 {
		t.Errorf("%d memories were read, of 2 agents whose lines are behind", s.read)
	}
}

func TestPagesHaveEachAgentOnceThoughLinesAreBehind(t *testing.T) {
	s, key, agents := filled(t, "a", "b", "b", "b", "c", "d")
	for _, i := range []int{0, 2, 4} {
		add(t, s, key, agents[i], perdure.Event{Name: "pause", Notice: perdure.Pause{}})
	}
	for _, f := range []perdure.Filter{{}, {Waiting: true}} {
		l := relist.Of(s, s.MemStore)
		all := names(t, l, f)
		for limit := 1; limit < 4; limit++ {
			var paged []string
			for f := f; ; {
				f.Limit = limit
				n := 0
				for one, err := range l.List(t.Context(), f) {
					if err != nil {
						t.Fatal(err)
					}
					n++
					f.After = one.Place()
					paged = append(paged, fmt.Sprint(one.Name, " ", one.Entries))
				}
				if n < limit {
					break
				}
			}
			if !slices.Equal(paged, all) {
				t.Errorf("pages of %d list %q, all are %q", limit, paged, all)
			}
		}
	}
}

// derivedStore is a store that was opened to look at.
type derivedStore struct {
	*store
	folder string
}

func (s derivedStore) Derived() string { return s.folder }

// TestLinesLongInTheMakingAreKept: the next to look folds no agent that is as it was, and those that changed.
func TestLinesLongInTheMakingAreKept(t *testing.T) {
	s, key, agents := filled(t, "a", "b")
	for i, a := range agents {
		var drafts []perdure.Draft
		for range 600 {
			drafts = append(drafts, perdure.Draft{Body: perdure.Event{Name: "said"}})
		}
		entries, next, err := key.Commit(a, time.Now(), drafts...)
		if err == nil {
			err = s.Append(t.Context(), a.ID(), a.Heads(), entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
		agents[i] = next
	}
	derived := filepath.Join(t.TempDir(), "home", "looks")
	look := func(want ...string) int {
		t.Helper()
		s.read = 0
		l := relist.Of(derivedStore{s, derived}, s.MemStore)
		if got := names(t, l, perdure.Filter{}); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		return s.read
	}
	first, second := look("a 601", "b 601"), look("a 601", "b 601")
	if first != 2 || second != 0 {
		t.Errorf("%d and %d memories were read, want 2 and none", first, second)
	}
	add(t, s, key, agents[1], perdure.Event{Name: "more"})
	if n := look("a 601", "b 602"); n != 1 {
		t.Errorf("%d memories were read, want the one that changed", n)
	}
	if err := os.WriteFile(filepath.Join(derived, "lines"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := look("a 601", "b 602"); n != 2 {
		t.Errorf("%d memories were read, want both", n)
	}
	if n := look("a 601", "b 602"); n != 0 {
		t.Errorf("%d memories were read once the lines were made again, want none", n)
	}
}
