package sqlite

import (
	"database/sql/driver"
	"slices"

	"github.com/perdure/perdure"
)

// The heads of an agent are in its newest row, which tells them all in one read. An agent with many has them in a table
// instead, or each row would be as long as they are many; the row then says how many they are and what they come to, so
// that a table that is not of the same moment is noticed and the heads are derived from the entries.

// fewHeads is how many heads a row holds itself.
const fewHeads = 16

const headsTable = "CREATE TABLE IF NOT EXISTS " +
	"heads(agent INTEGER NOT NULL, name BLOB NOT NULL, due INTEGER, PRIMARY KEY(agent, name)) WITHOUT ROWID"

// sumOf is what names of heads come to, in any order.
func sumOf(heads []head) (sum perdure.Hash) {
	for i := range heads {
		addTo(&sum, &heads[i].name)
	}
	return sum
}

// step takes in an entry that has arrived.
func (a *agent) step(e *perdure.Entry) {
	for i := range e.Parents {
		if isHead(a.heads, e.Parents[i]) {
			addTo(&a.sum, &e.Parents[i])
		}
	}
	addTo(&a.sum, &e.Name)
	a.heads, a.last = advance(a.heads, e), e.Name
}

// addTo adds a name to a sum, or takes it away.
func addTo(sum, name *perdure.Hash) {
	for i := range sum {
		sum[i] ^= name[i]
	}
}

// noteHeads has a row that adds entries say what the heads are, and brings the table up to date where they are in it.
func (w *writer) noteHeads(a *agent, r *row, entries []*perdure.Entry) error {
	was := a.wide
	a.wide = len(a.heads) > fewHeads
	r.forked, r.wide = len(a.heads) > 1, a.wide
	switch {
	case !r.forked || !r.wide:
		r.heads = a.heads
		if was {
			return w.dropHeads(a.key)
		}
		return nil
	case !was:
		r.count, r.sum = int64(len(a.heads)), a.sum
		return brokenOr(writeHeads(w.conn, a.key, a.heads))
	}
	for _, e := range entries {
		for i := range e.Parents {
			if err := w.do("DELETE FROM heads WHERE agent=? AND name=?", a.key, e.Parents[i][:]); err != nil {
				return err
			}
		}
		if isHead(a.heads, e.Name) {
			if err := w.do("INSERT OR REPLACE INTO heads VALUES(?,?,?)", a.key, e.Name[:], null(e.Due)); err != nil {
				return err
			}
		}
	}
	r.count, r.sum = int64(len(a.heads)), a.sum
	return nil
}

// writeHeads puts the heads of an agent into the table, which it makes where there is none.
func writeHeads(c *conn, key int64, heads []head) error {
	if err := c.exec(headsTable); err != nil {
		return err
	}
	if err := c.exec("DELETE FROM heads WHERE agent=?", key); err != nil {
		return err
	}
	for i := range heads {
		if err := c.exec("INSERT INTO heads VALUES(?,?,?)", key, heads[i].name[:], null(heads[i].due)); err != nil {
			return err
		}
	}
	return nil
}

// dropHeads takes the heads of an agent out of the table.
func (w *writer) dropHeads(key int64) error {
	_, there, err := w.number("SELECT 1 FROM sqlite_schema WHERE name='heads'")
	if err != nil || !there {
		return brokenOr(err)
	}
	return w.do("DELETE FROM heads WHERE agent=?", key)
}

// headsAfter are the heads of an agent whose newest row this is, ascending, and whether they are in the table.
func headsAfter(c *conn, id perdure.AgentID, key int64, r storedRow) (heads []head, wide bool, err error) {
	if !r.wide {
		return r.after(id), false, nil
	}
	heads = make([]head, 0, min(r.count, 1<<20))
	err = c.query("SELECT name, due FROM heads WHERE agent=? ORDER BY name", func(v []driver.Value) error {
		h := head{due: perdure.Time(integer(v[1]))}
		b, _ := v[0].([]byte)
		copy(h.name[:], b)
		heads = append(heads, h)
		return nil
	}, key)
	if err == nil && int64(len(heads)) == r.count && sumOf(heads) == r.sum {
		return heads, true, nil
	}
	if busy(err) {
		return nil, false, err
	}
	heads, err = deriveHeads(c, id, key) // the table is damaged, or gone
	return heads, false, err
}

// deriveHeads finds the heads of an agent in its entries.
func deriveHeads(c *conn, id perdure.AgentID, key int64) (heads []head, err error) {
	s := &Store{path: c.path}
	left := map[perdure.Hash]perdure.Time{}
	var before perdure.Hash
	var b []byte
	for rid := int64(0); ; {
		rows, err := rowsFrom(c, key, rid, pageRows)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			for i := range r.parts {
				p := &r.parts[i]
				if b, err = s.header(c, b[:0], id, before, p, p.hashAfter(before)); err != nil {
					return nil, err
				}
				e, err := perdure.NewEntry(slices.Clone(b), nil, nil, perdure.Limits{})
				if err != nil {
					return nil, err
				}
				for _, parent := range e.Parents {
					delete(left, parent)
				}
				left[e.Name], before = e.Due, e.Name
			}
			rid = r.rid + 1
		}
		if len(rows) < pageRows {
			break
		}
	}
	for name, due := range left {
		heads = append(heads, head{name, due})
	}
	slices.SortFunc(heads, func(a, b head) int { return a.name.Compare(b.name) })
	return heads, nil
}
