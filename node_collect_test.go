package perdure_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
)

func TestCollectingDropsBodiesAndEverythingStillVerifies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		tool, _ := counter("do", perdure.Read)
		n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 20 {
				return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "go"}}}
			}
			return steps("do", 40)(nil, turn)
		}), tool)
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		run(t, n, id)
		before := load(t, store, id)
		if c, err := n.Expired(t.Context(), id); err != nil || c.Entries != 0 {
			t.Fatalf("got %+v, %v before the time is up", c, err)
		}
		time.Sleep(2 * time.Hour)
		would, err := n.Expired(t.Context(), id)
		if err != nil || would.Entries == 0 {
			t.Fatalf("got %+v, %v, want something to collect", would, err)
		}
		did, err := n.Collect(t.Context(), id)
		if err != nil || did.Entries != would.Entries {
			t.Fatalf("collected %+v, %v, want %+v", did, err, would)
		}
		v, err := perdure.Verify(perdure.Memory(t.Context(), store, id), perdure.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if v.Dropped != did.Entries {
			t.Errorf("%d bodies are gone, want %d", v.Dropped, did.Entries)
		}
		if f := load(t, store, id); f.Turns != before.Turns || f.Intent.Goal != before.Intent.Goal {
			t.Errorf("the fold changed: %d turns, goal %q", f.Turns, f.Intent.Goal)
		}
		for l, err := range store.List(t.Context(), perdure.Filter{}) { // what the collection recorded is in it
			if want := load(t, store, id).Count; err != nil || l.Entries != want {
				t.Errorf("the list has %d entries, %v; want %d", l.Entries, err, want)
			}
		}
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go"}); err != nil {
			t.Fatal(err)
		}
		if run(t, n, id); load(t, store, id).Ended == nil {
			t.Error("the agent did not go on after the collection")
		}
	})
}

func TestErasedArgumentsReachNoTool(t *testing.T) {
	store := new(perdure.MemStore)
	var got []string
	mail := &tool{spec: perdure.Spec{Name: "mail", Effect: perdure.Read}}
	mail.call = func(_ context.Context, c perdure.Call) (perdure.Result, error) {
		got = append(got, string(c.Args.JSON()))
		return perdure.Result{}, nil
	}
	vault := keyfile.Vault(filepath.Join(t.TempDir(), "vault"))
	plain, err := perdure.DataOf("ana@example.org")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := seal.For(vault, "ana", plain)
	if err != nil {
		t.Fatal(err)
	}
	args, err := perdure.DataOf(map[string]any{"to": sealed.Value()})
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 1 {
			return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "go"}}}
		}
		if turn == 3 {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
		return []perdure.Action{perdure.Execute{Tool: "mail", Args: args}}
	}), mail)
	n.Vault = vault
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if len(got) != 1 || got[0] != `{"to":"ana@example.org"}` {
		t.Fatalf("the tool got %v, want the address", got)
	}
	hash, err := load(t, store, id).Hash()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Erase(t.Context(), id, "ana", "asked to be forgotten"); err != nil {
		t.Fatal(err)
	}
	if again, err := load(t, store, id).Hash(); err != nil || again == hash {
		t.Error("the erasure is not on record")
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go"}); err != nil {
		t.Fatal(err)
	}
	run(t, n, id)
	if len(got) != 1 {
		t.Errorf("the tool was called with erased arguments: %v", got)
	}
	if _, err := seal.Open(vault, args); !errors.Is(err, seal.ErrErased) {
		t.Errorf("got %v, want ErrErased", err)
	}
	if _, err := perdure.Verify(perdure.Memory(t.Context(), store, id), perdure.VerifyOptions{}); err != nil {
		t.Error(err)
	}
}

// brittleVault is a vault whose keys cannot be destroyed, and which says what the agent knew when somebody tried.
type brittleVault struct {
	seal.Vault
	tried func() error
}

func (v brittleVault) Erase(string) error { return v.tried() }

func (brittleVault) Knows(string) (bool, error) { return true, nil }

func (brittleVault) Key(string) ([32]byte, error) { return [32]byte{}, nil }

// An erasure is on record before the key is gone: who is cut off between the two can do it again.
func TestAnErasureIsRecordedBeforeTheKeyIsGone(t *testing.T) {
	n := newNode(t, new(perdure.MemStore), scripted(nothing))
	id := create(t, n, perdure.Genesis{})
	recorded := func() (total int) {
		for e, err := range perdure.Memory(t.Context(), n.Store, id) {
			if err != nil {
				t.Fatal(err)
			}
			ev, _ := e.Content().(perdure.Event)
			if _, ok := ev.Notice.(perdure.Erased); ok {
				total++
			}
		}
		return total
	}
	full := errors.New("the disk is full")
	n.Vault = brittleVault{tried: func() error {
		if recorded() != 1 {
			t.Error("the key is destroyed before that is recorded")
		}
		return full
	}}
	if _, err := n.Erase(t.Context(), id, "ana", ""); !errors.Is(err, full) {
		t.Errorf("got %v, want to hear that the key is still there", err)
	}
	n.Vault = brittleVault{tried: func() error { return nil }}
	if _, err := n.Erase(t.Context(), id, "ana", ""); err != nil {
		t.Errorf("the second time: %v", err)
	}
}
