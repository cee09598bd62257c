package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pullExpiry and pullBeat are how often a consumer is asked for more, and how often it must say that it is there.
	// Where it does not, its server has died, and another is made.
	pullExpiry, pullBeat = 5 * time.Second, time.Second
	// idleConsumer is after how long a server forgets a consumer that nobody asks.
	idleConsumer = time.Minute
)

// follower reads a stream as it grows, by a consumer of its own, and hands every message on in order. When the
// consumer is lost it goes on with another where it was.
type follower struct {
	store *Store
	cfg   jetstream.OrderedConsumerConfig
	name  string // of the stream
	apply func(m jetstream.Msg, at uint64)

	mu     sync.Mutex
	pos    uint64        // up to here everything was handed on that the server can read
	seen   uint64        // the last that was handed on
	reader string        // the consumer it came from
	handed uint64        // how many that consumer has delivered until then
	more   chan struct{} // closed when pos grows
	cancel context.CancelFunc
	done   chan struct{}
}

// start begins to read. It ends with the store, or with stop.
func (f *follower) start(from uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel, f.done, f.more = cancel, make(chan struct{}), make(chan struct{})
	f.cfg.InactiveThreshold = idleConsumer
	f.cfg.MaxResetAttempts = 1 // it is begun again here: the library would not hear that it is to stop
	if from > 0 {
		f.pos, f.seen = from-1, from-1
		f.cfg.DeliverPolicy, f.cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, from
	}
	go func() {
		defer close(f.done)
		for ctx.Err() == nil {
			f.follow(ctx)
			f.mu.Lock()
			at := f.seen
			f.mu.Unlock()
			if at > 0 {
				f.cfg.DeliverPolicy, f.cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, at+1
			}
			f.store.pause(ctx, 10*firstRetry)
		}
	}()
}

func (f *follower) stop() {
	f.cancel()
	<-f.done
}

func (f *follower) at() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pos
}

// follow reads until the consumer is lost for good.
func (f *follower) follow(ctx context.Context) {
	js, err := f.store.jetstream()
	if err != nil {
		return
	}
	begin, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c, err := js.OrderedConsumer(begin, f.name, f.cfg)
	if err != nil {
		return
	}
	all, err := c.Messages(jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullBeat))
	if err != nil {
		return
	}
	defer all.Stop()
	f.mu.Lock()
	f.reader, f.handed = c.CachedInfo().Name, 0
	f.mu.Unlock()
	for {
		m, err := all.Next(jetstream.NextContext(ctx))
		if err != nil {
			return
		}
		meta, err := m.Metadata()
		if err != nil {
			return
		}
		at := meta.Sequence.Stream
		if at > f.seen { // nobody else changes it
			f.apply(m, at)
		}
		f.mu.Lock()
		f.seen, f.reader, f.handed = max(f.seen, at), meta.Consumer, meta.Sequence.Consumer
		f.reached(f.seen)
		f.mu.Unlock()
	}
}

// reached tells who waits for a place. The lock is held.
func (f *follower) reached(at uint64) {
	if at > f.pos {
		f.pos = at
		close(f.more)
		f.more = make(chan struct{})
	}
}

// quiet is how long nothing comes before a server is asked where it is.
const quiet = 20 * time.Millisecond

// nudge has a server go on that met a message it cannot read: it does so only when somebody asks it for more, as also
// one does who asks wrongly and gets nothing. Once all that it sent has come there is no more to wait for, if what is
// at the place was followed by one that cannot be read: of each subject the last is sent.
func (f *follower) nudge(ctx context.Context, to uint64) {
	f.mu.Lock()
	reader := f.reader
	f.mu.Unlock()
	if reader == "" {
		return
	}
	s, at := f.store, f.name+"."+reader
	if err := s.conn.PublishRequest(s.verb("CONSUMER.MSG.NEXT", at), s.conn.NewInbox(), []byte("more")); err != nil {
		return
	}
	var is struct {
		Pending   uint64 `json:"num_pending"`
		Delivered struct {
			Count uint64 `json:"consumer_seq"`
		} `json:"delivered"`
	}
	if err := s.api(ctx, "CONSUMER.INFO", at, nil, &is); err != nil || is.Pending > 0 {
		return
	}
	m, err := s.get(ctx, f.name, query{Seq: to})
	if err == nil && m != nil {
		_, err = s.last(ctx, f.name, m.Subject)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(err, errRotten) && f.reader == reader && f.handed == is.Delivered.Count {
		f.reached(to)
	}
}

// reach waits until everything up to a place was handed on.
func (f *follower) reach(ctx context.Context, to uint64) error {
	return f.store.try(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		for {
			f.mu.Lock()
			at, more := f.pos, f.more
			f.mu.Unlock()
			if at >= to {
				return nil
			}
			select {
			case <-more:
			case <-time.After(quiet):
				f.nudge(ctx, to)
			case <-f.store.ended:
				return f.store.errClosed()
			case <-ctx.Done():
				return fmt.Errorf("%w: %w", errNoAnswer, ctx.Err())
			}
		}
	})
}

func (s *Store) jetstream() (jetstream.JetStream, error) {
	if s.name.domain != "" {
		return jetstream.NewWithDomain(s.conn, s.name.domain)
	}
	return jetstream.New(s.conn)
}
