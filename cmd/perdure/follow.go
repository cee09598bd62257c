package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

// chosen is which entries of a memory are shown.
type chosen struct {
	kindWords, signalWords []string

	kinds   []perdure.Kind
	signals []perdure.Signal
	tool    string
}

// chosenFlags adds the flags that choose entries.
func chosenFlags(c *cobra.Command) *chosen {
	f := new(chosen)
	c.Flags().StringSliceVar(&f.kindWords, "kind", nil, "only entries of this kind; may be repeated")
	c.Flags().StringSliceVar(&f.signalWords, "signal", nil, "only entries that ended so; may be repeated")
	c.Flags().StringVar(&f.tool, "tool", "", "only entries about this tool")
	for name, words := range map[string][]string{"kind": perdure.Kind(0).CanonNames()[1:], "signal": perdure.Signal(0).CanonNames()[1:]} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
	return f
}

// parse reads what the flags say.
func (f *chosen) parse(c *cobra.Command) error {
	for _, word := range f.kindWords {
		k, err := parseName[perdure.Kind]("--kind", word)
		if err != nil {
			return perdure.Invalid(err)
		}
		f.kinds = append(f.kinds, k)
	}
	for _, word := range f.signalWords {
		s, err := parseName[perdure.Signal]("--signal", word)
		if err != nil {
			return perdure.Invalid(err)
		}
		f.signals = append(f.signals, s)
	}
	return nil
}

func (f *chosen) fits(one line) bool {
	return (len(f.kinds) == 0 || slices.Contains(f.kinds, one.Kind)) &&
		(len(f.signals) == 0 || slices.Contains(f.signals, one.Signal)) &&
		(f.tool == "" || one.Tool == f.tool)
}

// parseName reads the name of a wire number.
func parseName[T interface {
	~uint8
	CanonNames() []string
}](what, word string) (T, error) {
	names := T(0).CanonNames()
	i := slices.Index(names, word)
	if i < 0 || word == "" {
		return 0, fmt.Errorf("%s %q: want one of %s", what, word, strings.Join(names[1:], ", "))
	}
	return T(i), nil
}

// follower reads the memory of one agent line by line, and goes on where it stopped.
type follower struct {
	store  perdure.Store
	id     perdure.AgentID
	name   string // what people call the agent
	label  string // and how that is shown
	told   *narrator
	cursor perdure.Cursor
}

// follow is a follower of a whole memory.
func follow(s perdure.Store, id perdure.AgentID) *follower {
	return &follower{store: s, id: id, told: newNarrator()}
}

// next calls f with each line that has arrived since, if the agent has any.
func (w *follower) next(ctx context.Context, f func(line) error) error { return w.until(ctx, 0, f) }

// until is next up to a cursor; zero: to the end.
func (w *follower) until(ctx context.Context, end perdure.Cursor, f func(line) error) error {
	for item, err := range w.store.Entries(ctx, w.id, w.cursor) {
		if err != nil {
			return err
		}
		if end != 0 && item.Cursor > end {
			return nil
		}
		w.cursor = item.Cursor
		if err := f(w.told.line(item.Entry)); err != nil {
			return err
		}
	}
	return nil
}

// picker makes what turns the lines of a memory into those that are shown: add takes the next one, flush ends them. It
// keeps nothing from before a snapshot, so that a memory can be read from any of them.
type picker func(emit func(line) error) (add func(line) error, flush func() error)

// fitting picks the lines that fit.
func fitting(fits func(line) bool) picker {
	return func(emit func(line) error) (func(line) error, func() error) {
		add := func(one line) error {
			if !fits(one) {
				return nil
			}
			return emit(one)
		}
		return add, func() error { return nil }
	}
}

