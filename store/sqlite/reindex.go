package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Reindex rebuilds every index from the entries. It reads and checks every entry. Others may use the store meanwhile.
// An agent that cannot be folded keeps the listing it has, and the others are done before Reindex says so.
func (s *Store) Reindex(ctx context.Context, progress func(done, total int)) error {
	var total int64
	err := s.read(ctx, func(c *conn) (err error) {
		total, _, err = c.number("SELECT count(*) FROM agents")
		return err
	})
	if err == nil {
		err = s.replace(ctx)
	}
	done := 0
	var failed []error
	for key := int64(0); err == nil; {
		var id perdure.AgentID
		var next int64 // zero: there is none
		err = s.read(ctx, func(c *conn) error {
			next = 0
			return c.query("SELECT key, id FROM agents WHERE key>? ORDER BY key LIMIT 1", func(v []driver.Value) error {
				b, _ := v[1].([]byte)
				next = integer(v[0])
				copy(id[:], b)
				return nil
			}, key)
		})
		if err != nil || next == 0 {
			break
		}
		key = next
		if e := s.reindex(ctx, id); e != nil && len(failed) < maxFailed {
			failed = append(failed, fmt.Errorf("agent %s: %w", id.Short(), e))
		}
		err = s.usable(ctx)
		if done++; progress != nil {
			progress(done, max(done, int(total)))
		}
	}
	if err == nil {
		_, err = s.KeepBirths(ctx)
	}
	if err == nil {
		err = s.tidy(ctx)
	}
	if err == nil && len(failed) == 0 {
		err = s.catchUp(ctx)
	}
	if err = errors.Join(append(failed, err)...); err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	return nil
}

// maxFailed is how many agents that went wrong Reindex names.
const maxFailed = 16

