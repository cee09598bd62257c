package script

import (
	"container/heap"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure/advisor/internal/told"

	"github.com/perdure/perdure"
)

// reader finds entries of an agent by name: among those it holds, then in the store, from the newest back, no further
// than it takes.
type reader struct {
	store perdure.Store // nil: there is none
	agent *perdure.Agent
	held  map[perdure.Hash]bool // those the agent holds, and whether they count
	found map[perdure.Hash]*perdure.Entry
	pull  func() (*perdure.Entry, error, bool)
	stop  func()
	whole map[perdure.Hash]bool // those that count, of all; nil: that was not needed yet
}

func newReader(s perdure.Store, a *perdure.Agent) *reader {
	r := &reader{store: s, agent: a, held: map[perdure.Hash]bool{}, found: map[perdure.Hash]*perdure.Entry{}}
	for e := range a.Recent() {
		r.held[e.Name], r.found[e.Name] = false, e
	}
	for e := range a.Counting() {
		r.held[e.Name] = true
	}
	return r
}

// close ends reading.
func (r *reader) close() {
	if r.stop != nil {
		r.stop()
	}
}

// find is the entry of this name; nil: it is not here.
func (r *reader) find(ctx context.Context, name perdure.Hash) (*perdure.Entry, error) {
	if e := r.found[name]; e != nil || r.whole != nil {
		return e, nil
	}
	if r.store == nil {
		return nil, fmt.Errorf("the script needs what is further back than what the agent holds: set its Store: %w",
			perdure.ErrIncapable)
	}
	if r.pull == nil {
		r.pull, r.stop = iter.Pull2(perdure.Backwards(ctx, r.store, r.agent.ID(), nil))
	}
	for {
		e, err, more := r.pull()
		if err != nil {
			return nil, fmt.Errorf("read memory of %s: %w", r.agent.ID().Short(), err)
		}
		if !more {
			return nil, nil
		}
		if r.found[e.Name] == nil {
			r.found[e.Name] = e
		}
		if e.Name == name {
			return e, nil
		}
	}
}

// counts reports whether an entry that was found counts. Only of what a revoked key wrote, further back than what the
// agent holds, it takes the whole memory to tell.
func (r *reader) counts(ctx context.Context, e *perdure.Entry) (bool, error) {
	if counts, held := r.held[e.Name]; held {
		return counts, nil
	}
	if !slices.Contains(r.agent.Fold().Revoked, e.Origin) {
		return true, nil
	}
	if r.whole == nil {
		r.close()
		memory, err := told.Memory(ctx, r.store, r.agent)
		if err != nil {
			return false, err
		}
		r.whole = make(map[perdure.Hash]bool, len(memory.Entries))
		for _, e := range memory.Entries {
			r.whole[e.Name] = true
		}
		for _, e := range memory.All {
			r.found[e.Name] = e
		}
	}
	return r.whole[e.Name], nil
}

// placeOf is the place of the action that a decision is about.
func (r *reader) placeOf(ctx context.Context, decision perdure.Hash) (place, error) {
	e, err := r.find(ctx, decision)
	if e == nil || err != nil {
		return place{}, err
	}
	d, _ := e.Content().(perdure.Decision)
	if e, err = r.find(ctx, d.Advice); e == nil || err != nil {
		return place{}, err
	}
	a, _ := e.Content().(perdure.Advice)
	return placeIn(a.Actions), nil
}

// frontier is the entries that a walk back through a memory comes to next.
type frontier struct {
	memory  *reader
	covered map[perdure.Hash]bool // by name: whether it is in the past of an advice that counts
	open    int                   // how many are not
	ready   newestFirst
	further []perdure.Hash // those the agent does not hold: they come before all that it does
}

// add puts an entry on the frontier, or says of one there that it is covered.
func (f *frontier) add(name perdure.Hash, covered bool) {
	was, there := f.covered[name]
	f.covered[name] = was || covered
	switch {
	case there && covered && !was:
		f.open--
	case !there && !covered:
		f.open++
	}
	if there {
		return
	}
	if _, held := f.memory.held[name]; held {
		heap.Push(&f.ready, f.memory.found[name])
	} else {
		f.further = append(f.further, name)
	}
}

// next takes the newest entry off the frontier; nil: what is left is not here.
func (f *frontier) next(ctx context.Context) (e *perdure.Entry, covered bool, err error) {
	held := false
	if len(f.ready) > 0 {
		_, held = f.memory.held[f.ready[0].Name]
	}
	if !held {
		if err := f.reach(ctx); err != nil {
			return nil, false, err
		}
	}
	if len(f.ready) == 0 {
		return nil, false, nil
	}
	e, _ = heap.Pop(&f.ready).(*perdure.Entry)
	covered = f.covered[e.Name]
	f.drop(e.Name)
	return e, covered, nil
}

// reach reads what is further back.
func (f *frontier) reach(ctx context.Context) error {
	for _, name := range f.further {
		e, err := f.memory.find(ctx, name)
		if err != nil {
			return err
		}
		if e == nil {
			f.drop(name)
			continue
		}
		heap.Push(&f.ready, e)
	}
	f.further = f.further[:0]
	return nil
}

func (f *frontier) drop(name perdure.Hash) {
	if !f.covered[name] {
		f.open--
	}
	delete(f.covered, name)
}

// newestFirst is a heap of entries.
type newestFirst []*perdure.Entry

func (h newestFirst) Len() int           { return len(h) }
func (h newestFirst) Less(i, j int) bool { return h[i].Position().Compare(h[j].Position()) > 0 }
func (h newestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *newestFirst) Push(x any)        { *h = append(*h, x.(*perdure.Entry)) }
func (h *newestFirst) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
