package home_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// Agents that are held, and agents that are damaged, keep nobody from collecting the others.
func TestHeldAgentsDoNotStopACollection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var notes []string
		h := &home.Home{URL: dir, Note: func(text string) { notes = append(notes, text) }}
		ctx, s := t.Context(), new(perdure.MemStore)
		stranger, err := perdure.GenerateSigner("stranger")
		if err != nil {
			t.Fatal(err)
		}
		g := perdure.Genesis{Intent: perdure.Intent{Goal: "forget soon", TTL: time.Hour.Milliseconds()},
			Charter: perdure.Charter{Scope: "home"}}
		own, err := h.Node(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		const each = 6 // in the order of their ids some of the others come first
		for range each {
			for _, n := range []*perdure.Node{{Store: s, Key: stranger}, own} {
				a, err := n.Create(ctx, g)
				if err == nil {
					_, err = n.Tell(ctx, a.ID(), perdure.Event{Name: "word"})
				}
				if err == nil {
					_, err = n.Snapshot(ctx, a.ID())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(2 * time.Hour) // their time is over
		found, err := h.Collect(ctx, s, nil, false)
		if err != nil || len(found) != each {
			t.Errorf("%d agents were collected, want %d: %v", len(found), each, err)
		}
		if all := strings.Join(notes, "\n"); !strings.Contains(all, "nothing is dropped of 6 agents held here") {
			t.Errorf("nobody hears of those that were left out: %s", all)
		}
		h.CloseWitness()
	})
}
