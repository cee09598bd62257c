package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/perdure/perdure"
)

const (
	// pageRows is how many rows are read at a time. Between pages the connection is free and nothing keeps old states
	// of the file alive.
	pageRows = 64
	// pageBytes is how many bytes of bodies end a page sooner: blobs are read one by one, and nobody wants 64 of them
	// at once.
	pageBytes = 4 << 20
	// firstBytes is the same for the first page: who takes a few entries and stops does not pay for many.
	firstBytes = 64 << 10
	// pageLooks is the same for rows of the agents.
	pageLooks     = 1024
	pageLooksText = "1024" // in a statement: see rowsOf
	// firstLooks is the same for the first page: a node asks what is due after each turn, and mostly stops at the first
	// agent whose time has not come.
	firstLooks = 16
)

// Entries implements perdure.Store.
func (s *Store) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		after := max(after, 0)
		for key, before, most := int64(0), (perdure.Hash{}), int64(firstBytes); ; most = pageBytes {
			var items []perdure.Item
			var next perdure.Hash
			var more bool
			err := s.read(ctx, func(c *conn) (err error) {
				if key == 0 {
					if key, err = keyOf(c, id); err != nil {
						return err
					}
				}
				items, next, more, err = s.page(c, id, key, after, before, most)
				return err
			})
			if err != nil {
				yield(perdure.Item{}, fmt.Errorf("read agent %s: %w", id.Short(), err))
				return
			}
			for _, item := range items {
				after = item.Cursor
				if !yield(item, nil) {
					return
				}
			}
			if !more {
				return
			}
			before = next
		}
	}
}

// keyOf finds the key of an agent.
func keyOf(c *conn, id perdure.AgentID) (int64, error) {
	key, found, err := c.number("SELECT key FROM agents WHERE substr(id,1,8)=? AND id=?", id[:8], id[:])
	if corrupt(err) {
		key, found, err = keyAround(c, id, err)
	}
	if err == nil && !found {
		err = perdure.ErrNotFound
	}
	return key, err
}

// page reads the entries after a cursor that the next rows hold. Before is the name of the entry before those rows if
// the caller knows it; the name for the page after is returned, and whether there is one. It ends with the row in which
// its bodies get more than most bytes.
func (s *Store) page(c *conn, id perdure.AgentID, key int64, after perdure.Cursor, before perdure.Hash,
	most int64) ([]perdure.Item, perdure.Hash, bool, error) {
	// The row of the cursor itself is read again when it may hold more.
	from := int64(after) >> cursorBits
	if !before.IsZero() {
		from++
	}
	rows, err := rowsFrom(c, key, from, pageRows)
	if err != nil || len(rows) == 0 {
		return nil, before, false, err
	}
	if before.IsZero() && from > 0 { // else they are the first
		if before, err = lastBefore(c, id, key, rows[0].rid); err != nil {
			return nil, before, false, err
		}
	}
	var items []perdure.Item
	var size int64
	for n, r := range rows {
		entries, err := s.entries(c, id, before, r.row)
		if err != nil {
			return nil, before, false, fmt.Errorf("%w (row %d): run `perdure doctor --repair`, or import a good copy",
				err, r.rid)
		}
		for i, e := range entries {
			if at := cursor(r.rid, i); at > after {
				items, size = append(items, perdure.Item{Entry: e, Cursor: at}), size+int64(len(e.BodyBytes()))
			}
		}
		if before = r.last(id); size > most && n+1 < len(rows) {
			return items, before, true, nil
		}
	}
	return items, before, len(rows) == pageRows, nil
}

// entries puts the entries of a row together again.
func (s *Store) entries(c *conn, id perdure.AgentID, before perdure.Hash, r *row) ([]*perdure.Entry, error) {
	parts := r.parts
	out := make([]*perdure.Entry, len(parts))
	headers := make([]byte, 0, 240*len(parts))
	for i := range parts {
		p := &parts[i]
		body, hash, err := s.body(p, before)
		if err != nil {
			return nil, err
		}
		start := len(headers)
		if headers, err = s.header(c, headers, id, before, p, hash); err != nil {
			return nil, err
		}
		e, err := perdure.NewEntry(headers[start:len(headers):len(headers)], body, p.signature, s.limits)
		if err != nil {
			return nil, err
		}
		if !p.isNamed(e.Name, id) {
			return nil, fmt.Errorf("%w: entry %s is not the one that was stored", errRow, e.Name.Short())
		}
		out[i], before = e, e.Name
	}
	return out, nil
}

