package home_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
)

// Wherever a rotation stops, the home is still its user's own, and rotating again ends it.
func TestARotationThatIsCutOffLeavesTheHomeOnesOwn(t *testing.T) {
	for crash, finished := 0, false; !finished; crash++ {
		first, _ := newHome(t)
		made(t, first, "news")
		rotate := func() error {
			h := &home.Home{URL: first.URL}
			return h.Use(t.Context(), false, func(ctx context.Context, s perdure.Store) error {
				_, err := h.Rotate(ctx, s, "", false, false)
				return err
			})
		}
		undo := disk.Replace(first.Dir, &crashing{left: crash})
		err := rotate()
		undo()
		if finished = err == nil; !finished && !errors.Is(err, errCrashed) {
			t.Fatal(err)
		}
		if !first.Own() {
			t.Errorf("stopped at step %d: the home is not one's own any more", crash)
		}
		if err := rotate(); err != nil {
			t.Errorf("stopped at step %d, and again: %v", crash, err)
		}
	}
}
