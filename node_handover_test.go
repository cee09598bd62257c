package perdure_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
)

func TestHandedOverAgentBelongsToTheNewKey(t *testing.T) {
	store := new(perdure.MemStore)
	old := newNode(t, store, nil)
	id := create(t, old, perdure.Genesis{Intent: perdure.Intent{Goal: "watch"},
		Charter: perdure.Charter{Scope: "acme"}})
	next, err := perdure.GenerateSigner("next")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.HandOver(t.Context(), id, next.Key()); err != nil {
		t.Fatal(err)
	}
	if got := load(t, store, id).Charter.Owner; got != next.Key() {
		t.Fatalf("got owner %s, want the new key", got.Short())
	}
	if e, err := old.HandOver(t.Context(), id, next.Key()); e != nil || err != nil {
		t.Errorf("a second time: got %v, %v, want nothing written", e, err)
	}
	if _, err := old.Revoke(t.Context(), id, next.Key()); err == nil {
		t.Error("the owner was revoked by a key that owns nothing any more")
	}
	taken := newNode(t, store, nil)
	taken.Key = next
	if _, err := taken.HandOver(t.Context(), id, old.Key.Key()); err == nil {
		t.Error("handed back to a key that owned it: the fold does not follow that")
	}
	if _, err := taken.Revoke(t.Context(), id, next.Key()); err == nil {
		t.Error("the owner revoked itself: nobody would own the agent")
	}
	if _, err := taken.Revoke(t.Context(), id, old.Key.Key()); err != nil {
		t.Fatal(err)
	}
	if e, err := taken.Revoke(t.Context(), id, old.Key.Key()); e != nil || err != nil {
		t.Errorf("a second time: got %v, %v, want nothing written", e, err)
	}
	if _, err := old.Tell(t.Context(), id, perdure.Event{Name: "late"}); err == nil {
		t.Error("the revoked key still writes")
	}
}

func TestErasingNeedsSomethingSealed(t *testing.T) {
	n := newNode(t, new(perdure.MemStore), nil)
	n.Vault = keyfile.Vault(t.TempDir())
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Goal: "watch"}, Charter: perdure.Charter{Scope: "acme"}})
	if _, err := n.Erase(t.Context(), id, "ann", ""); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("got %v, want that nothing was sealed for ann", err)
	}
	if _, err := seal.For(n.Vault, "ann", perdure.Data{1}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := n.Erase(t.Context(), id, "ann", ""); err != nil {
			t.Fatal(err)
		}
	}
}
