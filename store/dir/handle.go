package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// handle is an open file and how many use it.
type handle struct {
	*capsule.Log
	users int
	used  int64
}

// usable says why the store cannot be used, if it cannot. The caller holds mu.
func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return fmt.Errorf("folder %s: %w", s.dir, fs.ErrClosed)
	}
	return ctx.Err()
}

// with calls f with the file of an agent, up to date or locked. It returns an error wrapping perdure.ErrNotFound if
// there is none.
func (s *Store) with(ctx context.Context, verb string, id perdure.AgentID, lock bool,
	f func(l *capsule.Log) error) error {
	h, err := s.acquire(ctx, id)
	if err != nil {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
	}
	defer s.release(id, h)
	if lock {
		if err = h.Lock(); err == nil {
			if err = ctx.Err(); err == nil {
				err = f(h.Log)
			}
			h.Unlock()
			s.wrote(id)
		}
	} else if err = h.Refresh(); err == nil {
		err = f(h.Log)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: its file is gone", perdure.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
	}
	return nil
}

// acquire finds and opens the file of an agent.
func (s *Store) acquire(ctx context.Context, id perdure.AgentID) (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	a := s.agents[id]
	if a == nil {
		if err := s.look(); err != nil {
			return nil, err
		}
		if a = s.agents[id]; a == nil {
			return nil, perdure.ErrNotFound
		}
	}
	return s.opened(id, a)
}

// opened is the open file of an agent. The caller holds mu.
func (s *Store) opened(id perdure.AgentID, a *agent) (*handle, error) {
	h := s.open[id]
	if h == nil || h.Path() != s.path(a.main) {
		l, err := s.openLog(a.main)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				delete(s.agents, id)
				delete(s.files, a.main)
			}
			return nil, err
		}
		if l.Agent() != id { // the index was wrong
			_ = l.Close()
			delete(s.agents, id)
			s.files[a.main] = &file{agent: l.Agent()}
			return nil, fmt.Errorf("%w: the index of this folder was wrong about %s; run the command again",
				perdure.ErrNotFound, a.main)
		}
		if s.looks {
			_ = l.Keep() // it is only an index
		}
		h = &handle{Log: l}
		s.open[id] = h
	}
	s.clock++
	h.users, h.used = h.users+1, s.clock
	return h, nil
}

// wrote remembers that the file of an agent was written to, and tells whoever watches.
func (s *Store) wrote(id perdure.AgentID) {
	s.mu.Lock()
	s.written[id] = true
	s.mu.Unlock()
	s.bell.ring()
}

// settle brings the index up to date with what was written here, so that the next process need not read those files.
// The caller holds mu.
func (s *Store) settle() {
	var read []row
	for id := range s.written {
		a := s.agents[id]
		if a == nil {
			continue
		}
		before, err := os.Stat(s.path(a.main))
		if err != nil || s.read(id, a) != nil || a.first == nil {
			continue // whoever looks next reads it
		}
		after, err := os.Stat(s.path(a.main))
		if err == nil && !(&file{info: before}).changed(after) {
			read = append(read, a.row(id, after))
		}
	}
	clear(s.written)
	if len(read) > 0 && !s.looks {
		_ = s.journal.note(read) // it is only an index
	}
}

// release lets go of a file, and closes those that were not used for longest.
func (s *Store) release(id perdure.AgentID, h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feed.f != nil {
		s.used[id] = true
	}
	s.done(id, h)
}

func (s *Store) done(id perdure.AgentID, h *handle) {
	h.users--
	if s.open[id] != h || s.closed {
		if h.users == 0 {
			_ = h.Close() // nothing unsynced was written through it
		}
		return
	}
	for len(s.open) > maxOpen {
		var oldest perdure.AgentID
		var found *handle
		for id, h := range s.open {
			if h.users == 0 && (found == nil || h.used < found.used) {
				oldest, found = id, h
			}
		}
		if found == nil {
			return
		}
		delete(s.open, oldest)
		_ = found.Close()
	}
}

// openLog opens a file of the folder, a long one by what is kept of it.
func (s *Store) openLog(name string) (*capsule.Log, error) {
	if s.looks {
		aside := ""
		if s.aside != "" {
			aside = filepath.Join(s.aside, "rows", name)
		}
		return capsule.LookLog(s.path(name), s.rowsOf(name), aside, s.secret)
	}
	l, err := capsule.IndexedLog(s.path(name), s.rowsOf(name), s.secret)
	if err == nil && l.Aside() != "" {
		s.cut.Store(name, filepath.Base(l.Aside()))
	}
	return l, err
}
