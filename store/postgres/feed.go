package postgres

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

// Positions are numbers of a sequence, and transactions that took theirs in one order end in another. So a transaction
// says, before it takes positions, after which one they will be: it holds an advisory lock whose key is the last
// position given by then. The lock goes after the transaction has become visible. The horizon is the last position
// given, and not beyond what any such lock says; it is read in that order:
//
//	who had taken a position up to the horizon had its lock before that; either it is still there, and the horizon is below the
//	position, or the transaction has ended, and who looks from now on sees what it wrote.
//
// Nothing can therefore arrive at or below the horizon later. Other transactions on the server, however long, do not
// matter. What the heads show may be beyond it for as long as a write of this store takes: a reader waits for that.

// horizonText is the lowest position that a transaction under way has announced.
const horizonText = `SELECT min(((classid::bigint<<32)|objid::bigint) & 281474976710655) FROM pg_locks WHERE locktype='advisory' AND objsubid=1
	AND database=(SELECT oid FROM pg_database WHERE datname=current_database()) AND classid::bigint>>16=$1`

// stuck is after how long a reader of the feed no longer waits for a write under way: its program was stopped in the
// middle, or the server waits for a standby. No other reader of this handle waits for that write again.
const stuck = 10 * time.Second

// horizon is the position up to which everything that ever arrives has arrived. All that was visible when it was called
// is at or before it, unless a write is stuck.
func (s *Store) horizon(ctx context.Context) (int64, error) {
	at, want, err := s.horizonNow(ctx)
	began := time.Now()
	for pause := time.Millisecond; err == nil && at < want && at != s.stuckAt.Load(); pause = min(2*pause, longestLook) {
		if time.Since(began) > stuck {
			s.stuckAt.Store(at)
			break
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
		at, _, err = s.horizonNow(ctx)
	}
	return at, err
}

// longestLook is the longest pause between two looks at writes under way.
const longestLook = 32 * time.Millisecond

// horizonNow is the horizon, and the last position given.
func (s *Store) horizonNow(ctx context.Context) (at, last int64, err error) {
	b := &pgx.Batch{}
	b.Queue(s.sql("SELECT last_value FROM ~pos"))
	b.Queue(horizonText, s.server.tag>>48)
	sent := s.pool.SendBatch(ctx, b)
	var under *int64
	if err = sent.QueryRow().Scan(&last); err == nil {
		err = sent.QueryRow().Scan(&under)
	}
	if e := sent.Close(); err == nil {
		err = e
	}
	at = last
	if under != nil {
		at = min(at, *under)
	}
	return at, last, err
}

// Feed implements perdure.Feeder.
func (s *Store) Feed(ctx context.Context, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		after := max(after, 0)
		from, first := int64(after)>>cursorBits, true
		for more := true; more; {
			var rows []feedRow
			err := s.try(ctx, func(ctx context.Context) error {
				to, err := s.horizon(ctx)
				if err == nil && first {
					err = s.fed(ctx, after, to)
				}
				if err == nil {
					rows, more, err = s.feedPage(ctx, from, to)
				}
				return err
			})
			if err != nil {
				yield(perdure.Item{}, fmt.Errorf("read feed: %w", err))
				return
			}
			first = false
			for _, r := range rows {
				entries, err := r.entries(r.id, s.limits)
				if err != nil {
					continue // it arrives once it is healed
				}
				for i, e := range entries {
					if at := cursor(r.pos, i); at > after && !yield(perdure.Item{Entry: e, Cursor: at}, nil) {
						return
					}
				}
			}
			if len(rows) > 0 {
				from = rows[len(rows)-1].pos + 1
			}
		}
	}
}

// fed refuses a position behind the end of the feed.
func (s *Store) fed(ctx context.Context, after perdure.Cursor, to int64) error {
	if int64(after)>>cursorBits <= to {
		return nil // what was yielded was at or before the horizon, and that does not go back
	}
	end, err := s.lastAt(ctx, to)
	if err == nil {
		err = after.Beyond(end)
	}
	return err
}

// feedRow is a row of any agent.
type feedRow struct {
	row
	id perdure.AgentID
}

const feedText = `SELECT g.pos, g.names, g.data, a.id FROM (
	SELECT pos, agent, names, data, sum(octet_length(data)) OVER (ORDER BY pos) - octet_length(data) AS before FROM (
		SELECT pos, agent, names, data FROM ~log WHERE pos>=$1 AND pos<=$2 ORDER BY pos LIMIT $3) few) g
	JOIN ~agents a ON a.key=g.agent WHERE g.before<$4 ORDER BY g.pos`

// feedPage reads the next rows, and reports whether there may be more.
func (s *Store) feedPage(ctx context.Context, from, to int64) (rows []feedRow, more bool, err error) {
	found, err := s.pool.Query(ctx, s.sql(feedText), from, to, pageRows, pageBytes)
	if err != nil {
		return nil, false, err
	}
	size := 0
	err = each(found, func(f pgx.Rows) error {
		var r feedRow
		var id []byte
		err := f.Scan(&r.pos, &r.names, &r.data, &id)
		copy(r.id[:], id)
		rows, size = append(rows, r), size+len(r.data)
		return err
	})
	return rows, len(rows) == pageRows || size >= pageBytes, err
}

// lastAt is the position of the last entry up to a row.
func (s *Store) lastAt(ctx context.Context, to int64) (end perdure.Cursor, err error) {
	rows, err := s.pool.Query(ctx,
		s.sql("SELECT pos, length(names)/32 FROM ~log WHERE pos<=$1 ORDER BY pos DESC LIMIT 1"), to)
	if err != nil {
		return 0, err
	}
	err = each(rows, func(r pgx.Rows) error {
		var pos int64
		var n int
		err := r.Scan(&pos, &n)
		end = cursor(pos, n-1)
		return err
	})
	return end, err
}

// FeedEnd implements perdure.Feeder. The feed is another after a standby has taken over, which may lack what was shown,
// and after every start of a server whose writes do not survive a crash of it.
func (s *Store) FeedEnd(ctx context.Context) (feed perdure.Hash, end perdure.Cursor, err error) {
	const text = "SELECT CASE WHEN soft THEN extract(epoch FROM pg_postmaster_start_time())::text ELSE '' END, " +
		"substr(pg_walfile_name(pg_current_wal_lsn()),1,8) FROM ~meta"
	var run, timeline string
	err = s.try(ctx, func(ctx context.Context) error {
		to, err := s.horizon(ctx)
		if err == nil {
			end, err = s.lastAt(ctx, to)
		}
		if err == nil {
			err = s.pool.QueryRow(ctx, s.sql(text)).Scan(&run, &timeline)
		}
		return err
	})
	if err != nil {
		return feed, 0, fmt.Errorf("end of feed: %w", err)
	}
	return perdure.HashOf(fmt.Appendf([]byte("feed "), "%s %s %s", s.server.place, timeline, run)), end, nil
}
