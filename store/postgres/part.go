package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

// streamBytes is how much of a sequence is written at a time.
const streamBytes = 4 << 20

// PutAll implements perdure.Parter: it is one transaction, so that a crash leaves nothing of it. Others may write
// meanwhile, but to this agent; what they write comes into the feed once the transaction has ended.
func (s *Store) PutAll(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) error {
	short, whole, err := begin(id, entries)
	if err == nil && whole {
		return s.Put(ctx, id, short...)
	}
	if err == nil {
		err = s.changeFor(ctx, 0, id, func(ctx context.Context, x *transaction) error {
			if _, err := x.all(ctx); err != nil {
				return err
			}
			return x.stream(ctx, entries)
		})
	}
	return s.wrote("put to", id, err)
}

// begin reads a sequence as far as it is written at a time, and reports whether that is all of it.
func begin(id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (out []*perdure.Entry, whole bool, err error) {
	size := 0
	for e, err := range entries {
		if err == nil && e.ID() != id {
			err = e.Foreign(id)
		}
		if err != nil {
			return nil, false, err
		}
		if out, size = append(out, e), size+len(e.HeaderBytes())+len(e.BodyBytes()); size >= streamBytes {
			return nil, false, nil
		}
	}
	return out, true, nil
}

// stream adds the entries of a sequence, some at a time.
func (x *transaction) stream(ctx context.Context, entries iter.Seq2[*perdure.Entry, error]) error {
	var batch []*perdure.Entry
	size := 0
	for e, err := range entries {
		if err == nil && e.ID() != x.id {
			err = e.Foreign(x.id)
		}
		if err != nil {
			return err
		}
		if batch, size = append(batch, e), size+len(e.HeaderBytes())+len(e.BodyBytes()); size >= streamBytes {
			if err := x.put(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
	}
	return x.put(ctx, batch)
}

// Replace implements perdure.Parter. It is one transaction, as PutAll is.
func (s *Store) Replace(
	ctx context.Context, id perdure.AgentID, heads []perdure.Hash, d perdure.Depth,
	entries iter.Seq2[*perdure.Entry, error],
) error {
	err := s.changeFor(ctx, 0, id, func(ctx context.Context, x *transaction) error {
		if err := x.compare(ctx, heads); err != nil {
			return err
		}
		return x.replace(ctx, d, entries)
	})
	return s.wrote("replace", id, err)
}

// replace writes a memory in the place of what there is.
func (x *transaction) replace(ctx context.Context, d perdure.Depth, entries iter.Seq2[*perdure.Entry, error]) error {
	first, err := firstOf(entries)
	if err == nil {
		err = d.CheckRoot(first)
	}
	if err == nil {
		err = x.clear(ctx)
	}
	if err == nil && x.key == 0 {
		err = x.create(ctx, first)
	} else if err == nil {
		err = x.list(ctx, first.Newborn())
	}
	if err != nil {
		return err
	}
	x.past = places{}
	if d.IsLast() { // the parents of its first entry are known to exist, and are not there
		x.stands = first.Parents
	}
	if err := x.stream(ctx, entries); err != nil {
		return err
	}
	var depth *string
	if d != perdure.Full {
		text := d.String()
		depth = &text
	}
	return x.exec(ctx, "UPDATE ~agents SET depth=$2 WHERE key=$1", x.key, depth)
}

func firstOf(entries iter.Seq2[*perdure.Entry, error]) (*perdure.Entry, error) {
	for e, err := range entries {
		return e, err
	}
	return nil, errors.New("no entries")
}

// clear takes out everything that is known of the agent, but who holds it.
func (x *transaction) clear(ctx context.Context) (err error) {
	if x.key == 0 {
		return nil
	}
	for _, table := range []string{"log", "heads", "names"} {
		if err := x.exec(ctx, "DELETE FROM ~"+table+" WHERE agent=$1", x.key); err != nil {
			return err
		}
	}
	x.indexed = 0
	x.heads = newHeads()
	return x.exec(ctx, "UPDATE ~agents SET heads='', indexed=0 WHERE key=$1", x.key)
}

// Depth implements perdure.Parter.
func (s *Store) Depth(ctx context.Context, id perdure.AgentID) (d perdure.Depth, err error) {
	var text *string
	err = s.try(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, s.sql("SELECT depth FROM ~agents WHERE id=$1"), id[:]).Scan(&text)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = perdure.ErrNotFound
	}
	if err == nil && text != nil {
		err = d.UnmarshalText([]byte(*text))
	}
	if err != nil {
		return d, fmt.Errorf("depth of agent %s: %w", id.Short(), err)
	}
	return d, nil
}
