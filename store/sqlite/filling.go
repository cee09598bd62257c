package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/perdure/perdure"
)

// filling is a fresh file that rows are written to.
type filling struct {
	*conn
	r      *Rebuilt
	ids    map[int64]bool           // the keys of agents that are known
	copies map[int64][]perdure.Hash // every word that was found under a number
	depths map[int64]perdure.Depth
	births map[int64]*perdure.Entry // second copies of first entries
	unsure bool                     // a depth could not be read
	err    error
}

// intact reports whether a table is as SQLite wrote it, as far as that can tell.
func intact(old *conn, table string) bool {
	whole := false
	return old != nil && old.once("PRAGMA integrity_check("+table+")", func(v []driver.Value) error {
		whole = v[0] == "ok"
		return nil
	}) == nil && whole
}

// run takes over all that is found. Parts says whether the old file can say which agents it holds only a part of.
func (f *filling) run(ctx context.Context, m *image, parts bool) error {
	m.scan(func(rowid int64, v []value) { // words and agents first: rows are of them
		if f.err == nil {
			f.err = errors.Join(ctx.Err(), f.name(rowid, v))
		}
	})
	if f.err == nil {
		f.err = f.nameBorn()
	}
	m.scan(func(rowid int64, v []value) {
		if f.err == nil && isLog(rowid, v) {
			f.err = errors.Join(ctx.Err(), f.row(rowid, v))
		}
	})
	if f.err != nil {
		return f.err
	}
	var err error
	if f.r.Words, _, err = reword(f.conn, f.copies, nil); err != nil {
		return err
	}
	if err := f.adopt(); err != nil {
		return err
	}
	if err := f.deepen(parts); err != nil {
		return err
	}
	for _, text := range []string{
		"INSERT INTO places SELECT agent, rid FROM log WHERE agent IS NOT NULL",
		"UPDATE mark SET rid=(SELECT coalesce(max(rid),0) FROM log)",
	} {
		if err := f.exec(text); err != nil {
			return err
		}
	}
	if err := f.note(); err != nil {
		return err
	}
	if err := f.bear(); err != nil {
		return err
	}
	return f.widen()
}

// note says that no rows follow mark.
func (f *filling) note() error {
	mark, _, err := f.number("SELECT rid FROM mark")
	if err != nil {
		return err
	}
	n := note{mark: mark, end: mark}
	return f.exec("UPDATE mark SET tail=?", n.append(nil))
}

// widen derives the heads of agents that have them in their table.
func (f *filling) widen() error {
	ids := map[int64]perdure.AgentID{}
	err := f.query("SELECT key, id FROM agents", func(v []driver.Value) error {
		b, _ := v[1].([]byte)
		ids[integer(v[0])] = perdure.AgentID(b)
		return nil
	})
	for key, id := range ids {
		if err != nil {
			return err
		}
		r, damage := newestRow(f.conn, key)
		if damage != nil || !r.wide {
			continue
		}
		var heads []head
		if heads, damage = deriveHeads(f.conn, id, key); damage != nil {
			continue // it is healed, and written anew
		}
		err = writeHeads(f.conn, key, heads)
	}
	return err
}

const hashSize = len(perdure.Hash{})

// name takes a word, an agent, or what is listed of one.
func (f *filling) name(rowid int64, v []value) error {
	switch {
	case len(v) == 2 && rowid > 0 && v[0].null() && len(v[1].bytes) == hashSize && !v[1].text:
		return f.word(rowid, v[1].bytes)
	case len(v) == 2 && rowid == 0 && len(v[0].bytes) == hashSize && v[1].number != nil: // the index has them, too
		return f.word(*v[1].number, v[0].bytes)
	case len(v) == 2 && rowid > 0 && v[0].null() && len(v[1].bytes) > hashSize && !v[1].text:
		f.birth(rowid, v[1].bytes)
	case len(v) == 2 && rowid > 0 && v[0].null() && v[1].text:
		f.depth(rowid, string(v[1].bytes))
	case len(v) == 3 && rowid == 0 && v[0].number != nil && v[1].text && v[2].number != nil: // the index
		f.depth(*v[0].number, string(v[1].bytes))
	case len(v) == 5 && rowid > 0 && v[0].null() && len(v[1].bytes) == hashSize && (v[4].null() || v[4].number != nil):
		f.ids[rowid] = true
		return f.exec("INSERT OR IGNORE INTO agents(key,id,due,fence) VALUES(?,?,1,?)", rowid, v[1].bytes, v[4].sql())
	case len(v) == 11 && rowid > 0 && v[0].null() && v[1].text && v[3].text && v[4].number != nil && v[9].number != nil:
		args := []driver.Value{rowid}
		for _, x := range v[1:] {
			args = append(args, x.sql())
		}
		return f.exec("INSERT OR IGNORE INTO listings VALUES(?,?,?,?,?,?,?,?,?,?,?)", args...)
	}
	return nil
}

// word takes a word. Of several under one number the first is taken until rows tell which is right.
func (f *filling) word(number int64, value []byte) error {
	f.copies[number] = append(f.copies[number], perdure.Hash(value))
	return f.exec("INSERT OR IGNORE INTO words VALUES(?,?)", number, value)
}

// depth takes how much there is of an agent. Of several the least counts: with more of a memory more may be done.
func (f *filling) depth(key int64, text string) {
	var d perdure.Depth
	err := d.UnmarshalText([]byte(text))
	f.unsure = f.unsure || err != nil
	if was, ok := f.depths[key]; err == nil && (!ok || d.Kind > was.Kind || d.Kind == was.Kind && d.N < was.N) {
		f.depths[key] = d
	}
}