// followRecent is a follower that stands at the end of a memory, and the last n lines before it that are picked. It reads
// back from snapshot to snapshot, no further than it must, and nothing twice.
func followRecent(ctx context.Context, s perdure.Store, id perdure.AgentID, n int, pick picker) (*follower, []line, error) {
	var at *follower
	var parts [][]line // the last one first
	found := 0
	read := func(w *follower, end perdure.Cursor) error {
		var part []line
		add, flush := pick(func(one line) error {
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
	last := func() []line {
		slices.Reverse(parts)
		all := slices.Concat(parts...)
		return all[max(0, len(all)-n):]
	}
	var end perdure.Cursor
	for snap, err := range s.Snapshots(ctx, id) {
		if err != nil {
			return nil, nil, err
		}
		w := &follower{store: s, id: id, told: narratorAfter(snap.Entry), cursor: snap.Cursor}
		if err := read(w, end); err != nil {
			return nil, nil, err
		}
		if found >= n {
			return at, last(), nil
		}
		end = snap.Cursor
	}
	if err := read(follow(s, id), end); err != nil {
		return nil, nil, err
	}
	return at, last(), nil
}

// followAfter is a follower that stands behind the last of these entries to arrive; without any it stands at the beginning.
func followAfter(ctx context.Context, s perdure.Store, id perdure.AgentID, heads []perdure.Hash) (*follower, error) {
	w := follow(s, id)
	if len(heads) == 0 {
		return w, nil
	}
	behind := errors.New("behind them")
	left := len(heads)
	seek := func() error {
		return w.next(ctx, func(one line) error {
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
		w, left = &follower{store: s, id: id, told: narratorAfter(snap.Entry), cursor: snap.Cursor}, len(heads)
		if slices.Contains(heads, snap.Name) {
			return w, nil // it named every other head
		}
		if err := seek(); errors.Is(err, behind) {
			return w, nil
		} else if err != nil {
			return nil, err
		}
	}
	w, left = follow(s, id), len(heads)
	if err := seek(); err != nil && !errors.Is(err, behind) {
		return nil, err
	}
	return w, nil
}

// followPoll is how often a store is looked at while following, if it cannot tell when entries arrive.
const followPoll = time.Second

// changes collects which agents may have new entries.
type changes struct {
	signal chan struct{} // has something when there is something to take

	mu  sync.Mutex
	ids map[perdure.AgentID]struct{} // the zero id: any agent
}

// watch collects what changes in a store, from now until ctx ends.
func watch(ctx context.Context, s perdure.Store) *changes {
	c := &changes{signal: make(chan struct{}, 1), ids: map[perdure.AgentID]struct{}{}}
	c.add(perdure.AgentID{}) // what arrived before
	var watched atomic.Bool
	if w, ok := s.(perdure.Watcher); ok {
		watched.Store(true)
		go func() {
			defer watched.Store(false)
			for id, err := range w.Watch(ctx) {
				if err != nil {
					return // looking now and then still works
				}
				c.add(id)
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

func (c *changes) add(id perdure.AgentID) {
	c.mu.Lock()
	c.ids[id] = struct{}{}
	c.mu.Unlock()
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// take returns the agents that changed since; all says that any may have.
func (c *changes) take() (ids map[perdure.AgentID]struct{}, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids, c.ids = c.ids, map[perdure.AgentID]struct{}{}
	_, all = ids[perdure.AgentID{}]
	return ids, all
}

// live shows what arrives for agents, until all of them have ended.
func live(ctx context.Context, s perdure.Store, followed []*follower, show func(*follower, line) error) error {
	changed := watch(ctx, s)
	for len(followed) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed.signal:
		}
		ids, all := changed.take()
		var on []*follower
		for _, w := range followed {
			if _, is := ids[w.id]; !is && !all {
				on = append(on, w)
				continue
			}
			a, err := perdure.Load(ctx, s, w.id)
			if err != nil {
				return err
			}
			if a.Fold().Ended == nil {
				on = append(on, w)
			}
			if err := w.next(ctx, func(one line) error { return show(w, one) }); err != nil {
				return err
			}
		}
		followed = on
	}
	return nil
}
