package home

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/dir"
)

// What an agent of a peer is told goes back there, also by a process that began after the agent was pulled.
func TestWhatAPulledAgentIsToldGoesBackAfterARestart(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "peer")
	h := &Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		far, err := dir.Open(folder, dir.Options{})
		if err != nil {
			return err
		}
		there := &perdure.Node{Store: far, Key: n.Key}
		a, err := there.Create(ctx, perdure.Genesis{Charter: perdure.Charter{Scope: "far"},
			Intent: perdure.Intent{Name: "a", Goal: "hear"}})
		if err != nil {
			return err
		}
		yaml := "peers:\n  - name: f\n    dir: " + folder + "\n    scope: near\n"
		if err := os.WriteFile(filepath.Join(h.Dir, NodeFileName), []byte(yaml), 0o600); err != nil {
			return err
		}
		policies := filepath.Join(h.Dir, PolicyDir) // what is trusted goes on when it arrives
		const permit = "@id(\"peers\")\n" +
			`permit (principal, action == Action::"admit", resource) when { context.trusted };`
		if err := os.MkdirAll(policies, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(policies, "peers.cedar"), []byte(permit), 0o600); err != nil {
			return err
		}
		for _, event := range []string{"before", "after"} {
			r := &reach{Node: n, h: h} // of a new process
			if _, err := r.Load(ctx, a.ID()); err != nil {
				return err
			}
			if _, err := r.Tell(ctx, a.ID(), perdure.Event{Name: event}); err != nil {
				return err
			}
			got, err := perdure.Load(ctx, far, a.ID())
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(got.Fold().Inbox, func(m perdure.Message) bool { return m.Name == event }) {
				t.Errorf("what it was told %s the restart is not there", event)
			}
		}
		book, err := h.OpenDealings(ctx)
		if err != nil {
			return err
		}
		for at, want := range map[string]bool{folder: true, filepath.Join(t.TempDir(), "another"): false} {
			within := &bounds{&PeerConfig{Name: "f", Dir: at, Scope: "near"}, book}
			if why, err := within.keep(ctx, a.ID(), "far", true); err != nil || (why == "") != want {
				t.Errorf("it passes to a peer of that name at %s: %q, %v; want %t", at, why, err, want)
			}
		}
		if err := book.Close(); err != nil {
			return err
		}
		return far.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}
