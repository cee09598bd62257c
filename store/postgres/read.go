package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

const (
	// pageRows and pageBytes bound what is read at a time. The row that goes beyond the second is still read.
	pageRows  = 64
	pageBytes = 4 << 20
	// pageLooks is the same for rows of the agents.
	pageLooks = 1024
	// firstLooks is the same for the first page: a node asks what is due after each turn, and mostly stops at the first
	// agent whose time has not come.
	firstLooks = 16
)

// Entries implements perdure.Store.
func (s *Store) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		after := max(after, 0)
		from, key := int64(after)>>cursorBits, int64(0) // the row of the cursor itself may hold more
		read := reading{from: after}
		for more := true; more; {
			var rows []row
			var now moment
			err := s.try(ctx, func(ctx context.Context) (err error) {
				if key == 0 {
					if key, err = s.keyOf(ctx, s.pool, id); err != nil {
						return err
					}
				}
				rows, now, more, err = s.page(ctx, s.pool, key, from)
				return err
			})
			var items []perdure.Item
			if err == nil {
				items, err = s.items(id, rows, after, &read)
			}
			if err == nil && !more {
				if err = read.complete(now); errors.Is(err, errLost) {
					err = s.lost(ctx, key, read.row)
				}
			}
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
			if len(rows) > 0 {
				from = rows[len(rows)-1].pos + 1
			}
		}
	}
}

// reading is what rows that were read one after the other come to.
type reading struct {
	from        perdure.Cursor
	row         int64  // where the first row stands
	heads       *heads // of a memory that is read from its beginning
	first, last *perdure.Entry
}

// add takes in the next entry.
func (r *reading) add(e *perdure.Entry) {
	if r.last = e; r.from > 0 {
		return
	}
	if r.first == nil {
		r.first, r.heads = e, newHeads()
	}
	r.heads.step(e)
}

// complete says that rows are missing if what was read does not come to the heads of the moment, or does not begin as a
// memory does.
func (r *reading) complete(now moment) error {
	switch {
	case now.heads == nil: // it is not there any more
		return perdure.ErrNotFound
	case r.from == 0:
		if r.first == nil || !now.part && len(r.first.Parents) > 0 ||
			int(r.heads.count) != len(r.heads.known) || // one came twice
			!bytes.Equal(now.heads, r.heads.column()) {
			return errLost
		}
		return nil
	}
	h, err := readHeads(now.heads)
	if err == nil && r.last != nil && !h.wide && !h.has(r.last.Name) { // nothing is written on what came last
		err = errLost
	}
	return err
}

// errAnew says that a reader saw pages of two memories.
var errAnew = errors.New("its memory was written anew meanwhile: read it again")

// lost says what it means that rows are missing in a memory that was read from this row on. Rows do not move: where it
// is gone, they are those of a memory that another took the place of.
func (s *Store) lost(ctx context.Context, key, row int64) error {
	there := false
	err := s.try(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, s.sql("SELECT EXISTS(SELECT 1 FROM ~log WHERE agent=$1 AND pos=$2)"), key, row).
			Scan(&there)
	})
	if err == nil && !there && row > 0 {
		return errAnew
	}
	return errors.Join(errLost, err)
}

// moment is what the row of an agent said when a page was read.
type moment struct {
	heads []byte
	part  bool // only the end of the memory is here
}

// pageText reads rows, as many as go into a page, and what the row of the agent says. What is beyond is not even taken
// out of where the server keeps long values.
const pageText = `SELECT a.heads, a.depth IS NOT NULL, pos, names, data, snaps FROM ~agents a LEFT JOIN (
	SELECT pos, names, data, snaps, sum(octet_length(data)) OVER (ORDER BY pos) - octet_length(data) AS before FROM (
		SELECT pos, names, data, snaps FROM ~log WHERE agent=$1 AND pos>=$2 ORDER BY pos LIMIT $3) few) page
	ON before<$4 WHERE a.key=$1 ORDER BY pos`

// page reads the next rows of an agent, and reports whether there may be more.
func (s *Store) page(ctx context.Context, q queryer, key, from int64) (rows []row, now moment, more bool, err error) {
	found, err := q.Query(ctx, s.sql(pageText), key, from, pageRows, pageBytes)
	if err != nil {
		return nil, now, false, err
	}
	size := 0
	err = each(found, func(f pgx.Rows) error {
		var r row
		var pos *int64 // none, where there are no rows
		err := f.Scan(&now.heads, &now.part, &pos, &r.names, &r.data, &r.snaps)
		if err == nil && pos != nil {
			r.pos = *pos
			rows, size = append(rows, r), size+len(r.data)
		}
		return err
	})
	return rows, now, len(rows) == pageRows || size >= pageBytes, err
}

// items are the entries of rows after a cursor.
func (s *Store) items(id perdure.AgentID, rows []row, after perdure.Cursor, read *reading) (out []perdure.Item,
	err error) {
	for _, r := range rows {
		entries, err := r.entries(id, s.limits)
		if err != nil {
			return nil, err
		}
		if read.row == 0 {
			read.row = r.pos
		}
		for i, e := range entries {
			read.add(e)
			if at := cursor(r.pos, i); at > after {
				out = append(out, perdure.Item{Entry: e, Cursor: at})
			}
		}
	}
	return out, nil
}

