package view

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// AwaitRest waits until an agent rests (it has ended, sleeps or waits for a person) or a time is up, which is no error.
// Look says how it stands; it is asked whenever something has changed in the store.
func AwaitRest(ctx context.Context, s perdure.Store, most time.Duration,
	look func(context.Context) (phase.Standing, error)) error {
	waiting, stop := context.WithTimeout(ctx, most)
	defer stop()
	changed := Watch(waiting, s)
	for {
		standing, err := look(waiting)
		if err == nil && (standing != phase.StandingReady && standing != phase.StandingRunning) {
			return nil
		}
		if err != nil && !errors.Is(waiting.Err(), context.DeadlineExceeded) {
			return err
		}
		select {
		case <-waiting.Done():
			return ctx.Err()
		case <-changed.Signal:
			changed.Take()
		}
	}
}
