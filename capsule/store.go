package capsule

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Store is an agent in its own file, in use: the file is its store. It holds one agent, which its first Append or Put
// brings if the file is new. One process at a time has it: that is the claim others respect.
type Store struct {
	path string
	form Form

	mu      sync.Mutex
	log     *Log // nil before the agent is there
	lease   Lease
	listing perdure.Listing
	listed  []perdure.Hash // the heads it was folded at
	closed  bool
	looks   bool
	torn    bool // the file was when it was opened
	trust   *perdure.Trust
}

var (
	_ perdure.Store   = (*Store)(nil)
	_ perdure.Claimer = (*Store)(nil)
	_ perdure.Lister  = (*Store)(nil)
	_ perdure.Pruner  = (*Store)(nil)

	_ perdure.Parter = (*Store)(nil)
)

// OpenStore opens the file of an agent as its store, in whatever form it is. What a crash left unfinished at its end is
// cut, see Torn; an exported capsule whose end is missing is kept as it was, see Aside. A file that does not exist is
// made, in binary form, when the agent comes. It returns an error that says so when another process has the file, and a
// *perdure.Rejection when the file is no capsule of a whole agent; then nothing is changed.
func OpenStore(path string) (*Store, error) { return openStore(&Store{path: path}) }

// LookStore is OpenStore to look at the agent only: the file stays as it is to the last byte, others may have it
// meanwhile, and what would write to it returns an error.
func LookStore(path string) (*Store, error) { return openStore(&Store{path: path, looks: true}) }

func openStore(s *Store) (*Store, error) {
	path, open := s.path, OpenLog
	if s.looks {
		open = lookLog
	}
	log, err := open(path)
	if errors.Is(err, fs.ErrNotExist) && !s.looks {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := s.hold(log); err != nil {
		_ = log.Close() // it was only read
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// hold takes the lock of the file for as long as the store is open.
func (s *Store) hold(log *Log) error {
	s.log = log
	if err := s.index(); err != nil { // before anything is cut: a file whose first entry is bad is left as it is
		return err
	}
	if s.torn = log.torn || log.cut; s.looks {
		return nil
	}
	if err := log.lock(false); err != nil {
		return err
	}
	log.mu.Unlock() // the lock of the file stays
	return nil
}

// index makes the first listing.
func (s *Store) index() error {
	items, err := s.log.Read(0, 1)
	if err != nil || len(items) == 0 {
		return err
	}
	if items[0].Content() == nil { // its body is gone: whoever loads it is told
		s.listing.Agent = s.log.Agent()
		return nil
	}
	s.listing, err = First(items[0].Entry)
	s.listed = []perdure.Hash{items[0].Name}
	return err
}

// First is the agent as one line when no more than the first entry of its file has been read.
func First(e *perdure.Entry) (perdure.Listing, error) {
	begin := perdure.Begin
	if e.Kind == perdure.KindSnapshot {
		begin = perdure.FromSnapshot
	} else if !e.Signed() { // it is signed by what follows, as those of Node.CreateOnce and Node.CreateAsleep are
		return e.Newborn(), nil
	}
	a, err := begin(e)
	if err != nil {
		return perdure.Listing{}, err
	}
	return a.Listing(e.Time.Go()), nil
}

// use calls f with the store, which must be open and, unless create is set, hold the agent.
func (s *Store) use(ctx context.Context, verb string, id perdure.AgentID, create bool, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := ctx.Err()
	switch {
	case s.closed:
		err = fmt.Errorf("store %s: %w", s.path, fs.ErrClosed)
	case err != nil:
	case create && s.looks:
		err = fmt.Errorf("%s: %w", s.path, errLooks)
	case s.log != nil && s.log.Agent() != id && create:
		err = fmt.Errorf("%s holds agent %s: one file is one agent", s.path, s.log.Agent().Short())
	case (s.log == nil || s.log.Agent() != id) && !create:
		err = perdure.ErrNotFound
	default:
		err = f()
	}
	if err != nil {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
	}
	return nil
}

// Append implements perdure.Store.
func (s *Store) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) error {
	return s.use(ctx, "append to", id, true, func() error {
		var held []perdure.Hash
		if s.log != nil {
			held = s.log.heads.all()
		}
		if !slices.Equal(held, slices.SortedFunc(slices.Values(heads), perdure.Hash.Compare)) {
			return perdure.ErrConflict
		}
		return s.add(id, entries)
	})
}

// Put implements perdure.Store.
func (s *Store) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	return s.use(ctx, "put to", id, true, func() error { return s.add(id, entries) })
}

// PutAll implements perdure.Parter.
func (s *Store) PutAll(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) error {
	return s.use(ctx, "put to", id, true, func() error {
		if s.log != nil {
			s.log.mu.Lock()
			defer s.log.mu.Unlock()
			return s.log.AddAll(entries)
		}
		staged, err := StageLog(s.path, s.form, id, perdure.Full, entries)
		if err == nil {
			err = staged.Place()
		}
		if err != nil {
			return err
		}
		return s.opened()
	})
}

// Replace implements perdure.Parter.
func (s *Store) Replace(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, d Depth,
	entries iter.Seq2[*perdure.Entry, error]) error {
	return s.use(ctx, "replace", id, true, func() error {
		var held []perdure.Hash
		if s.log != nil {
			held = s.log.heads.all()
		}
		switch {
		case s.looks:
			return fmt.Errorf("%s: %w", s.path, errLooks)
		case !slices.Equal(held, slices.SortedFunc(slices.Values(heads), perdure.Hash.Compare)):
			return perdure.ErrConflict
		case s.log != nil:
			s.log.mu.Lock()
			defer s.log.mu.Unlock()
			s.listing.Entries = 0 // what comes may be shorter
			return s.log.Replace(d, entries)
		}
		staged, err := StageLog(s.path, s.form, id, d, entries)
		if err == nil {
			err = staged.Place()
		}
		if err != nil {
			return err
		}
		return s.opened()
	})
}

// Torn reports whether the file lacked its end when it was opened: it was copied while somebody wrote to it, or who
// wrote was stopped, or who copied. What is not whole is left out.
func (s *Store) Torn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.torn || s.log != nil && s.log.torn
}

