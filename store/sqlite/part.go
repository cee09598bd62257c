package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"

	"github.com/perdure/perdure"
)

// Replace implements perdure.Parter. It is one transaction, as PutAll is.
func (s *Store) Replace(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, d perdure.Depth,
	entries iter.Seq2[*perdure.Entry, error]) error {
	var gone []perdure.Hash
	st := &streaming{past: &past{s: s, id: id, names: map[perdure.Hash]bool{}, whole: true}}
	err := s.submit(ctx, &request{alone: true, apply: func(w *writer) (err error) {
		gone, err = w.replace(st, id, heads, d, entries)
		return err
	}})
	if err = s.discard(ctx, err, append(gone, st.blobs...)); err != nil {
		return fmt.Errorf("replace agent %s: %w", id.Short(), err)
	}
	return nil
}

// replace takes out what there is of an agent and writes the entries in its place. It returns the long bodies that were
// there.
func (w *writer) replace(st *streaming, id perdure.AgentID, heads []perdure.Hash, d perdure.Depth,
	entries iter.Seq2[*perdure.Entry, error]) ([]perdure.Hash, error) {
	old, err := w.agent(id)
	if err == nil && !old.on(heads) {
		err = perdure.ErrConflict
	}
	if err != nil {
		return nil, err
	}
	first, err := firstOf(entries)
	if err == nil {
		err = d.CheckRoot(first)
	}
	if err != nil {
		return nil, err
	}
	blobs, err := w.remove(old)
	if err != nil {
		return nil, err
	}
	if d.IsLast() { // the parents of its first entry are known to exist, and are not there
		if err := w.create(&agent{id: id}, first); err != nil {
			return nil, err
		}
		for _, p := range first.Parents {
			st.past.names[p] = true
		}
	}
	if err := st.write(w, id, entries); err != nil {
		return nil, err
	}
	a, err := w.held(id)
	if err == nil && old.key != 0 {
		a.node, a.fence = old.node, old.fence
		err = w.do("UPDATE agents SET fence=? WHERE key=?", null(old.fence), a.key)
	}
	if err == nil && !old.node.IsZero() {
		err = errors.Join(w.do("UPDATE agents SET node=? WHERE key=?", old.node[:], a.key), w.look(a, old.due))
	}
	if err == nil && d != perdure.Full {
		if err = w.do(depthsCopy); err == nil {
			err = w.do("INSERT INTO depths VALUES(?,?)", a.key, d.String())
		}
	}
	return blobs, err
}

func firstOf(entries iter.Seq2[*perdure.Entry, error]) (*perdure.Entry, error) {
	for e, err := range entries {
		return e, err
	}
	return nil, errors.New("no entries")
}

// remove takes an agent and everything of it out of the file, and returns its long bodies.
func (w *writer) remove(a *agent) (blobs []perdure.Hash, err error) {
	if a.key == 0 {
		return nil, nil
	}
	for {
		rows, err := rowsFrom(w.conn, a.key, 0, pageRows)
		if err != nil {
			return nil, brokenOr(err)
		}
		for _, r := range rows {
			for i := range r.parts {
				if r.parts[i].place == bodyBlob {
					blobs = append(blobs, r.parts[i].hash)
				}
			}
			from, to := int64(cursor(r.rid, 0)), int64(cursor(r.rid+1, 0))
			if err := errors.Join(
				w.do("DELETE FROM blobs WHERE cursor>=? AND cursor<?", from, to),
				w.do("DELETE FROM log WHERE rid>=? AND rid<?", r.rid, r.rid+r.rows),
			); err != nil {
				return nil, err
			}
		}
		if len(rows) < pageRows {
			break
		}
	}
	for _, table := range []string{"places", "recent", "snapshots", "listings", "unlisted", "depths"} {
		if err := w.do("DELETE FROM "+table+" WHERE agent=?", a.key); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.dropHeads(a.key), w.do("DELETE FROM agents WHERE key=?", a.key)); err != nil {
		return nil, err
	}
	w.dropBirth(a.key)
	w.unlearn()
	return blobs, brokenOr(w.rescan())
}

// Depth implements perdure.Parter.
func (s *Store) Depth(ctx context.Context, id perdure.AgentID) (d perdure.Depth, err error) {
	err = s.read(ctx, func(c *conn) error {
		d = perdure.Full
		key, err := keyOf(c, id)
		if err != nil {
			return err
		}
		take := func(v []driver.Value) error {
			text, _ := v[0].(string)
			return d.UnmarshalText([]byte(text))
		}
		err = c.query("SELECT depth FROM depths WHERE agent=?", take, key)
		if corrupt(err) && c.query("SELECT depth FROM depths INDEXED BY depths_copy WHERE agent=?", take, key) == nil {
			err = nil
		}
		return err
	})
	if err != nil {
		return d, fmt.Errorf("depth of agent %s: %w", id.Short(), err)
	}
	return d, nil
}
