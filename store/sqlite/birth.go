package sqlite

import (
	"database/sql/driver"

	"github.com/perdure/perdure"
)

// A memory without its first entry is nothing, and the rows of one page are those of many agents: one lost page took
// all of them that it had begun. So the first entry of each agent is kept twice, the second time whole and in a table
// of its own, which costs a row per agent and nothing per step. Nothing but Heal and Rebuild reads it. A long body is
// in a file of its own, and not kept twice.

// birthsTable is made in files that were made without it when the next agent is.
const birthsTable = "CREATE TABLE IF NOT EXISTS births(agent INTEGER PRIMARY KEY, entry BLOB NOT NULL)"

// keepBirth keeps the second copy of a first entry.
func (w *writer) keepBirth(key int64, genesis *perdure.Entry) error {
	if genesis.Kind != perdure.KindGenesis || len(genesis.BodyBytes()) > perdure.InlineBody {
		return nil
	}
	b, err := genesis.MarshalBinary()
	if err != nil {
		return err
	}
	if err := w.hasBirths(); err != nil {
		return err
	}
	return w.do("INSERT OR REPLACE INTO births VALUES(?,?)", key, b)
}

// hasBirths makes the table, if this file has none.
func (w *writer) hasBirths() error {
	if w.births {
		return nil
	}
	err := w.do(birthsTable)
	w.births = err == nil
	return err
}

// dropBirth removes the second copy: the agent is removed, or its first body is to be gone.
func (w *writer) dropBirth(key int64) error {
	if err := w.hasBirths(); err != nil {
		return err
	}
	return w.do("DELETE FROM births WHERE agent=?", key)
}

// birth is the second copy of the first entry of an agent; nil if there is none that can be read and is of it.
func birth(c *conn, key int64, id perdure.AgentID) (found *perdure.Entry, err error) {
	if _, there, err := c.number("SELECT 1 FROM sqlite_schema WHERE name='births'"); err != nil || !there {
		return nil, err
	}
	err = c.query("SELECT entry FROM births WHERE agent=?", func(v []driver.Value) error {
		b, _ := v[0].([]byte)
		if e := born(b); e != nil && e.ID() == id {
			found = e
		}
		return nil
	}, key)
	return found, err
}

// born reads a first entry; nil if it is none.
func born(b []byte) *perdure.Entry {
	e, err := perdure.DecodeEntry(b, perdure.Limits{Bytes: 2 * perdure.MaxBody})
	if err != nil || e.Kind != perdure.KindGenesis {
		return nil
	}
	return e
}

// birth takes a second copy of a first entry, which also says which agent has this key.
func (f *filling) birth(key int64, b []byte) error {
	e := born(b)
	if e == nil {
		return nil
	}
	id := e.ID()
	f.ids[key] = true
	if err := f.exec("INSERT OR IGNORE INTO agents(key,id,due) VALUES(?,?,1)", key, id[:]); err != nil {
		return err
	}
	return f.exec("INSERT OR IGNORE INTO births VALUES(?,?)", key, b)
}
