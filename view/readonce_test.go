package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// What an agent waits for is found also behind what is kept of its memory to be read twice.
func TestInboxReadsLongMemories(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	s := new(perdure.MemStore)
	n := &perdure.Node{Store: s, Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "x", Goal: "wait"},
		Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	long, err := perdure.DataOf(strings.Repeat("x", 8<<10))
	for range 40 { // 320 KiB
		if err == nil {
			_, err = n.Tell(t.Context(), a.ID(), perdure.Event{Name: "long", Data: long})
		}
	}
	if err == nil {
		_, err = n.Pause(t.Context(), a.ID(), "wait")
	}
	if err == nil {
		a, err = n.Load(t.Context(), a.ID())
	}
	if err == nil {
		err = s.Index(t.Context(), a.Heads(), a.Listing(time.Now()))
	}
	if err != nil {
		t.Fatal(err)
	}
	trust := perdure.NewTrust(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	waits, fault, err := view.Inbox(t.Context(), s, trust, perdure.Place{}, key.Key(), time.Now())
	if len(waits) != 1 || fault != nil || err != nil {
		t.Errorf("it finds %+v, faults %v, %v; want that the agent is paused", waits, fault, err)
	}
}
