package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure"
)

// Texts are documents that this reader listed with their texts, as they were then, in no particular order: those of
// which memory still has the text. Those that stand near each other in memory are read together.
func (r *Reader) Texts(ctx context.Context, docs []*Document) (read []*Document, err error) {
	_, fed := r.Store.(perdure.Feeder)
	left := slices.SortedFunc(slices.Values(docs), func(a, b *Document) int {
		if !fed && a.Agent != b.Agent {
			return bytes.Compare(a.Agent[:], b.Agent[:])
		}
		return cmp.Compare(a.row.position, b.row.position)
	})
	for len(left) > 0 {
		some := r.near(ctx, left)
		if len(some) > 0 {
			read, left = append(read, some...), left[len(some):]
			continue
		}
		d, err := r.filled(ctx, left[0]) // it is not where the index says
		switch {
		case err == nil:
			read = append(read, d)
		case !errors.Is(err, perdure.ErrNotFound):
			return nil, err
		}
		left = left[1:]
	}
	return read, nil
}

// maxBetween is how many entries between two texts are read: to begin anew reads a page of them.
const maxBetween = 64

// near are the first documents with their texts, as far as they stand near each other.
func (r *Reader) near(ctx context.Context, docs []*Document) (read []*Document) {
	if docs[0].row.position <= 0 {
		return nil
	}
	between := 0
	for item, err := range r.from(ctx, docs[0].row) {
		if err != nil {
			return read
		}
		if doc := docs[len(read)].row.in(item); doc != nil {
			read, between = append(read, r.with(docs[len(read)], item.Entry, doc)), 0
		} else {
			between++
		}
		if len(read) == 0 || len(read) == len(docs) || between > maxBetween {
			return read
		}
	}
	return read
}
