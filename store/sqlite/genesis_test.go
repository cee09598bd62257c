package sqlite

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// testStride is how many bytes are left alone between two that are damaged.
const testStride = 10

// TestADamagedGenesisLeavesNobodyBehind damages bytes of the first row of an agent, and of its row among the agents,
// follows what a doctor does, and then takes in a good copy: there is the agent, whole, and nothing else.
func TestADamagedGenesisLeavesNobodyBehind(t *testing.T) {
	t.Parallel()
	w := &written{filepath.Join(t.TempDir(), "store.db"), map[perdure.AgentID][]*perdure.Entry{}}
	s := openBench(t, w.path)
	key := newSigner(t)
	g, a := begin(t, key, "one")
	w.add(t, s, g)
	es, _ := commit(t, key, a, draft(40))
	w.add(t, s, es...)
	other, _ := begin(t, key, "two")
	w.add(t, s, other)
	if err := errors.Join(s.Checkpoint(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	pristine := read(t, w.path)
	id := g.ID()
	var places []int
	for at := bytes.Index(pristine, g.BodyBytes()) - 90; at < bytes.Index(pristine, g.BodyBytes())+
		len(g.BodyBytes()); at++ {
		places = append(places, at)
	}
	for at, from := -1, 0; ; from = at + 1 { // in the table, and in an index
		next := bytes.Index(pristine[from:], id[:8])
		if next < 0 {
			break
		}
		at = from + next
		for i := range 33 {
			places = append(places, at-1+i)
		}
	}
	for i := 0; i < len(places); i += 1 + testStride {
		at := places[i]
		path := copied(t, w.path, filepath.Join(t.TempDir(), "store.db"))
		b := slices.Clone(pristine)
		b[at] ^= 0x11
		write(t, path, b)
		if Damage(t.Context(), path) != nil {
			if _, err := Rebuild(t.Context(), path); err != nil {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
		if left := afterCure(t, path, w, id); left != "" {
			t.Errorf("byte %d: %s", at, left)
		}
	}
}

// afterCure heals what is listed or known to be ill, puts a good copy of one agent in, and says what is not as it was.
func afterCure(t *testing.T, path string, w *written, id perdure.AgentID) string {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		return err.Error()
	}
	defer func() { _ = s.Close() }()
	ill, err := s.Ailing(t.Context())
	if err != nil {
		return err.Error()
	}
	ids := map[perdure.AgentID]bool{}
	for x := range ill {
		ids[x] = true
	}
	for l, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil {
			return err.Error()
		}
		ids[l.Agent] = true
	}
	for x := range ids {
		if _, err := perdure.Verify(perdure.Memory(t.Context(), s, x), perdure.VerifyOptions{}); err == nil &&
			ill[x].Reason == nil {
			continue
		}
		if _, err := s.Heal(t.Context(), x, nil); err != nil {
			return "heal: " + err.Error()
		}
	}
	if _, err := s.Heal(t.Context(), id, w.entries[id]); errors.Is(err, perdure.ErrNotFound) {
		err = s.Put(t.Context(), id, w.entries[id]...)
	} else if err != nil {
		return "heal with a copy: " + err.Error()
	}
	for x, want := range w.entries {
		if !holdsAll(t.Context(), s, x, want) {
			return "agent " + x.Short() + " is not whole"
		}
	}
	if ill, _ = s.Ailing(t.Context()); len(ill) > 0 {
		for x, why := range ill {
			return "agent " + x.Short() + " is said to be damaged: " + why.Reason.Error()
		}
	}
	n := 0
	for range s.List(t.Context(), perdure.Filter{}) {
		n++
	}
	if n != len(w.entries) {
		return "it lists another agent"
	}
	return ""
}
