package nats

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/perdure/perdure"
)

// Remove deletes the store that a URL names, with everything in it. One that is not there is no error.
func Remove(ctx context.Context, url string) error {
	s, err := Open(ctx, url, Options{Existing: true})
	if errors.Is(err, perdure.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, stream := range []string{s.streams.log, s.streams.row, s.streams.list, s.streams.claim,
		s.streams.list + keptSuffix, s.streams.claim + keptSuffix} {
		if err == nil {
			err = s.unmake(ctx, stream)
		}
	}
	return errors.Join(err, s.Close())
}

func (s *Store) unmake(ctx context.Context, stream string) error {
	err := s.try(ctx, func(ctx context.Context) error {
		var out struct{}
		return s.api(ctx, "STREAM.DELETE", stream, nil, &out)
	})
	if err != nil && !isAPI(err, errNoStream) {
		return fmt.Errorf("delete stream %s: %w", stream, err)
	}
	return nil
}

// Raw has f publish to a stream that is set up as the log of the store is, with nothing but the client in between: what
// a store can be measured against. The stream is deleted afterwards. Publish stores data on the subject of a writer if
// the message with the number last is still the last there, and returns the number of the next.
func Raw(ctx context.Context, url string,
	f func(publish func(writer int, last uint64, data []byte) (uint64, error)) error) error {
	s, err := Open(ctx, url, Options{Existing: true})
	if err != nil {
		return err
	}
	js, err := s.jetstream()
	if err != nil {
		return errors.Join(err, s.Close())
	}
	name, subject := "PERDURE_"+s.name.plain+"_raw", s.streams.prefix+"raw."
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{subject + "*"},
		Replicas: s.server.replicas, AllowDirect: true})
	if err == nil {
		err = f(func(writer int, last uint64, data []byte) (uint64, error) {
			ack, err := js.Publish(ctx, fmt.Sprint(subject, writer), data,
				jetstream.WithExpectLastSequencePerSubject(last))
			if err != nil {
				return 0, err
			}
			return ack.Sequence, nil
		})
		err = errors.Join(err, s.unmake(context.WithoutCancel(ctx), name))
	}
	return errors.Join(err, s.Close())
}
