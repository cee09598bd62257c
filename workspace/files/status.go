package files

import (
	"context"
	"errors"
	"fmt"
)

// Status says what a sync would do, and does nothing. Where a file and memory were both changed, only a sync shows
// whether the two go together.
func (f *Folder) Status(ctx context.Context) (*Report, error) {
	f.looks = true
	defer func() { f.looks = false }()
	s, err := f.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", f.Dir, f.State.named(ctx, err))
	}
	if err = s.settledGit(ctx); err == nil {
		err = s.all(ctx)
	}
	if err = errors.Join(err, f.close()); err != nil {
		return nil, fmt.Errorf("look at %s: %w", f.Dir, f.State.named(ctx, err))
	}
	s.report.Dry = true
	return s.report, nil
}