// Aside is the file that an exported capsule whose end was missing is kept in as it was; empty: the file was not that.
func (s *Store) Aside() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return ""
	}
	return s.log.Aside()
}

// SetTrust says whose word is taken for it that bodies were dropped; nil: everybody's.
func (s *Store) SetTrust(t *perdure.Trust) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trust = t
}

// Depth implements perdure.Parter.
func (s *Store) Depth(ctx context.Context, id perdure.AgentID) (d Depth, err error) {
	err = s.use(ctx, "depth of", id, false, func() (err error) {
		d, err = s.log.Depth(s.trust)
		return err
	})
	return d, err
}

func (s *Store) add(id perdure.AgentID, entries []*perdure.Entry) error {
	if s.log == nil {
		return s.create(id, entries)
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	_, err := s.log.Add(entries...)
	return err
}

// create makes the file.
func (s *Store) create(id perdure.AgentID, entries []*perdure.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if e := entries[0]; e.ID() != id {
		return e.Foreign(id)
	}
	if err := CreateLog(s.path, s.form, entries...); err != nil {
		return err
	}
	return s.opened()
}

// opened begins to use the file, which was made.
func (s *Store) opened() error {
	log, err := OpenLog(s.path)
	if err != nil {
		return err
	}
	return s.hold(log)
}

// Entries implements perdure.Store.
func (s *Store) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return Pages(after, func(at perdure.Cursor, n int) (page []perdure.Item, err error) {
		err = s.use(ctx, "read", id, false, func() error {
			page, err = s.log.Read(at, n)
			return err
		})
		return page, err
	})
}

// Heads implements perdure.Store.
func (s *Store) Heads(ctx context.Context, id perdure.AgentID) (heads []perdure.Hash, err error) {
	err = s.use(ctx, "heads of", id, false, func() error {
		heads = s.log.Heads()
		return nil
	})
	return heads, err
}

// Snapshots implements perdure.Store.
func (s *Store) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return Snapshots(func(f func(*Log) error) error {
		return s.use(ctx, "snapshots of", id, false, func() error { return f(s.log) })
	})
}