// deepen writes how much there is of each agent. Where nothing says so any more, a memory that does not begin with its
// first entry, or that lacks bodies, counts as a part.
func (f *filling) deepen(known bool) error {
	var keys []int64
	err := f.query("SELECT key FROM agents", func(v []driver.Value) error {
		keys = append(keys, integer(v[0]))
		return nil
	})
	for _, key := range keys {
		d, ok := f.depths[key]
		if !ok && (!known || f.unsure) && err == nil {
			if d, err = depthLeft(f.conn, key); err == nil && d != perdure.Full {
				f.r.Lowered++
			}
		}
		if err == nil && d != perdure.Full {
			err = f.exec("INSERT INTO depths VALUES(?,?)", key, d.String())
		}
	}
	return err
}

// depthLeft is the least that rows of an agent may have been.
func depthLeft(c *conn, key int64) (perdure.Depth, error) {
	rows, err := rawRows(c, rowsInPlace, key)
	first := true
	for _, raw := range rows {
		r, err := parseRow(raw.data[min(1, len(raw.data)):])
		if err != nil {
			continue
		}
		if first && r.parts[0].kind == perdure.KindSnapshot {
			return perdure.Last(0), nil
		}
		if slices.ContainsFunc(r.parts, func(p part) bool { return p.place == bodyDropped }) {
			return perdure.Headers, nil
		}
		first = false
	}
	return perdure.Full, err
}

// sql is a value as a statement takes it.
func (v value) sql() driver.Value {
	switch {
	case v.number != nil:
		return *v.number
	case v.text:
		return string(v.bytes)
	case v.bytes != nil:
		return v.bytes
	}
	return nil
}

func isLog(rowid int64, v []value) bool {
	return rowid > 0 && len(v) == 3 && v[0].null() && (v[1].null() || v[1].number != nil) && v[2].bytes != nil &&
		!v[2].text
}

// row takes a row of the log. A second one of a number is kept aside: one of the two may be damaged.
func (f *filling) row(rid int64, v []value) error {
	var same bool
	var there []byte
	err := f.query("SELECT data FROM log WHERE rid=?", func(w []driver.Value) error {
		there, _ = w[0].([]byte)
		same = string(there) == string(v[2].bytes)
		return nil
	}, rid)
	if err != nil || same {
		return err
	}
	if there == nil {
		f.r.Rows++
		return f.exec("INSERT INTO log VALUES(?,?,?)", rid, v[1].sql(), v[2].bytes)
	}
	if v[1].null() {
		return nil
	}
	return f.exec("INSERT INTO orphans(id,agent,rid,data) SELECT coalesce((SELECT id FROM agents WHERE "+
		"key=?1),x''),?1,?2,?3",
		*v[1].number, rid, v[2].bytes)
}

// adopt finds out which agents rows are of whose names are lost or damaged: the id of an agent is the hash of its first
// entry. Rows whose agent nobody can tell are set aside.
func (f *filling) adopt() error {
	var keys []int64
	err := f.query("SELECT DISTINCT agent FROM log WHERE agent IS NOT NULL", func(v []driver.Value) error {
		keys = append(keys, integer(v[0]))
		return nil
	})
	s := &Store{path: f.path}
	for _, key := range keys {
		if err != nil {
			break
		}
		id := s.idOf(f.conn, key)
		f.r.proven = f.r.proven || !id.IsZero()
		switch {
		case !id.IsZero():
			err = f.exec("INSERT INTO agents(key,id,due) VALUES(?,?,1) ON CONFLICT(key) DO UPDATE SET id=excluded.id",
				key, id[:])
		case !f.ids[key]:
			err = f.strand(key)
		}
	}
	return err
}

// strand sets the rows of an agent aside whose id nobody can tell.
func (f *filling) strand(key int64) error {
	n, _, err := f.number("SELECT count(*) FROM log WHERE agent=?", key)
	if err == nil {
		err = f.exec("INSERT INTO orphans(id,agent,rid,data) SELECT x'',agent,rid,data FROM log WHERE agent=?", key)
	}
	if err == nil {
		err = f.exec("DELETE FROM log WHERE agent=?", key)
	}
	f.r.Stranded += n
	return err
}

// idOf derives the id of an agent from its first row: zero, if that is not its genesis, or if neither a signature nor a
// later entry vouches for it.
func (s *Store) idOf(c *conn, key int64) perdure.AgentID {
	rows, err := rowsOf(c, 1, "SELECT rid, data FROM log WHERE agent=? ORDER BY rid LIMIT 1", key)
	if err != nil || len(rows) == 0 || rows[0].parts[0].kind != perdure.KindGenesis {
		return perdure.AgentID{}
	}
	p := &rows[0].parts[0]
	head, err := s.header(c, nil, perdure.AgentID{}, perdure.Hash{}, p, p.hashAfter(perdure.Hash{}))
	if err != nil {
		return perdure.AgentID{}
	}
	e, err := perdure.NewEntry(head, nil, p.signature, s.limits)
	if err != nil {
		return perdure.AgentID{}
	}
	t := testimony{id: e.ID(), row: rows[0].row}
	l := lookup{c, &s.words}
	if e.CheckSignature() == nil || len(t.parts) > 1 && t.holds(func(n int64) (perdure.Hash, bool) {
		h, err := l.word(n)
		return h, err == nil
	}) {
		return e.ID()
	}
	return perdure.AgentID{}
}
