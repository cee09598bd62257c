// Package nats is the store in NATS JetStream, for any number of nodes on any number of machines.
//
// A store is four streams of one account. The log holds the entries: one message per commit, on a subject per agent,
// published only if the message the writer knows is still the last of that subject. A message is stored or it is not,
// so a commit is all or nothing by itself; what does not fit into a message is written to pages first, which nothing
// refers to until the commit does. Commits of many agents at once share an atomic batch where the servers have those.
//
// Every message names the one before it, and what it holds is checked when it is read: what the servers lose is
// noticed and never served. What Append and Put acknowledge has been written as the servers are set up to: a store
// refuses servers that do not sync always, and most must say that they do, unless it is told to be unsafe (see Parse).
//
// When an answer is lost in the middle of a write, the store asks: a write that had been stored is acknowledged, one
// that had not been is made again. It can be made twice by no one, since sequences are compared.
package nats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/turns"
)

// Options change how a store is opened. The zero value is right for most.
type Options struct {
	Limits   perdure.Limits // for entries that are read; zero fields are the defaults
	Existing bool           // refuse to make a store where there is none
	Look     bool           // only look: nothing is written, and writing is refused
	Aside    string         // with Look, a folder for lines of agents that are derived; empty: none
	Patience time.Duration  // how long a call waits for servers that cannot be reached; zero: DefaultPatience
	// Note is told that Open waits for servers that cannot be reached, and which did not say how they are set up; nil:
	// nobody is.
	Note func(text string)
}

// DefaultPatience is how long a call waits for servers that cannot be reached: the election of a leader is shorter.
const DefaultPatience = 30 * time.Second

// openPatience is how long Open waits at most for servers that cannot be reached: one that restarts is back sooner, and
// whoever named a wrong one is told soon enough.
const openPatience = 15 * time.Second

// Store is an open store. Its methods may be called by any number of goroutines.
type Store struct {
	name     *Name
	limits   perdure.Limits
	patience time.Duration
	looks    bool
	aside    string
	conn     *client.Conn
	line     line // the connection as it is now
	streams  streams
	server   server
	states   states
	turns    turns.Turns[perdure.AgentID] // who write to one agent here would only get in each other's way
	postings postings
	index    lookIndex
	lists    listIndex
	claims   claims
	opened   bool // its streams were there

	mu     sync.RWMutex
	closed bool
	ended  chan struct{} // closed when the store is
	group  sync.WaitGroup
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
	_ perdure.Healer  = (*Store)(nil)
)

// Derived is where who only looks keeps what it derives; empty: nowhere.
func (s *Store) Derived() string {
	if !s.looks {
		return ""
	}
	return s.aside
}

// Open opens the store that a URL names, see Parse, and makes it when there is none. It refuses servers that are too
// old or do not sync always, a store of which fewer than most servers say that they do, and one of a newer version. If
// none can be reached, it waits for one, as long as Patience says and for 15 seconds at most.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	name, err := Parse(url)
	if err != nil {
		return nil, err
	}
	s := &Store{
		name:     name,
		limits:   o.Limits,
		patience: o.Patience,
		looks:    o.Look,
		aside:    o.Aside,
		streams:  streamsOf(name),
		ended:    make(chan struct{}),
	}
	if s.limits.Bytes == 0 {
		s.limits.Bytes = perdure.MaxBody + perdure.MaxHeader + 1024 // an entry is read in one piece
	}
	if s.patience == 0 {
		s.patience = DefaultPatience
	}
	s.index.store, s.lists.store = s, s
	if err := s.meet(ctx, o); err != nil {
		if s.conn != nil {
			s.conn.Close()
		}
		return nil, fmt.Errorf("open store %s: %w", name.Label, advise(err, name))
	}
	s.opened = true
	return s, nil
}

// meet connects, looks at the servers and at the streams, and makes those that are missing.
func (s *Store) meet(ctx context.Context, o Options) error {
	if err := s.reach(ctx, o.Note); err != nil {
		return err
	}
	if err := s.server.ask(ctx, s); err != nil {
		return err
	}
	if err := s.prepare(ctx, !o.Existing && !o.Look); err != nil {
		return err
	}
	if err := s.server.durable(ctx, s); err != nil {
		return err
	}
	if text := s.Durability().Unknown(); text != "" && !s.name.Unsafe && o.Note != nil {
		o.Note(text)
	}
	return nil
}

// Label names the store for people. It has no password in it.
func (s *Store) Label() string { return s.name.Label }

// Close implements perdure.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		close(s.ended)
		s.group.Wait()
		s.conn.Close()
		s.line.wait()
	}
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

func (s *Store) errClosed() error { return fmt.Errorf("store %s: %w", s.name.Label, fs.ErrClosed) }

// errLooks says that a store was opened to look at.
var errLooks = errors.New("the store was opened read-only")

// writable says why the store cannot be written to, if it cannot.
func (s *Store) writable(ctx context.Context) error {
	if s.looks {
		return errLooks
	}
	return s.usable(ctx)
}

// Place implements perdure.Placed.
func (s *Store) Place(ctx context.Context) (perdure.Place, error) {
	if err := s.usable(ctx); err != nil {
		return perdure.Place{}, err
	}
	return perdure.Place{ID: s.server.place}, nil
}
