package view

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// Follower reads the memory of one agent line by line, and goes on where it stopped.
type Follower struct {
	store perdure.Store
	ID    perdure.AgentID
	Name  string // what people call the agent
	Label string // and how that is shown
	told  *narrator
	place Place
}

// Follow is a follower of a whole memory.
func Follow(s perdure.Store, id perdure.AgentID) *Follower {
	return &Follower{store: s, ID: id, told: newNarrator()}
}

// Next calls f with each line that has arrived since, if the agent has any.
func (w *Follower) Next(ctx context.Context, f func(Line) error) error { return w.until(ctx, 0, f) }

// until is next up to a cursor; zero: to the end. Where the memory was written anew, it is read anew, and what is new
// is shown.
func (w *Follower) until(ctx context.Context, end perdure.Cursor, f func(Line) error) error {
	err := w.place.stands(ctx, w.store, w.ID)
	if err == nil {
		err = w.read(w.place.After(ctx, w.store, w.ID), end, nil, f)
	}
	if !errors.Is(err, ErrReordered) {
		return err
	}
	read, err := w.place.upTo(ctx, w.store, w.ID)
	if err != nil {
		return err
	}
	w.place, w.told = Place{}, newNarrator()
	return w.read(w.store.Entries(ctx, w.ID, 0), end, read, f)
}

