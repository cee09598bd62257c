package bench

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// Whoever is told to stop stops, also while it measures what it is compared with.
func TestTheFloorEndsWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	set := Appends{Writers: 4, Each: 1 << 30, Payload: 100, Sync: "full"}
	if _, err := rawAppends(ctx, filepath.Join(t.TempDir(), "raw.db"), set); !errors.Is(err, ctx.Err()) {
		t.Errorf("got %v, want %v", err, ctx.Err())
	}
}
