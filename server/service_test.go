package server

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAServerEndsWithItsNode(t *testing.T) {
	t.Parallel()
	broken := errors.New("it cannot run")
	until := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return errors.New("it goes on alone")
		}
	}
	served := func(ctx context.Context) error { // as a server, which ends in peace
		if err := until(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	if err := together(t.Context(), served, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a node that cannot run: got %v", err)
	}
	if err := together(t.Context(), func(context.Context) error { return broken }, until); !errors.Is(err, broken) {
		t.Errorf("a server that cannot serve: got %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := together(ctx, served, until); err != nil {
		t.Errorf("both were stopped: got %v", err)
	}
}
