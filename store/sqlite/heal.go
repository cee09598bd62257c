package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

var _ perdure.Healer = (*Store)(nil)

// rawRow is a row that may be damaged.
type rawRow struct {
	rid  int64
	data []byte // of all its pieces
	left bool   // it lies aside
	whos bool   // nobody knows whose it is
	torn bool   // it has not the pieces that it says

	// A good copy has come that reaches further: nobody can do better. It lies among what is nobody's, and is tried
	// with the next copy.
	hides bool
}

// remains is what is left of an agent.
type remains struct {
	key    int64          // zero: it is not among the agents
	ids    []driver.Value // under which it lies aside: its own first, then those that are it, damaged
	rows   []rawRow
	aside  []*perdure.Entry // that lie aside, put together again
	read   []*perdure.Entry // what the rows came to
	bare   []*perdure.Entry // the same, of entries whose bodies are lost
	bad    []rawRow         // rows that came to nothing
	held   int64            // entries of rows in their place that could be read
	faults int              // rows in their place that could not be, or not with all bodies
}

// Heal implements perdure.Healer. Entries of a good copy also tell what a row was written on where the row before it is
// lost.
func (s *Store) Heal(ctx context.Context, id perdure.AgentID, good []*perdure.Entry) (out perdure.Healed, err error) {
	if len(good) == 0 {
		if d, err := s.Depth(ctx, id); err == nil && d.Healable() != nil {
			return out, fmt.Errorf("heal agent %s: %w", id.Short(), d.Healable())
		}
	}
	first, err := s.birthOf(ctx, id)
	if err != nil {
		return out, fmt.Errorf("heal agent %s: %w", id.Short(), err)
	}
	err = s.submit(ctx, &request{alone: true, apply: func(w *writer) (err error) {
		next := w.next
		if id, err = s.rename(w, id); err == nil {
			out, err = s.heal(w, id, first, good)
		}
		if err == nil {
			err = w.keepFeed(next)
		}
		return err
	}})
	if err == nil && out.Entries > 0 {
		var a *perdure.Agent
		if a, err = perdure.Load(ctx, s, id); err == nil {
			err = s.index(ctx, a.Heads(), a.Listing(time.Now()), true)
		}
	}
	if err != nil {
		return out, fmt.Errorf("heal agent %s: %w", id.Short(), err)
	}
	return out, nil
}

// rename gives an agent its own id whose id is damaged: that of its first entry. If there is another that has it, this
// one's rows lie aside for it. It returns the id to heal.
func (s *Store) rename(w *writer, id perdure.AgentID) (perdure.AgentID, error) {
	key, err := keyOf(w.conn, id)
	if errors.Is(err, perdure.ErrNotFound) {
		return id, nil
	}
	if err != nil {
		return id, brokenOr(err)
	}
	right := s.idOf(w.conn, key)
	if right.IsZero() || right == id {
		return id, nil
	}
	w.unlearn()
	if _, err := keyOf(w.conn, right); errors.Is(err, perdure.ErrNotFound) {
		return right, w.do("UPDATE agents SET id=? WHERE key=?", right[:], key)
	} else if err != nil {
		return id, brokenOr(err)
	}
	m := &remains{key: key}
	if m.rows, err = rawRows(w.conn, rowsInPlace, key); err != nil {
		return id, brokenOr(err)
	}
	if err := w.do(orphans); err != nil {
		return id, err
	}
	for _, r := range m.rows {
		if err := w.do("INSERT INTO orphans(id,agent,rid,data) VALUES(?,?,?,?)", right[:], key, r.rid,
			r.single()); err != nil {
			return id, err
		}
	}
	if err := w.clear(m); err != nil {
		return id, err
	}
	return right, w.forget(key)
}

// forget removes what is known of an agent besides its rows.
func (w *writer) forget(key int64) error {
	for _, text := range []string{"DELETE FROM listings WHERE agent=?", "DELETE FROM unlisted WHERE agent=?",
		"DELETE FROM depths WHERE agent=?",
		"DELETE FROM agents WHERE key=?"} {
		if err := w.do(text, key); err != nil {
			return err
		}
	}
	w.dropBirth(key)
	return nil
}

