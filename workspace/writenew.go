package workspace

import (
	"context"

	"github.com/perdure/perdure"
)

// WriteNew is Write for documents of which there never was a version, each under its key as Once has it: those that go
// into one memory share a commit, and so its sync. Those of which it returns none were not written, for whatever
// reason: Write says which. It takes as many as one import (ImportBatch, ImportBytes).
func (r *Reader) WriteNew(ctx context.Context, drafts []Draft, keys []string) ([]*Document, error) {
	by, err := r.standing(ctx)
	if err != nil {
		return nil, err
	}
	var into shared
	for i := range drafts {
		s, heads, w, err := by.Once(keys[i]).stageNew(ctx, &drafts[i])
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err == nil {
			into.add(i, s, heads, w)
		}
	}
	done := make([]*Document, len(drafts))
	for _, to := range into {
		entries, err := r.Node.Write(ctx, to.agent, to.heads, to.all...)
		if err != nil {
			continue
		}
		for k, i := range to.of {
			if done[i], err = r.written(ctx, &to.shelf, entries[k], to.all[k].Document.Path); err != nil {
				return nil, err
			}
		}
	}
	return done, nil
}

// stageNew prepares a document that is new.
func (r *Reader) stageNew(ctx context.Context, d *Draft) (*shelf, []perdure.Hash, *perdure.Writing, error) {
	path, err := r.placeOf(d.Path, d)
	if err != nil {
		return nil, nil, nil, err
	}
	s, current, heads, err := r.stand(ctx, path, d.Visibility)
	if err != nil {
		return nil, nil, nil, err
	}
	w, err := r.writing(path, d, nil)
	switch {
	case err != nil:
	case len(current) > 0:
		err = exists(path, current)
	case r.guarded(d.Text):
		err = perdure.ErrDenied
	default:
		if err = r.may(ctx, s, path, w.Document.Kind, true); err == nil {
			err = r.fits(ctx, s, path, "")
		}
	}
	if err == nil {
		if made, err := r.ready(ctx, s, *w); err != nil || made {
			if err != nil {
				return nil, nil, nil, err
			}
			return r.stageNew(ctx, d)
		}
	}
	return s, heads, w, err
}
