package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// listText records the listing of an agent, one of fewer entries only when forced to, or if it was folded at the heads
// there are: then, too, that it tells of all entries. No entries are added meanwhile, whose listing it could replace.
// It returns how many agents there are of that id.
const listText = `
WITH a AS (SELECT key, id, heads=$3 AS now FROM ~agents WHERE id=$1 FOR NO KEY UPDATE), i AS (
	INSERT INTO ~listings AS l (agent, id, name, kind, scope, state, labels, created, updated, due, entries, waiting)
	SELECT key, id, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM a
	ON CONFLICT (agent) DO UPDATE SET name=excluded.name, kind=excluded.kind, scope=excluded.scope,
		state=excluded.state, labels=excluded.labels, created=excluded.created, updated=excluded.updated,
		due=excluded.due, entries=excluded.entries, waiting=excluded.waiting
	WHERE $2 OR l.entries<=excluded.entries OR (SELECT now FROM a)
), u AS (
	UPDATE ~agents SET unlisted=false WHERE id=$1 AND unlisted AND heads=$3
)
SELECT count(*) FROM a`

// listingColumns are listings as a statement takes them.
type listingColumns struct {
	name, kind, scope, labels      [][]byte
	state                          []int32
	created, updated, due, entries []int64
	waiting                        []bool
}

func (c *listingColumns) add(l perdure.Listing) error {
	var labels []byte
	if len(l.Labels) > 0 {
		var err error
		if labels, err = json.Marshal(l.Labels); err != nil {
			return err
		}
	}
	c.name, c.kind = append(c.name, []byte(l.Name)), append(c.kind, []byte(l.Kind))
	c.scope, c.labels = append(c.scope, []byte(l.Scope)), append(c.labels, labels)
	c.state, c.waiting = append(c.state, int32(l.State)), append(c.waiting, l.Waiting)
	c.created, c.updated = append(c.created, int64(l.Created)), append(c.updated, int64(l.Updated))
	c.due, c.entries = append(c.due, int64(l.Due)), append(c.entries, l.Entries)
	return nil
}

// fill adds the first listings of the agents in a batch that are to be made.
func (c *listingColumns) fill(batch []*request) error {
	for _, r := range batch {
		if r.genesis == nil {
			continue
		}
		if err := c.add(r.genesis.Newborn()); err != nil {
			return err
		}
	}
	return nil
}

// first is the first listing, as the arguments of listText from the fourth on.
func (c *listingColumns) first() []any {
	return []any{
		c.name[0], c.kind[0], c.scope[0], c.state[0], c.labels[0], c.created[0], c.updated[0], c.due[0], c.entries[0],
		c.waiting[0],
	}
}

// list records a listing within a transaction.
func (x *transaction) list(ctx context.Context, l perdure.Listing) error {
	var c listingColumns
	if err := c.add(l); err != nil {
		return err
	}
	return x.exec(ctx, listText, append([]any{x.id[:], true, []byte{}}, c.first()...)...)
}

// Index implements perdure.Lister.
func (s *Store) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	return s.wrote("index", l.Agent, s.index(ctx, heads, l, false))
}

func (s *Store) index(ctx context.Context, heads []perdure.Hash, l perdure.Listing, force bool) error {
	var c listingColumns
	err := c.add(l)
	if err == nil {
		err = s.writable(ctx)
	}
	if err != nil {
		return err
	}
	var n int64
	err = s.try(ctx, func(ctx context.Context) error {
		text := s.sql(listText + " WHERE " + relaxed)
		args := append([]any{l.Agent[:], force, headsColumn(ascending(heads))}, c.first()...)
		return s.pool.QueryRow(ctx, text, args...).Scan(&n)
	})
	if err == nil && n == 0 {
		err = perdure.ErrNotFound
	}
	return err
}

// pageListings is how many rows are read at a time.
const pageListings = 256

// firstListings is how many are read at first where few are asked for.
const firstListings = 16

