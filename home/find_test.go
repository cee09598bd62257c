package home_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
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
	more map[perdure.AgentID]perdure.Ailment
}

// List leaves out what ails and whose name is not known, as an index does.
func (s *ailing) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		for one, err := range s.MemStore.List(ctx, f) {
			if (err != nil || one.Agent != s.id || s.Ailment.Name != "") && !yield(one, err) {
				return
			}
		}
	}
}

func (s *ailing) Ailing(context.Context) (map[perdure.AgentID]perdure.Ailment, error) {
	all := map[perdure.AgentID]perdure.Ailment{s.id: s.Ailment}
	maps.Copy(all, s.more)
	return all, nil
}

// strangers is a store that has an agent of a stranger, called jam, and another of which something is not well.
func strangers(t *testing.T) (*ailing, *perdure.Node, perdure.AgentID) {
	t.Helper()
	stranger, err := perdure.GenerateSigner("eve")
	if err != nil {
		t.Fatal(err)
	}
	store := &ailing{MemStore: new(perdure.MemStore), id: perdure.AgentID{7}}
	n := &perdure.Node{Store: store.MemStore, Key: stranger}
	return store, n, called(t, n, "jam")
}

func called(t *testing.T, n *perdure.Node, name string) perdure.AgentID {
	t.Helper()
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "x", Name: name},
		Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID()
}

// What a stranger calls their agent does not take the name of one of here that cannot be read.
func TestAStrangersAgentIsNotTakenForADamagedOne(t *testing.T) {
	h, _ := newHome(t)
	made(t, h, "own")
	store, _, id := strangers(t)
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
		if !x.refuse && (err != nil || got != id) {
			t.Errorf("%s: got %s, %v; want that of the stranger", x.what, got.Short(), err)
		}
		if x.refuse && (err == nil || !strings.Contains(err.Error(), store.id.Short())) {
			t.Errorf("%s: got %s, %v; want an error with its id", x.what, got.Short(), err)
		}
		for _, arg := range []string{id.String(), id.Short(), strings.ToUpper(id.Short())} {
			if got, err := h.FindAgent(t.Context(), store, arg); err != nil || got != id {
				t.Errorf("%s: by %s: got %s, %v", x.what, arg, got.Short(), err)
			}
		}
		mine := func(one perdure.AgentID) bool { return one == id }
		_, err = h.FindAgentShown(t.Context(), store, "jam", mine)
		if x.refuse && (!errors.Is(err, perdure.ErrNotFound) || strings.Contains(err.Error(), store.id.Short())) {
			t.Errorf("%s: who is not shown it: %v, want that there is none", x.what, err)
		}
	}
}

// A stranger's agent is not kept from being found by what ails itself, nor by one of another name that the index does
// not list; one of that name is.
func TestAStrangersAgentIsFoundBesideOthers(t *testing.T) {
	h, _ := newHome(t)
	made(t, h, "own")
	store, n, id := strangers(t)
	same := id
	same[len(same)-1]++
	for _, x := range []struct {
		what   string
		id     perdure.AgentID
		is     perdure.Ailment
		arg    string
		refuse bool
	}{
		{"itself", id, perdure.Ailment{Name: "jam", Gone: true}, "jam", false},
		{"itself, by its id", id, perdure.Ailment{Name: "jam", Gone: true}, id.Short(), false},
		{"another not listed", called(t, n, "tea"), perdure.Ailment{}, "jam", false},
		{"one of such an id", same, perdure.Ailment{Gone: true}, id.Short(), true},
		{"one of such an id, x", same, perdure.Ailment{Name: "x", Gone: true}, id.Short(), true},
		{"one not listed", perdure.AgentID{}, perdure.Ailment{}, "jam", true},
	} {
		if x.id.IsZero() { // another of that name
			x.id = called(t, n, "jam")
		}
		store.id, store.Ailment = x.id, x.is
		store.Reason = errors.New("rot")
		got, err := h.FindAgent(t.Context(), store, x.arg)
		if !x.refuse && (err != nil || got != id) {
			t.Errorf("%s: got %s, %v; want that of the stranger", x.what, got.Short(), err)
		}
		if x.refuse && (err == nil || !strings.Contains(err.Error(), "is damaged: rot")) {
			t.Errorf("%s: got %s, %v; want an error", x.what, got.Short(), err)
		}
	}
}

// However many cannot be read, only some are listed.
func TestOfManyDamagedAgentsSomeAreListed(t *testing.T) {
	h, _ := newHome(t)
	made(t, h, "own")
	store, _, _ := strangers(t)
	store.more = map[perdure.AgentID]perdure.Ailment{}
	for i := range byte(99) {
		store.more[perdure.AgentID{8, i}] = perdure.Ailment{Gone: true, Reason: fmt.Errorf("rot %d", i)}
	}
	store.Ailment = perdure.Ailment{Gone: true, Reason: errors.New("rot")}
	_, err := h.FindAgent(t.Context(), store, "jam")
	if err == nil || strings.Count(err.Error(), ", ") != 8 || !strings.Contains(err.Error(), ", … is damaged") {
		t.Errorf("%v, want 8 of 100 and that there are more", err)
	}
}
