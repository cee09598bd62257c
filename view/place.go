package view

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/perdure/perdure"
)

// Place is where somebody stands in the memory of an agent, in the order in which it arrived in a store. The zero Place
// is the beginning.
//
// A store may have to write a memory anew: where git or Syncthing merged the file of an agent, entries stand in another
// order, and a cursor is another place. So a Place knows everything up to it, by the heads of that: parents arrive
// before their children.
type Place struct {
	Cursor perdure.Cursor
	heads  []perdure.Hash // of what is up to the cursor; the last of them stands there
}

// ErrReordered says that a memory was written anew, so that what follows a place may have come before, and what comes
// before it may be new.
var ErrReordered = errors.New("the memory was written anew, in another order")

// MarkDigits is how long a mark is.
const MarkDigits = 16

// maxHeads is how many heads a place knows: the last to arrive. Memories with thousands of them cost no more; that one
// of those was written anew shows by these.
const maxHeads = 32

// Mark stands for everything up to the place; empty: for nothing.
func (p Place) Mark() string {
	if len(p.heads) == 0 {
		return ""
	}
	if len(p.heads) == 1 {
		return p.heads[0].String()[:MarkDigits]
	}
	var all []byte
	for _, h := range slices.SortedFunc(slices.Values(p.heads), perdure.Hash.Compare) {
		all = append(all, h[:]...)
	}
	return perdure.HashOf(all).String()[:MarkDigits]
}

// Past is the place behind an entry that follows this one.
func (p Place) Past(item perdure.Item) Place {
	heads := make([]perdure.Hash, 0, 1)
	for _, h := range p.heads {
		if !slices.Contains(item.Parents, h) {
			heads = append(heads, h)
		}
	}
	heads = heads[max(0, len(heads)-maxHeads+1):]
	return Place{item.Cursor, append(heads, item.Name)}
}

// After yields what arrived after the place, and ends with ErrReordered where that cannot be told any more. Whoever has
// read up to the place and takes all of it has every entry once: if one of those before it went behind it, so did a
// head of them.
func (p Place) After(ctx context.Context, s perdure.Store, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		found := p.Cursor == 0
		for item, err := range s.Entries(ctx, id, max(p.Cursor-1, 0)) {
			if err == nil && !found {
				if found = item.Cursor == p.Cursor && item.Name == p.heads[len(p.heads)-1]; found {
					continue
				}
				err = ErrReordered
			} else if err == nil && slices.Contains(p.heads, item.Name) {
				err = ErrReordered
			}
			if found = true; !yield(item, err) || err != nil {
				return
			}
		}
		if !found { // it is shorter now
			yield(perdure.Item{}, ErrReordered)
		}
	}
}

// stands reports whether what was read up to the place stands before it still. With one head that is so where the head
// stands; with several, some may have moved behind what is new, and whoever shows that first would show the wrong.
func (p Place) stands(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	if len(p.heads) < 2 {
		return nil
	}
	for _, err := range p.After(ctx, s, id) {
		if err != nil {
			return err
		}
	}
	return nil
}

// upTo are the entries that were read by who stands at the place, as far as the store has them.
func (p Place) upTo(ctx context.Context, s perdure.Store, id perdure.AgentID) (map[perdure.Hash]bool, error) {
	parents := map[perdure.Hash][]perdure.Hash{}
	for item, err := range s.Entries(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		parents[item.Name] = item.Parents
	}
	read := map[perdure.Hash]bool{}
	for todo := slices.Clone(p.heads); len(todo) > 0; {
		h := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; !read[h] {
			read[h], todo = true, append(todo, parents[h]...)
		}
	}
	return read, nil
}
