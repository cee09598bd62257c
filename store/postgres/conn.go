package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/perdure/perdure"
)

const (
	// callTime bounds one exchange with the server. A connection that hangs for longer is given up, and another tried.
	callTime = 30 * time.Second
	// cancelGrace is how long an exchange goes on whose caller does not wait any more: most end sooner, and the
	// connection stays whole.
	cancelGrace = time.Second
	// firstRetry and lastRetry are how long a server that could not be reached is left alone, at first and at last.
	firstRetry, lastRetry = 20 * time.Millisecond, time.Second
)

// sql is a statement with the schema put before every name that ~ marks.
func (s *Store) sql(text string) string {
	if known, ok := s.texts.Load(text); ok {
		return known.(string)
	}
	full := strings.ReplaceAll(text, "~", s.schema+".")
	s.texts.Store(text, full)
	return full
}

// bounded is a context for one exchange: it ends a moment after ctx, and in any case in time, unless that is to take as
// long as it takes.
func bounded(ctx context.Context, most time.Duration) (context.Context, func()) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if most > 0 {
		out, cancel = context.WithTimeout(context.WithoutCancel(ctx), most)
	}
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(cancelGrace, cancel)
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() {
		stop()
		cancel()
	}
}

// try calls f until the server can be reached, as long as ctx and patience last. f may be called more than once, and
// must be such that this does no harm.
func (s *Store) try(ctx context.Context, f func(ctx context.Context) error) error {
	return s.tryFor(ctx, callTime, f)
}

// tryFor is try for what may take longer, or, with zero, as long as it takes.
func (s *Store) tryFor(ctx context.Context, most time.Duration, f func(ctx context.Context) error) error {
	deadline, wait := time.Now().Add(s.patience), firstRetry
	for {
		if err := s.usable(ctx); err != nil {
			return err
		}
		err := once(ctx, most, f)
		if err == nil || !passing(err) {
			return s.helped(err)
		}
		if time.Now().Add(wait).After(deadline) {
			return unreachable(err)
		}
		if !pause(ctx, s.ended, wait) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return s.errClosed()
		}
		wait = min(2*wait, lastRetry)
	}
}

func once(ctx context.Context, most time.Duration, f func(ctx context.Context) error) error {
	call, done := bounded(ctx, most)
	defer done()
	err := f(call)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// pause waits, and reports whether it did to the end.
func pause(ctx context.Context, ended <-chan struct{}, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-ended:
	}
	return false
}

// unreachable says that the server has not answered for as long as somebody was ready to wait.
func unreachable(err error) error {
	return perdure.WithHint(fmt.Errorf("the database server cannot be reached: %w", err),
		"look whether it runs and the network reaches it; nothing was lost, try again")
}

// helped is an error of the server, with what to do about it where that is known.
func (s *Store) helped(err error) error {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return err
	}
	switch server.Code {
	case "42501":
		return perdure.WithHint(err, grants(s.schema, s.pool.Config().ConnConfig.User))
	case "53100":
		return perdure.WithHint(err,
			"make room on the disk of the database server, and start it if it stopped; what was acknowledged is kept")
	}
	return err
}

// passing reports whether an error is one that may be gone the next time: the connection broke, the server stops or
// starts, or two transactions were in each other's way.
func passing(err error) bool {
	if errors.Is(err, errMade) {
		return true
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code {
		case "40001", "40P01", // they were in each other's way
			"57P01", "57P02", "57P03", // it stops, has crashed, starts
			"53300",          // it has no connection left
			"25006", "55P03", // it is a standby for now; a lock was not to be had in time
			// a pooler gave another connection, or a statement was planned before a change of the schema
			"26000", "0A000":
			return server.Code != "0A000" || strings.Contains(server.Message, "cached plan")
		}
		return strings.HasPrefix(server.Code, "08")
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) ||
		broken(err)
}

// nameless reports whether a server cannot be reached because there is none of that name.
func nameless(err error) bool {
	var lookup *net.DNSError
	return errors.As(err, &lookup) && lookup.IsNotFound
}

// broken reports whether an error is of a connection that has ended.
func broken(err error) bool {
	text := err.Error()
	signs := []string{"unexpected EOF", "conn closed", "broken pipe", "connection reset", "use of closed network"}
	for _, sign := range signs {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// each calls f with each row, and closes them.
func each(rows pgx.Rows, scan func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// transact calls f within a transaction, as one call of tryFor.
func (s *Store) transact(ctx context.Context, most time.Duration, f func(ctx context.Context, tx pgx.Tx) error) error {
	return s.tryFor(ctx, most, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return f(ctx, tx) })
	})
}

// advise is an error of opening a store with what to do about it.
func advise(err error, name *Name) error {
	var hint *perdure.Hint
	if errors.As(err, &hint) {
		return err
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch user := name.config.ConnConfig.User; server.Code {
		case "28P01", "28000":
			hint := "put the password into ~/.pgpass (host:port:database:user:password, mode 600) or PGPASSWORD"
			if strings.Contains(server.Message, "does not exist") {
				hint = "name another user in the URL, before the @, or make this one with createuser"
			}
			return perdure.WithHint(fmt.Errorf("the server refuses user %q: %s", user, server.Message), hint)
		case "3D000":
			// the server takes the user's name where no other is given
			database := cmp.Or(name.config.ConnConfig.Database, user)
			return perdure.WithHint(fmt.Errorf("there is no database %q", database),
				"make it with createdb, or name another in the URL: postgres://USER@HOST/DATABASE")
		case "42501":
			hint := "as owner of the database run GRANT CREATE ON DATABASE, or CREATE SCHEMA " + name.plain +
				" AUTHORIZATION " + user
			if !strings.Contains(server.Message, "database") {
				hint = grants(name.schema, user) // the schema is there
			}
			return perdure.WithHint(fmt.Errorf("user %q lacks a right: %s", user, server.Message), hint)
		case "42703":
			return perdure.WithHint(fmt.Errorf("schema %s is not one of perdure's: %s", name.plain, server.Message),
				"name another in the URL with ?schema=NAME")
		case "42704":
			return perdure.WithHint(errors.New(server.Message),
				"leave it out of the URL: after the ? stand schema=NAME and parameters that PostgreSQL knows")
		case "53300":
			return perdure.WithHint(
				errors.New(server.Message),
				"let the server take more connections, put PgBouncer before it, or add pool_max_conns=4 to the URL",
			)
		}
		return fmt.Errorf("%s (SQLSTATE %s)", server.Message, server.Code)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && strings.Contains(err.Error(), "server refused TLS") {
		return perdure.WithHint(fmt.Errorf("the server at %s does not speak TLS, which the URL asks for", where(name)),
			"set it up on the server (ssl=on), or leave sslmode out of the URL if nobody else is on the way there")
	}
	if errors.As(err, &connect) {
		return perdure.WithHint(fmt.Errorf("no server answers at %s: %s", where(name), cause(connect)),
			"start it, or look whether host and port are right")
	}
	return err
}

// where is the address of a server.
func where(name *Name) string {
	c := name.config.ConnConfig
	if strings.HasPrefix(c.Host, "/") {
		return c.Host
	}
	return net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
}

// cause is the innermost reason why a connection could not be made: what is around it repeats where it was to go.
func cause(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
