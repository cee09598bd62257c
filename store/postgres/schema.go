package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure"
)

// Version is the version of the schema that this package writes.
const Version = 5

// withMarks is the version from which on agents have a mark, see marked.
const withMarks = 4

// parts is how many parts the log has, by agent. Each is indexed and vacuumed by itself.
const parts = 8

// base is the first version of the schema. Only log, agents.id and agents.depth hold what cannot be derived.
//
//   - log is the entries in the order they arrived, one row for each call, see row. Pos is a row's place in that order,
//     over all agents.
//   - agents has the heads of each, see heads; says is when these say to look, due when to look: the same, the end of a
//     lease, or what the node that released the agent said.
//   - heads has the heads of agents that have many.
//   - names finds the rows of entries by name, for agents that needed that; indexed says up to where.
//   - agents.unlisted, of version 4, says that the listing of the agent is older than its entries.
//   - roster, of version 3, has the nodes that use the store.
//   - aside has what cannot be placed, see Heal.
//   - meta tells the store from others; soft says that somebody wrote to it whose writes do not survive a crash of the
//     server.
//
// Texts that come from agents are bytes: PostgreSQL takes no text with a zero byte in it, and would sort it by its own
// rules.
const base = `
CREATE TABLE ~meta(version int NOT NULL, id bytea NOT NULL, soft bool NOT NULL DEFAULT false);
CREATE SEQUENCE ~pos;
SELECT setval('~pos', 1, true);
CREATE TABLE ~agents(key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bytea NOT NULL UNIQUE, heads bytea NOT NULL, says bigint, due bigint,
	node bytea, fence bigint NOT NULL DEFAULT 0, depth text, indexed bigint NOT NULL DEFAULT 0) WITH (fillfactor=70);
CREATE INDEX agents_due ON ~agents(due, key) WHERE due IS NOT NULL;
CREATE TABLE ~log(agent bigint NOT NULL, pos bigint NOT NULL, names bytea NOT NULL, data bytea NOT NULL, snaps bytea,
	PRIMARY KEY(agent, pos)) PARTITION BY HASH(agent);
ALTER TABLE ~log ALTER data SET STORAGE EXTERNAL;
CREATE INDEX log_pos ON ~log(pos);
CREATE INDEX log_snaps ON ~log(agent, pos) WHERE snaps IS NOT NULL;
CREATE TABLE ~heads(agent bigint NOT NULL, name bytea NOT NULL, PRIMARY KEY(agent, name));
CREATE TABLE ~names(agent bigint NOT NULL, tag bigint NOT NULL, pos bigint NOT NULL);
CREATE INDEX names_tag ON ~names(agent, tag);
CREATE TABLE ~listings(agent bigint PRIMARY KEY, id bytea NOT NULL, name bytea NOT NULL, kind bytea NOT NULL, scope bytea NOT NULL, state int NOT NULL,
	labels bytea, created bigint NOT NULL, updated bigint NOT NULL, due bigint NOT NULL, entries bigint NOT NULL, waiting bool NOT NULL);
CREATE INDEX listings_name ON ~listings(name, id);
CREATE INDEX listings_waiting ON ~listings(name, id) WHERE waiting;
CREATE TABLE ~aside(id bytea NOT NULL, entry bytea NOT NULL, name bytea NOT NULL);
CREATE INDEX aside_id ON ~aside(id);
`

// steps take a schema from the version of their index, counted from 1, to the next. They run while others use the
// store: none takes a lock for longer than a moment, and each may be run again after it was interrupted. One that
// cannot be in a transaction is on its own.
var steps = []step{
	{
		alone: true,
		text:  "CREATE INDEX CONCURRENTLY IF NOT EXISTS agents_held ON ~agents(due) WHERE node IS NOT NULL",
		index: "agents_held",
	},
	{text: "CREATE TABLE IF NOT EXISTS ~roster(node bytea PRIMARY KEY, about bytea NOT NULL, seen bigint NOT NULL)"},
	{text: "ALTER TABLE ~agents ADD COLUMN IF NOT EXISTS unlisted bool NOT NULL DEFAULT false"},
	{
		alone: true,
		text:  "CREATE INDEX CONCURRENTLY IF NOT EXISTS agents_unlisted ON ~agents(key) WHERE unlisted",
		index: "agents_unlisted",
	},
}

type step struct {
	text  string
	alone bool
	index string // that an interrupted run may have left unfinished
}

// lockTime is how long a step waits for a lock: who waits for one keeps everybody else waiting behind it.
const lockTime = "2s"

// prepare brings the schema to this version. It makes one only if it may; without looking at anything else it refuses
// one of a newer version.
func (s *Store) prepare(ctx context.Context, c *pgx.Conn, create, look bool) error {
	var taken *pgconn.PgError // a table is there that the store would make
	for {
		version, err := s.version(ctx, c)
		s.found = version
		switch {
		case err != nil:
			return err
		case version > Version:
			return perdure.WithHint(
				fmt.Errorf("the store has version %d; this program knows %d", version, Version),
				"use a newer perdure",
			)
		case version == 0 && !create:
			return fmt.Errorf("%w: make an agent there first, with perdure new", perdure.ErrNotFound)
		case version == 0 && taken != nil: // and nobody has made a store of it since
			return perdure.WithHint(fmt.Errorf("schema %s is not one of perdure's: %s", s.plain, taken.Message),
				"name another in the URL with ?schema=NAME")
		case version == Version, look: // whoever only looks reads every version up to this one
			return nil
		}
		err = s.migrate(ctx, c, version)
		if err != nil && !interrupted(err) {
			return err
		}
		if !errors.As(err, &taken) || taken.Code != duplicateTable {
			taken = nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// duplicateTable is the code of a table that is there already.
const duplicateTable = "42P07"

// interrupted reports whether a step is to be tried again: others were in its way, or were first.
func interrupted(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return false
	}
	switch server.Code {
	case "55P03", "40P01", "40001", "23505", duplicateTable, "42P06", "XX000":
		return true
	}
	return false
}

// version is that of the schema; zero: there is none.
func (s *Store) version(ctx context.Context, c *pgx.Conn) (version int, err error) {
	var there bool
	if err := c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.QueryExecModeExec, s.schema+".meta").
		Scan(&there); err != nil ||
		!there {
		return 0, err
	}
	err = c.QueryRow(ctx, s.sql("SELECT version FROM ~meta"), pgx.QueryExecModeExec).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errors.New("its table meta is empty: restore it from a backup")
	}
	return version, err
}

