package workspace

import (
	"context"

	"github.com/perdure/perdure"
)

// Lost are those of versions that no memory of the store holds, not even as something that has expired or was pruned:
// the store is an earlier copy of the one that they were read from, or another. Whether the reader may see a version
// does not matter. What it costs depends on how many are asked for, not on how much there is: a folder asks with every
// sync for as long as one of its files stays lost.
func (r *Reader) Lost(ctx context.Context, versions []perdure.Hash) (map[perdure.Hash]bool, error) {
	lost := map[perdure.Hash]bool{}
	if len(versions) == 0 {
		return lost, nil
	}
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	for _, name := range versions {
		var known bool
		if err := r.Index.row(ctx, "SELECT EXISTS(SELECT 1 FROM version WHERE entry=?1 AND agent IN (SELECT id FROM "+
			"agent WHERE keeps=1)) OR EXISTS(SELECT 1 FROM bare WHERE entry=?1)", []any{name[:]}, &known); err != nil {
			return nil, err
		}
		if !known {
			lost[name] = true
		}
	}
	return lost, nil
}
