package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Append implements perdure.Store. Entries that are written on the heads, as nearly all are, cost one round trip,
// shared with others that come at the same time.
func (s *Store) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) error {
	return s.wrote("append to", id, s.add(ctx, id, entries, func() error {
		r, err := newRequest(id, heads, entries)
		if err != nil {
			return err
		}
		if r != nil {
			return s.submit(ctx, r)
		}
		tries := 0
		err = s.change(ctx, id, func(ctx context.Context, x *transaction) error {
			tries++
			if err := x.compare(ctx, heads); err != nil {
				return err
			}
			return x.put(ctx, entries)
		})
		return s.orDone(ctx, id, err, tries, entries)
	}))
}

// orDone is nil instead of a conflict if what was tried several times had been committed the first time, and only its
// answer was lost.
func (s *Store) orDone(ctx context.Context, id perdure.AgentID, err error, tries int, entries []*perdure.Entry) error {
	if tries < 2 || len(entries) == 0 || !errors.Is(err, perdure.ErrConflict) {
		return err
	}
	held, e := s.holds(ctx, id, entries[len(entries)-1].Name)
	if e != nil || held {
		return e
	}
	return err
}

// Put implements perdure.Store. What it is given is mostly written on the heads: that is tried first.
func (s *Store) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	return s.wrote("put to", id, s.add(ctx, id, entries, func() error {
		r, err := newRequest(id, roots(entries), entries)
		if err != nil {
			return err
		}
		if r != nil {
			if err := s.submit(ctx, r); !errors.Is(err, perdure.ErrConflict) {
				return err
			}
		}
		return s.change(ctx, id, func(ctx context.Context, x *transaction) error { return x.put(ctx, entries) })
	}))
}

// add refuses entries of other agents, and has the others written.
func (s *Store) add(ctx context.Context, id perdure.AgentID, entries []*perdure.Entry, write func() error) error {
	for _, e := range entries {
		if e.ID() != id {
			return e.Foreign(id)
		}
	}
	if err := s.writable(ctx); err != nil {
		return err
	}
	return write()
}

func (s *Store) wrote(verb string, id perdure.AgentID, err error) error {
	if err != nil {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
	}
	return nil
}

// roots are the entries that others are written on and that are not among them, ascending: if these are the heads of
// the agent, the others can be appended.
func roots(entries []*perdure.Entry) []perdure.Hash {
	var out []perdure.Hash
	among := newNames(entries)
	for _, e := range entries {
		for _, p := range e.Parents {
			if i, found := slices.BinarySearchFunc(out, p, perdure.Hash.Compare); !found && !among.has(p) {
				out = slices.Insert(out, i, p)
			}
		}
	}
	return out
}

// nameSet finds entries by name.
type nameSet struct {
	few   []*perdure.Entry
	index map[perdure.Hash]bool // nil while there are few
}

func newNames(entries []*perdure.Entry) nameSet {
	if len(entries) <= 16 {
		return nameSet{few: entries}
	}
	index := make(map[perdure.Hash]bool, len(entries))
	for _, e := range entries {
		index[e.Name] = true
	}
	return nameSet{index: index}
}

func (n nameSet) has(name perdure.Hash) bool {
	if n.index != nil {
		return n.index[name]
	}
	return slices.ContainsFunc(n.few, func(e *perdure.Entry) bool { return e.Name == name })
}

// maxShared is how many entries a call adds at most in a transaction shared with others.
const maxShared = 256

// newRequest is a change that is right if the heads of the agent are these, whatever else it holds: each entry is
// written on a head or on an entry before it, and on nothing else, so that it is new and its parents are there. It is
// nil where that is not so, where there are too many heads for one row to say, or where the entries need more than one
// row.
func newRequest(id perdure.AgentID, on []perdure.Hash, entries []*perdure.Entry) (*request, error) {
	if len(entries) == 0 || len(entries) > maxShared || len(on) > fewHeads ||
		len(on) > 0 == (entries[0].Kind == perdure.KindGenesis) {
		return nil, nil
	}
	on = ascending(on)
	column := headsColumn(on)
	h, err := readHeads(column)
	if err != nil {
		return nil, err
	}
	covers := make([]bool, len(entries))
	for i, e := range entries {
		if i > 0 && e.Kind == perdure.KindGenesis || !linked(e, on, entries[:i]) {
			return nil, nil
		}
		covers[i] = e.Kind == perdure.KindSnapshot && h.are(e.Parents)
		h.step(e)
	}
	if h.count > fewHeads {
		return nil, nil
	}
	r := &request{
		id:      id,
		old:     column,
		heads:   h.column(),
		says:    h.says(),
		genesis: entries[0],
		last:    entries[len(entries)-1].Name,
	}
	if len(on) > 0 {
		r.genesis = nil
	}
	n, err := r.row.fill(entries, func(i int) bool { return covers[i] })
	if err != nil || n < len(entries) {
		return nil, err
	}
	return r, nil
}

// linked reports whether all parents of an entry are heads, or entries before it that are in no way doubled.
func linked(e *perdure.Entry, on []perdure.Hash, before []*perdure.Entry) bool {
	for _, p := range e.Parents {
		if _, head := slices.BinarySearchFunc(on, p, perdure.Hash.Compare); !head &&
			!slices.ContainsFunc(before, func(b *perdure.Entry) bool { return b.Name == p }) {
			return false
		}
	}
	return !slices.ContainsFunc(before, func(b *perdure.Entry) bool { return b.Name == e.Name })
}
