package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// list records the listing of an agent.
func (w *writer) list(key int64, l perdure.Listing) error {
	kind, labels, err := described(&l)
	if err != nil {
		return err
	}
	return w.do("INSERT OR REPLACE INTO listings VALUES(?,?,?,?,?,?,?,?,?,?,?)",
		key, l.Name, kind, l.Scope, int64(l.State), labels, int64(l.Created), int64(l.Updated), null(l.Due), l.Entries,
		present(l.Waiting))
}

// described are the columns of a listing that are not there where an agent has neither a kind nor labels.
func described(l *perdure.Listing) (kind, labels driver.Value, err error) {
	if len(l.Labels) > 0 {
		b, err := json.Marshal(l.Labels)
		if err != nil {
			return nil, nil, err
		}
		labels = string(b)
	}
	if l.Kind != "" {
		kind = l.Kind
	}
	return kind, labels, nil
}

// movedText records what changes with every entry, of an agent about which nothing else has: no index is touched.
const movedText = "UPDATE listings SET state=?, updated=?, due=?, entries=? WHERE agent=? AND entries<=? AND name=? " +
	"AND kind IS ? AND scope=? AND labels IS ? AND created=? AND waiting IS ?"

// unlist notes that the listing of an agent does not tell of all its entries. Of one that has no more than its first,
// it does.
func (w *writer) unlist(a *agent) error {
	if a.unlisted || len(a.heads) == 1 && a.heads[0].name == perdure.Hash(a.id) {
		return nil
	}
	a.unlisted = true
	if w.doubtful {
		return w.do(behindTable)
	}
	err := w.do("INSERT OR IGNORE INTO unlisted VALUES(?)", a.key)
	w.doubtful = corrupt(err)
	return err
}

// relist records the listing of an agent that may have one, as folded at heads, over one of more entries only when
// forced to, or if these are the heads there are.
func (w *writer) relist(a *agent, heads []perdure.Hash, l perdure.Listing, force bool) error {
	if err := w.line(a.key, l, force || a.on(heads)); err != nil || !a.on(heads) || w.doubtful {
		return err
	}
	a.unlisted = false
	return w.do("DELETE FROM unlisted WHERE agent=?", a.key)
}

// line writes a listing.
func (w *writer) line(key int64, l perdure.Listing, force bool) error {
	kind, labels, err := described(&l)
	if err != nil {
		return err
	}
	moved, err := w.changes(movedText, int64(l.State), int64(l.Updated), null(l.Due), l.Entries, key, l.Entries, l.Name,
		kind, l.Scope, labels, int64(l.Created), present(l.Waiting))
	if err != nil {
		return brokenError{err}
	}
	if moved > 0 {
		return nil
	}
	known, _, err := w.number("SELECT entries FROM listings WHERE agent=?", key)
	if err != nil {
		return brokenError{err}
	}
	if known > l.Entries && !force {
		return nil
	}
	return w.list(key, l)
}

// present is a column that is 1 or not there.
func present(set bool) driver.Value {
	if set {
		return int64(1)
	}
	return nil
}

// Index implements perdure.Lister.
func (s *Store) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	err := s.index(ctx, heads, l, false)
	if corrupt(err) { // it is derived, and List does without it
		s.fallBehind(ctx, heads, l)
		return nil
	}
	return err
}

// index records a listing as folded at heads, an older one only when forced to.
func (s *Store) index(ctx context.Context, heads []perdure.Hash, l perdure.Listing, force bool) error {
	err := s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error {
		a, err := w.held(l.Agent)
		if err != nil {
			return err
		}
		return w.relist(a, heads, l, force)
	}})
	if err != nil {
		return fmt.Errorf("index agent %s: %w", l.Agent.Short(), err)
	}
	return nil
}

// pageListings is how many rows are read at a time.
const pageListings = 256

// firstListings is how many are read at first where few are asked for. A statement names its limit, and they are kept:
// there are few of them, each a power of two.
const firstListings = 16

