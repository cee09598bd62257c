package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

// Ailing implements perdure.Healer: the agents that are not listed, or of which something lies aside.
func (s *Store) Ailing(ctx context.Context) (map[perdure.AgentID]perdure.Ailment, error) {
	out := map[perdure.AgentID]perdure.Ailment{}
	note := func(id []byte, x perdure.Ailment) {
		var key perdure.AgentID
		if copy(key[:], id) == len(key) {
			out[key] = x
		}
	}
	err := s.read(ctx, func(c *conn) error {
		clear(out) // what was read before may be void
		err := c.query("SELECT id FROM agents WHERE NOT EXISTS (SELECT 1 FROM listings l WHERE l.agent=key)",
			func(v []driver.Value) error {
				id, _ := v[0].([]byte)
				note(id, perdure.Ailment{Reason: errors.New("the index does not list it")})
				return nil
			})
		if corrupt(err) { // the listings are damaged: List reads every agent then, and names those it cannot
			clear(out)
			err = nil
		}
		_, aside, _ := c.number("SELECT 1 FROM sqlite_schema WHERE name='orphans'")
		if err != nil || !aside {
			return err
		}
		const text = "SELECT o.id, max(o.name), count(*), EXISTS (SELECT 1 FROM agents a WHERE " +
			"substr(a.id,1,8)=substr(o.id,1,8) AND a.id=o.id) " +
			"FROM orphans o WHERE o.id<>x'' GROUP BY o.id"
		err = c.query(text, func(v []driver.Value) error {
			id, _ := v[0].([]byte)
			name, _ := v[1].(string)
			note(id, perdure.Ailment{Name: name, Gone: integer(v[3]) == 0,
				Reason: fmt.Errorf("%d pieces of it lie aside: what they are written on cannot be read",
					integer(v[2]))})
			return nil
		})
		if err == nil {
			err = rightly(c, out)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for damaged agents: %w", err)
	}
	return out, nil
}

// rightly notes of an agent that is here what is known of one whose id is that one, damaged.
func rightly(c *conn, all map[perdure.AgentID]perdure.Ailment) error {
	for other, x := range all {
		if !x.Gone {
			continue
		}
		const text = "SELECT id FROM agents WHERE substr(id,1,8)=?1 OR substr(id,9,8)=?2 OR substr(id,17,8)=?3 OR " +
			"substr(id,25,8)=?4"
		err := c.query(text, func(v []driver.Value) error {
			b, _ := v[0].([]byte)
			var id perdure.AgentID
			if copy(id[:], b) == len(id) && id.Resembles(other) {
				delete(all, other)
				all[id] = perdure.Ailment{Name: x.Name, Reason: x.Reason}
			}
			return nil
		}, other[:8], other[8:16], other[16:24], other[24:])
		if err != nil {
			return err
		}
	}
	return nil
}