// Due implements perdure.Store.
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[perdure.Look, error] {
	return func(yield func(perdure.Look, error) bool) {
		s.mu.Lock()
		err := ctx.Err()
		if s.closed {
			err = fs.ErrClosed
		}
		var look perdure.Look
		if s.log != nil {
			look = perdure.Look{Agent: s.log.Agent(), Due: s.lease.Due(s.log.Heads(), s.log.Due())}
		}
		s.mu.Unlock()
		if err != nil {
			yield(perdure.Look{}, fmt.Errorf("agents due: %w", err))
		} else if look.Due != 0 && look.Due <= perdure.TimeOf(now) {
			yield(look, nil)
		}
	}
}

// Claim implements perdure.Claimer.
func (s *Store) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (c perdure.Claim,
	err error) {
	err = s.use(ctx, "claim", id, false, func() (err error) {
		c, err = s.lease.Claim(id, node, lease)
		return err
	})
	return c, err
}

// Renew implements perdure.Claimer.
func (s *Store) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	return s.use(ctx, "renew claim of", c.Agent, false, func() error { return s.lease.Renew(c, lease) })
}

// Release implements perdure.Claimer.
func (s *Store) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	return s.use(ctx, "release", c.Agent, false, func() error {
		s.lease.Release(c, heads, due)
		return nil
	})
}

// List implements perdure.Lister.
func (s *Store) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		s.mu.Lock()
		l, held, err := s.listing, s.log != nil, ctx.Err()
		l.Labels = maps.Clone(l.Labels)
		l.Behind = held && !slices.Equal(s.listed, s.log.Heads())
		if s.closed {
			err = fs.ErrClosed
		}
		s.mu.Unlock()
		if err != nil {
			yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
		} else if held && f.Match(l) {
			yield(l, nil)
		}
	}
}

// Index implements perdure.Lister.
func (s *Store) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	return s.use(ctx, "index", l.Agent, false, func() error {
		if cmp.Compare(l.Entries, s.listing.Entries) >= 0 {
			l.Labels = maps.Clone(l.Labels)
			s.listing, s.listed = l, slices.SortedFunc(slices.Values(heads), perdure.Hash.Compare)
		}
		return nil
	})
}

// Prune implements perdure.Pruner.
func (s *Store) Prune(ctx context.Context, id perdure.AgentID, heads, names []perdure.Hash,
	entries ...*perdure.Entry) (gone int64, err error) {
	err = s.use(ctx, "prune", id, false, func() (err error) {
		if s.looks {
			return fmt.Errorf("%s: %w", s.path, errLooks)
		}
		s.log.mu.Lock()
		defer s.log.mu.Unlock()
		gone, err = s.log.Prune(heads, names, entries...)
		return err
	})
	return gone, err
}

// Close implements perdure.Store. The file gets its index, so that it is a whole capsule again that can be imported
// anywhere.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.log == nil {
		return nil
	}
	var err error
	if !s.looks {
		err = s.log.finish()
	}
	if cerr := s.log.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("close store %s: %w", s.path, err)
	}
	return nil
}

// finish writes the index behind the entries of a locked Log.
func (l *Log) finish() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return nil // what was acknowledged is there; who opens the file next cuts the rest
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(l.f, 0, l.whole)); err != nil {
		return err
	}
	if err := l.absorb(); err != nil {
		return err
	}
	x := Index{Entries: int64(len(l.rows)), Heads: l.heads.all(), Length: l.whole, Digest: perdure.Hash(h.Sum(nil))}
	for i, r := range l.rows {
		if !r.bare {
			x.Bodies++
		}
		if i%indexEvery == 0 {
			x.Every = append(x.Every, r.at)
		}
		x.Chunks += int64(r.chunks)
	}
	rec, err := indexCodec.Append(nil, &x)
	if err != nil {
		return err
	}
	enc, err := encoderOf(l.form)
	if err != nil {
		return err
	}
	b, err := enc.record(nil, frameIndex, rec)
	if err != nil {
		return err
	}
	if _, err := l.f.WriteAt(b, l.whole); err != nil {
		return err
	}
	return l.f.Sync()
}
