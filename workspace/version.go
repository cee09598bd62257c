package workspace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
)

// called are the agents of a name.
func (ix *Index) called(ctx context.Context, name string) ([]perdure.AgentID, error) {
	return ix.agents(ctx, "SELECT name FROM agent WHERE called=? ORDER BY kind<>?, id LIMIT 64", name, roleKind)
}

// roles are the names of the first roles, by name.
func (ix *Index) roles(ctx context.Context, most int) (names []string, err error) {
	rows, err := ix.db.QueryContext(ctx, "SELECT DISTINCT called FROM agent WHERE kind=? ORDER BY called LIMIT ?",
		roleKind, most)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		if CheckRole(name) == nil {
			names = append(names, name)
		}
	}
	return names, errors.Join(rows.Err(), rows.Close())
}

// unclosed are the agents that have sessions open.
func (ix *Index) unclosed(ctx context.Context) ([]perdure.AgentID, error) {
	return ix.agents(ctx, "SELECT name FROM agent WHERE id IN (SELECT agent FROM version WHERE current=1 AND "+
		"tags='open' AND kind=?) ORDER BY id", KindSession)
}

// agents are those that a statement names.
func (ix *Index) agents(ctx context.Context, text string, args ...any) ([]perdure.AgentID, error) {
	rows, err := ix.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	var all []perdure.AgentID
	for rows.Next() {
		var id []byte
		if err := rows.Scan(&id); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		all = append(all, perdure.AgentID(hashOf(id)))
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// shelves are the memories that hold documents.
func (ix *Index) shelves(ctx context.Context) ([]shelf, error) {
	rows, err := ix.query(ctx, "SELECT id, name, called, kind, scope, tier, moved FROM agent WHERE keeps=1 ORDER BY id")
	if err != nil {
		return nil, err
	}
	var all []shelf
	for rows.Next() {
		var s shelf
		var id []byte
		var called, kind, tier string
		if err := rows.Scan(&s.row, &id, &called, &kind, &s.Scope, &tier, &s.moved); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		s.agent, s.Tier = perdure.AgentID(hashOf(id)), Tier(tier)
		if kind != keeper.Workspace {
			s.Tier, s.role = Private, called
		}
		if s.Tier.rank() >= 0 {
			all = append(all, s)
		}
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// version is a row of the index: a version of a document, without its text.
type version struct {
	id, agent     int64
	entry         perdure.Hash
	path, kind    string
	title, by     string
	seq           int64
	at, expires   perdure.Time
	origin        perdure.Key
	gone, current bool
	sealed        bool
	size          int64
	tags          []string
	from          *perdure.Source
	check         string
	position      perdure.Cursor
	shelf         *shelf
}

// versionColumns are those of a version; whether it is current comes last, see isCurrent.
const versionColumns = "v.id, v.agent, v.entry, v.path, v.kind, v.title, v.by, v.seq, v.at, v.expires, v.origin, " +
	"v.gone, v.sealed, v.size, v.tags, v.fromagent, v.fromentry, v.proof, v.position"

func scanVersion(rows *sql.Rows) (*version, error) {
	v := &version{}
	var entry, origin, agent, cause []byte
	var tags string
	var at, expires, position int64
	err := rows.Scan(&v.id, &v.agent, &entry, &v.path, &v.kind, &v.title, &v.by, &v.seq, &at, &expires, &origin,
		&v.gone, &v.sealed, &v.size, &tags, &agent, &cause, &v.check, &position, &v.current)
	v.entry, v.at, v.expires, v.position = hashOf(entry), perdure.Time(at), perdure.Time(expires),
		perdure.Cursor(position)
	copy(v.origin[:], origin)
	if tags != "" {
		v.tags = strings.Split(tags, "\n")
	}
	if agent != nil {
		v.from = &perdure.Source{Agent: perdure.AgentID(hashOf(agent)), Entry: hashOf(cause)}
	}
	return v, err
}

// versions are the rows that a condition selects, current or not, each on its shelf.
func (ix *Index) versions(ctx context.Context, on []shelf, where string, args ...any) ([]*version, error) {
	return ix.chosen(ctx, on, selection(on, anyRows, where), args)
}

// current is versions, but of current ones alone.
func (ix *Index) current(ctx context.Context, on []shelf, where string, args ...any) ([]*version, error) {
	return ix.chosen(ctx, on, selection(on, anyRows, isCurrent(on, "v")+" AND "+where), args)
}

// numbered is versions for a condition that goes by the numbers of rows: those alone are read, and not all of a shelf.
func (ix *Index) numbered(ctx context.Context, on []shelf, where string, args ...any) ([]*version, error) {
	return ix.chosen(ctx, on, selection(on, numberedRows, where), args)
}

// currentNumbered is numbered, but of current ones alone.
func (ix *Index) currentNumbered(ctx context.Context, on []shelf, where string, args ...any) ([]*version, error) {
	return ix.chosen(ctx, on, selection(on, numberedRows, isCurrent(on, "v")+" AND "+where), args)
}

// How rows are found: by an index of their shelf, or, for which the plus keeps SQLite from one, by their numbers.
const (
	anyRows      = "v.agent"
	numberedRows = "+v.agent"
)

// selection is the statement that selects rows of shelves by a condition.
func selection(on []shelf, by, where string) string {
	with, _ := twinned(on)
	marks := strings.TrimSuffix(strings.Repeat("?,", len(on)), ",")
	return with + "SELECT " + versionColumns + ", " + isCurrent(on, "v") + " FROM version v WHERE " + by + " IN (" +
		marks + ") AND " + where
}

func (ix *Index) chosen(ctx context.Context, on []shelf, text string, args []any) ([]*version, error) {
	if len(on) == 0 {
		return nil, nil
	}
	_, all := twinned(on)
	byRow := map[int64]*shelf{}
	for i := range on {
		byRow[on[i].row] = &on[i]
		all = append(all, on[i].row)
	}
	rows, err := ix.query(ctx, text, append(all, args...)...)
	if err != nil {
		return nil, err
	}
	var found []*version
	for rows.Next() {
		v, err := scanVersion(rows)
		if err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		v.shelf = byRow[v.agent]
		found = append(found, v)
	}
	return found, errors.Join(rows.Err(), rows.Close())
}

// entry reads the entry of a version from the store: an index only says where it is.
func (r *Reader) entry(ctx context.Context, v *version) (*perdure.Entry, *perdure.Document, error) {
	if v.position > 0 {
		for item, err := range r.from(ctx, v) {
			if err != nil {
				break // it is of another feed: look for it
			}
			if d := v.in(item); d != nil {
				return item.Entry, d, nil
			}
			break
		}
	}
	for item, err := range r.Store.Entries(ctx, v.shelf.agent, 0) {
		if err != nil {
			return nil, nil, err
		}
		if d := v.in(item); d != nil {
			return item.Entry, d, nil
		}
		if item.Name == v.entry {
			break
		}
	}
	return nil, nil, perdure.Missing(fmt.Sprintf("the text of %s is gone: it has expired, or was pruned", v.path))
}

// in is the document that an entry holds, if it is that of the version.
func (v *version) in(item perdure.Item) *perdure.Document {
	if ev, ok := item.Content().(perdure.Event); ok && item.Name == v.entry && item.ID() == v.shelf.agent {
		if d, ok := ev.Notice.(perdure.Document); ok {
			return &d
		}
	}
	return nil
}

// from is what was stored from a version on: of all agents, where a store has a feed, else of its own.
func (r *Reader) from(ctx context.Context, v *version) iter.Seq2[perdure.Item, error] {
	if f, ok := r.Store.(perdure.Feeder); ok {
		return f.Feed(ctx, v.position-1)
	}
	return r.Store.Entries(ctx, v.shelf.agent, v.position-1)
}
