package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/perdure/perdure"
)

var _ perdure.Feeder = (*Store)(nil)

// feedTable has the id of the feed. It is made when somebody asks for it. A backup and a rebuilt file have none: they
// begin another feed, since rows that were given numbers may be missing from them. Boot is the run of the machine in
// which commits were not synced: once that is over, rows that were seen may be gone, and their numbers given again.
const feedTable = "CREATE TABLE IF NOT EXISTS feed(id BLOB NOT NULL, boot TEXT)"

// bootID names this run of the machine; empty where the system does not say.
var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // of other systems than Linux
	return strings.TrimSpace(string(b))
})

// maxFeedAgents bounds the agents whose last entry a reader of the feed remembers.
const maxFeedAgents = 4096

// Feed implements perdure.Feeder. Rows get their numbers inside the one transaction that writes at a time, and are seen
// in the order in which those end: the number of a row is its place in the order of arrival.
func (s *Store) Feed(ctx context.Context, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		r := feedReader{s: s, at: max(after, 0), last: map[int64]perdure.Hash{}, most: firstBytes}
		for {
			var items []perdure.Item
			var ahead feedReader
			tries := 0
			err := s.read(ctx, func(c *conn) (err error) {
				ahead = r // what was read before may be void
				if tries++; tries > 1 {
					clear(r.last)
				}
				items, err = ahead.page(ctx, c, tries > 1)
				return err
			})
			r = ahead
			r.most = pageBytes
			if err != nil {
				yield(perdure.Item{}, fmt.Errorf("read feed: %w", err))
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if r.done {
				return
			}
		}
	}
}

// feedReader is one reading of the feed.
type feedReader struct {
	s    *Store
	at   perdure.Cursor // it has read up to here
	next int64          // the row to go on at; zero: as at says
	last map[int64]perdure.Hash
	most int // how many bytes of bodies end a page
	done bool
}

// page reads the entries of the next rows. Rows that cannot be read are left out: they are written anew once they are
// healed. A body may have been pruned between the row and its file, which the row says when the page is read again.
func (r *feedReader) page(ctx context.Context, c *conn, again bool) ([]perdure.Item, error) {
	if r.next == 0 {
		end, err := feedEnd(c)
		if err == nil && r.at>>cursorBits > end>>cursorBits {
			err = r.at.Beyond(end)
		}
		if err != nil {
			return nil, err
		}
		r.next = int64(r.at) >> cursorBits
	}
	raws, err := feedRows(ctx, c, r.next)
	if err != nil {
		return nil, err
	}
	var items []perdure.Item
	size := 0
	for n, raw := range raws {
		entries, err := r.entries(c, raw)
		if code(err) != 0 && !corrupt(err) || errors.Is(err, fs.ErrNotExist) && !again {
			return nil, err
		}
		for i, e := range entries {
			if at := cursor(raw.rid, i); at > r.at {
				items, size = append(items, perdure.Item{Entry: e, Cursor: at}), size+len(e.BodyBytes())
			}
		}
		if size > r.most && n+1 < len(raws) {
			raws = raws[:n+1]
			break
		}
	}
	if len(items) > 0 {
		r.at = items[len(items)-1].Cursor
	}
	if r.done = len(raws) == 0; !r.done {
		r.next = raws[len(raws)-1].rid + 1
	}
	return items, nil
}

// feedRow is a row of any agent.
type feedRow struct {
	rid, key int64
	id       perdure.AgentID
	data     []byte
}

func feedRows(ctx context.Context, c *conn, from int64) (rows []feedRow, err error) {
	const text = "SELECT l.rid, l.agent, a.id, l.data FROM log l CROSS JOIN agents a ON a.key=l.agent WHERE l.rid>=? " +
		"ORDER BY l.rid"
	err = c.query(text, func(v []driver.Value) error {
		r := feedRow{rid: integer(v[0]), key: integer(v[1])}
		id, _ := v[2].([]byte)
		copy(r.id[:], id)
		r.data, _ = v[3].([]byte)
		if rows = append(rows, r); len(rows) == pageRows {
			return errEnough
		}
		return nil
	}, from)
	switch {
	case errors.Is(err, errEnough):
		err = nil
	case corrupt(err) && len(rows) > 0: // the others are for the next page
		err = nil
	case corrupt(err):
		return feedPast(ctx, c, from, err)
	}
	return rows, err
}

