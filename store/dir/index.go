package dir

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
)

// surveyed calls f with the agents and their rows, up to date, under mu.
func (s *Store) surveyed(ctx context.Context, f func(rows map[perdure.AgentID]row)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	rows, err := s.journal.current()
	if err != nil {
		return err
	}
	if err := s.survey(rows); err != nil {
		return err
	}
	f(rows)
	return nil
}

// Due implements perdure.Store.
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[perdure.Look, error] {
	return func(yield func(perdure.Look, error) bool) {
		var looks []perdure.Look
		err := s.surveyed(ctx, func(rows map[perdure.AgentID]row) {
			for id, a := range s.agents {
				r := rows[id]
				if due := r.Due(a.heads, a.due); due != 0 && due <= perdure.TimeOf(now) {
					l := perdure.Look{Agent: id, Due: due}
					if listed := cmp.Or(r.Listing, a.first); listed != nil {
						l.Scope = listed.Scope
					}
					looks = append(looks, l)
				}
			}
		})
		if err != nil {
			yield(perdure.Look{}, fmt.Errorf("agents due: %w", err))
			return
		}
		slices.SortFunc(looks, func(x, y perdure.Look) int {
			return cmp.Or(cmp.Compare(x.Due, y.Due), bytes.Compare(x.Agent[:], y.Agent[:]))
		})
		for _, l := range looks {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// leased changes the lease of an agent that is there.
func (s *Store) leased(ctx context.Context, verb string, id perdure.AgentID, change func(*capsule.Lease) error) error {
	return s.with(ctx, verb, id, false, func(*capsule.Log) error {
		return s.journal.update(id, func(r *row) error { return change(&r.Lease) })
	})
}

// Renew implements perdure.Claimer.
func (s *Store) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	return s.leased(ctx, "renew claim of", c.Agent, func(l *capsule.Lease) error { return l.Renew(c, lease) })
}

// Release implements perdure.Claimer.
func (s *Store) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	err := s.leased(ctx, "release", c.Agent, func(l *capsule.Lease) error {
		l.Release(c, heads, due)
		return nil
	})
	if err != nil {
		s.nodes.Keep(c.Node[:]) // whoever wants the agent once this process has ended need not wait for the lease
	}
	return err
}

// walkAge is how long a page is taken from the folder as it was when the first was listed. To see whether files have
// come or changed costs a look at each.
const walkAge = 5 * time.Second

// walked is the order of the agents in lists, as it was when somebody last listed them from the beginning.
type walked struct {
	places []perdure.ListPlace
	at     time.Time
}

// listing is what is listed of an agent, nil: it is not there. The caller holds mu.
func (s *Store) listing(id perdure.AgentID) *perdure.Listing {
	a := s.agents[id]
	if a == nil {
		return nil
	}
	r := s.journal.row(id)
	l, at := r.Listing, r.Listed
	if l == nil {
		l, at = a.first, headsHash([]perdure.Hash{perdure.Hash(id)})
	}
	if l == nil {
		return nil
	}
	line := *l
	line.Labels, line.Behind = maps.Clone(l.Labels), at != headsHash(a.heads)
	return &line
}

// headsHash is what a row keeps of the heads that a listing was folded at: others may write to the file, and say
// nothing.
func headsHash(heads []perdure.Hash) perdure.Hash {
	var b []byte
	for _, h := range slices.SortedFunc(slices.Values(heads), perdure.Hash.Compare) {
		b = append(b, h[:]...)
	}
	return perdure.HashOf(b)
}

// List implements perdure.Lister. A page that follows another shows agents that were there when the first was listed.
func (s *Store) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		places, err := s.places(ctx, f.After)
		left := f.Limit
		for err == nil && len(places) > 0 {
			var found []perdure.Listing
			if found, places, err = s.listings(ctx, f, places); err != nil {
				break
			}
			for _, l := range found {
				if !yield(l, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
		}
		if err != nil {
			yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
		}
	}
}

// places are where the agents stand in lists, from one on.
func (s *Store) places(ctx context.Context, after perdure.ListPlace) ([]perdure.ListPlace, error) {
	s.mu.Lock()
	if err := s.usable(ctx); err != nil || !after.Agent.IsZero() && time.Since(s.walked.at) < walkAge {
		defer s.mu.Unlock()
		return s.walked.from(after), err
	}
	s.mu.Unlock()
	err := s.surveyed(ctx, func(map[perdure.AgentID]row) {
		s.walked = walked{places: make([]perdure.ListPlace, 0, len(s.agents)), at: time.Now()}
		s.looked += int64(len(s.agents))
		for id := range s.agents {
			if l := s.listing(id); l != nil {
				s.walked.places = append(s.walked.places, perdure.ListPlace{Name: l.Name, Agent: id})
			}
		}
		slices.SortFunc(s.walked.places, perdure.ListPlace.Compare)
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.walked.from(after), nil
}

// from is the places after one; they are never changed.
func (w *walked) from(after perdure.ListPlace) []perdure.ListPlace {
	if after.Agent.IsZero() {
		return w.places
	}
	i, found := slices.BinarySearchFunc(w.places, after, perdure.ListPlace.Compare)
	if found {
		i++
	}
	return w.places[i:]
}

// pageListings is how many agents are listed under one lock.
const pageListings = 256

// listings is what a filter selects of the first agents in a row, and the rest of the row.
func (s *Store) listings(ctx context.Context, f perdure.Filter, row []perdure.ListPlace) (found []perdure.Listing,
	rest []perdure.ListPlace, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	n := 0
	for n < len(row) && n < pageListings && (f.Limit == 0 || len(found) < f.Limit) {
		l := s.listing(row[n].Agent)
		if n++; l != nil && f.Match(*l) {
			found = append(found, *l)
		}
	}
	s.looked += int64(n)
	return found, row[n:], nil
}

// Looked is how many agents were looked at to list some.
func (s *Store) Looked() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looked
}

// Index implements perdure.Lister.
func (s *Store) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	return s.with(ctx, "index", l.Agent, false, func(log *capsule.Log) error {
		at := headsHash(heads)
		now := at == headsHash(log.Heads())
		return s.journal.update(l.Agent, func(r *row) error {
			if r.Listing == nil || now || l.Entries >= r.Listing.Entries {
				l.Labels = maps.Clone(l.Labels)
				r.Listing, r.Listed = &l, at
			}
			return nil
		})
	})
}

// Reindex rebuilds every index from the entries.
func (s *Store) Reindex(ctx context.Context, progress func(done, total int)) error {
	err := s.journal.forget()
	if err == nil {
		err = os.RemoveAll(s.rowsOf("")) // and nothing beside them: the place of the store is there, too
	}
	var ids []perdure.AgentID
	if err == nil {
		s.mu.Lock()
		for _, a := range s.agents {
			a.seen, a.first = nil, nil
		}
		s.mu.Unlock()
		err = s.surveyed(ctx, func(map[perdure.AgentID]row) { ids = slices.Collect(maps.Keys(s.agents)) })
	}
	if err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	for i, id := range ids {
		a, err := perdure.Load(ctx, s, id)
		if err != nil {
			return fmt.Errorf("reindex: %w", err)
		}
		if err := s.Index(ctx, a.Heads(), a.Listing(time.Now())); err != nil {
			return fmt.Errorf("reindex: %w", err)
		}
		if progress != nil {
			progress(i+1, len(ids))
		}
	}
	return nil
}

// Backup copies the store to a path that does not exist yet. Each agent is copied as it is at some moment during the
// call.
func (s *Store) Backup(ctx context.Context, path string) error {
	err := s.backup(ctx, path)
	if err != nil {
		return fmt.Errorf("back up folder %s: %w", s.dir, err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) (err error) {
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	vacant := func() error {
		switch _, err := os.Lstat(path); {
		case err == nil:
			return fmt.Errorf("%s is there already: a backup overwrites nothing", path)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	}
	if err := vacant(); err != nil {
		return err
	}
	r, err := disk.Reserve(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Release()) }()
	if err := s.copyTo(ctx, r.Temp); err != nil {
		return err
	}
	if err := vacant(); err != nil { // somebody may have made it meanwhile
		return err
	}
	return errors.Join(disk.Rename(r.Temp, path), disk.Sync(filepath.Dir(path)))
}

// copyTo copies the store to a folder that it makes. Part of it is there when that goes wrong.
func (s *Store) copyTo(ctx context.Context, path string) error {
	if err := disk.Mkdir(path, 0o700); err != nil {
		return err
	}
	if err := furnish(path); err != nil {
		return err
	}
	if err := s.copyPlace(path); err != nil {
		return err
	}
	var ids []perdure.AgentID
	if err := s.surveyed(ctx, func(map[perdure.AgentID]row) { ids = slices.Collect(maps.Keys(s.agents)) }); err != nil {
		return err
	}
	for _, id := range ids {
		err := s.with(ctx, "copy", id, false, func(l *capsule.Log) error {
			return copyFile(l, filepath.Join(path, filepath.Base(l.Path())))
		})
		if err != nil && !errors.Is(err, perdure.ErrNotFound) {
			return err
		}
	}
	return disk.Sync(path)
}

// copyFile copies what is whole of a file, durably.
func copyFile(l *capsule.Log, to string) error {
	out, err := disk.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = l.CopyTo(out); err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

const (
	// watchEvery is how often a watcher glances at the folder.
	watchEvery = 25 * time.Millisecond
	// watchAll is how often it looks at every file at least, unless that takes long: somebody may write to one without
	// a word.
	watchAll = time.Second
)

// Watch implements perdure.Watcher. It glances at the folder again and again, and looks at the files when that shows
// that something happened, or when it has not for a while: what others synchronise into it arrives without a word.
func (s *Store) Watch(ctx context.Context) iter.Seq2[perdure.AgentID, error] {
	return func(yield func(perdure.AgentID, error) bool) {
		var seen map[string]fs.FileInfo
		var last glance
		var next time.Time // when to look whatever the glance says
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			if ctx.Err() != nil {
				return
			}
			from, now := time.Now(), s.glance()
			if !from.Before(next) || !now.same(last) {
				changed, files, err := s.since(seen)
				if err != nil {
					yield(perdure.AgentID{}, fmt.Errorf("watch: %w", err))
					return
				}
				seen, last = files, now
				for _, id := range changed {
					if !yield(id, nil) {
						return
					}
				}
				next = from.Add(max(watchAll, 200*time.Since(from)))
			}
			timer.Reset(max(watchEvery, 10*time.Since(from)))
		}
	}
}

// since names the agents whose files have changed. The first time there are none.
func (s *Store) since(seen map[string]fs.FileInfo) ([]perdure.AgentID, map[string]fs.FileInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(context.Background()); err != nil {
		return nil, nil, err
	}
	now, err := s.list()
	if err != nil {
		return nil, nil, err
	}
	var ids []perdure.AgentID
	looked := false
	for name, info := range now {
		if old := seen[name]; seen == nil || old != nil && !(&file{info: old}).changed(info) {
			continue
		}
		if s.files[name] == nil && !looked {
			looked = true
			if err := s.look(); err != nil {
				return nil, nil, err
			}
		}
		if f := s.files[name]; f != nil && f.fault == nil {
			ids = append(ids, f.agent)
		}
	}
	return ids, now, nil
}
