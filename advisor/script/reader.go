package script

import (
	"container/heap"
	"context"

	"github.com/perdure/perdure"
)

// reader finds entries of an agent by name, no further back than it takes.
type reader struct{ *perdure.Reader }

// placeOf is the place of the action that a decision is about.
func (r *reader) placeOf(ctx context.Context, decision perdure.Hash) (place, error) {
	e, err := r.Find(ctx, decision)
	if e == nil || err != nil {
		return place{}, err
	}
	d, _ := e.Content().(perdure.Decision)
	if e, err = r.Find(ctx, d.Advice); e == nil || err != nil {
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
	lost    bool           // some that are not covered are not here at all
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
	if e := f.memory.Held(name); e != nil {
		heap.Push(&f.ready, e)
	} else {
		f.further = append(f.further, name)
	}
}

// next takes the newest entry off the frontier; nil: what is left is not here.
func (f *frontier) next(ctx context.Context) (e *perdure.Entry, covered bool, err error) {
	if len(f.ready) == 0 || f.memory.Held(f.ready[0].Name) == nil {
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
		e, err := f.memory.Find(ctx, name)
		if err != nil {
			return err
		}
		if e == nil {
			f.lost = f.lost || !f.covered[name]
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