// replace finds the rows of each agent anew, some at a time, and forgets those that are another's.
func (s *Store) replace(ctx context.Context) error {
	const some = 4096
	for from, last := int64(0), int64(1); from < last; from += some {
		err := s.submit(ctx, &request{apply: func(w *writer) error {
			if from == 0 {
				if err := w.resettle(); err != nil {
					return err
				}
			}
			last = w.next
			const text = "INSERT OR IGNORE INTO places SELECT agent, rid FROM log WHERE rid>=? AND rid<? AND " +
				"rid<=(SELECT rid FROM mark) AND agent IS NOT NULL"
			if err := w.do(text, from, from+some); err != nil {
				return err
			}
			w.unlearn()
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return s.submit(ctx, &request{apply: func(w *writer) error {
		return w.do("DELETE FROM places WHERE NOT EXISTS (SELECT 1 FROM log l WHERE l.rid=places.rid AND " +
			"l.agent=places.agent)")
	}})
}

// resettle moves all that is in recent and in the tail to places, whatever is there of it already.
func (w *writer) resettle() error {
	for _, text := range []string{
		"INSERT OR IGNORE INTO places SELECT agent, rid FROM recent",
		"INSERT OR IGNORE INTO places SELECT agent, rid FROM log WHERE rid>(SELECT rid FROM mark) AND agent IS NOT " +
			"NULL",
		"DELETE FROM recent", "DELETE FROM mark", "INSERT INTO mark(rid) SELECT coalesce(max(rid),0) FROM log",
	} {
		if err := w.do(text); err != nil {
			return err
		}
	}
	return brokenOr(w.rescan())
}

// errMoved says that entries arrived while an index was derived.
var errMoved = errors.New("entries arrived meanwhile")

// reindex derives everything about an agent from its entries.
func (s *Store) reindex(ctx context.Context, id perdure.AgentID) error {
	for {
		x, err := s.derive(ctx, id)
		if err != nil {
			return err
		}
		err = s.submit(ctx, &request{apply: func(w *writer) error { return w.reindex(id, x) }})
		if err == errMoved {
			continue
		}
		if err != nil {
			return err
		}
		a, err := perdure.Load(ctx, s, id)
		if err != nil {
			return err
		}
		return s.index(ctx, a.Heads(), a.Listing(time.Now()), true)
	}
}

// index is what can be derived from the entries of an agent.
type index struct {
	rid       int64 // of the last row
	heads     []head
	snapshots []perdure.Cursor
	blobs     map[perdure.Cursor]perdure.Hash
}

func (s *Store) derive(ctx context.Context, id perdure.AgentID) (*index, error) {
	x := &index{blobs: map[perdure.Cursor]perdure.Hash{}}
	var names []perdure.Hash
	for item, err := range s.Entries(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		if item.Kind == perdure.KindSnapshot && (len(names) == 0 || slices.Equal(names, item.Parents)) {
			x.snapshots = append(x.snapshots, item.Cursor)
		}
		if len(item.BodyBytes()) > perdure.InlineBody {
			x.blobs[item.Cursor] = item.Body
		}
		x.heads, x.rid = advance(x.heads, item.Entry), int64(item.Cursor)>>cursorBits
		names = names[:0]
		for _, h := range x.heads {
			names = append(names, h.name)
		}
	}
	return x, nil
}

func (w *writer) reindex(id perdure.AgentID, x *index) error {
	a, err := w.held(id)
	if err != nil {
		return err
	}
	if a.rid != x.rid {
		return errMoved
	}
	if r, err := newestRow(w.conn, a.key); err != nil {
		return brokenOr(err)
	} else if !slices.Equal(a.heads, x.heads) || r.wide != a.wide {
		if err := w.dropHeads(a.key); err != nil {
			return err
		}
		a.wide = false // all of them are written anew
		a.heads, a.sum = x.heads, sumOf(x.heads)
		if err := w.noteHeads(a, r.row, nil); err != nil {
			return err
		}
		if err := w.rewrite(r); err != nil {
			return err
		}
	}
	if err := w.do("DELETE FROM snapshots WHERE agent=?", a.key); err != nil {
		return err
	}
	for _, at := range x.snapshots {
		if err := w.do("INSERT INTO snapshots VALUES(?,?)", a.key, int64(at)); err != nil {
			return err
		}
	}
	for at, h := range x.blobs {
		if err := w.do("INSERT OR IGNORE INTO blobs VALUES(?,?)", h[:], int64(at)); err != nil {
			return err
		}
	}
	if !a.node.IsZero() {
		return nil
	}
	return w.look(a, dueOf(a.heads))
}

// tidy forgets references to bodies that no entry makes, and removes files that nothing refers to.
func (s *Store) tidy(ctx context.Context) error {
	if err := s.submit(ctx, &request{apply: (*writer).tidy}); err != nil {
		return err
	}
	files, err := os.ReadDir(s.folder())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		var h perdure.Hash
		if h.UnmarshalText([]byte(f.Name())) == nil {
			err = s.sweep(ctx, []perdure.Hash{h})
		} else if info, ierr := f.Info(); ierr == nil && strings.Contains(f.Name(), tempMark) &&
			time.Since(info.ModTime()) > time.Hour {
			err = disk.Remove(s.folder() + string(os.PathSeparator) + f.Name()) // left by a process that was stopped
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) tidy() error {
	type ref struct {
		hash []byte
		at   int64
	}
	var refs []ref
	err := w.query("SELECT hash, cursor FROM blobs", func(v []driver.Value) error {
		h, _ := v[0].([]byte)
		refs = append(refs, ref{h, integer(v[1])})
		return nil
	})
	for _, r := range refs {
		if err != nil {
			break
		}
		var rows []storedRow
		rows, err = rowsOf(w.conn, 1, "SELECT rid, data FROM log WHERE rid=?", r.at>>cursorBits)
		i := int(r.at & (maxRowEntries - 1))
		if err == nil && len(rows) == 1 && i < len(rows[0].parts) && rows[0].parts[i].place == bodyBlob &&
			string(rows[0].parts[i].hash[:]) == string(r.hash) {
			continue
		}
		if err == nil {
			err = w.do("DELETE FROM blobs WHERE hash=? AND cursor=?", r.hash, r.at)
		}
	}
	return brokenOr(err)
}
