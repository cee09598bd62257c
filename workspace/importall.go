package workspace

import (
	"context"
	"errors"
	slashpath "path"
	"slices"

	"github.com/perdure/perdure"
)

const (
	// ImportBatch and ImportBytes bound how many texts, and bytes of them, are imported in one commit.
	ImportBatch = 256
	ImportBytes = 2 << 20
)

// ImportAll is Import for several texts, in their order: those that go into one memory share a commit, and so its sync.
// What came of each is what Import says.
func (r *Reader) ImportAll(ctx context.Context, all []Foreign, on *Visibility, replace bool) ([]Import, error) {
	done := make([]Import, 0, len(all))
	for len(all) > 0 {
		by, err := r.importer().standing(ctx)
		if err != nil {
			return done, err
		}
		b := batched{Reader: by, on: on, replace: replace, paths: map[string]bool{}}
		n := 0
		for n < len(all) && n < ImportBatch {
			ok, err := b.take(ctx, &all[n])
			if err != nil {
				return done, err
			}
			if !ok {
				break
			}
			n++
		}
		some, err := b.end(ctx, r, all[:n])
		if done = append(done, some...); err != nil {
			return done, err
		}
		all = all[n:]
	}
	return done, nil
}

// batched is texts that are imported together.
type batched struct {
	*Reader
	on      *Visibility
	replace bool

	paths map[string]bool // a path that comes twice, or as a folder, is for the next commit
	bytes int
	done  []Import
	alone []int // those that are imported by themselves, for what is wrong with them
	into  shared
}

// sharing is the texts that go into one memory.
type sharing struct {
	shelf
	heads []perdure.Hash
	all   []perdure.Writing
	of    []int // which texts they are
}

// take adds a text; false: it is for the next batch.
func (b *batched) take(ctx context.Context, x *Foreign) (bool, error) {
	path, done, err := b.importPath(x, b.on)
	if err != nil {
		return false, err
	}
	i := len(b.done)
	clean, err := CleanPath(path)
	_, folder := b.paths[clean]
	for up := slashpath.Dir(clean); up != "." && !folder; up = slashpath.Dir(up) {
		folder = b.paths[up]
	}
	if i > 0 && (folder || b.bytes+len(x.Text) > ImportBytes) {
		return false, nil
	}
	for up := slashpath.Dir(clean); up != "."; up = slashpath.Dir(up) {
		b.paths[up] = false // a folder
	}
	b.paths[clean], b.bytes = true, b.bytes+len(x.Text)
	if err == nil {
		done.Path = clean
		err = b.stage(ctx, i, clean, x.draft(clean, b.on), &done)
	}
	if err != nil && !errors.Is(err, errImported) {
		b.alone = append(b.alone, i)
	}
	b.done = append(b.done, done)
	return true, ctx.Err()
}

// stage prepares what is to be written of a text.
func (b *batched) stage(ctx context.Context, i int, path string, d Draft, done *Import) error {
	path, err := b.placeOf(path, &d)
	if err != nil {
		return err
	}
	s, current, heads, err := b.stand(ctx, path, b.on)
	if err != nil {
		return err
	}
	over, err := b.importOver(ctx, current, d, b.replace, done)
	if err != nil {
		return err
	}
	w, err := b.writing(path, over, current)
	if err != nil {
		return err
	}
	if err := b.may(ctx, s, path, w.Document.Kind, true); err != nil {
		return err
	}
	if err := b.fitsOver(ctx, s, path, over, current); err != nil {
		return err
	}
	if b.guarded(d.Text) {
		return perdure.ErrDenied // it is said alone what of it
	}
	if made, err := b.ready(ctx, s, *w); err != nil || made {
		if err != nil {
			return err
		}
		return b.stage(ctx, i, path, d, done)
	}
	b.into.add(i, s, heads, w)
	return nil
}

// shared is texts by the memory they go into.
type shared []*sharing

// add adds the text i.
func (all *shared) add(i int, s *shelf, heads []perdure.Hash, w *perdure.Writing) {
	at := slices.IndexFunc(*all, func(to *sharing) bool { return to.agent == s.agent })
	if at < 0 {
		at = len(*all)
		*all = append(*all, &sharing{shelf: *s, heads: heads})
	}
	to := (*all)[at]
	to.all, to.of = append(to.all, *w), append(to.of, i)
}

// end writes what was prepared. Where that is not possible, because somebody else writes, too, or something is wrong
// with a text, each is imported by itself.
func (b *batched) end(ctx context.Context, r *Reader, all []Foreign) ([]Import, error) {
	for _, to := range b.into {
		entries, err := b.Node.Write(ctx, to.agent, to.heads, to.all...)
		if err != nil {
			b.alone = append(b.alone, to.of...)
			continue
		}
		for k, i := range to.of {
			b.done[i].Version = entries[k].Name
		}
	}
	slices.Sort(b.alone)
	for _, i := range b.alone {
		var err error
		if b.done[i], err = r.Import(ctx, all[i], b.on, b.replace); err != nil {
			return b.done[:i], err
		}
	}
	return b.done, nil
}
