package nats

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/perdure/perdure"
)

// maxWatched bounds the agents a watcher is told of before it has asked: one that is further behind looks at all.
const maxWatched = 4096

// news are the agents that changed since they were last asked for.
type news struct {
	mu      sync.Mutex
	changed map[perdure.AgentID]struct{}
	signal  chan struct{}
}

func (n *news) tell(id perdure.AgentID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.changed) >= maxWatched {
		id = perdure.AgentID{}
	}
	n.changed[id] = struct{}{}
	select {
	case n.signal <- struct{}{}:
	default:
	}
}

func (n *news) take() map[perdure.AgentID]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.changed
	n.changed = map[perdure.AgentID]struct{}{}
	return out
}

// Watch implements perdure.Watcher, by a consumer of the log.
func (s *Store) Watch(ctx context.Context) iter.Seq2[perdure.AgentID, error] {
	return func(yield func(perdure.AgentID, error) bool) {
		if ctx.Err() != nil {
			return
		}
		fail := func(err error) {
			if ctx.Err() == nil {
				yield(perdure.AgentID{}, fmt.Errorf("watch: %w", err))
			}
		}
		last, err := s.lastOf(ctx, s.streams.log, s.streams.prefix+"log.*")
		if err != nil {
			fail(err)
			return
		}
		n := &news{changed: map[perdure.AgentID]struct{}{}, signal: make(chan struct{}, 1)}
		f := &follower{
			store: s, name: s.streams.log, cfg: jetstream.OrderedConsumerConfig{HeadersOnly: true},
			apply: func(m jetstream.Msg, _ uint64) {
				if id, ok := agentOf(m.Subject()); ok {
					n.tell(id)
				}
			},
		}
		if !s.begin(f, last+1) {
			fail(s.errClosed())
			return
		}
		defer f.stop()
		if !yield(perdure.AgentID{}, nil) { // what came while it began was not told
			return
		}
		for {
			select {
			case <-n.signal:
			case <-ctx.Done():
				return
			case <-s.ended:
				fail(s.errClosed())
				return
			}
			for id := range n.take() {
				if ctx.Err() != nil || !yield(id, nil) {
					return
				}
			}
		}
	}
}

// begin starts a follower unless the store is closed, which waits for it.
func (s *Store) begin(f *follower, from uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false
	}
	f.start(from)
	s.group.Go(func() { // the end of the store is the end of what follows it
		select {
		case <-s.ended:
			f.stop()
		case <-f.done:
		}
	})
	return true
}
