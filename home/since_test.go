package home_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/schema"
)

// TestANodeGoesByWhatCameSince puts a policy and a schema into a home whose node runs, as a new agent or one that
// arrives brings them along. The node denied everything such an agent wanted, which then ended with nothing done.
func TestANodeGoesByWhatCameSince(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home")}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := new(home.Powers).Node(ctx, h, s, nil)
		if err != nil {
			return err
		}
		text := []byte(`@id("mine") forbid (principal, action == Action::"mutate", resource);`)
		set, err := policy.Parse(policy.File{Name: "mine.cedar", Text: text})
		if err != nil {
			return err
		}
		a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "stay"},
			Charter: perdure.Charter{Scope: "home", Policies: []perdure.Hash{set.Hash()}}})
		if err != nil {
			return err
		}
		unknown := func() bool {
			v := n.Policy.Decide(a, perdure.Request{Action: perdure.Mutate{Goal: new(string)}},
				time.Now())
			return slices.Contains(v.Rules, "policy.unknown")
		}
		if !unknown() {
			t.Error("a policy that is nowhere is known")
		}
		if err = h.Keep(filepath.Join(home.PolicyDir, "known", set.Hash().Short(), "mine.cedar"), text); err != nil {
			return err
		}
		if unknown() {
			t.Error("a policy that came since is not known")
		}

		lode := []byte(`{"name": "Ticket", "version": 1, "fields": [{"id": 1, "name": "size", "type": "int"}]}`)
		of, err := schema.Parse(lode, nil)
		if err != nil {
			return err
		}
		id := perdure.Hash(of.ID())
		if err = n.State.CheckState(id, nil); !errors.Is(err, perdure.ErrIncapable) {
			t.Errorf("a schema that is nowhere: got %v", err)
		}
		if err = h.Keep(filepath.Join("schemas", "ticket.lode"), lode); err != nil {
			return err
		}
		if err = n.State.CheckState(id, nil); err != nil {
			t.Errorf("a schema that came since: got %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
