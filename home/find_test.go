package home_test

import (
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
