package postgres

import (
	"errors"
	"testing"

	"github.com/perdure/perdure"
)

// TestDamagedAgentsAreHealed damages a row in the middle of a memory: what leads back to genesis is left, the rest lies
// aside, and a good copy brings all of it back.
func TestDamagedAgentsAreHealed(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	w := newWriter(t, s)
	for range 5 {
		if err := w.write(t.Context(), t, s); err != nil {
			t.Fatal(err)
		}
	}
	id := w.agent.ID()
	var good []*perdure.Entry
	for e, err := range perdure.Memory(t.Context(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, e)
	}
	if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Gained != 0 || got.Entries != 6 {
		t.Fatalf("heal of an agent that is well: %+v, %v", got, err)
	}
	const text = `UPDATE ~log SET data=set_byte(data, 60, get_byte(data, 60) # 1) WHERE agent=(SELECT key FROM ~agents WHERE id=$1)
		AND pos=(SELECT pos FROM ~log WHERE agent=(SELECT key FROM ~agents WHERE id=$1) ORDER BY pos OFFSET 3 LIMIT 1)`
	if _, err := s.pool.Exec(t.Context(), s.sql(text), id[:]); err != nil {
		t.Fatal(err)
	}
	if _, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, id)); !errors.Is(err, errRow) {
		t.Fatalf("a damaged memory: %v", err)
	}
	got, err := s.Heal(t.Context(), id, nil)
	if err != nil || got.Entries != 3 || got.Aside != 2 {
		t.Fatalf("heal without a copy: %+v, %v, want 3 entries and 2 aside", got, err)
	}
	ill, err := s.Ailing(t.Context())
	if err != nil || ill[id].Reason == nil || ill[id].Gone {
		t.Fatalf("ailing: %v, %v", ill, err)
	}
	if got, err = s.Heal(t.Context(), id, good); err != nil || got.Entries != 6 || got.Aside != 0 {
		t.Fatalf("heal with a copy: %+v, %v", got, err)
	}
	w.kept(t, s)
	if ill, err := s.Ailing(t.Context()); err != nil || len(ill) != 0 {
		t.Fatalf("ailing after all: %v, %v", ill, err)
	}
	if err := w.write(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heal(t.Context(), perdure.AgentID{1}, nil); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("heal of an agent that is not there: %v", err)
	}
}