// named reports whether an agent is listed by a name.
func (w *writer) named(key int64) (ok bool, err error) {
	_, ok, err = w.number("SELECT 1 FROM listings WHERE agent=? AND name<>''", key)
	return ok, err
}

// LetGo removes what is known of agents of which not one entry is left, here or aside. Of a damaged file nobody can
// tell.
func (s *Store) LetGo(ctx context.Context) error {
	if Damage(ctx, s.path) != nil {
		return nil
	}
	const text = "SELECT key FROM agents a WHERE key NOT IN (SELECT agent FROM log WHERE agent IS NOT NULL) AND " +
		"NOT EXISTS (SELECT 1 FROM orphans o WHERE o.id=a.id) AND NOT EXISTS (SELECT 1 FROM births WHERE agent=a.key)"
	err := s.submit(ctx, &request{alone: true, apply: func(w *writer) error {
		err := w.do(orphans)
		if err == nil {
			err = w.do(birthsTable)
		}
		var keys []int64
		if err == nil {
			err = w.query(text, func(v []driver.Value) error {
				keys = append(keys, integer(v[0]))
				return nil
			})
		}
		if err != nil {
			return brokenOr(err)
		}
		for _, key := range keys {
			if err := w.clear(&remains{key: key}); err != nil {
				return err
			}
			if err := w.forget(key); err != nil {
				return err
			}
		}
		w.unlearn()
		return nil
	}})
	if err != nil {
		return fmt.Errorf("let go of agents of which nothing is left: %w", err)
	}
	return nil
}

// heal heals an agent whose id is known. First is the second copy of its first entry, if there is one.
func (s *Store) heal(w *writer, id perdure.AgentID, first *perdure.Entry, good []*perdure.Entry) (out perdure.Healed,
	err error) {
	if err := misplaced(w.conn); err != nil {
		return out, err
	}
	if err := w.do(orphans); err != nil {
		return out, err
	}
	m, err := s.remains(w.conn, id)
	if err != nil {
		return out, brokenOr(err)
	}
	if first != nil && first.ID() == id && m.key != 0 {
		m.aside = append(m.aside, first)
	}
	if m.key == 0 && len(m.rows) == 0 && len(m.aside) == 0 {
		return out, perdure.ErrNotFound
	}
	s.decipher(w.conn, id, m, good)
	if err := s.reread(w, id, m, good); err != nil {
		return out, err
	}
	if len(good) > 0 { // a whole copy
		if err := w.do("DELETE FROM depths WHERE agent=?", m.key); err != nil {
			return out, err
		}
	}
	// a body that is lost here is taken from the copy
	whole, rest := out.Join(slices.Concat(m.read, m.aside, good, m.bare))
	out.Gained += out.Entries - m.held
	m.bad = superfluous(id, m.bad, whole)
	named, err := w.named(m.key)
	if err != nil {
		return out, brokenOr(err)
	}
	if (len(m.rows) > 0 || named) && !slices.ContainsFunc(m.rows, func(r rawRow) bool {
		return r.left && !r.whos
	}) && m.faults == 0 && out.Gained == 0 {
		// Nothing is wrong with what is in its place, and nothing lies aside that joins it. One that has a name keeps
		// it also where all else is lost: nothing else would tell that there was such an agent.
		return out, nil
	}
	for i := range m.bad {
		r := &m.bad[i]
		if r.hides = len(good) > 0 && len(whole) > 0 && r.seq() <= whole[len(whole)-1].Seq; !r.whos && !r.hides {
			out.Aside++
		}
	}
	out.Aside += int64(len(rest))
	if err = w.exchange(id, m, whole, rest); err == nil && len(whole) > 0 {
		err = readable(w.conn, id) // else nothing was done
	}
	return out, err
}

// readable says why what was just written of an agent is not found again.
func readable(c *conn, id perdure.AgentID) error {
	key, err := keyOf(c, id)
	if err == nil {
		_, err = newestRow(c, key)
	}
	return err
}

// seq is that of the last entry of a row, as far as it can be read.
func (r *rawRow) seq() int64 {
	if len(r.data) > 0 {
		if row, err := parseRow(r.data[1:]); err == nil {
			return row.parts[len(row.parts)-1].seq
		}
	}
	return 0
}

