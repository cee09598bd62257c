// Package postgres is the store in a PostgreSQL database, for any number of nodes on any number of machines.
//
// A store is one schema of a database. What Append and Put acknowledge has been committed as the server's
// synchronous_commit says, which the store respects and reports (Durability); calls of one process that come at the
// same time share a transaction. An Append is one round trip. Nothing of a session is relied on, so a pooler in
// transaction mode, such as PgBouncer, may stand before the server.
//
// When the connection is lost in the middle of a write, the store connects again and asks: a write that had been
// committed is acknowledged, one that had not been is made again. It can be made twice by no one, since heads are
// compared.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure"
)

// Options change how a store is opened. The zero value is right for most.
type Options struct {
	Limits   perdure.Limits // for entries that are read; zero fields are the defaults
	Existing bool           // refuse to make a store where there is none
	Look     bool           // only look: nothing is written, and writing is refused
	Patience time.Duration  // how long a call waits for a server that cannot be reached; zero: DefaultPatience
	// Waits is told that Open waits for a server that cannot be reached; nil: nobody is.
	Waits func(text string)
}

// DefaultPatience is how long a call waits for a server that cannot be reached: a restart and a failover are shorter.
const DefaultPatience = 30 * time.Second

// openPatience is how long Open waits at most for a server that cannot be reached: one that restarts is back sooner,
// and whoever named a wrong one is told soon enough.
const openPatience = 15 * time.Second

// Store is an open store. Its methods may be called by any number of goroutines.
type Store struct {
	label    string // as people may read it: no password
	schema   string // quoted
	plain    string // the same, as it is
	limits   perdure.Limits
	patience time.Duration
	pool     *pgxpool.Pool
	server   server
	texts    sync.Map // statements, with the schema in them
	looks    bool
	found    int // the version of the schema, when it was opened
	watch    hub
	bell     bell
	looked   atomic.Int64 // listings read to list agents
	stuckAt  atomic.Int64 // the horizon below which a write is stuck, see horizon

	mu     sync.RWMutex // held for reading while a request is handed over
	closed bool
	queues [committers]queue
	group  sync.WaitGroup // queues that are busy
	ended  chan struct{}  // closed when the store is
}

var (
	_ perdure.Store   = (*Store)(nil)
	_ perdure.Claimer = (*Store)(nil)
	_ perdure.Holder  = (*Store)(nil)
	_ perdure.Lister  = (*Store)(nil)
	_ perdure.Watcher = (*Store)(nil)
	_ perdure.Feeder  = (*Store)(nil)
	_ perdure.Pruner  = (*Store)(nil)
	_ perdure.Placed  = (*Store)(nil)
	_ perdure.Parter  = (*Store)(nil)
)

// Open opens the store that a URL names, see Parse, and makes it when there is none. It refuses a server that is too
// old or a standby, and a store of a newer version. An older one is brought to this version while others use it. A
// server that cannot be reached, or starts, is waited for, as long as Patience says and for 15 seconds at most.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	name, err := Parse(url)
	if err != nil {
		return nil, err
	}
	s := &Store{
		label:    name.Label,
		schema:   name.schema,
		plain:    name.plain,
		limits:   o.Limits,
		patience: o.Patience,
		looks:    o.Look,
		ended:    make(chan struct{}),
	}
	if s.limits.Bytes == 0 {
		s.limits.Bytes = perdure.MaxBody + perdure.MaxHeader + 1024 // an entry is read in one piece
	}
	if s.patience == 0 {
		s.patience = DefaultPatience
	}
	s.bell.store, s.watch.store = s, s
	if err := s.reach(ctx, name, o); err != nil {
		return nil, fmt.Errorf("open store %s: %w", s.label, advise(err, name))
	}
	return s, nil
}

// reach is meet, with patience for a server that stops or starts at the moment.
func (s *Store) reach(ctx context.Context, name *Name, o Options) error {
	patience, told := min(s.patience, openPatience), false
	deadline, wait := time.Now().Add(patience), firstRetry
	for {
		err := s.meet(ctx, name, o, max(time.Until(deadline), time.Second))
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || !passing(err) || nameless(err) {
			return err
		}
		if time.Now().Add(wait).After(deadline) {
			return err
		}
		if !told && wait == lastRetry && o.Waits != nil { // it is not gone for a moment only
			told = true
			o.Waits(fmt.Sprintf("%v; waiting for it for up to %s", advise(err, name), patience))
		}
		if !pause(ctx, s.ended, wait) {
			return ctx.Err()
		}
		wait = min(2*wait, lastRetry)
	}
}

// meet looks at the server and brings the schema to this version, on one connection, which is to be there within a
// time; then it sets up the pool.
func (s *Store) meet(ctx context.Context, name *Name, o Options, connect time.Duration) error {
	cfg := name.config.Copy()
	connecting, cancel := context.WithTimeout(ctx, connect)
	c, err := pgx.ConnectConfig(connecting, cfg.ConnConfig)
	cancel()
	if err != nil {
		return err
	}
	err = s.server.ask(ctx, c)
	if err == nil {
		err = s.prepare(ctx, c, !o.Existing && !o.Look, o.Look)
	}
	if err == nil {
		err = s.server.know(ctx, c, s)
	}
	if err = errors.Join(err, c.Close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	if s.server.pooled && !name.mode {
		// A pooler gives each transaction another connection, which does not know the statements prepared on the one
		// before.
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if !s.server.pooled { // a plan costs more than most of these statements
		cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	}
	s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg)
	return err
}

// Label names the store for people. It has no password in it.
func (s *Store) Label() string { return s.label }

// Close implements perdure.Store. It waits for calls under way.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		<-s.ended
		return nil
	}
	s.group.Wait()
	s.bell.close()
	s.watch.close()
	s.pool.Close()
	close(s.ended)
	return nil
}

// usable says why the store cannot be used, if it cannot.
func (s *Store) usable(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return s.errClosed()
	}
	return ctx.Err()
}

func (s *Store) errClosed() error { return fmt.Errorf("store %s: %w", s.label, fs.ErrClosed) }

// errLooks says that a store was opened to look at.
var errLooks = errors.New("the store was opened read-only")

// writable says why the store cannot be written to, if it cannot.
func (s *Store) writable(ctx context.Context) error {
	if s.looks {
		return errLooks
	}
	return s.usable(ctx)
}