// isNamed compares a name that was put together again with the one that was kept, if it was.
func (p *part) isNamed(name perdure.Hash, id perdure.AgentID) bool {
	if p.kind == perdure.KindGenesis {
		return name == perdure.Hash(id)
	}
	return !p.named || name == p.name
}

// body is the body of an entry that arrived after the one named before, and its hash.
func (s *Store) body(p *part, before perdure.Hash) (body []byte, hash perdure.Hash, err error) {
	switch p.place {
	case bodyHere:
		body = p.bodyAfter(before)
		return body, perdure.HashOf(body), nil
	case bodyBlob:
		body, err = s.readBlob(p.hash, p.size)
	}
	return body, p.hash, err
}

// header appends the header that a part stands for whose body has this hash.
func (s *Store) header(c *conn, b []byte, id perdure.AgentID, before perdure.Hash, p *part,
	body perdure.Hash) ([]byte, error) {
	if p.raw != nil {
		return append(b, p.raw...), nil
	}
	l := lookup{c, &s.words}
	origin, err := l.word(p.origin)
	if err != nil {
		return nil, err
	}
	var policy perdure.Hash
	if p.policy != 0 {
		if policy, err = l.word(p.policy); err != nil {
			return nil, err
		}
	}
	return p.header(b, id, before, origin, policy, body), nil
}

// Heads implements perdure.Store.
func (s *Store) Heads(ctx context.Context, id perdure.AgentID) (heads []perdure.Hash, err error) {
	err = s.read(ctx, func(c *conn) error {
		key, err := keyOf(c, id)
		a := &agent{id: id, key: key}
		if err == nil {
			err = a.readHeads(c)
		}
		if err == nil {
			heads = a.names()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("heads of agent %s: %w", id.Short(), err)
	}
	return heads, nil
}

// Snapshots implements perdure.Store.
func (s *Store) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		err := s.snapshots(ctx, id, true, func(_ perdure.Hash, item perdure.Item) bool { return yield(item, nil) })
		if err != nil {
			yield(perdure.Item{}, err)
		}
	}
}

// NameSnapshots names what Snapshots yields, and says where it stands, until yield returns false.
func (s *Store) NameSnapshots(ctx context.Context, id perdure.AgentID,
	yield func(perdure.Hash, perdure.Cursor) bool) error {
	return s.snapshots(ctx, id, false, func(name perdure.Hash, item perdure.Item) bool {
		return yield(name, item.Cursor)
	})
}

// SnapshotCursors says where the snapshots may stand that Snapshots yields, newest first.
func (s *Store) SnapshotCursors(ctx context.Context, id perdure.AgentID) (places []perdure.Cursor, err error) {
	err = s.read(ctx, func(c *conn) error {
		key, err := keyOf(c, id)
		if err != nil {
			return err
		}
		places = places[:0]
		return c.query("SELECT cursor FROM snapshots WHERE agent=? ORDER BY cursor DESC",
			func(v []driver.Value) error {
				places = append(places, perdure.Cursor(integer(v[0])))
				return nil
			}, key)
	})
	if err != nil {
		return nil, fmt.Errorf("snapshots of agent %s: %w", id.Short(), err)
	}
	return places, nil
}

// snapshots finds the snapshots to resume from, newest first, and reads them or not, until found returns false.
func (s *Store) snapshots(ctx context.Context, id perdure.AgentID, read bool,
	found func(perdure.Hash, perdure.Item) bool) error {
	for below := int64(1)<<62 - 1; ; {
		var name perdure.Hash
		var item perdure.Item
		err := s.read(ctx, func(c *conn) error {
			key, err := keyOf(c, id)
			if err != nil {
				return err
			}
			name, item, err = s.snapshot(c, id, key, below, read)
			return err
		})
		if err != nil {
			return fmt.Errorf("snapshots of agent %s: %w", id.Short(), err)
		}
		if name.IsZero() || !found(name, item) {
			return nil
		}
		below = int64(item.Cursor)
	}
}

