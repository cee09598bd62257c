package nats

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
)

// walk goes back through the commits of an agent, from its last. Since parents arrive before their children, whoever
// has gone back to an entry has passed all that was written on it. So what an entry costs to be placed depends on how
// long ago its parents arrived, not on how long the memory is.
type walk struct {
	s     *Store
	id    perdure.AgentID
	tip   *commit
	next  uint64 // to be read; zero: all were
	left  int64  // entries that come before what was read
	seen  map[perdure.Hash]bool
	steps int
}

func (s *Store) walk(id perdure.AgentID, tip *commit) *walk {
	w := &walk{s: s, id: id, tip: tip, seen: map[perdure.Hash]bool{}}
	if tip != nil && !tip.gone() {
		w.next, w.left = tip.seq, tip.count
	}
	return w
}

// back reads the next commits, twice as many each time.
func (w *walk) back(ctx context.Context) error {
	for n := max(1, w.steps); n > 0 && w.next > 0; n-- {
		c, err := w.s.at(ctx, w.id, w.next)
		if err != nil {
			return err
		}
		for _, e := range w.s.content(ctx, w.id, c, 0) {
			if e.err != nil {
				return e.err
			}
			w.seen[e.Name] = true
		}
		w.steps++
		w.left = c.count - int64(c.total)
		if w.next = c.prev; c.base == 0 {
			w.next = 0
		}
	}
	return nil
}

// has reports whether an entry is a head or was passed.
func (w *walk) has(name perdure.Hash) bool {
	if w.seen[name] {
		return true
	}
	if w.tip == nil {
		return false
	}
	_, head := slices.BinarySearchFunc(w.tip.heads, name, perdure.Hash.Compare)
	return head
}

// fresh are the entries that an agent does not have yet. It refuses entries whose parents are missing.
func (s *Store) fresh(ctx context.Context, id perdure.AgentID, tip *commit, entries []*perdure.Entry) ([]*perdure.Entry,
	error) {
	w := s.walk(id, tip)
	for {
		fresh, unsure, err := w.sort(entries)
		if err != nil || !unsure {
			return fresh, err
		}
		if err := w.back(ctx); err != nil {
			return nil, err
		}
	}
}

// fate is what is known of an entry that is to be added.
type fate int

const (
	unsure  fate = iota // further back it may be there
	present             // it is there
	absent              // it is not
)

// sort parts the entries that are not there from those that are, as far as it is known.
func (w *walk) sort(entries []*perdure.Entry) (fresh []*perdure.Entry, open bool, err error) {
	fates := make(map[perdure.Hash]fate, len(entries))
	for _, e := range entries {
		if _, twice := fates[e.Name]; twice {
			continue
		}
		f, err := w.judge(e, fates)
		if err != nil {
			return nil, false, err
		}
		if fates[e.Name] = f; f == absent {
			fresh = append(fresh, e)
		}
		open = open || f == unsure
	}
	return fresh, open, nil
}

// judge finds out whether an entry is there. One on top of a head, of an entry that was passed, or of one that is not
// there, is not. One whose parents cannot be there any more is refused.
func (w *walk) judge(e *perdure.Entry, fates map[perdure.Hash]fate) (fate, error) {
	if w.has(e.Name) || e.Kind == perdure.KindGenesis && w.tip != nil && !w.tip.gone() {
		return present, nil
	}
	whole := w.next == 0
	out, missing, near := unsure, (*perdure.Hash)(nil), false
	if whole {
		out = absent
	}
	for i, p := range e.Parents {
		f, given := fates[p]
		switch {
		case w.has(p) || given && f == absent:
			out, near = absent, true
		case given:
			near = true // it is there, or it is not known yet
		default:
			missing = &e.Parents[i]
		}
	}
	if missing == nil {
		return out, nil
	}
	// Each entry but the first has a parent of the seq before its own, and that many entries come before it.
	if whole || !near && w.tip.depth == perdure.Full && w.left < e.Seq {
		return 0, e.Unlinked(*missing)
	}
	return unsure, nil
}
