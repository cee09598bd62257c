package home_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// Agents that are held, and agents that are damaged, keep nobody from collecting the others.
func TestHeldAgentsDoNotStopACollection(t *testing.T) {
	t.Parallel()
	var notes []string
	h := &home.Home{URL: t.TempDir(), Note: func(text string) { notes = append(notes, text) }}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		stranger, err := perdure.GenerateSigner("stranger")
		if err != nil {
			return err
		}
		g := perdure.Genesis{Intent: perdure.Intent{Goal: "forget soon", TTL: 1},
			Charter: perdure.Charter{Scope: "home"}}
		own, err := h.Node(ctx, s)
		if err != nil {
			return err
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
					return err
				}
			}
		}
		time.Sleep(20 * time.Millisecond) // their time is over
		found, err := h.Collect(ctx, s, nil, false)
		if err != nil || len(found) != each {
			t.Errorf("%d agents were collected, want %d: %v", len(found), each, err)
		}
		return nil
	})
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "nothing is dropped of 6 agents held here") {
		t.Errorf("nobody hears of those that were left out: %s", all)
	}
}
