package perdure_test

import (
	"testing"

	"github.com/perdure/perdure"
)

// Agents take what the runtime says for what a node says of itself: nobody tells them anything under its name.
func TestNobodyTellsInTheNameOfTheRuntime(t *testing.T) {
	for name, want := range map[string]bool{"runtime": true, "Runtime": true, " owner ": true, "OPERATOR": true,
		"runtimes": false, "": false, "ann": false} {
		if got := perdure.CheckName("a key", name) != nil; got != want {
			t.Errorf("%q is reserved: %v, want %v", name, got, want)
		}
	}
	if _, err := perdure.GenerateSigner("Runtime"); err == nil {
		t.Error("a key was made with the name of the runtime")
	}
	key, err := perdure.GenerateSigner("ann")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "try"},
		Charter: perdure.Charter{Owner: key.Key(), Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: "hi", By: "runtime"}); err == nil {
		t.Error("it was told something in the name of the runtime")
	}
	if _, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: "hi", By: "bob"}); err != nil {
		t.Error(err)
	}
}
