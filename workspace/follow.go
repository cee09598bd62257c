package workspace

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// batch is how many entries are taken in at a time: few enough that others who want to write wait for a moment only.
const batch = 4096

// Follow brings the index up to date with a store. What it costs depends on what is new. Progress, if not nil, is told
// how far it has come.
func (ix *Index) Follow(ctx context.Context, s perdure.Store, progress func(done, total int64)) error {
	_, err := ix.follow(ctx, s, progress)
	return err
}

// follow is Follow, and how far the index goes then.
func (ix *Index) follow(ctx context.Context, s perdure.Store, progress func(done, total int64)) (r reach, err error) {
	f := &follower{ix: ix, s: s, progress: progress}
	if r, err = f.catchUp(ctx); err == nil && r.untidy {
		err = f.tidy(ctx, time.Now())
	}
	if err != nil {
		return r, fmt.Errorf("bring the search index up to date: %w", ix.named(err))
	}
	return r, nil
}

// catchUp takes in what is new.
func (f *follower) catchUp(ctx context.Context) (r reach, err error) {
	feeder, ok := f.s.(perdure.Feeder)
	for range maxFollows {
		if r, err = f.ix.reach(ctx, time.Now()); err != nil {
			return r, err
		}
		more, changed := false, true
		if ok {
			more, changed, err = f.feed(ctx, feeder, &r)
		} else {
			err = f.walk(ctx)
		}
		if err != nil || !more && !changed { // the usual
			return r, err
		}
		if !more {
			break
		}
	}
	return f.ix.reach(ctx, time.Now())
}

// maxFollows bounds how many batches are taken in by one Follow: who writes faster than this reads is followed the next
// time.
const maxFollows = 1 << 20

// Rebuild throws away what the index holds, or the file if that is damaged, and derives it anew from the store. Nobody
// else in this process may be using it.
func (ix *Index) Rebuild(ctx context.Context, s perdure.Store, progress func(done, total int64)) error {
	err := ix.change(ctx, func(tx *sql.Tx) error { return clearIndex(ctx, tx) })
	if ix.path != "" && spoilt(err) {
		err = ix.renew(ctx)
	}
	if err != nil {
		return fmt.Errorf("rebuild the search index: %w", err)
	}
	return ix.Follow(ctx, s, progress)
}

// follower is one Follow.
type follower struct {
	ix       *Index
	s        perdure.Store
	progress func(done, total int64)
}

// reach is up to where an index goes, and what every search has to know of it.
type reach struct {
	feed     perdure.Hash
	position perdure.Cursor
	items    int64 // the highest number of an item
	untidy   bool  // something in it has expired, or was pruned from its memory
}

// reach finds out up to where the index goes, with one statement: every search asks it.
func (ix *Index) reach(ctx context.Context, now time.Time) (r reach, err error) {
	var id []byte
	err = ix.row(ctx, "SELECT feed, position, (SELECT coalesce(max(id), 0) FROM item), "+
		"EXISTS(SELECT 1 FROM item WHERE expires>0 AND expires<=?1) OR "+
		"EXISTS(SELECT 1 FROM version WHERE expires>0 AND expires<=?1) OR "+
		"EXISTS(SELECT 1 FROM agent WHERE swept=0) FROM place", []any{int64(perdure.TimeOf(now))},
		&id, &r.position, &r.items, &r.untidy)
	r.feed = hashOf(id)
	return r, err
}

// at is up to where the index goes.
func at(ctx context.Context, tx *sql.Tx) (feed perdure.Hash, position perdure.Cursor, err error) {
	var id []byte
	err = tx.QueryRowContext(ctx, "SELECT feed, position FROM place").Scan(&id, &position)
	return hashOf(id), position, err
}

// feed takes in a batch of what arrived after an index that reaches so far, and reports whether there may be more, and
// whether it changed anything.
func (f *follower) feed(ctx context.Context, from perdure.Feeder, r *reach) (more, changed bool, err error) {
	feed, end, err := from.FeedEnd(ctx)
	if err != nil || r.feed == feed && r.position >= end {
		return false, false, err // the usual
	}
	err = f.ix.change(ctx, func(tx *sql.Tx) error {
		more, err = f.feedIn(ctx, tx, from, feed, end)
		return err
	})
	return more, true, err
}

