package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Prune implements perdure.Pruner. The server overwrites what was dropped when it vacuums the table, and its log as it
// goes on.
func (s *Store) Prune(ctx context.Context, id perdure.AgentID, heads, names []perdure.Hash,
	entries ...*perdure.Entry) (gone int64, err error) {
	err = s.add(ctx, id, entries, func() error {
		tries := 0
		err := s.changeFor(ctx, 0, id, func(ctx context.Context, x *transaction) error {
			if x.key == 0 {
				return perdure.ErrNotFound
			}
			tries++
			if err := x.compare(ctx, heads); err != nil {
				return err
			}
			n, err := x.prune(ctx, names)
			if err != nil {
				return err
			}
			gone = n
			return x.put(ctx, entries)
		})
		return s.orDone(ctx, id, err, tries, entries)
	})
	if err != nil {
		return 0, s.wrote("prune", id, err)
	}
	return gone, nil
}

// prune drops bodies, and returns how many bytes they had.
func (x *transaction) prune(ctx context.Context, names []perdure.Hash) (gone int64, err error) {
	found, err := x.lookup(ctx, names)
	if err != nil {
		return 0, err
	}
	at := map[int64][]int{}
	for _, name := range names {
		p, ok := found[name]
		if !ok {
			return 0, fmt.Errorf("entry %s: %w", name.Short(), perdure.ErrNotFound)
		}
		at[p.pos] = append(at[p.pos], p.i)
	}
	for pos, indices := range at {
		n, err := x.pruneRow(ctx, pos, indices)
		if err != nil {
			return 0, err
		}
		gone += n
	}
	return gone, nil
}

func (x *transaction) pruneRow(ctx context.Context, pos int64, indices []int) (gone int64, err error) {
	r := row{pos: pos}
	if err := x.tx.QueryRow(ctx, x.s.sql("SELECT names, data FROM ~log WHERE agent=$1 AND pos=$2"), x.key, pos).
		Scan(&r.names, &r.data); err != nil {
		return 0, err
	}
	entries, err := r.entries(x.id, x.s.limits)
	if err != nil {
		return 0, err
	}
	for i, e := range entries {
		if slices.Contains(indices, i) && e.BodyBytes() != nil {
			gone += int64(len(e.BodyBytes()))
			entries[i] = e.Drop()
		}
	}
	if gone == 0 {
		return 0, nil
	}
	var thin row
	if _, err := thin.fill(entries, func(int) bool { return false }); err != nil {
		return 0, err
	}
	return gone, x.exec(ctx, "UPDATE ~log SET data=$3 WHERE agent=$1 AND pos=$2", x.key, pos, thin.data)
}
