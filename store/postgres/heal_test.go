package postgres

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
)

// TestDamagedAgentsAreHealed damages a row in the middle of a memory: what leads back to genesis is left, the rest lies
// aside, and a good copy brings all of it back.
func TestDamagedAgentsAreHealed(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	const text = `UPDATE ~log SET data=set_byte(data, 60, get_byte(data, 60) # 1) WHERE agent=(SELECT key FROM ~agents WHERE id=$1)
		AND pos=(SELECT pos FROM ~log WHERE agent=(SELECT key FROM ~agents WHERE id=$1) ORDER BY pos OFFSET 3 LIMIT 1)`
	enginetest.Heals(t, s, func(id perdure.AgentID) error {
		_, err := s.pool.Exec(t.Context(), s.sql(text), id[:])
		return err
	}, errRow)
}
