package bench

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/nats"
)

// natsPlace is a new store on NATS servers.
type natsPlace struct{ url string }

func (s *natsPlace) kind() string { return "nats" }
func (s *natsPlace) at() string   { return s.url }

func (s *natsPlace) baseline() Baseline {
	return Baseline{Name: "raw JetStream, a message each", Rate: s.rawAppends}
}

func (s *natsPlace) open(ctx context.Context) (perdure.Store, string, error) {
	store, err := nats.Open(ctx, s.url, nats.Options{})
	if err != nil {
		return nil, "", err
	}
	return store, store.Survives(), nil
}

func (s *natsPlace) drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return nats.Remove(ctx, s.url)
}

// rawAppends is the floor: appends a second of the same payload with nothing but JetStream: one stream set up as the
// store's, a subject per writer, and each message stored only if the one before it is still the last of its subject.
func (s *natsPlace) rawAppends(ctx context.Context, set Appends) (rate float64, err error) {
	payload := make([]byte, set.Payload+300) // an entry of this payload has about so many bytes more
	if _, err := rand.Read(payload); err != nil {
		return 0, err
	}
	err = nats.Raw(ctx, s.url, func(publish func(writer int, last uint64, data []byte) (uint64, error)) error {
		began := time.Now()
		err := each(set.Writers, func(w int) (err error) {
			last := uint64(0)
			for range set.Each {
				if last, err = publish(w, last, payload); err != nil {
					return err
				}
			}
			return nil
		})
		rate = float64(set.Writers*set.Each) / time.Since(began).Seconds()
		return err
	})
	return rate, err
}
