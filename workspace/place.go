package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// copies are the current versions of the document at a path, memory by memory, the narrowest first: several tiers and
// scopes may have one. What policy keeps from the reader is as if it were not there. On is the visibility asked for;
// nil: any.
func (r *Reader) copies(ctx context.Context, path string, on *Visibility) (all [][]*version, err error) {
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	role, _, private := roleOf(path)
	for i := range shelves {
		s := &shelves[i]
		if private != (s.Tier == Private) || private && s.role != role || !on.covers(s.Visibility) {
			continue
		}
		if slices.ContainsFunc(shelves[:i], func(o shelf) bool { return o.samePlace(s) }) {
			continue // with the first of its place
		}
		found, err := r.Index.currentAt(ctx, placed(shelves, s), path)
		if err != nil {
			return nil, err
		}
		if found, err = r.readables(ctx, remaining(unexpired(found))); err != nil {
			return nil, err
		}
		if len(found) > 0 {
			all = append(all, found)
		}
	}
	return all, nil
}

// readable reports whether policy lets the reader read a version.
func (r *Reader) readable(ctx context.Context, v *version) (bool, error) {
	err := r.may(ctx, v.shelf, v.path, v.kind, false)
	if errors.Is(err, perdure.ErrDenied) {
		return false, nil
	}
	return err == nil, err
}

// readables are the versions that policy lets the reader read.
func (r *Reader) readables(ctx context.Context, all []*version) (some []*version, err error) {
	if len(all) > 1 {
		if r, err = r.once(ctx); err != nil {
			return nil, err
		}
	}
	for _, v := range all {
		ok, err := r.readable(ctx, v)
		if err != nil {
			return nil, err
		}
		if ok {
			some = append(some, v)
		}
	}
	return some, nil
}

// MayRead refuses a document that policy would not let the reader read, whether or not there is one.
func (r *Reader) MayRead(ctx context.Context, d Draft) error {
	kind := d.Kind
	if kind == "" {
		kind = KindAt(d.Path)
	}
	return r.may(ctx, &shelf{Visibility: *d.Visibility}, d.Path, kind, false)
}

// parted are copies in scopes that the reader is in, or that on names, and those with a text in others. The owner is in
// one scope, and changes private notes for every role.
func (r *Reader) parted(all [][]*version, on *Visibility) (near, far [][]*version) {
	for _, c := range all {
		s := c[0].shelf
		switch {
		case s.Tier == Private || on.named() || s.Scope == r.scope || !r.agent.IsZero() && r.in(s.Scope):
			near = append(near, c)
		case !removed(c):
			far = append(far, c)
		}
	}
	return near, far
}

// living is the first copy that has a text. What a promotion left gives way to the copy that more may see, even once
// that was removed.
func living(all [][]*version) []*version {
	for i, c := range all {
		if removed(c) {
			continue
		}
		if len(c) == 1 && slices.Contains(c[0].tags, MovedTag) {
			if up := slices.IndexFunc(all[i:], func(o []*version) bool {
				return o[0].shelf.Tier.rank() > c[0].shelf.Tier.rank()
			}); up > 0 {
				return living(all[i+up:])
			}
		}
		return c
	}
	return nil
}

// remaining are the versions that stand at a path, of those that nothing has replaced: the ones with a text, else the
// first removal. Who removed a document did not see what was written beside that, so what was written stays.
func remaining(found []*version) []*version {
	if with := texts(found); len(with) > 0 {
		return with
	}
	return found[:min(len(found), 1)]
}

// texts are the versions that have a text.
func texts(found []*version) []*version {
	return slices.DeleteFunc(slices.Clone(found), func(v *version) bool { return v.gone })
}

// removed reports whether a copy says that the document was removed.
func removed(c []*version) bool { return len(c) == 1 && c[0].gone }

// current are the current versions of the document that a path means: in a scope that the reader is in, else in the one
// other scope that has it. Which of several is meant must be said.
func (r *Reader) current(ctx context.Context, path string, on *Visibility) ([]*version, error) {
	found, far, err := r.own(ctx, path, on)
	if err != nil || len(found) > 0 {
		return found, err
	}
	if slices.ContainsFunc(far, func(c []*version) bool { return c[0].shelf.Scope != far[0][0].shelf.Scope }) {
		return nil, elsewhere(path, far)
	}
	return living(far), nil
}

