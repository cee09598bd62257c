package nats

import (
	"context"
	"fmt"
	"iter"

	"github.com/perdure/perdure"
)

// Feed implements perdure.Feeder. Positions are those of the log, which its leader gives in the order in which commits
// become visible.
func (s *Store) Feed(ctx context.Context, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		after := max(after, 0)
		fail := func(err error) { yield(perdure.Item{}, fmt.Errorf("read feed: %w", err)) }
		end, err := s.lastOf(ctx, s.streams.log, s.streams.prefix+"log.*")
		if err != nil {
			fail(err)
			return
		}
		if seqOf(after) > end {
			at, err := s.feedEnd(ctx)
			if err == nil {
				err = after.Beyond(at)
			}
			fail(err)
			return
		}
		from := max(seqOf(after), 1)
		give := func(id perdure.AgentID, c *commit) bool {
			first := 0
			if c.seq == seqOf(after) {
				first = int(after&(maxEntries-1)) + 1
			}
			for i, e := range s.content(ctx, id, c, first) {
				if e.err != nil {
					return ctx.Err() == nil // it arrives once it is healed
				}
				if !yield(perdure.Item{Entry: e.Entry, Cursor: cursor(c.seq, i)}, nil) {
					return false
				}
			}
			return true
		}
		for m, err := range s.between(ctx, s.streams.prefix+"log.*", from, end) {
			if err == nil {
				for ; from < m.Seq; from++ { // pruned, or gone with a memory that was written anew
					id, c, err := s.thinned(ctx, from)
					if err != nil {
						fail(err)
						return
					}
					if c != nil && !give(id, c) {
						return
					}
				}
				from = m.Seq + 1
			}
			if err != nil {
				fail(err)
				return
			}
			id, ok := agentOf(m.Subject)
			if !ok {
				continue
			}
			if c, err := decodeCommit(id, m.Seq, m.Data); err == nil && !give(id, c) {
				return
			}
		}
		if err := s.usable(ctx); err != nil {
			fail(err)
		}
	}
}

// thinned is the commit of any agent that pruning left of the message at a place; nil: none.
func (s *Store) thinned(ctx context.Context, seq uint64) (id perdure.AgentID, c *commit, err error) {
	m, err := s.get(ctx, s.streams.row, query{Last: s.streams.thin(seq, "*")})
	if err != nil || m == nil {
		return id, nil, err
	}
	id, ok := agentOf(m.Subject)
	if !ok {
		return id, nil, nil
	}
	if c, err = decodeCommit(id, seq, m.Data); err != nil {
		return id, nil, nil // it arrives once it is healed
	}
	return id, c, nil
}

// feedEnd is the position of the last entry.
func (s *Store) feedEnd(ctx context.Context) (perdure.Cursor, error) {
	m, err := s.get(ctx, s.streams.log, query{Last: ">"})
	if err == nil && m == nil {
		m, err = s.get(ctx, s.streams.log, query{Last: s.streams.prefix + "log.*"})
	}
	if err != nil || m == nil {
		return 0, err
	}
	id, ok := agentOf(m.Subject)
	if !ok {
		return 0, errCommit
	}
	c, err := decodeCommit(id, m.Seq, m.Data)
	if err != nil || c.total == 0 {
		return cursor(m.Seq, 0), nil // a position all the same
	}
	return cursor(m.Seq, c.total-1), nil
}

// FeedEnd implements perdure.Feeder.
func (s *Store) FeedEnd(ctx context.Context) (feed perdure.Hash, end perdure.Cursor, err error) {
	if end, err = s.feedEnd(ctx); err != nil {
		return feed, 0, fmt.Errorf("end of feed: %w", err)
	}
	return s.server.feed, end, nil
}
