package dir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

var _ perdure.Feeder = (*Store)(nil)

// feedPage is how many records of the feed are read, or written, at a time.
const feedPage = 1024

// Feed implements perdure.Feeder. Files have no order among each other: entries arrive when a process that reads the
// feed first sees them.
func (s *Store) Feed(ctx context.Context, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for at, to := max(after, 0), perdure.Cursor(-1); to < 0 || at < to; {
			page, err := s.feedPage(ctx, at, &to)
			if err != nil {
				yield(perdure.Item{}, fmt.Errorf("read feed of %s: %w", s.dir, err))
				return
			}
			for len(page) > 0 {
				run := alike(page)
				page = page[len(run):]
				items, err := s.readRun(ctx, run)
				if err != nil {
					yield(perdure.Item{}, fmt.Errorf("read feed of %s: %w", s.dir, err))
					return
				}
				for _, item := range items {
					if !yield(item, nil) {
						return
					}
				}
			}
			at = min(at+feedPage, max(to, at))
		}
	}
}

// fedRecord is a record and its position.
type fedRecord struct {
	record
	pos perdure.Cursor
}

// feedPage reads arrivals after a position. The first time it looks what is new, and sets where the feed ends.
func (s *Store) feedPage(ctx context.Context, after perdure.Cursor, to *perdure.Cursor) (page []fedRecord, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *to < 0 {
		if err := s.notice(ctx); err != nil {
			return nil, err
		}
		if *to = perdure.Cursor(s.feed.n); after > *to {
			return nil, after.Beyond(perdure.Cursor(s.feed.last))
		}
	} else if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if s.feed.f == nil {
		return nil, errors.New("the order of arrival was lost meanwhile: begin at 0")
	}
	pos := after
	if pos == *to {
		return nil, nil
	}
	err = s.feed.read(int64(after), func(r record) bool {
		if pos++; r.kind == recordEntry {
			page = append(page, fedRecord{r, pos})
		}
		return pos < *to && pos < after+feedPage
	})
	return page, err
}

// alike is the first records that lie behind each other in one file.
func alike(page []fedRecord) []fedRecord {
	n := 1
	for n < len(page) && page[n].agent == page[0].agent && page[n].at == page[n-1].at+1 {
		n++
	}
	return page[:n]
}

// readRun reads the entries of records of one agent. Entries that are not there any more, or cannot be read, are left
// out.
func (s *Store) readRun(ctx context.Context, run []fedRecord) (items []perdure.Item, err error) {
	err = s.with(ctx, "read", run[0].agent, false, func(l *capsule.Log) error {
		for len(run) > 0 {
			got, err := l.Read(run[0].at-1, len(run))
			if err != nil {
				return err
			}
			n := 0
			for n < len(got) && got[n].Name == run[n].name {
				items = append(items, perdure.Item{Entry: got[n].Entry, Cursor: run[n].pos})
				n++
			}
			run = run[n:]
			if n > 0 {
				continue
			}
			at, found, err := l.Find(run[0].name) // a merge has put it elsewhere
			if err == nil && found {
				got, err = l.Read(at-1, 1)
			}
			if err != nil {
				return err
			}
			if found && len(got) == 1 {
				items = append(items, perdure.Item{Entry: got[0].Entry, Cursor: run[0].pos})
			}
			run = run[1:]
		}
		return nil
	})
	var number syscall.Errno
	if err == nil || ctx.Err() != nil || errors.Is(err, fs.ErrClosed) || errors.As(err, &number) &&
		!errors.Is(err, fs.ErrNotExist) {
		return items, err
	}
	return items, nil // its file is gone or damaged: once it is back or healed, it arrives again
}

// FeedEnd implements perdure.Feeder.
func (s *Store) FeedEnd(ctx context.Context) (feed perdure.Hash, end perdure.Cursor, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := perdure.Place{}
	if err = s.notice(ctx); err == nil {
		place, err = Place(s.dir, s.looks) // a copy of the folder goes its own way
	}
	if err != nil {
		return feed, 0, fmt.Errorf("end of feed of %s: %w", s.dir, err)
	}
	return perdure.HashOf(slices.Concat(s.feed.id[:], place.ID[:])), perdure.Cursor(s.feed.last), nil
}

