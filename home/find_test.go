package home_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// Whoever may make agents elsewhere must not make those of the home unreachable by name.
func TestANameIsThatOfTheOneAgentOfTheHome(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	key, err := perdure.GenerateSigner("ann")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: store, Key: key}
	create := func(scope string) perdure.AgentID {
		t.Helper()
		a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "x", Name: "jam"},
			Charter: perdure.Charter{Scope: scope}})
		if err != nil {
			t.Fatal(err)
		}
		return a.ID()
	}
	for range 12 {
		create("acme.crowd")
	}
	own := create("home")
	other := create("acme")
	if got, err := new(home.Home).FindAgent(t.Context(), store, "jam"); err != nil || got != own {
		t.Errorf("found %s, %v; want %s, the one of the home", got.Short(), err, own.Short())
	}
	if got, err := new(home.Home).FindAgent(t.Context(), store, other.Short()); err != nil || got != other {
		t.Errorf("by its id: %s, %v", got.Short(), err)
	}
	mine := func(id perdure.AgentID) bool { return id == other }
	if got, err := new(home.Home).FindAgentShown(t.Context(), store, "jam", mine); err != nil || got != other {
		t.Errorf("who is shown one finds %s, %v; want %s", got.Short(), err, other.Short())
	}
	second := create("home")
	mine = func(id perdure.AgentID) bool { return id == own || id == other || id == second }
	_, err = new(home.Home).FindAgentShown(t.Context(), store, "jam", mine)
	if err == nil || !strings.Contains(err.Error(), other.Short()+" jam in acme") ||
		!strings.Contains(err.Error(), own.Short()+" jam in home") {
		t.Errorf("of two in the home: %v, want all named with their scopes", err)
	}
	if got, err := new(home.Home).FindAgent(t.Context(), store, "jam"); err == nil {
		t.Errorf("of two in the home it found %s", got.Short())
	}
}

// ailing is a store of which an agent cannot be read.
type ailing struct {
	*perdure.MemStore
	perdure.Healer
	id perdure.AgentID
	perdure.Ailment
}

func (s *ailing) Ailing(context.Context) (map[perdure.AgentID]perdure.Ailment, error) {
	return map[perdure.AgentID]perdure.Ailment{s.id: s.Ailment}, nil
}

// What a stranger calls their agent does not take the name of one of here that cannot be read.
func TestAStrangersAgentIsNotTakenForADamagedOne(t *testing.T) {
	h, _ := newHome(t)
	made(t, h, "own")
	stranger, err := perdure.GenerateSigner("eve")
	if err != nil {
		t.Fatal(err)
	}
	store := &ailing{MemStore: new(perdure.MemStore), id: perdure.AgentID{7}}
	a, err := (&perdure.Node{Store: store.MemStore, Key: stranger}).Create(t.Context(), perdure.Genesis{
		Intent: perdure.Intent{Goal: "x", Name: "jam"}, Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		what   string
		is     perdure.Ailment
		refuse bool
	}{
		{"one of that name", perdure.Ailment{Name: "jam", Gone: true}, true},
		{"one whose name is lost", perdure.Ailment{Gone: true}, true},
		{"one that is not listed", perdure.Ailment{}, true},
		{"one of another name", perdure.Ailment{Name: "tea", Gone: true}, false},
		{"one that lost its end", perdure.Ailment{Name: "jam"}, false}, // it is found
	} {
		store.Ailment = x.is
		store.Reason = errors.New("rot")
		got, err := h.FindAgent(t.Context(), store, "jam")
		if !x.refuse && (err != nil || got != a.ID()) {
			t.Errorf("%s: got %s, %v; want that of the stranger", x.what, got.Short(), err)
		}
		if x.refuse && (err == nil || !strings.Contains(err.Error(), store.id.Short())) {
			t.Errorf("%s: got %s, %v; want an error with its id", x.what, got.Short(), err)
		}
		if got, err := h.FindAgent(t.Context(), store, a.ID().String()); err != nil || got != a.ID() {
			t.Errorf("%s: by its id: got %s, %v", x.what, got.Short(), err)
		}
		mine := func(id perdure.AgentID) bool { return id == a.ID() }
		_, err = h.FindAgentShown(t.Context(), store, "jam", mine)
		if x.refuse && (!errors.Is(err, perdure.ErrNotFound) || strings.Contains(err.Error(), store.id.Short())) {
			t.Errorf("%s: who is not shown it: %v, want that there is none", x.what, err)
		}
	}
}