// lockKey is the advisory lock of those who change the schema.
func (s *Store) lockKey() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("perdure schema " + s.plain))
	return int64(h.Sum64())
}

// migrate takes the schema one version on. One process at a time does; the others find it done.
func (s *Store) migrate(ctx context.Context, c *pgx.Conn, from int) error {
	if from > 0 && steps[from-1].alone {
		return s.migrateAlone(ctx, c, from)
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", pgx.QueryExecModeExec, s.lockKey()); err != nil {
			return err
		}
		if now, err := s.version(ctx, c); err != nil || now != from {
			return err
		}
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+lockTime+"'"); err != nil {
			return err
		}
		if from == 0 {
			return s.create(ctx, tx)
		}
		if _, err := tx.Exec(ctx, s.sql(steps[from-1].text), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, s.sql("UPDATE ~meta SET version=$1"), pgx.QueryExecModeExec, from+1)
		return err
	})
}

// migrateAlone runs a step that cannot be in a transaction. Several processes may do so at once: one makes the index,
// the others find it. What a process left that was stopped is taken away first.
func (s *Store) migrateAlone(ctx context.Context, c *pgx.Conn, from int) error {
	st := steps[from-1]
	if err := s.dropUnfinished(ctx, c, from); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, s.sql(st.text), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	done := false
	err := s.ifVersion(ctx, c, from, func(tx pgx.Tx) (err error) {
		const ready = "SELECT EXISTS (SELECT 1 FROM pg_index WHERE indexrelid=to_regclass($1) AND indisvalid)"
		if err = tx.QueryRow(ctx, ready, pgx.QueryExecModeExec, s.schema+"."+st.index).Scan(&done); err == nil && done {
			_, err = tx.Exec(ctx, s.sql("UPDATE ~meta SET version=$1"), pgx.QueryExecModeExec, from+1)
		}
		return err
	})
	if err == nil && !done { // another process is still making it
		pause(ctx, nil, 100*time.Millisecond)
	}
	return err
}

// ifVersion has f change the schema in a transaction if it still has a version, which nobody changes meanwhile.
func (s *Store) ifVersion(ctx context.Context, c *pgx.Conn, from int, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+lockTime+"'"); err != nil {
			return err
		}
		var version int
		err := tx.QueryRow(ctx, s.sql("SELECT version FROM ~meta FOR UPDATE"), pgx.QueryExecModeExec).Scan(&version)
		if err != nil || version != from {
			return err
		}
		return f(tx)
	})
}

// dropUnfinished takes away an index that a process left which was stopped while it made it. Whoever makes one holds a
// lock of the table, which is waited for here, and lets go of it a moment before others see that the index is ready:
// the index may be taken away then, too, but only before the version says that it is there.
func (s *Store) dropUnfinished(ctx context.Context, c *pgx.Conn, from int) error {
	index := steps[from-1].index
	left := func() (is bool, err error) {
		const text = "SELECT count(*)>0 FROM pg_index WHERE indexrelid=to_regclass($1) AND NOT indisvalid"
		err = c.QueryRow(ctx, text, pgx.QueryExecModeExec, s.schema+"."+index).Scan(&is)
		return is, err
	}
	if is, err := left(); err != nil || !is {
		return err
	}
	return s.ifVersion(ctx, c, from, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, s.sql("LOCK TABLE ~agents IN SHARE UPDATE EXCLUSIVE MODE"),
			pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		if is, err := left(); err != nil || !is {
			return err
		}
		_, err = tx.Exec(ctx, s.sql("DROP INDEX ~"+index), pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// create makes the schema.
func (s *Store) create(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", pgx.QueryExecModeExec, s.schema).
		Scan(&there); err != nil {
		return err
	}
	var text strings.Builder
	if !there { // who may not make schemas may use one that was made for them
		text.WriteString("CREATE SCHEMA " + s.schema + ";\n")
	}
	text.WriteString(s.sql(base))
	for i := range parts {
		fmt.Fprintf(&text,
			"CREATE TABLE %s.log_%d PARTITION OF %s.log FOR VALUES WITH (MODULUS %d, REMAINDER %d);\n",
			s.schema, i, s.schema, parts, i)
	}
	if _, err := tx.Exec(ctx, text.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	id := make([]byte, 32)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, s.sql("INSERT INTO ~meta(version,id) VALUES(1,$1)"), pgx.QueryExecModeExec, id)
	return err
}

// soften notes, durably, that somebody writes here whose writes do not survive a crash of the server: what the feed
// showed may be gone after one, see FeedEnd.
func (s *Store) soften(ctx context.Context, c *pgx.Conn) error {
	if s.looks {
		return nil
	}
	_, err := c.Exec(
		ctx, s.sql("UPDATE ~meta SET soft=true WHERE NOT soft AND set_config('synchronous_commit','local',true)<>''"),
		pgx.QueryExecModeExec,
	)
	return err
}