// List implements perdure.Lister.
func (s *Store) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		where, args, possible := s.conditions(f)
		if err := s.usable(ctx); err != nil {
			yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
			return
		}
		text := `SELECT id, name, kind, scope, state, labels, created, updated, due, entries, waiting,
			EXISTS (SELECT 1 FROM ~agents a WHERE a.key=agent AND ` + s.marked() + `)
			FROM ~listings WHERE (name, id)>($1, $2)` + where +
			" ORDER BY name, id LIMIT $3"
		last := perdure.Listing{Name: f.After.Name, Agent: f.After.Agent}
		page := pageListings
		if f.Limit > 0 {
			page = min(max(f.Limit, firstListings), pageListings)
		}
		for left, n, more := f.Limit, 0, possible; more; {
			var found []perdure.Listing
			after := last
			err := s.try(ctx, func(ctx context.Context) error {
				found, n = nil, 0
				rows, err := s.pool.Query(
					ctx,
					s.sql(text),
					append([]any{[]byte(after.Name), idAfter(after), page}, args...)...)
				if err != nil {
					return err
				}
				return each(rows, func(r pgx.Rows) (err error) {
					n++
					if last, err = listingOf(r); err == nil && f.Match(last) {
						found = append(found, last)
					}
					return err
				})
			})
			if err != nil {
				yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
				return
			}
			s.looked.Add(int64(n))
			more, page = n == page, pageListings
			for _, l := range found {
				if !yield(l, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

// Looked is how many listings were read to list agents.
func (s *Store) Looked() int64 { return s.looked.Load() }

// idAfter is the id of the last agent that was read; before the first, what is before every id.
func idAfter(l perdure.Listing) []byte {
	if l.Agent.IsZero() {
		return []byte{}
	}
	return l.Agent[:]
}

// marked is what the row of an agent says whose listing is behind. A store of an older version, which is only looked
// at, says it of none.
func (s *Store) marked() string {
	if s.found < withMarks {
		return "false"
	}
	return "unlisted"
}

// conditions are what the server can tell of a filter: every listing they leave out does not match. Possible is false
// when none can match.
func (s *Store) conditions(f perdure.Filter) (where string, args []any, possible bool) {
	and := func(text string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			text = strings.Replace(text, "?", fmt.Sprintf("$%d", len(args)+3), 1)
		}
		where += " AND " + text
	}
	if prefix, _, glob := strings.Cut(f.Name, "*"); f.Name != "" && !strings.ContainsAny(f.Name, "*?") {
		and("name=?", []byte(f.Name))
	} else if glob && prefix != "" && !strings.Contains(prefix, "?") {
		and("name>=? AND name<?", []byte(prefix), []byte(prefix+"\U0010ffff"))
	}
	if f.Kind != "" {
		and("kind=?", []byte(f.Kind))
	}
	if f.Waiting {
		and("waiting")
	}
	if f.Behind {
		and("agent IN (SELECT key FROM ~agents WHERE " + s.marked() + ")")
	}
	if f.Since != 0 {
		and("updated>=?", int64(f.Since))
	}
	if f.Before != 0 {
		and("updated<?", int64(f.Before))
	}
	if len(f.States) > 0 {
		var states []int32
		for _, s := range f.States {
			states = append(states, int32(s))
		}
		and("state=ANY(?)", states)
	}
	if f.Prefix != "" {
		low, err := hex.DecodeString((f.Prefix + strings.Repeat("0", 64))[:64])
		high, err2 := hex.DecodeString((f.Prefix + strings.Repeat("f", 64))[:64])
		if err != nil || err2 != nil || len(f.Prefix) > 64 {
			return "", nil, false
		}
		and("id>=? AND id<=?", low, high)
	}
	return where, args, true
}

func listingOf(r pgx.Rows) (l perdure.Listing, err error) {
	var id, name, kind, scope, labels []byte
	var state int32
	var created, updated, due int64
	if err := r.Scan(
		&id, &name, &kind, &scope, &state, &labels, &created, &updated, &due, &l.Entries, &l.Waiting, &l.Behind,
	); err != nil {
		return l, err
	}
	l.Name, l.Kind, l.Scope, l.State = string(name), string(kind), string(scope), phase.State(state)
	l.Created, l.Updated, l.Due = perdure.Time(created), perdure.Time(updated), perdure.Time(due)
	copy(l.Agent[:], id)
	if labels != nil {
		if err := json.Unmarshal(labels, &l.Labels); err != nil {
			return l, fmt.Errorf("labels of agent %s: %w", l.Agent.Short(), err)
		}
	}
	return l, nil
}