// feedPast is feedRows where the first row cannot be read: from the first on that can be. All that a lost page leads to
// is passed over at once.
func feedPast(ctx context.Context, c *conn, from int64, damage error) ([]feedRow, error) {
	end, err := feedEnd(c)
	if err != nil {
		return nil, damage
	}
	last := int64(end) >> cursorBits
	for rid := from; rid < last; {
		if _, _, err := c.number("SELECT rid FROM log WHERE rid=?", rid); corrupt(err) {
			rid = max(rid, min(descend(c, rid).last, last))
		}
		rid++
		found := false
		err := c.query("SELECT l.data FROM log l CROSS JOIN agents a ON a.key=l.agent WHERE l.rid=?",
			func([]driver.Value) error {
				found = true
				return nil
			}, rid)
		if err != nil && !corrupt(err) {
			return nil, err
		}
		if found && err == nil {
			return feedRows(ctx, c, rid)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// entries puts the entries of a row together again.
func (r *feedReader) entries(c *conn, raw feedRow) (entries []*perdure.Entry, err error) {
	row, err := join(c, raw.rid, raw.data)
	before, known := r.last[raw.key]
	if err == nil && !known {
		before, err = lastBefore(c, raw.id, raw.key, raw.rid)
	}
	if err == nil {
		entries, err = r.s.entries(c, raw.id, before, row.row)
	}
	if err != nil {
		delete(r.last, raw.key)
		return nil, err
	}
	if len(r.last) >= maxFeedAgents {
		clear(r.last)
	}
	r.last[raw.key] = row.last(raw.id)
	return entries, nil
}

// feedEnd is the position of what arrived last.
func feedEnd(c *conn) (end perdure.Cursor, err error) {
	err = c.query("SELECT rid, data FROM log WHERE agent IS NOT NULL ORDER BY rid DESC LIMIT 1",
		func(v []driver.Value) error {
			data, _ := v[1].([]byte)
			end = cursor(integer(v[0]), maxRowEntries-1)
			if r, err := join(c, integer(v[0]), data); err == nil {
				end = cursor(r.rid, len(r.parts)-1)
			}
			return nil
		})
	if corrupt(err) { // the last rows are lost, and the note says which they were
		if n, e := readNote(c); e == nil && n != nil {
			return cursor(n.end, maxRowEntries-1), nil
		}
	}
	return end, err
}

// FeedEnd implements perdure.Feeder.
func (s *Store) FeedEnd(ctx context.Context) (feed perdure.Hash, end perdure.Cursor, err error) {
	id, end, err := s.feedEnd(ctx)
	if err == nil && id == nil {
		begin := func(w *writer) error { return w.beginFeed(s.level) }
		if err = s.submit(ctx, &request{apply: begin}); err == nil {
			id, end, err = s.feedEnd(ctx)
		}
	}
	place := perdure.Place{}
	if err == nil {
		place, err = Place(s.path, s.looks) // a copy of the file goes its own way
	}
	if err != nil {
		return feed, 0, fmt.Errorf("end of feed: %w", err)
	}
	return perdure.HashOf(append(id, place.ID[:]...)), end, nil
}

// feedEnd reads the id of the feed and where it ends. There is no id where one is still to be given, or the one there
// is does not count any more.
func (s *Store) feedEnd(ctx context.Context) (id []byte, end perdure.Cursor, err error) {
	err = s.read(ctx, func(c *conn) error {
		id = nil
		_, there, err := c.number("SELECT 1 FROM sqlite_schema WHERE type='table' AND name='feed'")
		if err == nil && there {
			err = c.query("SELECT id, boot FROM feed", func(v []driver.Value) error {
				boot, soft := v[1].(string)
				if counts := !soft && s.level == Full || soft && boot == bootID(); counts {
					id, _ = v[0].([]byte)
				}
				return nil
			})
		}
		if err == nil {
			end, err = feedEnd(c)
		}
		return err
	})
	return id, end, err
}

// beginFeed gives the feed an id, unless it has one that counts. Who does not sync commits says in which run of the
// machine it counts.
func (w *writer) beginFeed(level Sync) error {
	if err := w.do(feedTable); err != nil {
		return err
	}
	if err := w.do("DELETE FROM feed WHERE boot<>?", bootID()); err != nil {
		return err
	}
	if err := w.do("INSERT INTO feed SELECT randomblob(32), NULL WHERE NOT EXISTS (SELECT 1 FROM feed)"); err != nil {
		return err
	}
	if level == Full {
		return nil
	}
	return w.do("UPDATE feed SET boot=?", bootID())
}

// keepFeed begins another feed if rows at the end are gone, from the one that was to be next before: their numbers are
// given again.
func (w *writer) keepFeed(next int64) error {
	last, _, err := w.number("SELECT coalesce(max(rid),0) FROM log")
	if err != nil {
		return brokenError{err}
	}
	if last >= next-1 {
		return nil
	}
	return endFeed(w.conn)
}

// endFeed has whoever asks next begin another feed.
func endFeed(c *conn) error {
	if err := c.exec("DROP TABLE IF EXISTS feed"); err != nil {
		return brokenError{err}
	}
	return nil
}
