package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

// Claims save work and decide nothing, so their commits do not wait for the disk: when the server crashes, leases that
// are lost were short. Times are by the clock of the node, as everything is that says when to look.

// relaxed makes the transaction of a statement not wait for the disk.
const relaxed = "set_config('synchronous_commit','off',true)<>''"

const (
	// claimText takes an agent that nobody has whose lease can be believed. It does not wait for somebody who is just
	// taking it.
	claimText = `
WITH c AS MATERIALIZED (
	SELECT key, fence, node IS NOT NULL AND node<>$2 AND due>$3 AND due<=$3::bigint+$5::bigint AS busy FROM ~agents WHERE id=$1 FOR UPDATE SKIP LOCKED
), u AS (
	UPDATE ~agents a SET node=$2, fence=greatest(c.fence+1, $3), due=$4 FROM c WHERE a.key=c.key AND NOT c.busy AND ` + relaxed + ` RETURNING a.fence
)
SELECT EXISTS (SELECT 1 FROM ~agents WHERE id=$1), EXISTS (SELECT 1 FROM c), coalesce((SELECT fence FROM u), 0)`

	renewText   = "UPDATE ~agents SET due=$4 WHERE id=$1 AND node=$2 AND fence=$3 AND " + relaxed
	releaseText = `UPDATE ~agents SET node=NULL, due=CASE WHEN heads=$4 THEN nullif($5::bigint,0) ELSE says END WHERE id=$1 AND node=$2 AND fence=$3 AND ` + relaxed

	// claimTries is how often it is looked again whether an agent that somebody is just changing is free, claimWait
	// after how long.
	claimTries, claimWait = 5, 2 * time.Millisecond
)

// Claim implements perdure.Claimer.
func (s *Store) Claim(
	ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration,
) (c perdure.Claim, err error) {
	for n := range claimTries {
		var there, free bool
		if err = s.writable(ctx); err == nil {
			err = s.try(ctx, func(ctx context.Context) error {
				now := time.Now()
				until := perdure.TimeOf(now.Add(min(lease, perdure.MaxLease)))
				args := []any{id[:], node[:], int64(perdure.TimeOf(now)), int64(until), perdure.MaxLease.Milliseconds()}
				return s.pool.QueryRow(ctx, s.sql(claimText), args...).Scan(&there, &free, &c.Fence)
			})
		}
		switch {
		case err != nil:
		case !there:
			err = perdure.ErrNotFound
		case c.Fence > 0:
			return perdure.Claim{Agent: id, Node: node, Fence: c.Fence}, nil
		default:
			err = fmt.Errorf("%w: another node works on it", perdure.ErrConflict)
		}
		if !errors.Is(err, perdure.ErrConflict) || free || n+1 == claimTries || !pause(ctx, s.ended, claimWait<<n) {
			break
		}
	}
	return perdure.Claim{}, fmt.Errorf("claim agent %s: %w", id.Short(), err)
}

// Renew implements perdure.Claimer.
func (s *Store) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	n, err := s.mark(ctx, renewText, c.Agent[:], c.Node[:], c.Fence,
		int64(perdure.TimeOf(time.Now().Add(min(lease, perdure.MaxLease)))))
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: the claim was lost", perdure.ErrConflict)
	}
	return s.wrote("renew claim of", c.Agent, err)
}

// Release implements perdure.Claimer.
func (s *Store) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	_, err := s.mark(ctx, releaseText, c.Agent[:], c.Node[:], c.Fence, headsColumn(ascending(heads)), int64(due))
	return s.wrote("release", c.Agent, err)
}

// mark runs a statement that changes what can be derived, and returns how many rows it changed.
func (s *Store) mark(ctx context.Context, text string, args ...any) (n int64, err error) {
	if err := s.writable(ctx); err != nil {
		return 0, err
	}
	err = s.try(ctx, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, s.sql(text), args...)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

// Reclaim implements perdure.Holder. Whether a node on another machine has died nobody can tell: its leases end. It
// ends claims that seem to hold for longer than any: they were taken while the clock was ahead.
func (s *Store) Reclaim(ctx context.Context) error {
	now := time.Now()
	const text = `UPDATE ~agents SET node=NULL, due=$1::bigint WHERE node IS NOT NULL AND due>$1::bigint+$2::bigint AND ` + relaxed
	if _, err := s.mark(ctx, text, int64(perdure.TimeOf(now)), perdure.MaxLease.Milliseconds()); err != nil {
		return fmt.Errorf("take over from nodes that died: %w", err)
	}
	return nil
}

// Held implements perdure.Holder.
func (s *Store) Held(ctx context.Context) iter.Seq2[perdure.Holding, error] {
	return func(yield func(perdure.Holding, error) bool) {
		var all []perdure.Holding
		now := int64(perdure.TimeOf(time.Now()))
		err := s.try(ctx, func(ctx context.Context) error {
			all = all[:0]
			const text = "SELECT id FROM ~agents WHERE node IS NOT NULL AND due>$1 AND due<=$1::bigint+$2::bigint"
			rows, err := s.pool.Query(ctx, s.sql(text), now, perdure.MaxLease.Milliseconds())
			if err != nil {
				return err
			}
			return each(rows, func(r pgx.Rows) error {
				var id []byte
				err := r.Scan(&id)
				if err == nil && len(id) == hashSize {
					all = append(all, perdure.Holding{Agent: perdure.AgentID(id)})
				}
				return err
			})
		})
		if err != nil {
			yield(perdure.Holding{}, fmt.Errorf("agents at work: %w", err))
			return
		}
		for _, h := range all {
			if !yield(h, nil) {
				return
			}
		}
	}
}
