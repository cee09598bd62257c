package perdure

import (
	"context"
	"fmt"
	"iter"
)

// memArrival is where an entry that arrived is kept: a position in the feed is the number of arrivals up to and
// including it.
type memArrival struct {
	agent *memAgent // nil: its memory was written anew since, and arrived again
	at    int
}

// unfeed takes the arrivals of a memory out of the feed that another has taken the place of.
func (s *MemStore) unfeed(old *memAgent) {
	for i := range s.feed {
		if s.feed[i].agent == old {
			s.feed[i].agent = nil
		}
	}
}

// Feed implements Feeder.
func (s *MemStore) Feed(ctx context.Context, after Cursor) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for at := max(after, 0); ; {
			page, end, err := s.fed(ctx, at)
			if err != nil {
				yield(Item{}, fmt.Errorf("read feed: %w", err))
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			if at == end {
				return
			}
			at = end
		}
	}
}

// fed reads a page of the feed, and where it ends.
func (s *MemStore) fed(ctx context.Context, after Cursor) (page []Item, end Cursor, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, 0, err
	}
	if after > Cursor(len(s.feed)) {
		return nil, 0, after.Beyond(Cursor(len(s.feed)))
	}
	end = min(after+256, Cursor(len(s.feed)))
	for at := after; at < end; at++ {
		if x := s.feed[at]; x.agent != nil {
			page = append(page, Item{x.agent.entries[x.at], at + 1})
		}
	}
	return page, end, nil
}

// FeedEnd implements Feeder.
func (s *MemStore) FeedEnd(ctx context.Context) (Hash, Cursor, error) {
	place, err := s.Place(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.usable(ctx)
	}
	if err != nil {
		return Hash{}, 0, fmt.Errorf("end of feed: %w", err)
	}
	return place.ID, Cursor(len(s.feed)), nil
}

// maxWatched bounds the agents a watcher is told of before it has asked: a watcher that is further behind looks at all
// of them.
const maxWatched = 4096

// memWatcher is one caller of Watch.
type memWatcher struct {
	changed map[AgentID]struct{}
	signal  chan struct{}
}

// tell notes that id changed. The caller holds the lock of the store.
func (w *memWatcher) tell(id AgentID) {
	if len(w.changed) >= maxWatched {
		id = AgentID{}
	}
	w.changed[id] = struct{}{}
	w.wake()
}

func (w *memWatcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// Watch implements Watcher.
func (s *MemStore) Watch(ctx context.Context) iter.Seq2[AgentID, error] {
	return func(yield func(AgentID, error) bool) {
		w := &memWatcher{changed: map[AgentID]struct{}{}, signal: make(chan struct{}, 1)}
		s.mu.Lock()
		if s.watchers == nil {
			s.watchers = map[*memWatcher]struct{}{}
		}
		s.watchers[w] = struct{}{}
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			delete(s.watchers, w)
			s.mu.Unlock()
		}()
		for {
			s.mu.Lock()
			changed := w.changed
			w.changed = map[AgentID]struct{}{}
			err := s.usable(context.WithoutCancel(ctx))
			s.mu.Unlock()
			if err != nil {
				yield(AgentID{}, fmt.Errorf("watch: %w", err))
				return
			}
			for id := range changed {
				if ctx.Err() != nil || !yield(id, nil) {
					return
				}
			}
			select {
			case <-w.signal:
			case <-ctx.Done():
				return
			}
		}
	}
}
