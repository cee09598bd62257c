package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

const (
	// recentRows is how many rows of an agent are looked through for names: what is written on something older than the
	// heads is mostly written on what were the heads a moment ago.
	recentRows = 64
	// manyNames is from how many names on all of an agent's are read, instead of looking for each.
	manyNames = 512
)

// queryer is what reads: a transaction or the pool.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// lookup finds which of these names are entries of the agent. It costs no more for a long memory than for a short one:
// names in recent rows are found there, and others by an index that is made for agents that need it, of what arrived
// since it was last needed.
func (x *transaction) lookup(ctx context.Context, names []perdure.Hash) (places, error) {
	if x.past != nil {
		return x.past, nil
	}
	if len(names) > manyNames {
		return x.all(ctx)
	}
	found := places{}
	whole, err := x.s.recent(ctx, x.tx, x.key, found.note)
	if err != nil || whole || found.all(names) {
		return found, err
	}
	if err := x.index(ctx); err != nil {
		return nil, err
	}
	tags := make([]int64, len(names))
	for i, n := range names {
		tags[i] = tagOf(n)
	}
	const text = `SELECT l.pos, l.names FROM ~log l WHERE l.agent=$1 AND l.pos IN (SELECT n.pos FROM ~names n WHERE n.agent=$1 AND n.tag=ANY($2))`
	rows, err := x.tx.Query(ctx, x.s.sql(text), x.key, tags)
	if err != nil {
		return nil, err
	}
	return found, eachName(rows, found.note)
}

// place is where an entry stands: its row, and which of it.
type place struct {
	pos int64
	i   int
}

// places are the entries that were found.
type places map[perdure.Hash]place

func (p places) note(pos int64, i int, name perdure.Hash) { p[name] = place{pos, i} }

func (p places) has(name perdure.Hash) bool {
	_, found := p[name]
	return found
}

// all reports whether all these are among them.
func (p places) all(names []perdure.Hash) bool {
	return !slices.ContainsFunc(names, func(n perdure.Hash) bool { return !p.has(n) })
}

// tagOf is what names are indexed by: the first bytes of them. Names that have these in common are told apart by the
// row.
func tagOf(name perdure.Hash) int64 { return int64(binary.BigEndian.Uint64(name[:])) }

// index makes every entry of the agent be found by name.
func (x *transaction) index(ctx context.Context) error {
	const text = `INSERT INTO ~names SELECT l.agent, ('x'||encode(substring(l.names FROM i*32+1 FOR 8),'hex'))::bit(64)::bigint, l.pos
		FROM ~log l, generate_series(0, length(l.names)/32-1) i WHERE l.agent=$1 AND l.pos>$2`
	if err := x.exec(ctx, text, x.key, x.indexed); err != nil {
		return err
	}
	const done = `UPDATE ~agents SET indexed=coalesce((SELECT max(pos) FROM ~log WHERE agent=$1),0) WHERE key=$1 RETURNING indexed`
	return x.tx.QueryRow(ctx, x.s.sql(done), x.key).Scan(&x.indexed)
}

// all reads all names of the agent.
func (x *transaction) all(ctx context.Context) (places, error) {
	x.past = places{}
	if x.key == 0 {
		return x.past, nil
	}
	rows, err := x.tx.Query(ctx, x.s.sql("SELECT pos, names FROM ~log WHERE agent=$1"), x.key)
	if err != nil {
		return nil, err
	}
	return x.past, eachName(rows, x.past.note)
}

// recent calls f with the names in the latest rows of an agent, and reports whether these are all there are.
func (s *Store) recent(
	ctx context.Context, q queryer, key int64, f func(pos int64, i int, name perdure.Hash),
) (whole bool, err error) {
	rows, err := q.Query(ctx, s.sql("SELECT pos, names FROM ~log WHERE agent=$1 ORDER BY pos DESC LIMIT $2"),
		key, recentRows)
	if err != nil {
		return false, err
	}
	read, last := 0, int64(0)
	err = eachName(rows, func(pos int64, i int, name perdure.Hash) {
		if pos != last {
			read, last = read+1, pos
		}
		f(pos, i, name)
	})
	return read < recentRows, err
}

// eachName calls f with each name in rows of pos and names.
func eachName(rows pgx.Rows, f func(pos int64, i int, name perdure.Hash)) error {
	return each(rows, func(rows pgx.Rows) error {
		var r row
		if err := rows.Scan(&r.pos, &r.names); err != nil {
			return err
		}
		for i := range r.count() {
			f(r.pos, i, r.name(i))
		}
		return nil
	})
}

// holds reports whether an agent has an entry.
func (s *Store) holds(ctx context.Context, id perdure.AgentID, name perdure.Hash) (held bool, err error) {
	err = s.transact(ctx, callTime, func(ctx context.Context, tx pgx.Tx) error {
		x := &transaction{s: s, tx: tx, id: id}
		if err := x.lock(ctx); err != nil || x.key == 0 {
			return err
		}
		found, err := x.lookup(ctx, []perdure.Hash{name})
		held = found.has(name)
		return err
	})
	return held, err
}

// keyOf finds the key of an agent.
func (s *Store) keyOf(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, id perdure.AgentID) (key int64, err error) {
	err = q.QueryRow(ctx, s.sql("SELECT key FROM ~agents WHERE id=$1"), id[:]).Scan(&key)
	if errors.Is(err, pgx.ErrNoRows) {
		err = perdure.ErrNotFound
	}
	return key, err
}
