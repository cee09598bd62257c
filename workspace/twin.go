package workspace

import (
	"context"
	"slices"
	"strings"
)

// Homes that each began a workspace of one scope and tier have two memories of it, once they meet. To a reader they are
// one place: what both have at a path are versions of one document, written beside each other, until a version in
// either replaces them. Which memory it is in makes no difference to whoever may read both.
//
// An index cannot know which memories are one place: that depends on whom the home trusts. It notes memory by memory
// what was replaced, and whoever asks for versions says with the shelves which of them belong together.

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

// paired notes of each memory which are of the same place, if there are others. All are those that count.
func paired(all []shelf) []shelf {
	places := map[Visibility][]int64{}
	for i := range all {
		if all[i].Tier != Private {
			places[all[i].Visibility] = append(places[all[i].Visibility], all[i].row)
		}
	}
	for i := range all {
		all[i].twins = nil
		if rows := places[all[i].Visibility]; all[i].Tier != Private && len(rows) > 1 {
			all[i].twins = rows
		}
	}
	return all
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
		place = paired(append(place, *s))
	}
	return place, err
}

// twinned is what begins a statement in which memories of one place are known as such, and its arguments; empty: there
// are none.
func twinned(on []shelf) (with string, args []any) {
	known := map[int64]bool{}
	for i := range on {
		for _, row := range on[i].twins {
			if !known[row] {
				known[row] = true
				args = append(args, row, on[i].twins[0])
			}
		}
	}
	if args == nil {
		return "", nil
	}
	rows := strings.TrimSuffix(strings.Repeat("(?,?),", len(args)/2), ",")
	return "WITH placed(agent, place) AS (VALUES " + rows + "), twin(agent, other) AS (SELECT a.agent, b.agent FROM " +
		"placed a CROSS JOIN placed b WHERE b.place=a.place AND b.agent<>a.agent) ", args
}

// isCurrent selects the versions that no other of their place replaces; alias is the table. It is the one place that
// says so, and used for every list, link, search and write.
func isCurrent(on []shelf, alias string) string {
	where := alias + ".current=1"
	if with, _ := twinned(on); with != "" {
		where += " AND NOT EXISTS(SELECT 1 FROM twin t CROSS JOIN replaced r ON r.agent=t.other AND r.entry=" + alias +
			".entry AND r.path=" + alias + ".path WHERE t.agent=" + alias + ".agent)"
	}
	return where
}

// isBeside selects the current versions beside which another stands that has a text. The table beside only says where
// to look: what was replaced in another memory of the place is in it, too.
func isBeside(on []shelf) string {
	memory := "o.agent=v.agent"
	if with, _ := twinned(on); with != "" {
		memory = "o.agent IN (SELECT v.agent UNION ALL SELECT other FROM twin WHERE agent=v.agent)"
	}
	return "v.gone=0 AND (v.agent, v.path) IN (SELECT agent, path FROM beside) AND EXISTS(SELECT 1 FROM version o " +
		"WHERE " + memory + " AND o.path=v.path AND o.id<>v.id AND o.gone=0 AND " + isCurrent(on, "o") + ")"
}

// currentAt are the current versions at a path in the memories of a place. A removal in one of them says nothing of
// what another has.
func (ix *Index) currentAt(ctx context.Context, place []shelf, path string) ([]*version, error) {
	found, err := ix.current(ctx, place, "v.path=? ORDER BY v.seq DESC, v.entry", path)
	if err != nil || len(place) < 2 {
		return found, err
	}
	return remaining(found), nil
}
