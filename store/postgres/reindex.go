package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

// maxFailed is how many agents that went wrong Reindex names.
const maxFailed = 16

// Reindex rebuilds every index from the entries. It reads and checks every entry. Others may use the store meanwhile.
// An agent that cannot be folded keeps the listing it has, and the others are done before Reindex says so.
func (s *Store) Reindex(ctx context.Context, progress func(done, total int)) error {
	var total int
	err := s.writable(ctx)
	if err == nil {
		err = s.try(ctx, func(ctx context.Context) error {
			return s.pool.QueryRow(ctx, s.sql("SELECT count(*) FROM ~agents")).Scan(&total)
		})
	}
	done := 0
	var failed []error
	for key := int64(0); err == nil; {
		var id []byte
		err = s.try(ctx, func(ctx context.Context) error {
			return s.pool.QueryRow(ctx, s.sql("SELECT key, id FROM ~agents WHERE key>$1 ORDER BY key LIMIT 1"), key).
				Scan(&key, &id)
		})
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil
			break
		}
		if err != nil || len(id) != hashSize {
			break
		}
		if e := s.reindex(ctx, perdure.AgentID(id)); e != nil && len(failed) < maxFailed {
			failed = append(failed, fmt.Errorf("agent %s: %w", perdure.AgentID(id).Short(), e))
		}
		err = s.usable(ctx)
		if done++; progress != nil {
			progress(done, max(done, total))
		}
	}
	if err = errors.Join(append(failed, err)...); err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	return nil
}

// reindex derives everything about an agent from its entries.
func (s *Store) reindex(ctx context.Context, id perdure.AgentID) error {
	if err := s.changeFor(
		ctx, 0, id, func(ctx context.Context, x *transaction) error { return x.reindex(ctx) },
	); err != nil {
		return err
	}
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return err
	}
	return s.index(ctx, a.Heads(), a.Listing(time.Now()), true)
}

func (x *transaction) reindex(ctx context.Context) (err error) {
	if x.key == 0 {
		return nil // it went meanwhile
	}
	for _, text := range []string{
		"DELETE FROM ~heads WHERE agent=$1", "DELETE FROM ~names WHERE agent=$1",
		"UPDATE ~agents SET indexed=0 WHERE key=$1",
	} {
		if err := x.exec(ctx, text, x.key); err != nil {
			return err
		}
	}
	x.heads = newHeads()
	names := map[perdure.Hash]perdure.Time{} // of the heads
	for from, more := int64(0), true; more; {
		var rows []row
		if rows, _, more, err = x.s.page(ctx, x.tx, x.key, from); err != nil {
			return err
		}
		for _, r := range rows {
			if err := x.derive(ctx, r, names); err != nil {
				return err
			}
			from = r.pos + 1
		}
	}
	for name, due := range names {
		x.heads.add(name)
		x.heads.due = due
	}
	return x.save(ctx)
}

// derive takes in the entries of a row, and corrects what it says of snapshots.
func (x *transaction) derive(ctx context.Context, r row, heads map[perdure.Hash]perdure.Time) error {
	entries, err := r.entries(x.id, x.s.limits)
	if err != nil {
		return err
	}
	var snaps []byte
	for i, e := range entries {
		covers := len(heads) == 0 || len(heads) == len(e.Parents)
		for _, p := range e.Parents {
			_, head := heads[p]
			covers = covers && (head || len(heads) == 0)
		}
		for _, p := range e.Parents {
			delete(heads, p)
		}
		if heads[e.Name] = e.Due; e.Kind == perdure.KindSnapshot && covers {
			snaps = binary.BigEndian.AppendUint16(snaps, uint16(i))
		}
	}
	if bytes.Equal(snaps, r.snaps) {
		return nil
	}
	return x.exec(ctx, "UPDATE ~log SET snaps=$3 WHERE agent=$1 AND pos=$2", x.key, r.pos, snaps)
}
