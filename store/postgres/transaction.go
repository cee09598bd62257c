package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

// transaction is a change of one agent in a transaction of its own: what cannot be decided by comparing heads, or is
// too long to share one.
type transaction struct {
	s     *Store
	tx    pgx.Tx
	id    perdure.AgentID
	key   int64 // zero: the agent is not there
	heads *heads
	held  bool // by a node

	indexed int64          // up to here entries can be found by name
	past    places         // all names there are, once somebody needed so many; nil before
	ordered bool           // it may take positions
	stepped int            // how many entries of the row that is being filled the heads have taken in
	stands  []perdure.Hash // what stands for a past that is not there
}

// change locks an agent and has f change it.
func (s *Store) change(
	ctx context.Context, id perdure.AgentID, f func(ctx context.Context, x *transaction) error,
) error {
	return s.changeFor(ctx, callTime, id, f)
}

func (s *Store) changeFor(
	ctx context.Context, most time.Duration, id perdure.AgentID, f func(ctx context.Context, x *transaction) error,
) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	wrote := false
	err := s.transact(ctx, most, func(ctx context.Context, tx pgx.Tx) error {
		x := &transaction{s: s, tx: tx, id: id}
		err := x.lock(ctx)
		if err == nil {
			err = f(ctx, x)
		}
		wrote = x.ordered
		return err
	})
	if err == nil && wrote {
		s.changed([]perdure.AgentID{id}, nil)
	}
	return err
}

func (x *transaction) exec(ctx context.Context, text string, args ...any) error {
	_, err := x.tx.Exec(ctx, x.s.sql(text), args...)
	return err
}

func (x *transaction) query(ctx context.Context, text string, scan func(pgx.Rows) error, args ...any) error {
	rows, err := x.tx.Query(ctx, x.s.sql(text), args...)
	if err != nil {
		return err
	}
	return each(rows, scan)
}

// lock finds the agent and keeps others from changing it.
func (x *transaction) lock(ctx context.Context) error {
	var column []byte
	err := x.tx.QueryRow(ctx,
		x.s.sql(`SELECT key, heads, node IS NOT NULL, indexed FROM ~agents WHERE id=$1 FOR UPDATE`), x.id[:]).
		Scan(&x.key, &column, &x.held, &x.indexed)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	if err == nil {
		x.heads, err = readHeads(column)
	}
	return err
}

// errMade says that another process has made the agent meanwhile. The transaction is done again.
var errMade = errors.New("another process made the agent meanwhile")

// create gives the agent its key and its first listing.
func (x *transaction) create(ctx context.Context, genesis *perdure.Entry) error {
	err := x.tx.QueryRow(ctx,
		x.s.sql(`INSERT INTO ~agents(id, heads) VALUES($1,'') ON CONFLICT (id) DO NOTHING RETURNING key`), x.id[:]).
		Scan(&x.key)
	if errors.Is(err, pgx.ErrNoRows) {
		return errMade
	}
	if err != nil {
		return err
	}
	var l listingColumns
	if err := l.add(genesis.Newborn()); err != nil {
		return err
	}
	return x.exec(ctx, listText, append([]any{x.id[:], true, []byte{}}, l.first()...)...)
}

// compare refuses heads that are not those of the agent.
func (x *transaction) compare(ctx context.Context, names []perdure.Hash) error {
	if err := x.heads.learn(ctx, x, names); err != nil {
		return err
	}
	if !x.heads.are(names) {
		return perdure.ErrConflict
	}
	return nil
}

// put adds the entries that the agent does not have yet. It refuses entries whose parents are missing.
func (x *transaction) put(ctx context.Context, entries []*perdure.Entry) error {
	fresh, err := x.fresh(ctx, entries)
	if err != nil || len(fresh) == 0 {
		return err
	}
	if x.key == 0 {
		if err := x.create(ctx, fresh[0]); err != nil {
			return err
		}
	}
	if err := x.order(ctx); err != nil {
		return err
	}
	for len(fresh) > 0 {
		n, err := x.insert(ctx, fresh)
		if err != nil {
			return err
		}
		fresh = fresh[n:]
	}
	return x.save(ctx)
}

