package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/roster"
)

var _ roster.Roster = (*Store)(nil)

// serverNow is the time in milliseconds by the clock of the server.
const serverNow = "(extract(epoch FROM clock_timestamp())*1000)::bigint"

// Enroll implements roster.Roster. What is in the roster is said again all the time: it does not wait for the disk.
func (s *Store) Enroll(ctx context.Context, node perdure.Key, about []byte) error {
	const text = `WITH old AS (DELETE FROM ~roster WHERE seen<` + serverNow + `-$3::bigint AND node<>$1::bytea)
		INSERT INTO ~roster(node, about, seen) SELECT $1::bytea, $2::bytea, ` + serverNow + ` WHERE ` + relaxed + `
		ON CONFLICT (node) DO UPDATE SET about=excluded.about, seen=excluded.seen`
	if about == nil {
		about = []byte{}
	}
	_, err := s.mark(ctx, text, node[:], about, roster.Kept.Milliseconds())
	if err != nil {
		err = fmt.Errorf("enroll node %s: %w", node.Short(), err)
	}
	return err
}

// Leave implements roster.Roster.
func (s *Store) Leave(ctx context.Context, node perdure.Key) error {
	if _, err := s.mark(ctx, "DELETE FROM ~roster WHERE node=$1 AND "+relaxed, node[:]); err != nil {
		return fmt.Errorf("take node %s off the roster: %w", node.Short(), err)
	}
	return nil
}

// Present implements roster.Roster. In a store of an earlier version, which is only looked at, there is nobody.
func (s *Store) Present(ctx context.Context) iter.Seq2[roster.Presence, error] {
	return func(yield func(roster.Presence, error) bool) {
		var all []roster.Presence
		err := s.try(ctx, func(ctx context.Context) error {
			all = all[:0]
			rows, err := s.pool.Query(ctx, s.sql("SELECT node, about, greatest("+serverNow+"-seen, 0) FROM ~roster"))
			if err != nil {
				return err
			}
			return each(rows, func(r pgx.Rows) error {
				var node []byte
				var silent int64
				var p roster.Presence
				if err := r.Scan(&node, &p.About, &silent); err != nil {
					return err
				}
				p.Silent = time.Duration(silent) * time.Millisecond
				if copy(p.Node[:], node) != len(p.Node) {
					return errRow
				}
				all = append(all, p)
				return nil
			})
		})
		var server *pgconn.PgError
		if errors.As(err, &server) && server.Code == "42P01" { // there is no such table
			err = nil
		}
		if err != nil {
			yield(roster.Presence{}, fmt.Errorf("nodes of the store: %w", err))
			return
		}
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}
