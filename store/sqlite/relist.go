package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// behindTable is in a file of which a listing could not be written, because its page is damaged: what the others say
// is right, but a list could leave that agent out without meeting the page. Its rows do not matter. A reindex that
// succeeds and a rebuild take it away.
const (
	behindTable = "CREATE TABLE IF NOT EXISTS behind(agent INTEGER PRIMARY KEY)"
	isBehind    = "SELECT 1 FROM sqlite_schema WHERE name='behind'"
)

var errBehind = errors.New("listings are damaged: run `perdure doctor --repair`")

// maxRelisted bounds the listings that are remembered, at about half a kilobyte each.
const maxRelisted = 1 << 15

// relisted are listings that are not in the file, each right for as long as the agent has the same heads.
type relisted struct {
	behind atomic.Bool  // a listing could not be written
	told   atomic.Bool  // the file says so
	folds  atomic.Int64 // agents folded to list them

	mu  sync.Mutex
	all map[perdure.AgentID]relistedLine
}

type relistedLine struct {
	heads []perdure.Hash
	l     perdure.Listing
}

func (r *relisted) put(heads []perdure.Hash, l perdure.Listing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil || len(r.all) >= maxRelisted {
		r.all = map[perdure.AgentID]relistedLine{}
	}
	r.all[l.Agent] = relistedLine{slices.Clone(heads), l}
}

func (r *relisted) get(id perdure.AgentID, heads []perdure.Hash) (perdure.Listing, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.all[id]
	return x.l, ok && slices.Equal(x.heads, heads)
}

// fallBehind remembers a listing that could not be written, and that List is not to believe those that are. Whoever
// opens the file later is told by it; where nothing can be written to it, nothing has changed for them.
func (s *Store) fallBehind(ctx context.Context, heads []perdure.Hash, l perdure.Listing) {
	s.relisted.put(heads, l)
	s.relisted.behind.Store(true)
	if s.relisted.told.Load() {
		return
	}
	err := s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error { return w.do(behindTable) }})
	s.relisted.told.Store(err == nil) // else the next one tries again
}

// catchUp has List believe the listings again: all have been written.
func (s *Store) catchUp(ctx context.Context) error {
	err := s.submit(ctx, &request{apply: func(w *writer) error {
		_, behind, err := w.number(isBehind)
		if err != nil || !behind {
			return brokenOr(err)
		}
		return w.do("DROP TABLE behind")
	}})
	if err == nil {
		s.relisted.behind.Store(false)
		s.relisted.told.Store(false)
	}
	return err
}

// relist is List where the listings are damaged, which are derived: every agent is folded, once for as long as it
// stays as it is, and listed as it is. Whether one waits for a person, its memory alone does not tell: all are listed
// that may. Agents that cannot be folded are named where the list ends, which may be on another page.
func (s *Store) relist(ctx context.Context, f perdure.Filter, damage error,
	yield func(perdure.Listing, error) bool) {
	all, lost, err := s.derived(ctx, f, damage)
	if err != nil {
		yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
		return
	}
	for i, l := range all {
		if !yield(l, nil) || i+1 == f.Limit && i+1 < len(all) {
			return
		}
	}
	if lost != nil {
		yield(perdure.Listing{}, fmt.Errorf("list agents: %w", lost))
	}
}

// derived are the listings after a place that a filter selects, in order, and what keeps others from being listed.
func (s *Store) derived(ctx context.Context, f perdure.Filter, damage error) (all []perdure.Listing, lost, err error) {
	var ids []perdure.AgentID // in the order in which they came
	err = s.read(ctx, func(c *conn) error {
		ids = ids[:0]
		return c.query("SELECT id FROM agents NOT INDEXED ORDER BY key", func(v []driver.Value) error {
			if b, _ := v[0].([]byte); len(b) == hashSize {
				ids = append(ids, perdure.AgentID(b))
			}
			return nil
		})
	})
	if corrupt(err) {
		return nil, nil, damage
	}
	if err != nil {
		return nil, nil, err
	}
	after := slices.Index(ids, f.After.Agent) // -1: before all of its name
	var failed []error
	more := 0
	for i, id := range ids {
		if !strings.HasPrefix(id.String(), strings.ToLower(f.Prefix)) {
			continue
		}
		l, err := s.line(ctx, id)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil && len(failed) < maxFailed {
			failed = append(failed, err)
		} else if err != nil {
			more++
		}
		if err != nil {
			continue
		}
		l.Waiting = l.Waiting || f.Waiting
		passed := !f.After.Agent.IsZero() && (l.Name < f.After.Name || l.Name == f.After.Name && i <= after)
		if !passed && f.Match(l) {
			all = append(all, l)
		}
	}
	if more > 0 {
		failed = append(failed, fmt.Errorf("and %d agents more", more))
	}
	slices.SortStableFunc(all, func(a, b perdure.Listing) int { return cmp.Compare(a.Name, b.Name) })
	return all, errors.Join(failed...), nil
}

// line is the listing of an agent as its memory has it.
func (s *Store) line(ctx context.Context, id perdure.AgentID) (perdure.Listing, error) {
	heads, err := s.Heads(ctx, id)
	if err != nil {
		return perdure.Listing{}, err
	}
	if l, ok := s.relisted.get(id, heads); ok {
		return l, nil
	}
	s.relisted.folds.Add(1)
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return perdure.Listing{}, err
	}
	l := a.Listing(time.Now())
	s.relisted.put(a.Heads(), l)
	return l, nil
}