// order allows for taking positions, see horizon.
func (x *transaction) order(ctx context.Context) error {
	if x.ordered {
		return nil
	}
	x.ordered = true
	return x.exec(ctx, lockText, x.s.server.tag)
}

// insert writes as many of the entries as go into one row, and returns how many.
func (x *transaction) insert(ctx context.Context, entries []*perdure.Entry) (int, error) {
	var r row
	n, err := r.fill(entries, func(i int) bool {
		for ; x.stepped < i; x.stepped++ {
			x.heads.step(entries[x.stepped])
		}
		return x.heads.count == 0 || x.heads.are(entries[i].Parents)
	})
	if err != nil {
		return 0, err
	}
	for ; x.stepped < n; x.stepped++ {
		x.heads.step(entries[x.stepped])
	}
	x.stepped = 0
	if x.past != nil {
		for i := range n {
			x.past.note(0, 0, entries[i].Name)
		}
	}
	return n, x.exec(ctx,
		"INSERT INTO ~log(agent, pos, names, data, snaps) VALUES($1, nextval('~pos'), $2, $3, $4)", x.key,
		r.names, r.data, r.snaps)
}

// save writes what the heads are now.
func (x *transaction) save(ctx context.Context) error {
	column, err := x.heads.save(ctx, x)
	if err != nil {
		return err
	}
	again, err := readHeads(column)
	if err != nil {
		return err
	}
	again.due = x.heads.due
	says := x.heads.says()
	x.heads = again
	return x.exec(
		ctx,
		`UPDATE ~agents SET heads=$2, unlisted=$2<>id, says=nullif($3::bigint,0), due=CASE WHEN node IS NULL THEN nullif($3::bigint,0) ELSE due END WHERE key=$1`,
		x.key,
		column,
		int64(says),
	)
}

func (x *transaction) addHeads(ctx context.Context, names []perdure.Hash) error {
	return x.exec(ctx, "INSERT INTO ~heads SELECT $1, unnest($2::bytea[]) ON CONFLICT DO NOTHING", x.key,
		bytesOf(names))
}

// fresh are the entries that the agent does not have yet. An entry on top of a head or of a new entry is new itself; of
// the others it is looked whether they are there.
func (x *transaction) fresh(ctx context.Context, entries []*perdure.Entry) ([]*perdure.Entry, error) {
	among := newNames(entries)
	var parents, unsure []perdure.Hash
	for _, e := range entries {
		unsure = append(unsure, e.Name)
		for _, p := range e.Parents {
			if !among.has(p) {
				parents = append(parents, p)
			}
		}
	}
	if err := x.heads.learn(ctx, x, slices.Concat(parents, unsure)); err != nil {
		return nil, err
	}
	parents = slices.DeleteFunc(parents, x.heads.has)
	held := places{}
	if x.heads.count > 0 && (len(parents) > 0 || !x.onTop(entries)) {
		var err error
		if held, err = x.lookup(ctx, slices.Concat(parents, unsure)); err != nil {
			return nil, err
		}
	}
	for _, name := range x.stands {
		held.note(0, 0, name)
	}
	out, added := make([]*perdure.Entry, 0, len(entries)), map[perdure.Hash]bool{}
	for _, e := range entries {
		if added[e.Name] || held.has(e.Name) || x.heads.has(e.Name) ||
			e.Kind == perdure.KindGenesis && x.heads.count > 0 {
			continue
		}
		for _, p := range e.Parents {
			if !added[p] && !held.has(p) && !x.heads.has(p) {
				return nil, e.Unlinked(p)
			}
		}
		added[e.Name] = true
		out = append(out, e)
	}
	return out, nil
}

// onTop reports whether each entry is written on a head or on one before it: then it is new.
func (x *transaction) onTop(entries []*perdure.Entry) bool {
	fresh := map[perdure.Hash]bool{}
	for _, e := range entries {
		if !slices.ContainsFunc(e.Parents, func(p perdure.Hash) bool { return fresh[p] || x.heads.has(p) }) {
			return false
		}
		fresh[e.Name] = true
	}
	return true
}
