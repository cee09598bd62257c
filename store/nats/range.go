package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	client "github.com/nats-io/nats.go"
)

const (
	// batchMessages and batchBytes bound what is read at a time. The message that goes beyond the second is still read.
	batchMessages = 256
	batchBytes    = 4 << 20
	// lagTries is how often a server that lags behind is asked again, before the leader is.
	lagTries = 5
)

// between yields the messages of the log on a subject, from a place up to another, of which the second is known to
// have been there. Any server that keeps the log may answer; one that lags behind is noticed, since the end is known.
func (s *Store) between(ctx context.Context, subject string, from, to uint64) iter.Seq2[*message, error] {
	return func(yield func(*message, error) bool) {
		for lags := 0; from <= to; {
			var batch []*message
			err := s.try(ctx, func(ctx context.Context) (err error) {
				batch, err = s.batch(ctx, subject, from)
				return err
			})
			if err == nil && len(batch) == 0 {
				if lags++; lags <= lagTries {
					if !s.pause(ctx, firstRetry) {
						err = s.usable(ctx)
					}
				} else {
					var m *message
					if m, err = s.get(ctx, s.streams.log, query{Seq: from, Next: subject}); m != nil {
						batch = append(batch, m)
					} else if err == nil {
						return // the last was taken out
					}
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range batch {
				if m.Seq > to {
					return
				}
				if from = m.Seq + 1; !yield(m, nil) {
					return
				}
			}
		}
	}
}

// batch reads the next messages on a subject from one server; none: it has no more.
func (s *Store) batch(ctx context.Context, subject string, from uint64) (out []*message, err error) {
	body, err := json.Marshal(map[string]any{
		"seq": from, "next_by_subj": subject, "batch": batchMessages, "max_bytes": batchBytes,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	stop := context.AfterFunc(s.line.context(), cancel)
	defer stop()
	answers := make(chan *client.Msg, batchMessages+8)
	inbox := s.conn.NewInbox()
	sub, err := s.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := s.conn.PublishRequest(s.verb("DIRECT.GET", s.streams.log), inbox, body); err != nil {
		return nil, err
	}
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", errNoAnswer, ctx.Err())
		case m := <-answers:
			switch status := m.Header.Get("Status"); {
			case status == "503":
				return nil, client.ErrNoResponders
			case status == "404" || status == "204":
				return out, nil
			case status != "":
				return nil, fmt.Errorf("read messages: %s %s", status, m.Header.Get("Description"))
			}
			seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
			if err != nil || seq < from {
				return nil, fmt.Errorf("read messages: the server does not say where they are")
			}
			out = append(out, &message{Subject: m.Header.Get("Nats-Subject"), Seq: seq, Data: m.Data})
		}
	}
}
