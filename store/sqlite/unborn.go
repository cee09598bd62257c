package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/perdure/perdure"
)

// Unborn counts the agents whose first entry is not kept a second time, and should be. Files of earlier versions have
// such agents; in others something was lost.
func (s *Store) Unborn(ctx context.Context) (int64, error) {
	lacking, err := s.unborn(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for second copies of first entries: %w", err)
	}
	return int64(len(lacking)), nil
}

// unborn are the agents without a good second copy of a first entry that is in its place.
func (s *Store) unborn(ctx context.Context) (lacking map[int64]perdure.AgentID, err error) {
	copies := map[int64]perdure.AgentID{}
	if err := s.read(ctx, func(c *conn) error { return copiesIn(c, copies) }); err != nil && !ofTable(err) {
		return nil, err
	}
	lacking = map[int64]perdure.AgentID{}
	err = s.read(ctx, func(c *conn) error {
		err := c.query("SELECT key, id FROM agents", func(v []driver.Value) error {
			var id perdure.AgentID
			b, _ := v[1].([]byte)
			if copy(id[:], b) == len(id) && copies[integer(v[0])] != id {
				lacking[integer(v[0])] = id
			}
			return nil
		})
		for key := range lacking {
			rows, damage := rowsFrom(c, key, 0, 1)
			if code(damage) != 0 {
				return damage
			}
			if damage != nil || len(rows) == 0 || rows[0].parts[0].kind != perdure.KindGenesis ||
				rows[0].parts[0].place != bodyHere {
				delete(lacking, key) // a part, or pruned, or long, or garbled, which is another matter
			}
		}
		return err
	})
	return lacking, err
}

// copiesIn finds the agents of which there is a good second copy, by key.
func copiesIn(c *conn, copies map[int64]perdure.AgentID) error {
	if shaped, err := shapedBirths(c); err != nil || !shaped {
		return err
	}
	return c.query("SELECT agent, entry FROM births", func(v []driver.Value) error {
		b, _ := v[1].([]byte)
		if e := born(b); e != nil {
			copies[integer(v[0])] = e.ID()
		}
		return nil
	})
}

// shapedBirths reports whether the table is the one that this package makes.
func shapedBirths(c *conn) (bool, error) {
	_, sound, err := c.number("SELECT 1 FROM sqlite_schema WHERE name='births' AND type='table' AND sql=? AND "+
		"(SELECT count(*) FROM sqlite_schema WHERE tbl_name='births')=1", birthsText)
	return sound, err
}

// KeepBirths makes the second copies anew that are missing or wrong, and returns how many it made.
func (s *Store) KeepBirths(ctx context.Context) (n int64, err error) {
	err = s.submit(ctx, &request{alone: true, apply: (*writer).reshapeBirths})
	var lacking map[int64]perdure.AgentID
	if err == nil {
		lacking, err = s.unborn(ctx)
	}
	for key, id := range lacking {
		if err != nil {
			break
		}
		for first, e := range s.Entries(ctx, id, 0) {
			if e != nil || !hasBirth(first.Entry) || first.ID() != id {
				break // it cannot be read, which is another matter
			}
			err = s.submit(ctx, &request{relaxed: true, alone: true, apply: func(w *writer) error {
				return w.rebear(key, first.Entry)
			}})
			n++
			break
		}
	}
	if err != nil {
		return n, fmt.Errorf("keep first entries a second time: %w", err)
	}
	return n, nil
}

// rebear writes a second copy, unless the first was dropped meanwhile.
func (w *writer) rebear(key int64, genesis *perdure.Entry) error {
	rows, err := rowsFrom(w.conn, key, 0, 1)
	if err != nil || len(rows) == 0 || rows[0].parts[0].place != bodyHere {
		return brokenOr(err)
	}
	return besideFile(w.writeBirth(key, genesis))
}

// reshapeBirths puts an empty table in the place of one that is not what this package makes, and removes copies of
// agents that are not here.
func (w *writer) reshapeBirths() error {
	shaped, err := shapedBirths(w.conn)
	if err != nil {
		return brokenOr(err)
	}
	if !shaped {
		kind, found := "", false
		err = w.query("SELECT type FROM sqlite_schema WHERE name='births'", func(v []driver.Value) error {
			kind, found = v[0].(string)
			return nil
		})
		if err == nil && found {
			err = w.exec("DROP " + kind + " births")
		}
		if err == nil {
			err = w.exec(birthsTable)
		}
	}
	if err == nil {
		err = w.exec("DELETE FROM births WHERE agent NOT IN (SELECT key FROM agents)")
	}
	w.births.lost = err != nil
	return besideFile(err)
}

// birth notes a second copy of a first entry, which may be the only thing that says which agent has this key.
func (f *filling) birth(key int64, b []byte) {
	if e := born(b); e != nil {
		f.births[key] = e
	}
}

// nameBorn takes what second copies say of agents that nothing else names.
func (f *filling) nameBorn() error {
	f.r.Born = int64(len(f.births))
	for key, e := range f.births {
		id := e.ID()
		f.ids[key] = true
		if err := f.exec("INSERT OR IGNORE INTO agents(key,id,due) VALUES(?,?,1)", key, id[:]); err != nil {
			return err
		}
	}
	return nil
}

// bear keeps the first entry of each agent a second time, from the rows or as it was kept before.
func (f *filling) bear() error {
	ids := map[int64]perdure.AgentID{}
	err := f.query("SELECT key, id FROM agents", func(v []driver.Value) error {
		b, _ := v[1].([]byte)
		ids[integer(v[0])] = perdure.AgentID(b)
		return nil
	})
	s := &Store{path: f.path}
	for key, id := range ids {
		if err != nil {
			return err
		}
		e := f.births[key]
		if rows, damage := rowsFrom(f.conn, key, 0, 1); damage == nil && len(rows) == 1 &&
			rows[0].parts[0].kind == perdure.KindGenesis {
			one := *rows[0].row
			one.parts = one.parts[:1]
			switch found, damage := s.entries(f.conn, id, perdure.Hash{}, &one); {
			case one.parts[0].place == bodyDropped:
				e = nil // what is to be gone stays gone
			case damage == nil && found[0].ID() == id:
				e = found[0]
			}
		}
		if e == nil || e.ID() != id || !hasBirth(e) {
			continue
		}
		var b []byte
		if b, err = e.MarshalBinary(); err == nil {
			err = f.exec("INSERT OR REPLACE INTO births VALUES(?,?)", key, b)
		}
	}
	return err
}
