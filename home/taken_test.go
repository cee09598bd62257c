package home_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/store/sqlite"
)

// A Go program imports an agent that was handed over to it into a new store, and runs it there.
func TestAGoProgramTakesWhatItImports(t *testing.T) {
	key, err := perdure.GenerateSigner("me")
	if err != nil {
		t.Fatal(err)
	}
	node := func(name string) *perdure.Node {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), name), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return &perdure.Node{Store: s, Key: key}
	}
	a, b := node("a.db"), node("b.db")
	one, err := a.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
		Charter: perdure.Charter{Scope: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.GiveSeat(t.Context(), one.ID(), perdure.Key{}, ""); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if _, err := capsule.Export(t.Context(), &buf, a.Store, one.ID(), capsule.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := capsule.Import(t.Context(), b.Store, bytes.NewReader(buf.Bytes()),
		capsule.ImportOptions{Key: key, Trust: b.Trusted(), Ready: true}); err != nil {
		t.Fatal(err)
	}
	idle, err := b.RunAgent(t.Context(), one.ID())
	if err != nil {
		t.Fatal(err)
	}
	if idle.Is(phase.RestGiven) {
		t.Errorf("it rests as handed over elsewhere: %+v", idle)
	}
}
