package enginetest

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// Grown is an agent with a few entries, and these.
func Grown(t *testing.T, s perdure.Store) (*Writer, []*perdure.Entry) {
	t.Helper()
	w := NewWriter(t, s)
	for range 5 {
		if err := w.Write(t.Context(), t, s); err != nil {
			t.Fatal(err)
		}
	}
	var good []*perdure.Entry
	for e, err := range perdure.Memory(t.Context(), s, w.Agent.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, e)
	}
	return w, good
}

// A Healable store can say what is damaged, and mend it.
type Healable interface {
	perdure.Store
	perdure.Healer
}

// HealsTheEnd damages the end of a memory that a node had released: the rest is kept, and Heal says once that there was
// more.
func HealsTheEnd(t *testing.T, s interface {
	Healable
	perdure.Claimer
}, damage func(id perdure.AgentID) error) {
	t.Helper()
	w, good := Grown(t, s)
	id, node := w.Agent.ID(), w.Key()
	c, err := s.Claim(t.Context(), id, node, perdure.MaxLease)
	if err == nil {
		err = s.Release(t.Context(), c, w.Agent.Heads(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := damage(id); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Claim(t.Context(), id, node, perdure.MaxLease); err != nil { // as who repairs it does
		t.Logf("claim of an agent whose end is damaged: %v", err)
	}
	if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Entries != 5 || got.Aside != 0 || !got.Short {
		t.Fatalf("heal of a damaged end: %+v, %v, want 5 entries and that there were more", got, err)
	}
	if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Entries != 5 || got.Short {
		t.Fatalf("heal of what was healed: %+v, %v, want 5 entries and nothing to say", got, err)
	}
	if ill, err := s.Ailing(t.Context()); err != nil || len(ill) != 0 {
		t.Fatalf("ailing after all: %v, %v", ill, err)
	}
	if got, err := s.Heal(t.Context(), id, good); err != nil || got.Entries != 6 || got.Short {
		t.Fatalf("heal with a copy: %+v, %v", got, err)
	}
	w.Kept(t, s)
}

// Heals damages the fourth entry of a memory: it is refused with an error that wraps want, what leads back to genesis
// can be kept, the rest lies aside, and a good copy brings all of it back.
func Heals(t *testing.T, s Healable, damage func(id perdure.AgentID) error, want error) {
	t.Helper()
	w, good := Grown(t, s)
	id := w.Agent.ID()
	if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Gained != 0 || got.Entries != 6 {
		t.Fatalf("heal of an agent that is well: %+v, %v", got, err)
	}
	if err := damage(id); err != nil {
		t.Fatal(err)
	}
	if _, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, id)); !errors.Is(err, want) {
		t.Fatalf("a damaged memory: %v", err)
	}
	got, err := s.Heal(t.Context(), id, nil)
	if err != nil || got.Entries != 3 || got.Aside != 2 {
		t.Fatalf("heal without a copy: %+v, %v, want 3 entries and 2 aside", got, err)
	}
	ill, err := s.Ailing(t.Context())
	if err != nil || ill[id].Reason == nil || ill[id].Gone {
		t.Fatalf("ailing: %v, %v", ill, err)
	}
	if got, err = s.Heal(t.Context(), id, good); err != nil || got.Entries != 6 || got.Aside != 0 {
		t.Fatalf("heal with a copy: %+v, %v", got, err)
	}
	w.Kept(t, s)
	if ill, err := s.Ailing(t.Context()); err != nil || len(ill) != 0 {
		t.Fatalf("ailing after all: %v, %v", ill, err)
	}
	if err := w.Write(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heal(t.Context(), perdure.AgentID{1}, nil); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("heal of an agent that is not there: %v", err)
	}
}

// HealsNone loses all of a memory: a repair that finds nothing leaves its name, so that it is missed, and a good copy
// brings all of it back.
func HealsNone(t *testing.T, s interface {
	Healable
	perdure.Lister
}, damage func(id perdure.AgentID) error) {
	t.Helper()
	w, good := Grown(t, s)
	id, l := w.Agent.ID(), w.Agent.Listing(time.Now())
	l.Name = "missed"
	err := s.Index(t.Context(), w.Agent.Heads(), l)
	if err == nil {
		err = damage(id)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Entries != 0 || got.Aside != 0 {
			t.Fatalf("heal of which nothing is left: %+v, %v, want nothing", got, err)
		}
		ill, err := s.Ailing(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		name := ill[id].Name
		for l, err := range s.List(t.Context(), perdure.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if l.Agent == id {
				name = l.Name
			}
		}
		if name != "missed" {
			t.Fatalf("after a repair that found nothing it is called %q, want its name", name)
		}
	}
	if got, err := s.Heal(t.Context(), id, good); err != nil || got.Entries != int64(len(good)) {
		t.Fatalf("heal with a copy: %+v, %v", got, err)
	}
	w.Kept(t, s)
	if ill, err := s.Ailing(t.Context()); err != nil || len(ill) != 0 {
		t.Fatalf("ailing after all: %v, %v", ill, err)
	}
	if err := w.Write(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
}

// HealsWithoutItsBeginning loses the first entry of a memory: all else lies aside after a repair, under the name that
// the agent was listed by, and a good copy brings all of it back.
func HealsWithoutItsBeginning(t *testing.T, s interface {
	Healable
	perdure.Lister
}, damage func(id perdure.AgentID) error) {
	t.Helper()
	w, good := Grown(t, s)
	id, l := w.Agent.ID(), w.Agent.Listing(time.Now())
	l.Name = "missed"
	err := s.Index(t.Context(), w.Agent.Heads(), l)
	if err == nil {
		err = damage(id)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Entries != 0 || got.Aside != 5 {
			t.Fatalf("heal without the first entry: %+v, %v, want 5 aside", got, err)
		}
		ill, err := s.Ailing(t.Context())
		if x := ill[id]; err != nil || !x.Gone || x.Name != l.Name {
			t.Fatalf("ailing: %+v, %v, want it gone and called %q", x, err, l.Name)
		}
		for l, err := range s.List(t.Context(), perdure.Filter{}) {
			if err != nil || l.Agent == id {
				t.Fatalf("it is listed: %+v, %v", l, err)
			}
		}
	}
	if got, err := s.Heal(t.Context(), id, good); err != nil || got.Entries != int64(len(good)) || got.Aside != 0 {
		t.Fatalf("heal with a copy: %+v, %v", got, err)
	}
	w.Kept(t, s)
	if ill, err := s.Ailing(t.Context()); err != nil || len(ill) != 0 {
		t.Fatalf("ailing after all: %v, %v", ill, err)
	}
}
