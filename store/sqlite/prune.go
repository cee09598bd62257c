package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Prune implements perdure.Pruner. The bytes are overwritten in the file, too, as far as SQLite can.
func (s *Store) Prune(ctx context.Context, id perdure.AgentID, heads, names []perdure.Hash,
	entries ...*perdure.Entry) (int64, error) {
	var gone int64
	var blobs []perdure.Hash
	err := errElsewhere
	for errors.Is(err, errElsewhere) {
		var at map[int64][]spot
		if at, err = s.find(ctx, id, names); err != nil {
			return 0, fmt.Errorf("prune agent %s: %w", id.Short(), err)
		}
		err = s.add(ctx, "prune", id, entries, addition{alone: true, check: func(w *writer, a *agent) error {
			err := a.compare(heads)
			if err == nil && slices.Contains(names, perdure.Hash(id)) {
				err = w.unbear(a.key)
			}
			if err == nil {
				gone, blobs, err = w.prune(s, a, at)
			}
			return err
		}})
	}
	if err == nil && len(blobs) > 0 {
		err = s.sweep(context.WithoutCancel(ctx), blobs)
	}
	if err != nil {
		return 0, err
	}
	if gone > 0 {
		s.checkpoint()
	}
	return gone, nil
}

// checkpoint moves what is in the write-ahead log to the file, as far as others allow, so that what was dropped is gone
// from there, too.
func (s *Store) checkpoint() {
	if c, err := dial(s.path, "rw", "busy_timeout=100", "wal_checkpoint(TRUNCATE)"); err == nil {
		_ = c.close()
	}
}

// errElsewhere says that entries are not any more where they were found: others wrote the memory anew.
var errElsewhere = errors.New("the entries have moved")

// spot is where in a row an entry was found.
type spot struct {
	index int
	name  perdure.Hash
}

// find returns the rows that hold entries, and where in them.
func (s *Store) find(ctx context.Context, id perdure.AgentID, names []perdure.Hash) (map[int64][]spot, error) {
	missing := map[perdure.Hash]bool{}
	for _, n := range names {
		missing[n] = true
	}
	at := map[int64][]spot{}
	p := &past{s: s, id: id, names: map[perdure.Hash]bool{}}
	p.each = func(rid int64, i int, name perdure.Hash) {
		if missing[name] {
			delete(missing, name)
			at[rid] = append(at[rid], spot{i, name})
		}
	}
	for first := true; first || len(missing) > 0 && !p.whole; first = false {
		if err := s.read(ctx, p.back); err != nil {
			return nil, err
		}
	}
	for name := range missing {
		return nil, fmt.Errorf("entry %s: %w", name.Short(), perdure.ErrNotFound)
	}
	return at, nil
}

// prune drops bodies, and returns their size and the files they were in.
func (w *writer) prune(s *Store, a *agent, at map[int64][]spot) (gone int64, blobs []perdure.Hash, err error) {
	for rid, spots := range at {
		row, names, err := w.rowWith(s, a, rid, spots)
		if err != nil {
			return 0, nil, err
		}
		for _, at := range spots {
			i := at.index
			p := &row.parts[i]
			switch p.place {
			case bodyDropped:
				if p.size > perdure.InlineBody { // whoever dropped it may not have come to its file
					blobs = append(blobs, p.hash)
				}
				continue
			case bodyHere:
				p.hash = p.hashAfter(names[max(i-1, 0)]) // the first of a row leaves no name out
				p.says, p.at = false, 0
			case bodyBlob:
				if err := w.do("DELETE FROM blobs WHERE hash=? AND cursor=?", p.hash[:],
					int64(cursor(rid, i))); err != nil {
					return 0, nil, err
				}
				blobs = append(blobs, p.hash)
			}
			gone += p.size
			p.place, p.body = bodyDropped, nil
		}
		if err := w.rewrite(*row); err != nil {
			return 0, nil, err
		}
	}
	return gone, blobs, nil
}

// rowWith is the row of an agent that holds these entries, and the names of all in it; errElsewhere: it does not any
// more.
func (w *writer) rowWith(s *Store, a *agent, rid int64, spots []spot) (*storedRow, []perdure.Hash, error) {
	rows, err := rowsOf(w.conn, 1, "SELECT rid, data FROM log WHERE rid=? AND agent=?", rid, a.key)
	var before perdure.Hash
	if err == nil && len(rows) > 0 {
		before, err = lastBefore(w.conn, a.id, a.key, rid)
	}
	if err != nil {
		return nil, nil, brokenOr(err)
	}
	if len(rows) == 0 {
		return nil, nil, errElsewhere
	}
	held := make([]perdure.Hash, 0, len(rows[0].parts))
	p := &past{s: s, id: a.id, names: map[perdure.Hash]bool{}}
	p.each = func(_ int64, _ int, name perdure.Hash) { held = append(held, name) }
	if err := p.learn(w.conn, before, rows[0]); err != nil {
		return nil, nil, brokenOr(err)
	}
	for _, at := range spots {
		if at.index >= len(held) || held[at.index] != at.name {
			return nil, nil, errElsewhere
		}
	}
	return &rows[0], held, nil
}

// rewrite puts a changed row in the place of the old one.
func (w *writer) rewrite(r storedRow) error {
	return errors.Join(w.do("UPDATE log SET data=? WHERE rid=?", r.append(make([]byte, 1, 1024)), r.rid),
		w.do("DELETE FROM log WHERE rid>? AND rid<?", r.rid, r.rid+r.rows))
}

// brokenOr marks an error of the file as one that ends the batch.
func brokenOr(err error) error {
	if code(err) != 0 {
		return brokenError{err}
	}
	return err
}
