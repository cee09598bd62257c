package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A transfer of more than 9.2 GB was taken for a slow one, however fast it was.
func TestALongTransferIsNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cut := context.WithCancelCause(t.Context())
		defer cut(nil)
		p := pace{patience: usual, cut: cut}
		for _, n := range []int{9_300_000_000, 1 << 40} {
			p.wait()
			p.moves(n)
			p.wait()
			time.Sleep(usual.idle - 1)
			synctest.Wait()
			if err := context.Cause(ctx); err != nil {
				t.Errorf("after %d bytes in no time: %v", n, err)
			}
			p.moves(0)
		}
	})
}
