package nats

import (
	"context"
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
	pos    uint64        // up to here everything was handed on
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
		f.pos = from - 1
		f.cfg.DeliverPolicy, f.cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, from
	}
	go func() {
		defer close(f.done)
		for ctx.Err() == nil {
			f.follow(ctx)
			if at := f.at(); at > 0 {
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
	for {
		m, err := all.Next(jetstream.NextContext(ctx))
		if err != nil {
			return
		}
		meta, err := m.Metadata()
		if err != nil {
			return
		}
		if at := meta.Sequence.Stream; at > f.at() {
			f.apply(m, at)
			f.mu.Lock()
			f.pos = at
			close(f.more)
			f.more = make(chan struct{})
			f.mu.Unlock()
		}
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
