package postgres

import (
	"bytes"
	"errors"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/enginetest"
)

// TestDamagedAgentsAreHealed damages a row in the middle of a memory: what leads back to genesis is left, the rest lies
// aside, and a good copy brings all of it back.
func TestDamagedAgentsAreHealed(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	const text = `UPDATE ~log SET data=set_byte(data, 60, get_byte(data, 60) # 1)
		WHERE agent=(SELECT key FROM ~agents WHERE id=$1)
		AND pos=(SELECT pos FROM ~log WHERE agent=(SELECT key FROM ~agents WHERE id=$1) ORDER BY pos OFFSET 3 LIMIT 1)`
	enginetest.Heals(t, s, func(id perdure.AgentID) error {
		_, err := s.pool.Exec(t.Context(), s.sql(text), id[:])
		return err
	}, errRow)
}

// TestADamagedEndIsHealed removes the last row of a memory, or damages it.
func TestADamagedEndIsHealed(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	for _, damage := range []string{"DELETE FROM ~log", "UPDATE ~log SET data='junk'"} {
		enginetest.HealsTheEnd(t, s, func(id perdure.AgentID) error {
			_, err := s.pool.Exec(t.Context(), s.sql(damage+
				" WHERE pos=(SELECT max(pos) FROM ~log WHERE agent=(SELECT key FROM ~agents WHERE id=$1))"), id[:])
			return err
		})
	}
}

// TestAnAgentOfWhichNothingIsLeftIsMissed removes or damages every row of a memory.
func TestAnAgentOfWhichNothingIsLeftIsMissed(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	for _, damage := range []string{"DELETE FROM ~log", "UPDATE ~log SET data='junk'"} {
		enginetest.HealsNone(t, s, func(id perdure.AgentID) error {
			_, err := s.pool.Exec(t.Context(),
				s.sql(damage+" WHERE agent=(SELECT key FROM ~agents WHERE id=$1)"), id[:])
			return err
		})
	}
}

// TestAnAgentWithoutItsBeginningKeepsItsName removes the first row of a memory.
func TestAnAgentWithoutItsBeginningKeepsItsName(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	enginetest.HealsWithoutItsBeginning(t, s, func(id perdure.AgentID) error {
		_, err := s.pool.Exec(t.Context(), s.sql("DELETE FROM ~log "+
			"WHERE pos=(SELECT min(pos) FROM ~log WHERE agent=(SELECT key FROM ~agents WHERE id=$1))"), id[:])
		return err
	})
}

// TestLostRowsAreNoticedAndHealed removes rows behind the store: the memory is refused, and the import of a good copy
// brings back what was lost.
func TestLostRowsAreNoticedAndHealed(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	for what, rows := range map[string]string{"first": "OFFSET 0 LIMIT 1", "middle": "OFFSET 3 LIMIT 1",
		"last": "OFFSET 5 LIMIT 1", "all": ""} {
		w, _ := enginetest.Grown(t, s)
		id := w.Agent.ID()
		var good bytes.Buffer
		if _, err := capsule.Export(t.Context(), &good, s, id, capsule.Options{}); err != nil {
			t.Fatal(err)
		}
		text := "DELETE FROM ~log WHERE pos IN (SELECT pos FROM ~log " +
			"WHERE agent=(SELECT key FROM ~agents WHERE id=$1) ORDER BY pos " + rows + ")"
		if _, err := s.pool.Exec(t.Context(), s.sql(text), id[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, id)); !errors.Is(err, errLost) {
			t.Errorf("%s: its memory says %v", what, err)
		}
		if _, err := perdure.Load(t.Context(), s, id); !errors.Is(err, errLost) {
			t.Errorf("%s: load says %v", what, err)
		}
		a, err := capsule.Import(t.Context(), s, bytes.NewReader(good.Bytes()), capsule.ImportOptions{Anyone: true})
		if err != nil || a.Relation != capsule.Mended {
			t.Fatalf("%s: import: %+v, %v", what, a, err)
		}
		w.Kept(t, s)
		if ill, err := s.Ailing(t.Context()); err != nil || len(ill) != 0 {
			t.Errorf("%s: ailing after all: %v, %v", what, ill, err)
		}
		if err := w.Write(t.Context(), t, s); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