// superfluous takes out of rows that cannot be read those all of whose entries are in a memory.
func superfluous(id perdure.AgentID, bad []rawRow, whole []*perdure.Entry) []rawRow {
	names, seqs := map[perdure.Hash]bool{}, map[int64]int{}
	for _, e := range whole {
		names[e.Name] = true
		seqs[e.Seq]++
	}
	return slices.DeleteFunc(bad, func(raw rawRow) bool {
		if raw.whos || len(raw.data) == 0 {
			return false
		}
		r, err := parseRow(raw.data[1:])
		if err != nil {
			return false
		}
		if last := r.last(id); names[last] { // it leads back to those before it
			return !slices.ContainsFunc(r.parts, func(p part) bool { return p.named && !names[p.name] })
		}
		// The name may be what is damaged: where the memory is one line, what is of the same seq is the same.
		return !r.forked && seqs[r.parts[len(r.parts)-1].seq] == 1
	})
}

// reread restores words that rows could not be read without, and reads them again.
func (s *Store) reread(w *writer, id perdure.AgentID, m *remains, good []*perdure.Entry) error {
	if len(m.bad) == 0 || s.worded.Load() {
		return nil
	}
	known := slices.Clone(s.known)
	for _, e := range good {
		if policy := e.Policy; !slices.Contains(known, policy) {
			known = append(known, policy)
		}
		if origin := perdure.Hash(e.Origin); !slices.Contains(known, origin) {
			known = append(known, origin)
		}
	}
	restored, sound, err := reword(w.conn, nil, known)
	if err != nil {
		return brokenOr(err)
	}
	if s.worded.Store(sound); restored == 0 {
		return nil
	}
	s.words.forget()
	w.unlearn()
	m.read, m.bare, m.bad, m.held, m.faults = nil, nil, nil, 0, 0
	if m.key != 0 { // rows may have been written anew
		aside := slices.DeleteFunc(m.rows, func(r rawRow) bool { return !r.left })
		if m.rows, err = rawRows(w.conn, rowsInPlace, m.key); err != nil {
			return brokenOr(err)
		}
		m.rows = append(m.rows, aside...)
	}
	s.decipher(w.conn, id, m, good)
	return nil
}

// rowsInPlace are the rows of an agent.
const rowsInPlace = "SELECT rid, data, 0, 0 FROM log WHERE agent=? ORDER BY rid"

// remains finds all the rows of an agent, wherever they are.
func (s *Store) remains(c *conn, id perdure.AgentID) (*remains, error) {
	m := &remains{}
	key, err := keyOf(c, id)
	if err != nil && !errors.Is(err, perdure.ErrNotFound) {
		return nil, err
	}
	if m.key = key; key != 0 {
		if m.rows, err = rawRows(c, rowsInPlace, key); err != nil {
			return nil, err
		}
	}
	if m.ids, err = garbled(c, id); err != nil {
		return nil, err
	}
	aside, err := rawRows(c,
		"SELECT rid, data, 1, id=x'' FROM orphans WHERE data IS NOT NULL AND (id IN ("+m.marks()+
			") OR id=x'') ORDER BY agent, rid", m.ids...)
	if err != nil {
		return nil, err
	}
	m.rows = append(m.rows, aside...)
	err = c.query("SELECT entry FROM orphans WHERE entry IS NOT NULL AND id IN ("+m.marks()+")",
		func(v []driver.Value) error {
			b, _ := v[0].([]byte)
			if e, err := perdure.DecodeEntry(b, perdure.Limits{Bytes: 2 * perdure.MaxBody}); err == nil {
				m.aside = append(m.aside, e)
			}
			return nil
		}, m.ids...)
	return m, err
}

// marks are the places of the ids of an agent in a statement.
func (m *remains) marks() string { return "?" + strings.Repeat(",?", len(m.ids)-1) }

// garbled is the id of an agent, and those under which pieces lie aside that are this one, damaged: no agent has them.
func garbled(c *conn, id perdure.AgentID) ([]driver.Value, error) {
	all := []driver.Value{id[:]}
	err := c.query("SELECT DISTINCT id FROM orphans WHERE length(id)=32 AND NOT EXISTS (SELECT 1 FROM agents a WHERE "+
		"substr(a.id,1,8)=substr(orphans.id,1,8) AND a.id=orphans.id)", func(v []driver.Value) error {
		b, _ := v[0].([]byte)
		var other perdure.AgentID
		if copy(other[:], b) == len(other) && other != id && id.Resembles(other) {
			all = append(all, other[:])
		}
		return nil
	})
	return all, err
}