// read calls f with the lines of entries that were not read before, up to a cursor.
func (w *Follower) read(all iter.Seq2[perdure.Item, error], end perdure.Cursor, before map[perdure.Hash]bool,
	f func(Line) error) error {
	for item, err := range all {
		if err != nil {
			return err
		}
		if end != 0 && item.Cursor > end {
			return nil
		}
		w.place = w.place.Past(item)
		if one := w.told.line(item.Entry); !before[item.Name] {
			if err := f(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// followAfter is a follower that stands behind a snapshot, which named every head.
func followAfter(s perdure.Store, snap perdure.Item) *Follower {
	return &Follower{store: s, ID: snap.ID(), told: narratorAfter(snap.Entry), place: Place{}.Past(snap)}
}

// Picker makes what turns the lines of a memory into those that are shown: add takes the next one, flush ends them. It
// keeps nothing from before a snapshot, so that a memory can be read from any of them.
type Picker func(emit func(Line) error) (add func(Line) error, flush func() error)

// Fitting picks the lines that fit.
func Fitting(fits func(Line) bool) Picker {
	return func(emit func(Line) error) (func(Line) error, func() error) {
		add := func(one Line) error {
			if !fits(one) {
				return nil
			}
			return emit(one)
		}
		return add, func() error { return nil }
	}
}

// FollowRecent is a follower that stands at the end of a memory, and the last n lines before it that are picked. It
// reads back from snapshot to snapshot, no further than it must, and nothing twice.
func FollowRecent(ctx context.Context, s perdure.Store, id perdure.AgentID, n int, pick Picker) (*Follower, []Line,
	error) {
	var at *Follower
	var parts [][]Line // the last one first
	found := 0
	read := func(w *Follower, end perdure.Cursor) error {
		var part []Line
		add, flush := pick(func(one Line) error {
			if part = append(part, one); len(part) > 2*n {
				part = slices.Delete(part, 0, len(part)-n)
			}
			return nil
		})
		if err := w.until(ctx, end, add); err != nil {
			return err
		}
		if at == nil {
			at = w
		}
		err := flush()
		parts, found = append(parts, part), found+len(part)
		return err
	}
	last := func() []Line {
		slices.Reverse(parts)
		all := slices.Concat(parts...)
		return all[max(0, len(all)-n):]
	}
	var end perdure.Cursor
	for snap, err := range s.Snapshots(ctx, id) {
		if err != nil {
			return nil, nil, err
		}
		w := followAfter(s, snap)
		if err := read(w, end); err != nil {
			return nil, nil, err
		}
		if found >= n {
			return at, last(), nil
		}
		end = snap.Cursor
	}
	if err := read(Follow(s, id), end); err != nil {
		return nil, nil, err
	}
	return at, last(), nil
}

// FollowFrom shows the last n lines that are picked, or all if n is zero, and is a follower that stands behind them.
func FollowFrom(ctx context.Context, s perdure.Store, id perdure.AgentID, n int, pick Picker,
	show func(Line) error) (*Follower, error) {
	if n > 0 {
		w, found, err := FollowRecent(ctx, s, id, n, pick)
		for _, one := range found {
			if err == nil {
				err = show(one)
			}
		}
		return w, err
	}
	add, flush := pick(show)
	w := Follow(s, id)
	if err := errors.Join(w.Next(ctx, add), flush()); err != nil {
		return nil, err
	}
	return w, nil
}

// FollowAfter is a follower that stands behind the last of these entries to arrive; without any it stands at the
// beginning.
func FollowAfter(ctx context.Context, s perdure.Store, id perdure.AgentID, heads []perdure.Hash) (*Follower, error) {
	w := Follow(s, id)
	if len(heads) == 0 {
		return w, nil
	}
	behind := errors.New("behind them")
	left := len(heads)
	seek := func() error {
		return w.Next(ctx, func(one Line) error {
			if slices.Contains(heads, one.Entry) {
				if left--; left == 0 {
					return behind
				}
			}
			return nil
		})
	}
	for snap, err := range s.Snapshots(ctx, id) {
		if err != nil {
			return nil, err
		}
		w, left = followAfter(s, snap), len(heads)
		if slices.Contains(heads, snap.Name) {
			return w, nil // it named every other head
		}
		if err := seek(); errors.Is(err, behind) {
			return w, nil
		} else if err != nil {
			return nil, err
		}
	}
	w, left = Follow(s, id), len(heads)
	if err := seek(); err != nil && !errors.Is(err, behind) {
		return nil, err
	}
	return w, nil
}

// followPoll is how often a store is looked at while following, if it cannot tell when entries arrive.
const followPoll = time.Second

// Changes collects which agents may have new entries.
type Changes struct {
	Signal chan struct{} // has something when there is something to take

	mu  sync.Mutex
	ids map[perdure.AgentID]struct{} // the zero id: any agent
}

// Watch collects what changes in a store, from now until ctx ends.
func Watch(ctx context.Context, s perdure.Store) *Changes {
	c := &Changes{Signal: make(chan struct{}, 1), ids: map[perdure.AgentID]struct{}{}}
	c.add(perdure.AgentID{}) // what arrived before
	var watched atomic.Bool
	if w, ok := s.(perdure.Watcher); ok {
		watched.Store(true)
		go func() {
			for ctx.Err() == nil {
				for id, err := range w.Watch(ctx) {
					if err != nil {
						break
					}
					watched.Store(true)
					c.add(id)
				}
				watched.Store(false) // until it can be watched again, looking now and then still works
				select {
				case <-ctx.Done():
				case <-time.After(followPoll):
				}
			}
		}()
	}
	go func() {
		tick := time.NewTicker(followPoll)
		defer tick.Stop()
		for first := true; ; first = false {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if first || !watched.Load() { // the first look finds what arrived while the watch began
				c.add(perdure.AgentID{})
			}
		}
	}()
	return c
}

func (c *Changes) add(id perdure.AgentID) {
	c.mu.Lock()
	c.ids[id] = struct{}{}
	c.mu.Unlock()
	select {
	case c.Signal <- struct{}{}:
	default:
	}
}

// Take returns the agents that changed since; all says that any may have.
func (c *Changes) Take() (ids map[perdure.AgentID]struct{}, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids, c.ids = c.ids, map[perdure.AgentID]struct{}{}
	_, all = ids[perdure.AgentID{}]
	return ids, all
}

// Live shows what arrives for agents, until all of them have ended, which ended says of each as it is now: who may have
// written that is the caller's to judge.
func Live(ctx context.Context, s perdure.Store, ended func(*perdure.Agent) (bool, error), followed []*Follower,
	show func(*Follower, Line) error) error {
	changed := Watch(ctx, s)
	for len(followed) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed.Signal:
		}
		ids, all := changed.Take()
		var on []*Follower
		for _, w := range followed {
			if _, is := ids[w.ID]; !is && !all {
				on = append(on, w)
				continue
			}
			a, err := perdure.Load(ctx, s, w.ID)
			if err != nil {
				return err
			}
			over, err := ended(a)
			if err != nil {
				return err
			}
			if !over {
				on = append(on, w)
			}
			if err := w.Next(ctx, func(one Line) error { return show(w, one) }); err != nil {
				return err
			}
		}
		followed = on
	}
	return nil
}

// Stream shows the lines of an agent as they arrive, from now on, in a goroutine of its own. Now shows those that have
// arrived, and end ends it, after the last.
func Stream(ctx context.Context, s perdure.Store, id perdure.AgentID, show func(Line)) (now, end func() error,
	err error) {
	w, _, err := FollowRecent(ctx, s, id, 0, Fitting(func(Line) bool { return false }))
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	next := func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		return w.Next(ctx, func(one Line) error {
			show(one)
			return nil
		})
	}
	ctx, stop := context.WithCancel(ctx)
	changed := Watch(ctx, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed.Signal:
				if next(ctx) != nil {
					return
				}
			}
		}
	}()
	now = func() error { return next(context.WithoutCancel(ctx)) }
	return now, func() error {
		stop()
		<-done
		return now()
	}, nil
}

// Place is where the follower stands.
func (w *Follower) Place() Place { return w.place }

// FollowBehind is a follower that stands behind a cursor. What an entry refers to is known from the last snapshot
// before it on.
func FollowBehind(ctx context.Context, s perdure.Store, id perdure.AgentID, after perdure.Cursor) (*Follower, error) {
	w := Follow(s, id)
	for snap, err := range s.Snapshots(ctx, id) {
		if err != nil {
			return nil, err
		}
		if snap.Cursor <= after {
			w = followAfter(s, snap)
			break
		}
	}
	if w.place.Cursor >= after {
		return w, nil
	}
	return w, w.until(ctx, after, func(Line) error { return nil })
}

// FollowMarked is a follower that stands at a place, given by its cursor and its mark. ErrReordered: there is no such
// place any more.
func FollowMarked(ctx context.Context, s perdure.Store, id perdure.AgentID, at perdure.Cursor, mark string) (*Follower,
	error) {
	w, err := FollowBehind(ctx, s, id, at)
	if err == nil && (w.place.Cursor != at || w.place.Mark() != mark) {
		err = ErrReordered
	}
	return w, err
}