func (f *follower) feedIn(ctx context.Context, tx *sql.Tx, from perdure.Feeder, feed perdure.Hash,
	end perdure.Cursor) (more bool, err error) {
	had, position, err := at(ctx, tx) // another process may have been first
	if err != nil {
		return false, err
	}
	if had != feed || position > end && position > 0 {
		if !had.IsZero() || position > 0 { // what was taken in is of a store that was restored or rebuilt
			if err := clearIndex(ctx, tx); err != nil {
				return false, err
			}
		}
		position = 0
	}
	t := newTaker(tx, f.s)
	n := 0
	for item, err := range from.Feed(ctx, position) {
		if err != nil {
			return false, err
		}
		if err := t.take(ctx, item); err != nil {
			return false, fmt.Errorf("entry %s of agent %s: %w", item.Name.Short(), item.ID().Short(), err)
		}
		position = item.Cursor
		if n++; n == batch {
			more = true
			break
		}
	}
	if err := t.moved(ctx, int64(position)); err != nil {
		return false, err
	}
	if now, _, err := from.FeedEnd(ctx); err != nil || now != feed {
		return true, errors.Join(err, errOtherFeed)
	}
	if !more {
		position = max(position, end)
	}
	if f.progress != nil {
		f.progress(int64(position), max(int64(end), int64(position)))
	}
	_, err = tx.ExecContext(ctx, "UPDATE place SET feed=?, position=?", feed[:], int64(position))
	return more, err
}

// errOtherFeed says that the store began another feed while this one was read.
var errOtherFeed = errors.New("the store was restored or rebuilt meanwhile; try again")

// walk takes in what is new in a store that has no feed: agent by agent, of those whose heads have changed.
func (f *follower) walk(ctx context.Context) error {
	l, ok := f.s.(perdure.Lister)
	if !ok {
		return errors.New("this store neither lists its agents nor tells what arrives")
	}
	var ids []perdure.AgentID
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return err
		}
		ids = append(ids, one.Agent)
	}
	for i, id := range ids {
		if err := f.walkAgent(ctx, id); err != nil {
			return err
		}
		if f.progress != nil {
			f.progress(int64(i+1), int64(len(ids)))
		}
	}
	return nil
}

func (f *follower) walkAgent(ctx context.Context, id perdure.AgentID) error {
	heads, err := f.s.Heads(ctx, id)
	if err != nil {
		return err
	}
	var now []byte
	for _, h := range heads {
		now = append(now, h[:]...)
	}
	var had []byte
	err = f.ix.db.QueryRowContext(ctx, "SELECT heads FROM agent WHERE name=?", id[:]).Scan(&had)
	if err == nil && bytes.Equal(had, now) || err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return f.ix.change(ctx, func(tx *sql.Tx) error {
		var after perdure.Cursor
		err := tx.QueryRowContext(ctx, "SELECT cursor FROM agent WHERE name=?", id[:]).Scan(&after)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		t := newTaker(tx, f.s)
		for item, err := range f.s.Entries(ctx, id, after) {
			if err == nil {
				err = t.take(ctx, item)
			}
			if err != nil {
				return err
			}
			after = item.Cursor
		}
		_, err = tx.ExecContext(ctx, "UPDATE agent SET cursor=?1, moved=?1, heads=?2 WHERE name=?3", int64(after), now,
			id[:])
		return err
	})
}

// tidy takes out what has expired, and what was pruned from memories.
func (f *follower) tidy(ctx context.Context, now time.Time) error {
	ms := int64(perdure.TimeOf(now))
	err := f.ix.change(ctx, func(tx *sql.Tx) error {
		t := newTaker(tx, f.s)
		if err := t.expire(ctx, ms); err != nil {
			return err
		}
		return t.sweep(ctx)
	})
	if err == nil {
		// what was taken out must not lie on in the log
		_, err = f.ix.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return err
}