// rawRows reads rows and the pieces they go on in, whatever is in them.
func rawRows(c *conn, text string, args ...driver.Value) (rows []rawRow, err error) {
	err = c.query(text, func(v []driver.Value) error {
		data, _ := v[1].([]byte)
		rows = append(rows, rawRow{rid: integer(v[0]), data: data, left: integer(v[2]) != 0, whos: integer(v[3]) != 0})
		return nil
	}, args...)
	for i := range rows {
		r := &rows[i]
		if err != nil || len(r.data) == 0 || r.data[0] == 0 {
			continue
		}
		r.data = r.data[:len(r.data):len(r.data)]
		pieces := 0
		err = c.query("SELECT data FROM log WHERE rid>?1 AND rid<"+nextRow+" AND rid<=?1+?2 ORDER BY rid",
			func(v []driver.Value) error {
				piece, _ := v[0].([]byte)
				r.data, pieces = append(r.data, piece...), pieces+1
				return nil
			}, r.rid, int64(r.data[0]))
		r.torn = pieces != int(r.data[0]) && !r.left
	}
	return rows, err
}

// nextRow is the rid of the row after that of ?1 that is not a piece of one.
const nextRow = "coalesce((SELECT rid FROM log WHERE rid>?1 AND agent IS NOT NULL ORDER BY rid LIMIT 1),1<<62)"

// decipher reads the entries of the rows. A row says what it was written on by its place alone: where the row before it
// is lost, the entries of the seq before it that are known by then are tried.
func (s *Store) decipher(c *conn, id perdure.AgentID, m *remains, good []*perdure.Entry) {
	known := map[int64][]perdure.Hash{}
	for _, e := range slices.Concat(good, m.aside) {
		known[e.Seq] = append(known[e.Seq], e.Name)
	}
	var last perdure.Hash
	for _, r := range m.rows {
		entries, fault, name := s.attempt(c, id, r, last, known)
		for _, e := range entries {
			known[e.Seq] = append(known[e.Seq], e.Name)
		}
		if fault == bodies {
			m.bare = append(m.bare, entries...)
		} else {
			m.read = append(m.read, entries...)
		}
		if fault == parts {
			m.bad = append(m.bad, r)
		}
		if last = name; r.left {
			continue
		}
		if fault != parts {
			m.held += int64(len(entries))
		}
		if fault != none || r.torn {
			m.faults++
		}
	}
}

// fault is what is wrong with a row.
type fault int

const (
	none   fault = iota
	bodies       // some of its bodies, which are elsewhere, are lost
	parts        // not all its entries can be read
)

// attempt reads the entries of a row, as many as are what was written. It returns the name of the last of them as far
// as the row tells.
func (s *Store) attempt(c *conn, id perdure.AgentID, raw rawRow, last perdure.Hash,
	known map[int64][]perdure.Hash) ([]*perdure.Entry, fault, perdure.Hash) {
	if len(raw.data) == 0 {
		return nil, parts, perdure.Hash{}
	}
	r, err := parseRow(raw.data[1:])
	if err != nil {
		return nil, parts, perdure.Hash{}
	}
	found := none
	for i := range r.parts {
		if p := &r.parts[i]; p.place == bodyBlob {
			if body, err := s.readBlob(p.hash, p.size); err != nil || perdure.HashOf(body) != p.hash {
				p.place, found = bodyDropped, bodies
			}
		}
	}
	for _, before := range append([]perdure.Hash{last}, known[r.parts[0].seq-1]...) {
		if entries, err := s.entries(c, id, before, r); err == nil {
			return entries, found, entries[len(entries)-1].Name
		}
	}
	return s.piecewise(c, id, last, r, known), parts, r.last(id)
}