// Heads implements perdure.Store.
func (s *Store) Heads(ctx context.Context, id perdure.AgentID) (names []perdure.Hash, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		names, err = s.readHeads(ctx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("heads of agent %s: %w", id.Short(), err)
	}
	return names, nil
}

// readHeads reads the heads of an agent, all of one moment.
func (s *Store) readHeads(ctx context.Context, id perdure.AgentID) ([]perdure.Hash, error) {
	const text = `SELECT a.heads, CASE WHEN length(a.heads)=40
		THEN (SELECT array_agg(h.name ORDER BY h.name) FROM ~heads h WHERE h.agent=a.key) END
		FROM ~agents a WHERE a.id=$1`
	var column []byte
	var many [][]byte
	err := s.pool.QueryRow(ctx, s.sql(text), id[:]).Scan(&column, &many)
	if errors.Is(err, pgx.ErrNoRows) {
		err = perdure.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	h, err := readHeads(column)
	if err != nil {
		return nil, err
	}
	if !h.wide {
		return h.names(), nil
	}
	names := make([]perdure.Hash, len(many))
	for i, b := range many {
		if len(b) != hashSize {
			return nil, errRow
		}
		names[i] = perdure.Hash(b)
	}
	if int64(len(names)) != h.count || sumOf(names) != h.sum {
		return nil, errRow
	}
	return names, nil
}

// Snapshots implements perdure.Store.
func (s *Store) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		const text = `SELECT pos, names, data, snaps FROM ~log WHERE agent=$1 AND pos<$2 AND snaps IS NOT NULL
			ORDER BY pos DESC LIMIT 1`
		for key, below := int64(0), int64(1)<<62; ; {
			var r row
			err := s.try(ctx, func(ctx context.Context) (err error) {
				if key == 0 {
					if key, err = s.keyOf(ctx, s.pool, id); err != nil {
						return err
					}
				}
				return s.pool.QueryRow(ctx, s.sql(text), key, below).Scan(&r.pos, &r.names, &r.data, &r.snaps)
			})
			if errors.Is(err, pgx.ErrNoRows) {
				return
			}
			var entries []*perdure.Entry
			if err == nil {
				entries, err = r.entries(id, s.limits)
			}
			if err != nil {
				yield(perdure.Item{}, fmt.Errorf("snapshots of agent %s: %w", id.Short(), err))
				return
			}
			for _, i := range r.snapshots() {
				if e := entries[i]; e.Kind == perdure.KindSnapshot && e.BodyBytes() != nil &&
					!yield(perdure.Item{Entry: e, Cursor: cursor(r.pos, i)}, nil) {
					return
				}
			}
			below = r.pos
		}
	}
}

// NameSnapshots names the snapshots to resume from, newest first, and says where they stand, until yield returns false.
func (s *Store) NameSnapshots(ctx context.Context, id perdure.AgentID,
	yield func(perdure.Hash, perdure.Cursor) bool) error {
	const text = `SELECT pos, names, snaps FROM ~log WHERE agent=$1 AND pos<$2 AND snaps IS NOT NULL
		ORDER BY pos DESC LIMIT $3`
	for key, below := int64(0), int64(1)<<62; ; {
		var found []row
		err := s.try(ctx, func(ctx context.Context) (err error) {
			if key == 0 {
				if key, err = s.keyOf(ctx, s.pool, id); err != nil {
					return err
				}
			}
			found = found[:0]
			rows, err := s.pool.Query(ctx, s.sql(text), key, below, pageRows)
			if err != nil {
				return err
			}
			return each(rows, func(f pgx.Rows) error {
				var r row
				err := f.Scan(&r.pos, &r.names, &r.snaps)
				found = append(found, r)
				return err
			})
		})
		if err != nil {
			return fmt.Errorf("snapshots of agent %s: %w", id.Short(), err)
		}
		for i := range found {
			r := &found[i]
			for _, i := range r.snapshots() {
				if !yield(r.name(i), cursor(r.pos, i)) {
					return nil
				}
			}
			below = r.pos
		}
		if len(found) < pageRows {
			return nil
		}
	}
}

// Due implements perdure.Store.
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[perdure.Look, error] {
	return func(yield func(perdure.Look, error) bool) {
		const text = `SELECT key, id, due, (SELECT scope FROM ~listings l WHERE l.agent=a.key) FROM ~agents a
			WHERE due<=$1 AND (due, key)>($2, $3) ORDER BY due, key LIMIT $4`
		n := firstLooks
		for due, key := int64(0), int64(0); ; n = pageLooks {
			var page []perdure.Look
			lastDue, lastKey := due, key
			err := s.try(ctx, func(ctx context.Context) error {
				page = page[:0]
				rows, err := s.pool.Query(ctx, s.sql(text), int64(perdure.TimeOf(now)), due, key, n)
				if err != nil {
					return err
				}
				return each(rows, func(r pgx.Rows) error {
					var id, scope []byte
					if err := r.Scan(&lastKey, &id, &lastDue, &scope); err != nil {
						return err
					}
					if len(id) != hashSize {
						return errRow
					}
					page = append(page, perdure.Look{Agent: perdure.AgentID(id), Due: perdure.Time(lastDue),
						Scope: string(scope)})
					return nil
				})
			})
			if err != nil {
				yield(perdure.Look{}, fmt.Errorf("agents due: %w", err))
				return
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}
			if due, key = lastDue, lastKey; len(page) < n {
				return
			}
		}
	}
}
