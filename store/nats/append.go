package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/perdure/perdure"
)

// saysHeader is when the heads of an agent say a node should look at it: what indexes are derived from, without the
// entries.
const saysHeader = "Perdure-Says"

// Append implements perdure.Store. Entries that are written on the heads, as nearly all are, cost one round trip.
func (s *Store) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) error {
	return s.wrote("append to", id, s.add(ctx, id, on(heads), entries))
}

// on refuses a commit after which an agent has other heads than these.
func on(heads []perdure.Hash) func(tip *commit) error {
	return func(tip *commit) error {
		if !sameHeads(tip, heads) {
			return perdure.ErrConflict
		}
		return nil
	}
}

// Put implements perdure.Store.
func (s *Store) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	return s.wrote("put to", id, s.add(ctx, id, func(*commit) error { return nil }, entries))
}

func (s *Store) wrote(verb string, id perdure.AgentID, err error) error {
	if err != nil {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
	}
	return nil
}

// sameHeads compares the heads of an agent with heads in any order.
func sameHeads(tip *commit, names []perdure.Hash) bool {
	if !slices.IsSortedFunc(names, perdure.Hash.Compare) {
		names = slices.SortedFunc(slices.Values(names), perdure.Hash.Compare)
	}
	if tip == nil {
		return len(names) == 0
	}
	return slices.Equal(tip.heads, names)
}

// change has f change an agent, on the last commit as it is remembered or, where that will not do, as it is. It does
// so again while others are first.
func (s *Store) change(ctx context.Context, id perdure.AgentID, f func(tip *commit) error) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	done, err := s.turns.Take(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	if tip := s.states.get(id); tip != nil {
		// What a guess leads to counts only if it was written: that nothing was to be done may not be so any more.
		if err := f(tip); err == nil && s.states.get(id) != tip {
			return nil
		} else if err != nil && !errors.Is(err, errMoved) && !refuses(err) {
			return err
		}
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 64*time.Millisecond) {
		tip, err := s.tip(ctx, id)
		if err != nil {
			return err
		}
		if err := f(tip); !errors.Is(err, errMoved) {
			return err
		}
		if !s.pause(ctx, wait) {
			return s.usable(ctx)
		}
	}
}

// refuses reports whether an error is one that a guess may have led to.
func refuses(err error) bool {
	var r *perdure.Rejection
	return errors.Is(err, perdure.ErrConflict) || errors.Is(err, perdure.ErrNotFound) || errors.As(err, &r)
}

// add adds the entries that an agent does not have yet, if a check of its last commit allows it.
func (s *Store) add(ctx context.Context, id perdure.AgentID, check func(tip *commit) error,
	entries []*perdure.Entry) error {
	for _, e := range entries {
		if e.ID() != id {
			return e.Foreign(id)
		}
	}
	return s.change(ctx, id, func(tip *commit) error {
		if err := check(tip); err != nil {
			return err
		}
		fresh, err := s.fresh(ctx, id, tip, entries)
		if err != nil || len(fresh) == 0 {
			return err
		}
		w := &sheet{s: s, id: id}
		c := follow(tip)
		for _, e := range fresh {
			if err := w.add(ctx, e); err != nil {
				w.abandon(ctx)
				return err
			}
			c.step(e)
		}
		return s.conclude(ctx, id, c, w)
	})
}

// follow begins the commit after another; nil: the first.
func follow(tip *commit) *commit {
	if tip == nil {
		return &commit{}
	}
	c := &commit{prev: tip.seq}
	if !tip.gone() {
		c.base, c.snap, c.count, c.depth = tip.root(), tip.lastSnap(), tip.count, tip.depth
		c.heads, c.says = slices.Clone(tip.heads), tip.says
	}
	return c
}

// step takes in an entry that arrives.
func (c *commit) step(e *perdure.Entry) {
	if e.Kind == perdure.KindSnapshot && (len(c.heads) == 0 || slices.Equal(c.heads, e.Parents)) {
		c.snaps = append(c.snaps, c.total)
	}
	c.heads = slices.DeleteFunc(c.heads, func(h perdure.Hash) bool { return slices.Contains(e.Parents, h) })
	i, _ := slices.BinarySearchFunc(c.heads, e.Name, perdure.Hash.Compare)
	c.heads = slices.Insert(c.heads, i, e.Name)
	c.total++
	c.count++
	if c.says = e.Due; len(c.heads) > 1 { // one head is the one that came last
		c.says = perdure.AtOnce
	}
}

// conclude writes a commit with the entries that were gathered.
func (s *Store) conclude(ctx context.Context, id perdure.AgentID, c *commit, w *sheet) error {
	err := w.finish(ctx, c)
	if err == nil {
		err = s.commit(ctx, id, c)
	}
	if err != nil && !errors.Is(err, errUnknown) { // else it may be there, and so must the pages be
		w.abandon(ctx)
	}
	if err == nil && c.base == 0 && !c.gone() {
		s.born(id, c, w.begin)
	}
	return err
}

// errUnknown says that nobody knows whether a commit is there.
var errUnknown = errors.New("whether it was added is not known")

// commit writes a commit after the one it follows. It returns an error that is errMoved when another came first. Once
// it was sent it is not given up before it is known what came of it, unless the servers cannot be reached.
func (s *Store) commit(ctx context.Context, id perdure.AgentID, c *commit) error {
	data := c.encode(id)
	header := client.Header{saysHeader: {strconv.FormatInt(int64(c.says), 10)}}
	if c.gone() {
		header.Set(saysHeader, goneText)
	}
	deadline, wait := time.Now().Add(s.patience), firstRetry
	for again := false; ; again = true {
		if err := s.usable(ctx); err != nil {
			if again {
				err = fmt.Errorf("%w: %w", errUnknown, err)
			}
			return err
		}
		seq, err := s.post(context.WithoutCancel(ctx), s.streams.logs(id), header, data, c.prev)
		if again && errors.Is(err, errMoved) { // perhaps by what was sent before
			seq, err = s.mine(ctx, id, c, data)
		}
		if err == nil {
			c.seq = seq
			s.states.set(id, c)
			return nil
		}
		if !passing(err) {
			if !errors.Is(err, errMoved) && (again || !refused(err)) {
				err = fmt.Errorf("%w: %w", errUnknown, err)
			}
			return err
		}
		if time.Now().Add(wait).After(deadline) {
			return fmt.Errorf("%w: %w", errUnknown, s.unreachable(ctx, err))
		}
		if s.pause(ctx, wait) {
			wait = min(2*wait, lastRetry)
		}
	}
}

// refused reports whether an error says for sure that a message was not stored.
func refused(err error) bool {
	var api *apiError
	return errors.As(err, &api) || errors.Is(err, client.ErrMaxPayload)
}

// mine finds out whether the commit after the one that c follows is c, and where it is.
func (s *Store) mine(ctx context.Context, id perdure.AgentID, c *commit, data []byte) (uint64, error) {
	at, err := s.tip(context.WithoutCancel(ctx), id)
	for err == nil && at != nil && at.seq > c.prev {
		if at.prev == c.prev {
			if slices.Equal(at.encode(id), data) {
				return at.seq, nil
			}
			return 0, errMoved
		}
		at, err = s.at(context.WithoutCancel(ctx), id, at.prev)
	}
	if err == nil {
		err = errMoved
	}
	return 0, err
}