// piecewise reads the entries of a damaged row that a name the row keeps or a signature vouches for. Where one cannot
// be read, the next is tried on what a good copy has before it.
func (s *Store) piecewise(c *conn, id perdure.AgentID, before perdure.Hash, r *row,
	known map[int64][]perdure.Hash) (out []*perdure.Entry) {
	var pending []*perdure.Entry // no signature yet
	for i := range r.parts {
		one := *r
		one.parts = r.parts[i : i+1]
		p := &one.parts[0]
		var e *perdure.Entry
		for _, b := range append([]perdure.Hash{before}, known[p.seq-1]...) {
			if es, err := s.entries(c, id, b, &one); err == nil &&
				(es[0].Signature == nil || es[0].CheckSignature() == nil) {
				e = es[0]
				break
			}
		}
		if e == nil {
			pending, before = nil, p.name // zero if it was not kept
			continue
		}
		before = e.Name
		if pending = append(pending, e); e.Signature != nil || p.named {
			out, pending = append(out, pending...), nil
		}
	}
	return out
}

// exchange puts a memory in the place of the rows of an agent. What has no place is set aside.
func (w *writer) exchange(id perdure.AgentID, m *remains, whole, rest []*perdure.Entry) error {
	var name driver.Value
	a := &agent{id: id, key: m.key}
	err := w.query("SELECT a.due, a.node, a.fence, l.name FROM agents a LEFT JOIN listings l ON l.agent=a.key WHERE "+
		"a.key=?", func(v []driver.Value) error {
		a.due, a.fence, name = perdure.Time(integer(v[0])), integer(v[2]), v[3]
		if node, ok := v[1].([]byte); ok {
			copy(a.node[:], node)
		}
		return nil
	}, m.key)
	if err == nil && name == nil {
		err = w.query("SELECT name FROM orphans WHERE id IN ("+m.marks()+") AND name IS NOT NULL LIMIT 1",
			func(v []driver.Value) error {
				name = v[0]
				return nil
			}, m.ids...)
	}
	if err != nil {
		return brokenOr(err)
	}
	if err := w.setAside(id, m, rest, name); err != nil {
		return err
	}
	if err := w.clear(m); err != nil {
		return err
	}
	w.unlearn()
	if len(whole) == 0 {
		return w.forget(m.key)
	}
	if m.key != 0 {
		w.agents[id] = a
	}
	return w.add(a, whole)
}

// setAside keeps what has no place.
func (w *writer) setAside(id perdure.AgentID, m *remains, rest []*perdure.Entry, name driver.Value) error {
	if err := w.do("DELETE FROM orphans WHERE id IN ("+m.marks()+")", m.ids...); err != nil {
		return err
	}
	for _, r := range m.bad {
		if r.whos {
			continue // it stays where it is
		}
		of := id[:]
		if r.hides {
			of = []byte{}
		}
		if err := w.do("INSERT INTO orphans VALUES(?,?,?,?,NULL,?)", of, null(m.key), r.rid, r.single(),
			name); err != nil {
			return err
		}
	}
	for _, e := range rest {
		b, err := e.MarshalBinary()
		if err != nil {
			return err
		}
		if err := w.do("INSERT INTO orphans VALUES(?,?,NULL,NULL,?,?)", id[:], null(m.key), b, name); err != nil {
			return err
		}
	}
	return nil
}

// single is the data of a row as one that has no further pieces.
func (r rawRow) single() []byte {
	b := slices.Clone(r.data)
	if len(b) == 0 {
		return []byte{0}
	}
	b[0] = 0
	return b
}

// clear removes the rows of an agent, and where they are.
func (w *writer) clear(m *remains) error {
	for _, r := range m.rows {
		if r.left {
			continue
		}
		if err := w.do("DELETE FROM log WHERE rid>?1 AND rid<"+nextRow+" AND agent IS NULL", r.rid); err != nil {
			return err
		}
		if err := w.do("DELETE FROM log WHERE rid=?", r.rid); err != nil {
			return err
		}
	}
	for _, text := range []string{"DELETE FROM places WHERE agent=?", "DELETE FROM recent WHERE agent=?",
		"DELETE FROM snapshots WHERE agent=?"} {
		if err := w.do(text, m.key); err != nil {
			return err
		}
	}
	// Rows that come are after the mark, also when those up to it are gone.
	if err := w.do("UPDATE mark SET rid=min(rid,(SELECT coalesce(max(rid),0) FROM log))"); err != nil {
		return err
	}
	if err := w.dropHeads(m.key); err != nil {
		return err
	}
	return brokenOr(w.rescan())
}
