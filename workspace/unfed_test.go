package workspace_test

import (
	"context"
	"iter"
	"time"

	"github.com/perdure/perdure"
)

func (u unfed) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) error {
	return u.mem.Append(ctx, id, heads, entries...)
}

func (u unfed) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	return u.mem.Put(ctx, id, entries...)
}

func (u unfed) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return u.mem.Entries(ctx, id, after)
}

func (u unfed) Heads(ctx context.Context, id perdure.AgentID) ([]perdure.Hash, error) {
	return u.mem.Heads(ctx, id)
}

func (u unfed) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return u.mem.Snapshots(ctx, id)
}

func (u unfed) Due(ctx context.Context, now time.Time) iter.Seq2[perdure.Look, error] {
	return u.mem.Due(ctx, now)
}

func (u unfed) Close() error { return u.mem.Close() }

func (u unfed) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return u.mem.List(ctx, f)
}

func (u unfed) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	return u.mem.Index(ctx, heads, l)
}

// Feed counts what it yields.
func (c *counting) Feed(ctx context.Context, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return c.count(c.MemStore.Feed(ctx, after))
}

// Entries counts what it yields.
func (c *counting) Entries(
	ctx context.Context, id perdure.AgentID, after perdure.Cursor,
) iter.Seq2[perdure.Item, error] {
	return c.count(c.MemStore.Entries(ctx, id, after))
}

func (c *counting) count(items iter.Seq2[perdure.Item, error]) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range items {
			c.read.Add(1)
			if !yield(item, err) {
				return
			}
		}
	}
}