// List implements perdure.Lister. Agents of one name are listed in the order in which they came to this store.
func (s *Store) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		w := walk{f: f, size: pageListings}
		for f.Limit > 0 && f.Limit <= w.size/2 && w.size > firstListings {
			w.size /= 2
		}
		var possible bool
		w.where, w.args, possible = conditions(f)
		if !possible {
			return
		}
		if err := s.read(ctx, w.begin); err != nil {
			yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
			return
		}
		if w.behind || s.relisted.behind.Load() {
			s.relist(ctx, f, errBehind, yield)
			return
		}
		for left := f.Limit; !w.ended; {
			ahead := w
			err := s.read(ctx, func(c *conn) error {
				ahead = w // what was read before may be void
				return ahead.page(c, &s.looked)
			})
			w = ahead
			if corrupt(err) {
				f.Limit = left
				s.relist(ctx, f, err, yield)
				return
			}
			if err != nil {
				yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
				return
			}
			for _, l := range w.found {
				if f.After = l.Place(); !yield(l, nil) {
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

// walk is a list that is read page by page.
type walk struct {
	f     perdure.Filter
	where string
	args  []driver.Value
	size  int // of a page

	name  string // after an agent of this name
	key   int64  // with this key; zero: before all of this name
	found []perdure.Listing
	ended bool

	behind bool // the file says that listings are: see behindTable
}

// begin finds where the list begins. Of an agent that is gone only the name is known.
func (w *walk) begin(c *conn) (err error) {
	if _, w.behind, err = c.number(isBehind); err != nil {
		return err
	}
	if at := w.f.After; !at.Agent.IsZero() {
		w.name = at.Name
		w.key, err = keyOf(c, at.Agent)
		err = ignore(err, perdure.ErrNotFound)
	}
	return err
}

// listingColumns are what listingOf reads.
const listingColumns = "SELECT l.name, l.kind, l.scope, l.state, l.labels, l.created, l.updated, l.due, l.entries, " +
	"a.id, l.waiting, l.agent, EXISTS (SELECT 1 FROM unlisted u WHERE u.agent=l.agent) FROM listings l " +
	"JOIN agents a ON a.key=l.agent WHERE "

// Two statements read on from an agent: the rest of its name, by their keys, then the names that follow. An index has
// both orders, so that each row that is looked at is one that is listed, or that the filter leaves out.
const (
	listSame = "l.name=? AND l.agent>?"
	listMore = "l.name>?"
	listFrom = "l.name>=?"
)

// page reads on.
func (w *walk) page(c *conn, looked *atomic.Int64) (err error) {
	name, key := w.name, w.key
	w.found = w.found[:0]
	read := func(which, order string, args ...driver.Value) (n int, err error) {
		// a limit that is bound to a parameter has SQLite compile the statement for each value of it
		text := listingColumns + which + w.where + " ORDER BY " + order + " LIMIT " + strconv.Itoa(w.size)
		err = c.query(text, func(v []driver.Value) error {
			n++
			l, err := listingOf(v)
			if name, key = l.Name, integer(v[11]); err == nil && w.f.Match(l) {
				w.found = append(w.found, l)
			}
			return err
		}, append(args, w.args...)...)
		looked.Add(int64(n))
		return n, err
	}
	which, n := listFrom, 0
	if key != 0 {
		which = listMore
		n, err = read(listSame, "l.agent", name, key)
	}
	if err == nil && n < w.size {
		n, err = read(which, "l.name, l.agent", name)
		w.ended = n < w.size
	}
	w.name, w.key, w.size = name, key, pageListings
	return err
}

// conditions are what SQLite can tell of a filter: every listing they leave out does not match. Possible is false when
// none can match.
func conditions(f perdure.Filter) (where string, args []driver.Value, possible bool) {
	and := func(text string, values ...driver.Value) {
		where += " AND " + text
		args = append(args, values...)
	}
	if prefix, _, glob := strings.Cut(f.Name, "*"); f.Name != "" && !strings.ContainsAny(f.Name, "*?") {
		and("l.name=?", f.Name)
	} else if glob && prefix != "" && !strings.Contains(prefix, "?") {
		and("l.name>=? AND l.name<?", prefix, prefix+"\U0010ffff")
	}
	if f.Kind != "" {
		and("l.kind=?", f.Kind)
	}
	if f.Waiting {
		and("l.waiting")
	}
	if f.Behind {
		and("l.agent IN (SELECT agent FROM unlisted)")
	}
	if f.Since != 0 {
		and("l.updated>=?", int64(f.Since))
	}
	if f.Before != 0 {
		and("l.updated<?", int64(f.Before))
	}
	if len(f.States) > 0 {
		var states []driver.Value
		for _, s := range slices.Compact(slices.Sorted(slices.Values(f.States))) { // statements are kept: few of them
			states = append(states, int64(s))
		}
		and("l.state IN (?"+strings.Repeat(",?", len(states)-1)+")", states...)
	}
	if f.Prefix != "" {
		low, err := hex.DecodeString((f.Prefix + strings.Repeat("0", 64))[:64])
		high, err2 := hex.DecodeString((f.Prefix + strings.Repeat("f", 64))[:64])
		if err != nil || err2 != nil || len(f.Prefix) > 64 {
			return "", nil, false
		}
		and("substr(a.id,1,8)>=? AND substr(a.id,1,8)<=?", low[:8], high[:8])
	}
	return where, args, true
}

func listingOf(v []driver.Value) (perdure.Listing, error) {
	l := perdure.Listing{
		State: phase.State(integer(v[3])), Created: perdure.Time(integer(v[5])), Updated: perdure.Time(integer(v[6])),
		Due: perdure.Time(integer(v[7])), Entries: integer(v[8]), Waiting: integer(v[10]) != 0,
		Behind: integer(v[12]) != 0,
	}
	l.Name, _ = v[0].(string)
	l.Kind, _ = v[1].(string)
	l.Scope, _ = v[2].(string)
	id, _ := v[9].([]byte)
	copy(l.Agent[:], id)
	if labels, ok := v[4].(string); ok {
		if err := json.Unmarshal([]byte(labels), &l.Labels); err != nil {
			return l, fmt.Errorf("labels of agent %s: %w", l.Agent.Short(), err)
		}
	}
	return l, nil
}