// snapshot finds the newest snapshot before a cursor that has its body, and reads it or only its name. Zero: there is
// none.
func (s *Store) snapshot(c *conn, id perdure.AgentID, key, below int64, read bool) (name perdure.Hash,
	item perdure.Item, err error) {
	for {
		at, found, err := c.number("SELECT cursor FROM snapshots WHERE agent=? AND cursor<? ORDER BY cursor DESC "+
			"LIMIT 1", key, below)
		if corrupt(err) {
			at, found, err = snapshotAround(c, key, below)
		}
		if err != nil || !found {
			return name, item, err
		}
		below, item.Cursor = at, perdure.Cursor(at)
		rid, i := at>>cursorBits, int(at&(maxRowEntries-1))
		if !read {
			if p, err := partOf(c, rid, i); err != nil || p.named && p.place != bodyDropped {
				return p.name, item, err
			}
		}
		rows, err := rowsOf(c, 1, "SELECT rid, data FROM log WHERE rid=?", rid)
		if err == nil && (len(rows) == 0 || i >= len(rows[0].parts)) {
			return name, item, fmt.Errorf("%w: a snapshot is not where the index says; run `perdure doctor`", errRow)
		}
		if err == nil && rows[0].parts[i].place == bodyDropped {
			continue
		}
		var before perdure.Hash
		if err == nil {
			before, err = lastBefore(c, id, key, rid)
		}
		if err != nil {
			return name, item, err
		}
		r := rows[0]
		r.parts = r.parts[:i+1]
		if !read {
			err = s.nameEach(c, id, before, r, func(_ int, n perdure.Hash) { name = n })
			return name, item, err
		}
		entries, err := s.entries(c, id, before, r.row)
		if err != nil {
			return name, item, err
		}
		item.Entry = entries[i]
		return item.Name, item, nil
	}
}

// partOf is an entry of a row without its body, or zero if what comes before all bodies is longer than is read of it.
func partOf(c *conn, rid int64, i int) (p part, err error) {
	err = c.query("SELECT substr(data,2,1024) FROM log WHERE rid=?", func(v []driver.Value) error {
		b, _ := v[0].([]byte)
		r := rowReader{b: b}
		if row := r.row(); !r.bad && i < len(row.parts) {
			p = row.parts[i]
		}
		return nil
	}, rid)
	return p, err
}

// Due implements perdure.Store.
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[perdure.Look, error] {
	return func(yield func(perdure.Look, error) bool) {
		n := firstLooks
		for due, key := int64(0), int64(0); ; n = pageLooks {
			looks := make([]perdure.Look, 0, n)
			var last int64
			err := s.read(ctx, func(c *conn) (err error) {
				looks, last, err = dueAfter(c, looks[:0], n, now.UnixMilli(), due, key)
				return err
			})
			if err != nil {
				yield(perdure.Look{}, fmt.Errorf("agents due: %w", err))
				return
			}
			for _, l := range looks {
				if !yield(l, nil) {
					return
				}
			}
			if len(looks) < n {
				return
			}
			due, key = int64(looks[len(looks)-1].Due), last
		}
	}
}

// dueAfter reads the first n agents, pageLooks at most, that are due after the one of a time and key, and returns the
// key of the last. Where the index is damaged they may be more.
func dueAfter(c *conn, looks []perdure.Look, n int, now, due, key int64) (_ []perdure.Look, last int64, err error) {
	looks, last, err = dueScoped(c, "(SELECT scope FROM listings WHERE agent=key)", looks, n, now, due, key)
	if corrupt(err) { // perhaps of a listing: what is due is known without it
		looks, last, err = dueScoped(c, "NULL", looks[:0], n, now, due, key)
	}
	if corrupt(err) {
		return dueAround(c, err, looks[:0], now, due, key)
	}
	return looks, last, err
}

// dueScoped is dueAfter with their scopes, as a text of SQL has them.
func dueScoped(c *conn, scope string, looks []perdure.Look, n int, now, due, key int64) (_ []perdure.Look, last int64,
	err error) {
	err = c.query("SELECT due, key, id, "+scope+" FROM agents WHERE due<=? AND (due,key)>(?,?) ORDER BY due,key LIMIT "+
		pageLooksText, func(v []driver.Value) error {
		l := perdure.Look{Due: perdure.Time(integer(v[0]))}
		last = integer(v[1])
		id, _ := v[2].([]byte)
		copy(l.Agent[:], id)
		l.Scope, _ = v[3].(string)
		if looks = append(looks, l); len(looks) == n {
			return errEnough
		}
		return nil
	}, now, due, key)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return looks, last, err
}
