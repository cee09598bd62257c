package view

import (
	"context"
	"iter"
	"slices"

	"github.com/perdure/perdure"
)

// firstBytes is how much of a memory a onceStore keeps: all of what most agents that wait have, and no more than SQLite
// reads at first to yield one entry.
const firstBytes = 64 << 10

// onceStore is a store that reads the beginning of one agent's memory once, and yields it to all who ask: first to see
// whether a stranger wrote it, then to fold it.
type onceStore struct {
	perdure.Store
	id    perdure.AgentID
	first []perdure.Item
	whole bool // there is nothing after first
}

// oncePart is a onceStore of a store that may hold a part of a memory.
type oncePart struct {
	*onceStore
	perdure.Parter
}

// Snapshots looks for none where all of a memory is known to hold none.
func (o *onceStore) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	is := func(i perdure.Item) bool { return i.Kind == perdure.KindSnapshot }
	if id == o.id && o.whole && !slices.ContainsFunc(o.first, is) {
		return func(func(perdure.Item, error) bool) {}
	}
	return o.Store.Snapshots(ctx, id)
}

func once(s perdure.Store, id perdure.AgentID) perdure.Store {
	o := &onceStore{Store: s, id: id}
	if p, ok := s.(perdure.Parter); ok {
		return oncePart{o, p}
	}
	return o
}

func (o *onceStore) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	if id != o.id || after != 0 {
		return o.Store.Entries(ctx, id, after)
	}
	return func(yield func(perdure.Item, error) bool) {
		err := o.begin(ctx)
		last := perdure.Cursor(0)
		for _, item := range o.first {
			if last = item.Cursor; !yield(item, nil) {
				return
			}
		}
		if err != nil {
			yield(perdure.Item{}, err)
			return
		}
		if o.whole {
			return
		}
		for item, err := range o.Store.Entries(ctx, id, last) {
			if !yield(item, err) {
				return
			}
		}
	}
}

// begin reads the first entries, unless that was done.
func (o *onceStore) begin(ctx context.Context) error {
	if len(o.first) > 0 {
		return nil
	}
	size := 0
	for item, err := range o.Store.Entries(ctx, o.id, 0) {
		if err != nil {
			return err
		}
		o.first = append(o.first, item)
		if size += len(item.HeaderBytes()) + len(item.BodyBytes()); size >= firstBytes {
			return nil
		}
	}
	o.whole = true
	return nil
}
