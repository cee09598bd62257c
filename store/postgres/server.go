package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

// minServer is the oldest server this package works with: it has MATERIALIZED, hash partitions and ATTACH without a
// long lock.
const minServer = 13_00_00

// server is what is known of the server and of the schema.
type server struct {
	pooled   bool // a pooler stands before it
	version  int
	sync     string // synchronous_commit
	fsync    bool
	standbys string // synchronous_standby_names
	tag      int64  // of this store's advisory locks, in the upper 16 bits
	place    perdure.Hash
	id       []byte // the schema's own
}

// ask asks the server what it is, and refuses one that cannot be worked with.
func (v *server) ask(ctx context.Context, c *pgx.Conn) error {
	var pid uint32
	var standby bool
	var fsync, isolation string
	const text = `SELECT pg_backend_pid(), current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('synchronous_commit'),
		current_setting('fsync'), coalesce(current_setting('synchronous_standby_names', true), ''), current_setting('default_transaction_isolation')`
	err := c.QueryRow(ctx, text, pgx.QueryExecModeExec).
		Scan(&pid, &v.version, &standby, &v.sync, &fsync, &v.standbys, &isolation)
	if err != nil {
		return err
	}
	v.pooled, v.fsync = pid != c.PgConn().PID(), fsync != "off"
	switch {
	case v.version < minServer:
		return perdure.WithHint(
			fmt.Errorf("the server is PostgreSQL %d: 13 or newer is needed", v.version/10000),
			"upgrade the server",
		)
	case standby:
		return perdure.WithHint(errors.New("the server is a standby, which cannot be written to or followed"),
			"name the primary, or all servers with target_session_attrs=read-write")
	case isolation != "read committed":
		return perdure.WithHint(
			fmt.Errorf(
				"transactions of this user are %s by default: they would fail instead of waiting for each other",
				isolation,
			),
			"run ALTER ROLE … SET default_transaction_isolation = 'read committed'",
		)
	}
	return nil
}

// know learns what tells this store from others. A copy of it made with pg_dump, in another schema, database or server,
// is another place.
func (v *server) know(ctx context.Context, c *pgx.Conn, s *Store) error {
	var oid, base uint32
	const text = `SELECT m.id, n.oid, d.oid FROM ~meta m, pg_namespace n, pg_database d WHERE n.nspname=$1 AND d.datname=current_database()`
	err := c.QueryRow(ctx, s.sql(text), pgx.QueryExecModeExec, s.plain).Scan(&v.id, &oid, &base)
	if err != nil {
		return err
	}
	var system int64
	if err := c.QueryRow(ctx, "SELECT system_identifier FROM pg_control_system()", pgx.QueryExecModeExec).
		Scan(&system); err != nil {
		system = 0 // some services do not say
	}
	v.tag = int64(oid&0x7fff) << 48
	v.place = perdure.HashOf(fmt.Appendf(append([]byte("place "), v.id...), " %d %d %d", system, base, oid))
	if v.sync == "off" || !v.fsync {
		return s.soften(ctx, c)
	}
	return nil
}

// Writable says which rights this user lacks to write to the store, if it lacks any. It writes nothing.
func (s *Store) Writable(ctx context.Context) error {
	const text = `SELECT current_user, current_setting('default_transaction_read_only')='on', (
		SELECT coalesce(string_agg(c.relname, ', ' ORDER BY c.relname), '') FROM pg_class c
		WHERE c.relnamespace=(SELECT oid FROM pg_namespace WHERE nspname=$1) AND NOT c.relispartition AND CASE c.relkind
			WHEN 'S' THEN c.relname='pos' AND NOT has_sequence_privilege(c.oid, 'USAGE')
			WHEN 'r' THEN NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AND
				has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
			WHEN 'p' THEN NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AND
				has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
			ELSE false END)`
	var user, lacking string
	var reads bool
	err := s.try(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, text, s.plain).Scan(&user, &reads, &lacking)
	})
	switch {
	case err != nil:
		return err
	case reads:
		return perdure.WithHint(fmt.Errorf("transactions of user %q are read-only by default: nothing can be written",
			user), "run ALTER ROLE "+user+" RESET default_transaction_read_only, or name another user in the URL")
	case lacking != "":
		return perdure.WithHint(fmt.Errorf("user %q may not write to %s: nothing can be done here", user, lacking),
			grants(s.schema, user))
	}
	return nil
}

// grants is what the owner of a schema does for a user who lacks rights in it.
func grants(schema, user string) string {
	to := " TO " + pgx.Identifier{user}.Sanitize()
	return "as owner of the schema run GRANT USAGE ON SCHEMA " + schema + to +
		"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema + to +
		"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA " + schema + to
}

// Durability is what an acknowledged write survives, as the server's settings for this user have it.
type Durability struct {
	Sync     string // synchronous_commit
	Fsync    bool
	Standbys string // synchronous_standby_names; empty: nobody else has a write when it is acknowledged
}

// Durability says what writes survive.
func (s *Store) Durability() Durability {
	return Durability{s.server.sync, s.server.fsync, s.server.standbys}
}

// Survives says it for people.
func (d Durability) Survives() string {
	set := "synchronous_commit=" + d.Sync
	switch {
	case !d.Fsync:
		return "kill -9 of this program and of the server, not a power cut (fsync=off)"
	case d.Sync == "off":
		return "kill -9 of this program, not a crash of the server (" + set + ")"
	case d.Standbys != "" && d.Sync != "local":
		return "kill -9, a power cut, and the loss of the server: a standby has it, too (" + set +
			", synchronous_standby_names=" + d.Standbys + ")"
	}
	return "kill -9 and a power cut of the server (" + set + ")"
}

// Survives says what an acknowledged write survives.
func (s *Store) Survives() string { return s.Durability().Survives() }

// Lasts reports whether that is a power cut, too.
func (s *Store) Lasts() bool { return s.server.fsync && s.server.sync != "off" }

// Pooled reports whether a pooler stands before the server: then it is asked for news now and then instead of telling
// them.
func (s *Store) Pooled() bool { return s.server.pooled }

// Place implements perdure.Placed.
func (s *Store) Place(ctx context.Context) (perdure.Place, error) {
	if err := s.usable(ctx); err != nil {
		return perdure.Place{}, err
	}
	return perdure.Place{ID: s.server.place}, nil
}
