package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/perdure/perdure"
)

// maxStates is how many agents are remembered as they were last seen.
const maxStates = 1 << 16

// states remember the last commit of agents, without its entries. It is a guess, of which the server says whether it
// still holds when something is written on it; and what was acknowledged here must be there for good.
type states struct {
	mu sync.Mutex
	at map[perdure.AgentID]*commit
}

func (t *states) get(id perdure.AgentID) *commit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at[id]
}

// set remembers a commit, unless a later one is known.
func (t *states) set(id perdure.AgentID, c *commit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.at[id]; old != nil && old.seq > c.seq {
		return
	}
	if t.at == nil {
		t.at = map[perdure.AgentID]*commit{}
	}
	if len(t.at) >= maxStates {
		for some := range t.at { // any
			delete(t.at, some)
			break
		}
	}
	kept := *c
	kept.data, kept.pages = nil, nil
	t.at[id] = &kept
}

// errEnd says that the servers have the last message of an agent and cannot read it.
var errEnd = fmt.Errorf("%w (its last)", errLost)

// errBehind says that a server has not come as far as it, or another, already was.
var errBehind = fmt.Errorf("%w: it lags behind", errNoAnswer)

// tip is the last commit of an agent, as the leader has it; nil: it has none. Its entries are in it.
func (s *Store) tip(ctx context.Context, id perdure.AgentID) (c *commit, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		m, err := s.last(ctx, s.streams.log, s.streams.logs(id))
		if errors.Is(err, errRotten) {
			return errEnd
		}
		if err != nil {
			return err
		}
		known := s.states.get(id)
		if m == nil {
			if c = nil; known != nil {
				return errBehind
			}
			return nil
		}
		if c, err = decodeCommit(id, m.Seq, m.Data); err == nil && known != nil && c.seq < known.seq {
			return errBehind
		}
		return err
	})
	if errors.Is(err, errBehind) {
		err = fmt.Errorf("%w (message %d)", errLost, s.states.get(id).seq)
	}
	if err != nil {
		return nil, err
	}
	if c != nil {
		s.states.set(id, c)
	}
	return c, nil
}

// held is the last commit of an agent that is there.
func (s *Store) held(ctx context.Context, id perdure.AgentID) (*commit, error) {
	c, err := s.tip(ctx, id)
	if err == nil && (c == nil || c.gone()) {
		err = perdure.ErrNotFound
	}
	return c, err
}

// known is held, as it may have been a while ago.
func (s *Store) known(ctx context.Context, id perdure.AgentID) (*commit, error) {
	if c := s.states.get(id); c != nil && !c.gone() {
		return c, s.usable(ctx)
	}
	return s.held(ctx, id)
}

// at is the commit of an agent at a place: as it was written, or as pruning left it.
func (s *Store) at(ctx context.Context, id perdure.AgentID, seq uint64) (*commit, error) {
	for range 2 { // it may be pruned between one look and the other
		m, err := s.get(ctx, s.streams.log, query{Seq: seq})
		if err != nil {
			return nil, err
		}
		if m == nil {
			if m, err = s.get(ctx, s.streams.row, query{Last: s.streams.thin(seq, id.String())}); err != nil {
				return nil, err
			}
		} else if m.Subject != s.streams.logs(id) {
			return nil, fmt.Errorf("%w (message %d)", errLost, seq)
		}
		if m != nil {
			return decodeCommit(id, seq, m.Data)
		}
	}
	return nil, fmt.Errorf("%w (message %d)", errLost, seq)
}

// forget is for agents of which the servers may have lost what they acknowledged.
func (t *states) forget(id perdure.AgentID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.at, id)
}
