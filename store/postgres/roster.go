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
)

// clockText is the time of the server, in milliseconds.
const clockText = "(extract(epoch FROM clock_timestamp())*1000)::bigint"

// Enroll implements perdure.Roster. What is in the roster is said again all the time: it does not wait for the disk.
func (s *Store) Enroll(ctx context.Context, p perdure.Presence) error {
	const text = `WITH old AS (DELETE FROM ~roster WHERE seen<` + clockText + `-$3::bigint AND node<>$1::bytea)
		INSERT INTO ~roster(node, about, seen) SELECT $1::bytea, $2::bytea, ` + clockText + ` WHERE ` + relaxed + `
		ON CONFLICT (node) DO UPDATE SET about=excluded.about, seen=excluded.seen`
	about := p.About
	if about == nil {
		about = []byte{}
	}
	_, err := s.mark(ctx, text, p.Node[:], about, perdure.RosterKept.Milliseconds())
	if err != nil {
		err = fmt.Errorf("enroll node %s: %w", p.Node.Short(), err)
	}
	return err
}

// Leave implements perdure.Roster.
func (s *Store) Leave(ctx context.Context, node perdure.Key) error {
	if _, err := s.mark(ctx, "DELETE FROM ~roster WHERE node=$1 AND "+relaxed, node[:]); err != nil {
		return fmt.Errorf("take node %s off the roster: %w", node.Short(), err)
	}
	return nil
}

// Present implements perdure.Roster. In a store of an earlier version, which is only looked at, there is nobody.
func (s *Store) Present(ctx context.Context) iter.Seq2[perdure.Presence, error] {
	return func(yield func(perdure.Presence, error) bool) {
		var all []perdure.Presence
		err := s.try(ctx, func(ctx context.Context) error {
			all = all[:0]
			rows, err := s.pool.Query(ctx, s.sql("SELECT node, about, "+clockText+"-seen FROM ~roster"))
			if err != nil {
				return err
			}
			return each(rows, func(r pgx.Rows) error {
				var node []byte
				var p perdure.Presence
				var ago int64
				if err := r.Scan(&node, &p.About, &ago); err != nil {
					return err
				}
				p.Seen = perdure.TimeOf(time.Now()) - perdure.Time(ago)
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
			yield(perdure.Presence{}, fmt.Errorf("nodes of the store: %w", err))
			return
		}
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}