// own is the copy of a document in a scope that the reader is in or that on names, and those in other scopes.
func (r *Reader) own(ctx context.Context, path string, on *Visibility) (found []*version, far [][]*version, err error) {
	all, err := r.copies(ctx, path, on)
	near, far := r.parted(all, on)
	return living(near), far, err
}

// lastly is current and, where a path has none, what says that its document was removed.
func (r *Reader) lastly(ctx context.Context, path string, on *Visibility) ([]*version, error) {
	found, err := r.current(ctx, path, on)
	if err != nil || len(found) > 0 {
		return found, err
	}
	all, err := r.copies(ctx, path, on)
	near, _ := r.parted(all, on)
	for _, c := range append(near, all...) {
		if removed(c) {
			return c, err
		}
	}
	return nil, err
}

// elsewhere is the error for a document that only scopes have in which the reader is not.
func elsewhere(path string, all [][]*version) error {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = string(c[0].shelf.Tier) + ":" + c[0].shelf.Scope
	}
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s is in another scope: %s", path, strings.Join(names, ", "))),
		"name which, by its visibility or, as the owner, with --scope")
}

// toChange is where the document is that the reader means to change: in a scope that the reader is in or names. Nobody
// changes what another scope has because the own one has nothing at the path.
func (r *Reader) toChange(ctx context.Context, path string, on *Visibility) (*Visibility, error) {
	path, err := CleanPath(path)
	if err == nil {
		err = r.sync(ctx)
	}
	if err != nil {
		return nil, err
	}
	found, far, err := r.own(ctx, path, on)
	switch {
	case err != nil:
		return nil, err
	case len(found) > 0:
		return &found[0].shelf.Visibility, nil
	case len(far) > 0:
		return nil, elsewhere(path, far)
	}
	return nil, missing(path)
}

// readToChange is the document that the reader means to change.
func (r *Reader) readToChange(ctx context.Context, path string, on *Visibility) (*Document, error) {
	on, err := r.toChange(ctx, path, on)
	if err != nil {
		return nil, err
	}
	return r.Read(ctx, path, on)
}

// under is where the versions are that a draft rests on; where it rests on none, what the draft says.
func (r *Reader) under(ctx context.Context, d *Draft) (*Visibility, error) {
	if len(d.Base) == 0 || d.Visibility.named() {
		return d.Visibility, nil
	}
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	found, err := r.Index.versions(ctx, shelves, "v.entry=?", d.Base[0][:])
	if err != nil || len(found) == 0 || !d.Visibility.covers(found[0].shelf.Visibility) {
		return d.Visibility, err
	}
	return &found[0].shelf.Visibility, nil
}

// maxBelow bounds how many documents below a path are asked about.
const maxBelow = 64

// folderOfKind refuses a path that is the folder of a kind.
func folderOfKind(path string) error {
	if !canonical(path) {
		return nil
	}
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s is a folder, that of every %s: a path is a document or a "+
		"folder, not both", path, KindAt(path))), "name a document in it, such as "+path+"/NAME.md")
}

// fits refuses a new path below a document, or above others, or that is the folder of a kind, where others are to come:
// a path is a document or a folder. But is one that is moved to the path. What the reader may not read does not count,
// so that nobody learns of it.
func (r *Reader) fits(ctx context.Context, s *shelf, path, but string) error {
	if err := folderOfKind(path); err != nil {
		return err
	}
	place, err := r.placeOn(ctx, s)
	if err != nil {
		return err
	}
	counts := func(found []*version) (string, error) {
		for _, v := range unexpired(found) {
			if v.gone || v.path == but {
				continue
			}
			if ok, err := r.readable(ctx, v); ok || err != nil {
				return v.path, err
			}
		}
		return "", nil
	}
	for i := range path {
		if path[i] != '/' {
			continue
		}
		found, err := r.Index.currentAt(ctx, place, path[:i])
		if err != nil {
			return err
		}
		if at, err := counts(found); at != "" || err != nil {
			return errors.Join(err, bothAt(at, path))
		}
	}
	found, err := r.Index.current(ctx, place, "v.gone=0 AND v.path>? AND v.path<? ORDER BY v.path LIMIT ?", path+"/",
		path+"0", maxBelow) // 0 follows the slash
	if err != nil {
		return err
	}
	at, err := counts(found)
	if at != "" {
		err = bothAt(path, at)
	}
	return err
}

// bothAt is the error for a path that would be a document, and a folder with another in it.
func bothAt(path, below string) error {
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s is below %s: a path is a document or a folder, not both",
		below, path)), "choose another path, or rename what is there: perdure doc mv")
}
