package sqlite

import (
	"database/sql/driver"

	"github.com/perdure/perdure"
)

// Indexes are derived, so that a damaged page of one need keep nobody from reading an agent: what it says is found
// another way, which takes longer. Nothing here is used in a file that is sound. Each returns the damage itself where
// there is no other way.

// bypass reads up to n rows of an agent from one rid on and before another, with back the last first, where the usual
// way meets damage: one by one, as indexes say which they are, or from the log itself where those are damaged. What
// leads to a row may be damaged where the row is not: then it is looked for on every page, once. That a row is lost is
// found out once, too.
func bypass(c *conn, damage error, key, from, before, n int64, back bool) ([]storedRow, error) {
	q := question{key: key, from: from, before: before, n: n, back: back}
	if !corrupt(damage) || c.refuses(q) {
		return nil, damage
	}
	var rows []storedRow
	rids, err := q.rids(c)
	if err == nil {
		rows, err = q.fetch(c, rids)
	} else if corrupt(err) {
		rows, err = q.scan(c)
	}
	if err != nil {
		return nil, damage
	}
	return rows, nil
}

// keyAround finds the key of an agent in the table alone, or in the index alone. The index has the first bytes of ids:
// entries of another agent are not taken for this one's.
func keyAround(c *conn, id perdure.AgentID, damage error) (key int64, found bool, err error) {
	key, found, err = c.number("SELECT key FROM agents NOT INDEXED WHERE id=?", id[:])
	if !corrupt(err) {
		return key, found, err
	}
	n := 0
	err = c.query("SELECT key FROM agents INDEXED BY agents_id WHERE substr(id,1,8)=?", func(v []driver.Value) error {
		key, n = integer(v[0]), n+1
		return nil
	}, id[:8])
	if err != nil || n != 1 {
		return 0, false, damage
	}
	return key, true, nil
}

// dueAround is dueAfter from the table alone. Where that is damaged, it leaves out the agents on the damaged page: the
// others go on.
func dueAround(c *conn, damage error, looks []perdure.Look, now, due, key int64) (_ []perdure.Look, last int64,
	err error) {
	take := func(v []driver.Value) error {
		l := perdure.Look{Due: perdure.Time(integer(v[0]))}
		last = integer(v[1])
		if id, ok := v[2].([]byte); ok {
			copy(l.Agent[:], id)
			looks = append(looks, l)
		}
		return nil
	}
	const after = " WHERE due<=? AND (due,key)>(?,?) ORDER BY due, key"
	err = c.query("SELECT due, key, id FROM agents NOT INDEXED"+after+" LIMIT "+pageLooksText, take, now, due, key)
	if !corrupt(err) {
		return looks, last, err
	}
	looks = looks[:0]
	for ended := false; !ended && len(looks) < pageLooks; {
		n := 0
		var keys []driver.Value
		text := "SELECT due, key FROM agents INDEXED BY agents_due" + after + " LIMIT " + pageLooksText
		err := c.query(text, func(v []driver.Value) error {
			keys, n = append(keys, v[1]), n+1
			due, key = integer(v[0]), integer(v[1])
			return nil
		}, now, due, key)
		if err != nil {
			return nil, 0, damage
		}
		ended = n < pageLooks
		for _, k := range keys {
			err := c.query("SELECT due, key, id FROM agents WHERE key=?", take, k)
			if err != nil && !corrupt(err) {
				return nil, 0, err
			}
			if len(looks) == pageLooks {
				break
			}
		}
	}
	return looks, last, nil
}

// snapshotAround finds the newest snapshot of an agent before a cursor in its rows: one that is the next in a memory
// that had one head. Others are passed over.
func snapshotAround(c *conn, key, below int64) (at int64, found bool, err error) {
	for rid := below>>cursorBits + 1; ; {
		rows, err := rowsBelow(c, key, rid, pageRows+1)
		if err != nil {
			return 0, false, err
		}
		for i, r := range rows {
			first := i+1 == len(rows)
			if first && len(rows) > pageRows {
				break // what is before it is on the next page
			}
			if !first && rows[i+1].forked {
				continue
			}
			if n := r.lastSnapshot(first, below); n >= 0 {
				return int64(cursor(r.rid, n)), true, nil
			}
		}
		if len(rows) <= pageRows {
			return 0, false, nil
		}
		rid = rows[pageRows-1].rid
	}
}

// lastSnapshot is the last snapshot before a cursor in a row that begins on one head, or on none; -1: there is none.
func (r *storedRow) lastSnapshot(first bool, below int64) int {
	found := -1
	for i := range r.parts {
		p := &r.parts[i]
		if !p.linked && (i > 0 || !first) || int64(cursor(r.rid, i)) >= below {
			break
		}
		if p.kind == perdure.KindSnapshot {
			found = i
		}
	}
	return found
}
