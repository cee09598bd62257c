package workspace

import (
	"context"
	"slices"
	"strings"
)

// Homes that each began a workspace of one scope and tier have two memories of it, once they meet. To a reader they are
// one place: what both have at a path are versions of one document, written beside each other, until a version in
// either replaces them. Which memory it is in makes no difference to whoever may read both.

// samePlace reports whether documents of two memories are for the same readers at the same paths.
func (s *shelf) samePlace(o *shelf) bool {
	if s.Tier == Private || o.Tier == Private {
		return s.agent == o.agent
	}
	return s.Visibility == o.Visibility
}

// placed are the memories of one place, among those that the reader sees.
func placed(all []shelf, at *shelf) (same []shelf) {
	for i := range all {
		if all[i].samePlace(at) {
			same = append(same, all[i])
		}
	}
	return same
}

// placeOn is the memories of the place that something is written to: those that the reader sees, and the one itself.
func (r *Reader) placeOn(ctx context.Context, s *shelf) ([]shelf, error) {
	seen, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	place := placed(seen, s)
	if slices.ContainsFunc(place, func(o shelf) bool { return o.agent == s.agent }) {
		return place, nil
	}
	all, err := r.Index.shelves(ctx)
	if i := slices.IndexFunc(all, func(o shelf) bool { return o.agent == s.agent }); i >= 0 {
		s.row = all[i].row
		place = append(place, *s)
	}
	return place, err
}

// doubled are the memories whose place others among them are of, too.
func doubled(all []shelf) (twins []shelf) {
	for i := range all {
		if len(placed(all, &all[i])) > 1 {
			twins = append(twins, all[i])
		}
	}
	return twins
}

// unreplaced leaves out current versions that a version in another memory of the same place replaces: an index counts
// memory by memory. All are those that the reader sees, and that count.
func (ix *Index) unreplaced(ctx context.Context, all []shelf, found []*version) (left []*version, err error) {
	twins := doubled(all)
	if len(twins) == 0 || len(found) == 0 {
		return found, nil
	}
	for _, v := range found {
		var is bool
		if others := placed(twins, v.shelf); len(others) > 1 {
			args := []any{v.entry[:], v.path}
			for i := range others {
				args = append(args, others[i].row)
			}
			marks := strings.TrimSuffix(strings.Repeat("?,", len(others)), ",")
			err := ix.db.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM replaced WHERE entry=? AND path=? AND "+
				"agent IN ("+marks+"))", args...).Scan(&is)
			if err != nil {
				return nil, err
			}
		}
		if !is {
			left = append(left, v)
		}
	}
	return left, nil
}

// currentAt are the current versions at a path in the memories of a place. A removal in one of them says nothing of
// what another has.
func (ix *Index) currentAt(ctx context.Context, place []shelf, path string) ([]*version, error) {
	found, err := ix.versions(ctx, place, "v.path=? AND v.current=1 ORDER BY v.seq DESC, v.entry", path)
	if err == nil {
		found, err = ix.unreplaced(ctx, place, found)
	}
	if err != nil || len(place) < 2 {
		return found, err
	}
	living := slices.DeleteFunc(slices.Clone(found), func(v *version) bool { return v.gone })
	if len(living) == 0 && len(found) > 0 {
		return found[:1], nil
	}
	return living, nil
}