// notice looks at the folder and writes down what arrived. Files that have not changed are not opened. The caller holds
// mu.
func (s *Store) notice(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if s.looks {
		return errLooks // an arrival is noticed by writing it down
	}
	from, now := time.Now(), s.glance()
	// nothing happened since
	if id := s.feed.id; s.feed.f != nil && now.same(s.noticed) && from.Sub(s.listed) < watchAll && s.usedAsNoticed() {
		if err := s.ordered(func() error { return nil }); err != nil || s.feed.id == id {
			return err
		}
	}
	if err := s.look(); err != nil {
		return err
	}
	err := s.ordered(func() error {
		for _, id := range s.departed() {
			if err := s.feed.write([]record{{kind: recordGone, agent: id}}); err != nil {
				return err
			}
		}
		for _, id := range s.unnoticed() {
			if err := s.arrive(id); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err == nil {
		s.noticed, s.listed = now, from
		clear(s.used)
	}
	return err
}

// usedAsNoticed reports whether the files that were used since arrivals were last looked for are as they were then. A
// file can be read before its writer rings the bell, and whoever has seen an entry finds it in the feed.
func (s *Store) usedAsNoticed() bool {
	for id := range s.used {
		a := s.agents[id]
		if a == nil {
			return false
		}
		if info, err := os.Stat(s.path(a.main)); err != nil || !s.feed.marks[id].is(info) {
			return false
		}
	}
	clear(s.used)
	return true
}

// ordered calls f while no other process writes down what arrived, with all that others did.
func (s *Store) ordered(f func() error) error {
	lock, err := capsule.LockFile(filepath.Join(s.dir, indexDir, arrivalsName+".lock"))
	if err != nil {
		return err
	}
	if err = s.feed.catchUp(); err == nil {
		err = f()
	}
	return errors.Join(err, lock.Close())
}

// departed are the agents that are not here any more.
func (s *Store) departed() (ids []perdure.AgentID) {
	for id := range s.feed.marks {
		if s.agents[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// unnoticed are the agents whose files have changed since they were read, in a fixed order.
func (s *Store) unnoticed() []perdure.AgentID {
	var ids []perdure.AgentID
	for id, a := range s.agents {
		if f := s.files[a.main]; f != nil && (f.info == nil || !s.feed.marks[id].is(f.info)) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y perdure.AgentID) int { return bytes.Compare(x[:], y[:]) })
	return ids
}

// arrive writes down which entries of an agent are new. A file that cannot be read has nothing new.
func (s *Store) arrive(id perdure.AgentID) error {
	a := s.agents[id]
	info := s.files[a.main].info
	h, err := s.opened(id, a)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	defer s.done(id, h)
	if err := h.Refresh(); err != nil {
		return nil //nolint:nilerr // see above
	}
	old := s.feed.marks[id]
	m := mark{at: old.at}
	if info != nil { // else it is looked at again
		m.size, m.mod = info.Size(), info.ModTime().UnixNano()
	}
	known := map[perdure.Hash]bool{}
	if old.at > 0 {
		names, err := h.Names(old.at-1, 1)
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if len(names) == 0 || names[0] != old.name { // a merge has put its entries in another order
			if known, err = s.feed.namesOf(id); err != nil {
				return err
			}
			m.at = 0
		}
	}
	return s.arriveAfter(h.Log, id, m, known)
}

// arriveAfter writes down the entries of a file after a mark that are not known.
func (s *Store) arriveAfter(l *capsule.Log, id perdure.AgentID, m mark, known map[perdure.Hash]bool) error {
	m.name = s.feed.marks[id].name
	for written := false; ; {
		names, err := l.Names(m.at, feedPage)
		if err != nil {
			return nil //nolint:nilerr // see arrive
		}
		if len(names) == 0 {
			if !written || s.feed.marks[id] != m {
				return s.feed.write([]record{{kind: recordMark, agent: id, mark: m}})
			}
			return nil
		}
		var records []record
		for _, name := range names {
			m.at, m.name = m.at+1, name
			if !known[name] {
				records = append(records, record{kind: recordEntry, agent: id, mark: m})
			}
		}
		if err := s.feed.write(records); err != nil {
			return err
		}
		written = true
	}
}

// unfeed has an agent that was written anew arrive again. The caller holds mu.
func (s *Store) unfeed(id perdure.AgentID) error {
	return s.ordered(func() error { return s.feed.write([]record{{kind: recordGone, agent: id}}) })
}
