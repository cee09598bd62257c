package workspace

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
)

// Lost are those of versions that no memory of the store holds, not even as something that has expired or was pruned:
// the store is an earlier copy of the one that they were read from, or another. Whether the reader may see a version
// does not matter.
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
		if err := r.Index.row(ctx, "SELECT EXISTS(SELECT 1 FROM version WHERE entry=? AND agent IN (SELECT id FROM "+
			"agent WHERE keeps=1))", []any{name[:]}, &known); err != nil {
			return nil, err
		}
		if !known {
			lost[name] = true
		}
	}
	if len(lost) == 0 { // the usual
		return lost, nil
	}
	return lost, r.unlose(ctx, lost)
}

// unlose takes out of names those of entries that memories of documents hold. An index forgets what a store does not.
func (r *Reader) unlose(ctx context.Context, names map[perdure.Hash]bool) error {
	rows, err := r.Index.query(ctx, "SELECT name FROM agent WHERE keeps=1 OR kind=? OR name=?", keeper.Workspace,
		r.agent[:])
	if err != nil {
		return err
	}
	var memories []perdure.AgentID
	for rows.Next() {
		var id []byte
		if err := rows.Scan(&id); err != nil {
			return errors.Join(err, rows.Close())
		}
		memories = append(memories, perdure.AgentID(hashOf(id)))
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, id := range memories {
		for item, err := range r.Store.Entries(ctx, id, 0) {
			if err != nil {
				return err
			}
			if delete(names, item.Name); len(names) == 0 {
				return nil
			}
		}
	}
	return nil
}
