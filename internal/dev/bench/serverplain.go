package bench

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// plainConns is how many connections plain appends share, as many as the store has.
const plainConns = 16

// plainText appends an entry if the head of its agent is still the one that the writer knows, in one statement and one
// round trip.
const plainText = `WITH moved AS (UPDATE %[1]s.plain_heads SET head=$3 WHERE agent=$1 AND head=$2 RETURNING agent)
	INSERT INTO %[1]s.plain_log (agent, name, data) SELECT agent, $3, $4 FROM moved`

// plainAppends is what a program does that uses pgx without a committer of its own: each writer appends by itself, in a
// transaction of its own, and compares the head as the store does.
func (s *schemaPlace) plainAppends(ctx context.Context, set Appends) (float64, error) {
	conf, err := pgxpool.ParseConfig(s.plain)
	if err != nil {
		return 0, err
	}
	conf.MaxConns = plainConns
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	perWriter := max(set.Agents/set.Writers, 1)
	if err := s.plainTables(ctx, pool, set.Writers*perWriter); err != nil {
		return 0, fmt.Errorf("create plain tables: %w", err)
	}
	payload := make([]byte, set.Payload+300) // an entry of this payload has about so many bytes more
	if _, err := rand.Read(payload); err != nil {
		return 0, err
	}
	text := fmt.Sprintf(plainText, s.schema)
	began := time.Now()
	err = each(set.Writers, func(w int) error {
		for i := range set.Each {
			agent, seq := w*perWriter+i%perWriter, i/perWriter
			tag, err := pool.Exec(ctx, text, agent, plainHead(seq), plainHead(seq+1), payload)
			if err == nil && tag.RowsAffected() != 1 {
				err = errors.New("append to the plain table: the head is another one")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return float64(set.Writers*set.Each) / time.Since(began).Seconds(), err
}

// plainTables makes tables with agents that have one head each.
func (s *schemaPlace) plainTables(ctx context.Context, pool *pgxpool.Pool, agents int) error {
	const tables = `DROP TABLE IF EXISTS %[1]s.plain_heads, %[1]s.plain_log;
		CREATE TABLE %[1]s.plain_heads(agent bigint PRIMARY KEY, head bytea NOT NULL) WITH (fillfactor=70);
		CREATE TABLE %[1]s.plain_log(agent bigint NOT NULL, pos bigint GENERATED ALWAYS AS IDENTITY, name bytea NOT NULL,
			data bytea NOT NULL, PRIMARY KEY (agent, pos));
		ALTER TABLE %[1]s.plain_log ALTER data SET STORAGE EXTERNAL`
	if _, err := pool.Exec(ctx, fmt.Sprintf(tables, s.schema), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	const begin = "INSERT INTO %s.plain_heads SELECT a, $2 FROM generate_series(0, $1::bigint-1) a"
	_, err := pool.Exec(ctx, fmt.Sprintf(begin, s.schema), agents, plainHead(0))
	return err
}

// plainHead is a name as long as that of an entry.
func plainHead(seq int) []byte { return binary.BigEndian.AppendUint64(make([]byte, 24), uint64(seq)) }
