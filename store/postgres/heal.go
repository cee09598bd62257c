package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

var _ perdure.Healer = (*Store)(nil)

// Heal implements perdure.Healer. What can be read of the agent, what lies aside of it and the good copy are put
// together.
func (s *Store) Heal(ctx context.Context, id perdure.AgentID, good []*perdure.Entry) (out perdure.Healed, err error) {
	if len(good) == 0 {
		d, err := s.Depth(ctx, id)
		if err == nil {
			err = d.Healable()
		}
		if err != nil && !errors.Is(err, perdure.ErrNotFound) {
			return out, fmt.Errorf("heal agent %s: %w", id.Short(), err)
		}
	}
	err = s.changeFor(ctx, 0, id, func(ctx context.Context, x *transaction) error {
		out, err = x.heal(ctx, good)
		return err
	})
	if err == nil && out.Entries > 0 {
		var a *perdure.Agent
		if a, err = perdure.Load(ctx, s, id); err == nil {
			err = s.index(ctx, a.Heads(), a.Listing(time.Now()), true)
		}
	}
	return out, s.wrote("heal", id, err)
}

func (x *transaction) heal(ctx context.Context, good []*perdure.Entry) (out perdure.Healed, err error) {
	read, faults, err := x.salvage(ctx)
	if err != nil {
		return out, err
	}
	aside, name, err := x.aside(ctx)
	if err != nil {
		return out, err
	}
	if x.key == 0 && len(aside) == 0 {
		return out, perdure.ErrNotFound
	}
	whole, rest := out.Join(slices.Concat(read, aside, good))
	out.Gained, out.Aside = out.Gained+out.Entries-int64(len(read)), int64(len(rest))
	if faults == 0 && out.Gained == 0 {
		return out, nil // nothing is wrong with what is in its place, and nothing lies aside that joins it
	}
	if len(whole)+len(rest) == 0 {
		return out, nil // it stays where it is: nothing else would tell that there was such an agent
	}
	if len(good) == 0 {
		whole, err := x.ends(ctx, whole)
		if err != nil {
			return out, err
		}
		out.Short = !whole
	}
	if err := x.setAside(ctx, rest, name); err != nil {
		return out, err
	}
	if len(whole) == 0 {
		return out, x.forget(ctx)
	}
	return out, x.replace(ctx, perdure.Full, func(yield func(*perdure.Entry, error) bool) {
		for _, e := range whole {
			if !yield(e, nil) {
				return
			}
		}
	})
}

// salvage reads every entry that is what was written, and counts the rows that have others.
func (x *transaction) salvage(ctx context.Context) (out []*perdure.Entry, faults int, err error) {
	if x.key == 0 {
		return nil, 0, nil
	}
	for from, more := int64(0), true; more; {
		var rows []row
		if rows, _, more, err = x.s.page(ctx, x.tx, x.key, from); err != nil {
			return nil, 0, err
		}
		for _, r := range rows {
			from = r.pos + 1
			entries, whole := r.legible(x.id, x.s.limits)
			if out = append(out, entries...); !whole {
				faults++
			}
		}
	}
	// Entries that nothing leads to, and heads that nothing is of, are faults, too.
	are, err := x.ends(ctx, out)
	if err == nil && !are {
		faults++
	}
	return out, faults, err
}

// ends reports whether the heads of these entries are those of the agent.
func (x *transaction) ends(ctx context.Context, entries []*perdure.Entry) (bool, error) {
	var left []perdure.Hash
	for _, e := range entries {
		left = slices.DeleteFunc(left, func(h perdure.Hash) bool { return slices.Contains(e.Parents, h) })
		left = append(left, e.Name)
	}
	err := x.heads.learn(ctx, x, left)
	return err == nil && x.heads.are(left), err
}

// legible are the entries of a row that can be read under their names, whatever is wrong with the rest of it.
func (r *row) legible(id perdure.AgentID, lim perdure.Limits) (out []*perdure.Entry, whole bool) {
	if entries, err := r.entries(id, lim); err == nil {
		return entries, true
	}
	for i, b := range r.split() {
		if e, err := perdure.DecodeEntry(b, lim); err == nil && i < r.count() && e.Name == r.name(i) && e.ID() == id {
			out = append(out, e)
		}
	}
	return out, false
}

// aside reads what lies aside of the agent, and what it was called.
func (x *transaction) aside(ctx context.Context) (out []*perdure.Entry, name []byte, err error) {
	err = x.query(ctx, "SELECT entry, name FROM ~aside WHERE id=$1", func(r pgx.Rows) error {
		var b []byte
		err := r.Scan(&b, &name)
		if e, wrong := perdure.DecodeEntry(b, x.s.limits); err == nil && wrong == nil && e.ID() == x.id {
			out = append(out, e)
		}
		return err
	}, x.id[:])
	if err == nil && x.key != 0 {
		err = x.query(ctx, "SELECT name FROM ~listings WHERE agent=$1",
			func(r pgx.Rows) error { return r.Scan(&name) }, x.key)
	}
	return out, name, err
}

// setAside keeps what has no place.
func (x *transaction) setAside(ctx context.Context, rest []*perdure.Entry, name []byte) error {
	if err := x.exec(ctx, "DELETE FROM ~aside WHERE id=$1", x.id[:]); err != nil {
		return err
	}
	if name == nil {
		name = []byte{}
	}
	for _, e := range rest {
		b, err := e.MarshalBinary()
		if err == nil {
			err = x.exec(ctx, "INSERT INTO ~aside(id, entry, name) VALUES($1, $2, $3)", x.id[:], b, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forget removes an agent of which nothing is left in its place.
func (x *transaction) forget(ctx context.Context) error {
	if err := x.clear(ctx); err != nil {
		return err
	}
	if err := x.exec(ctx, "DELETE FROM ~listings WHERE agent=$1", x.key); err != nil {
		return err
	}
	return x.exec(ctx, "DELETE FROM ~agents WHERE key=$1", x.key)
}

// Ailing implements perdure.Healer: the agents that are not listed, or of which something lies aside.
func (s *Store) Ailing(ctx context.Context) (map[perdure.AgentID]perdure.Ailment, error) {
	const text = `SELECT a.id, ''::bytea, 0, true FROM ~agents a
			WHERE NOT EXISTS (SELECT 1 FROM ~listings l WHERE l.agent=a.key)
		UNION ALL SELECT o.id, max(o.name::text)::bytea, count(*), EXISTS (SELECT 1 FROM ~agents a WHERE a.id=o.id)
			FROM ~aside o GROUP BY o.id`
	var out map[perdure.AgentID]perdure.Ailment
	err := s.try(ctx, func(ctx context.Context) error {
		out = map[perdure.AgentID]perdure.Ailment{}
		rows, err := s.pool.Query(ctx, s.sql(text))
		if err != nil {
			return err
		}
		return each(rows, func(r pgx.Rows) error {
			var id, name []byte
			var n int64
			var there bool
			if err := r.Scan(&id, &name, &n, &there); err != nil || len(id) != hashSize {
				return err
			}
			why := errors.New("the index does not list it")
			if n > 0 {
				why = fmt.Errorf("%d entries of it lie aside: what they are written on cannot be read", n)
			}
			out[perdure.AgentID(id)] = perdure.Ailment{Name: string(name), Gone: !there, Reason: why}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("look for damaged agents: %w", err)
	}
	return out, nil
}
