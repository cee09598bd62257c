package workspace

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
)

// taker takes entries into an index, in one transaction.
type taker struct {
	tx     *sql.Tx
	s      perdure.Store
	agents map[perdure.AgentID]*agentRow
	ready  map[string]*sql.Stmt
}

// agentRow is what is known of an agent.
type agentRow struct {
	id  int64
	ttl int64 // of its intent
}

func newTaker(tx *sql.Tx, s perdure.Store) *taker {
	return &taker{tx: tx, s: s, agents: map[perdure.AgentID]*agentRow{}, ready: map[string]*sql.Stmt{}}
}

// statement is made ready once: to read its text for every entry would cost more than to do what it says.
func (t *taker) statement(ctx context.Context, text string) (s *sql.Stmt, err error) {
	if s = t.ready[text]; s == nil {
		if s, err = t.tx.PrepareContext(ctx, text); err == nil {
			t.ready[text] = s
		}
	}
	return s, err
}

func (t *taker) exec(ctx context.Context, text string, args ...any) error {
	s, err := t.statement(ctx, text)
	if err == nil {
		_, err = s.ExecContext(ctx, args...)
	}
	return err
}

// insert is exec that says the number of the row it made.
func (t *taker) insert(ctx context.Context, text string, args ...any) (row int64, err error) {
	s, err := t.statement(ctx, text)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// row asks for one row.
func (t *taker) row(ctx context.Context, text string, args []any, to ...any) error {
	s, err := t.statement(ctx, text)
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(to...)
}

// take takes one entry in. One that was taken in before changes nothing, except that a body which is gone by now takes
// its text out.
func (t *taker) take(ctx context.Context, item perdure.Item) error {
	a, err := t.agent(ctx, item.Entry)
	if err != nil {
		return err
	}
	known, err := t.known(ctx, a, item.Name)
	if err != nil {
		return err
	}
	if item.Content() == nil {
		if known {
			return t.forget(ctx, a, item.Name)
		}
		if item.Kind == perdure.KindEvent { // it may have been a document
			return t.exec(ctx, "INSERT OR IGNORE INTO bare VALUES(?)", item.Name[:])
		}
		return nil
	}
	if known {
		return nil
	}
	if ev, ok := item.Content().(perdure.Event); ok {
		switch n := ev.Notice.(type) {
		case perdure.Document:
			return t.document(ctx, a, item, &ev, &n)
		case perdure.Pruned: // which does not say what of
			return t.exec(ctx, "UPDATE agent SET swept=0 WHERE id=?", a.id)
		}
	}
	return t.turns(ctx, a, item.Entry)
}

// known reports whether an entry has been taken in.
func (t *taker) known(ctx context.Context, a *agentRow, entry perdure.Hash) (is bool, err error) {
	err = t.row(ctx, "SELECT EXISTS(SELECT 1 FROM item WHERE agent=?1 AND entry=?2) OR "+
		"EXISTS(SELECT 1 FROM version WHERE agent=?1 AND entry=?2)", []any{a.id, entry[:]}, &is)
	return is, err
}

// agent is the row of the agent an entry belongs to.
func (t *taker) agent(ctx context.Context, e *perdure.Entry) (*agentRow, error) {
	id := e.ID()
	if a := t.agents[id]; a != nil {
		return a, nil
	}
	a := &agentRow{}
	var ttl sql.NullInt64 // null: its first entry was not there
	err := t.row(ctx, "SELECT id, ttl FROM agent WHERE name=?", []any{id[:]}, &a.id, &ttl)
	if a.ttl = ttl.Int64; errors.Is(err, sql.ErrNoRows) || err == nil && !ttl.Valid {
		err = t.meet(ctx, a, e)
	}
	if err != nil {
		return nil, err
	}
	t.agents[id] = a
	return a, nil
}

// meet writes how an agent began into its row, which is made if there is none. To read that anew for every entry would
// cost a page of its memory each time.
func (t *taker) meet(ctx context.Context, a *agentRow, e *perdure.Entry) (err error) {
	id := e.ID()
	g, ok := e.Content().(perdure.Genesis)
	if !ok {
		g, ok, _ = t.genesis(ctx, id) // what cannot be read has no name
	}
	a.ttl = g.Intent.TTL
	tier := ""
	if g.Intent.Kind == keeper.Workspace {
		tier = g.Intent.Labels[tierLabel]
	}
	if a.id != 0 {
		if !ok {
			return nil
		}
		return t.exec(ctx, "UPDATE agent SET called=?, kind=?, scope=?, tier=?, ttl=? WHERE id=?", g.Intent.Name,
			g.Intent.Kind, g.Charter.Scope, tier, a.ttl, a.id)
	}
	a.id, err = t.insert(ctx, "INSERT INTO agent(name, called, kind, scope, tier, ttl) VALUES(?,?,?,?,?,?)", id[:],
		g.Intent.Name, g.Intent.Kind, g.Charter.Scope, tier, sql.NullInt64{Int64: a.ttl, Valid: ok})
	return err
}

// moved notes that the agents something was taken in of are not what they were.
func (t *taker) moved(ctx context.Context, position int64) error {
	for _, a := range t.agents {
		if err := t.exec(ctx, "UPDATE agent SET moved=? WHERE id=?", position, a.id); err != nil {
			return err
		}
	}
	return nil
}

// genesis is how an agent began, if that is there.
func (t *taker) genesis(ctx context.Context, id perdure.AgentID) (g perdure.Genesis, ok bool, err error) {
	for item, err := range t.s.Entries(ctx, id, 0) {
		if err != nil {
			return g, false, err
		}
		g, ok = item.Content().(perdure.Genesis)
		break
	}
	return g, ok, nil
}

// expires is when the body of an entry has outlived its time; zero: never.
func (a *agentRow) expires(e *perdure.Entry) int64 {
	ttl := e.TTL
	if ttl <= 0 {
		ttl = a.ttl
	}
	if ttl <= 0 {
		return 0
	}
	return int64(e.Time) + ttl
}

// document takes in a version of a document.
func (t *taker) document(ctx context.Context, a *agentRow, item perdure.Item, ev *perdure.Event,
	d *perdure.Document) error {
	var replaced bool
	err := t.row(ctx, "SELECT EXISTS(SELECT 1 FROM replaced WHERE agent=? AND entry=? AND path=?)",
		[]any{a.id, item.Name[:], d.Path}, &replaced)
	if err != nil {
		return err
	}
	text, sealed := plainText(d.Body)
	title := d.Title
	if title == "" {
		title = TitleOf(d.Path, text)
	}
	var from, cause any
	if d.From != nil {
		from, cause = d.From.Agent[:], d.From.Entry[:]
	}
	tags := strings.Join(d.Tags, "\n")
	expires := a.expires(item.Entry)
	version, err := t.insert(ctx, "INSERT INTO version(agent, entry, path, kind, title, seq, at, origin, by, gone, "+
		"current, expires, sealed, size, tags, "+
		"fromagent, fromentry, proof, position) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", a.id, item.Name[:],
		d.Path, d.Kind, title, item.Seq, int64(item.Time),
		item.Origin[:], ev.By, d.Gone, !replaced, expires, sealed, len(text), tags, from, cause, d.Check,
		int64(item.Cursor))
	if err != nil {
		return err
	}
	if err := t.exec(ctx, "UPDATE agent SET keeps=1 WHERE id=? AND keeps=0", a.id); err != nil {
		return err
	}
	for _, base := range d.Base { // of the same path: nobody hides another document by naming it
		if err := t.replace(ctx, a, d.Path, base); err != nil {
			return err
		}
	}
	if err := t.count(ctx, a, d.Path); err != nil {
		return err
	}
	for _, target := range append(linksIn(text), d.Links...) {
		if err := t.exec(ctx, "INSERT OR IGNORE INTO link VALUES(?,?)", version, target); err != nil {
			return err
		}
	}
	if replaced || d.Gone {
		return nil
	}
	head := headOf(title, d.Path, text)
	if slices.Contains(d.Tags, MovedTag) {
		head = d.Path // what it led to is to be found, not where it was
	}
	if d.Kind == KindTranscript {
		if bare := untitled(text); bare != text {
			text, head = bare, d.Path
		}
	}
	for i, p := range passagesOf(d.Kind, text) {
		if i > 0 && d.Kind == KindTranscript {
			head = "" // what it is about does not tell its turns apart
		}
		if err := t.add(ctx, a, version, item.Entry, d.Kind, expires, head, tags, p); err != nil {
			return err
		}
	}
	return nil
}

// replace notes that a version is not current any more.
func (t *taker) replace(ctx context.Context, a *agentRow, path string, base perdure.Hash) error {
	if err := t.exec(ctx, "INSERT OR IGNORE INTO replaced VALUES(?,?,?)", a.id, path, base[:]); err != nil {
		return err
	}
	var version int64
	err := t.row(ctx, "SELECT id FROM version WHERE agent=? AND entry=? AND path=?", []any{a.id, base[:], path},
		&version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it comes later
	}
	if err == nil {
		err = t.exec(ctx, "UPDATE version SET current=0 WHERE id=?", version)
	}
	if err == nil {
		err = t.unword(ctx, "version=?", version)
	}
	return err
}

// count notes whether a path may have several current versions: in one memory, or in those that began for one scope and
// tier.
func (t *taker) count(ctx context.Context, a *agentRow, path string) error {
	const place = "(SELECT ?1 AS id UNION SELECT b.id FROM agent a JOIN agent b ON b.kind=a.kind AND b.scope=a.scope " +
		"AND b.tier=a.tier WHERE a.id=?1 AND a.tier<>'')"
	const current = "SELECT 1 FROM version WHERE path=?2 AND current=1 AND agent "
	var n int
	err := t.row(ctx, "SELECT count(*) FROM ("+current+"IN "+place+" LIMIT 2)", []any{a.id, path}, &n)
	switch {
	case err != nil:
		return err
	case n > 1:
		return t.exec(ctx, "INSERT OR IGNORE INTO beside SELECT p.id, ?2 FROM "+place+" p WHERE EXISTS ("+current+
			"=p.id)", a.id, path)
	}
	return t.exec(ctx, "DELETE FROM beside WHERE agent IN "+place+" AND path=?2", a.id, path)
}

// add makes a text one that can be found.
func (t *taker) add(ctx context.Context, a *agentRow, version any, e *perdure.Entry, kind string, expires int64, title,
	tags, body string) error {
	id, err := t.insert(ctx, "INSERT INTO item(agent, version, entry, seq, at, kind, expires) VALUES(?,?,?,?,?,?,?)",
		a.id, version, e.Name[:], e.Seq, int64(e.Time), kind, expires)
	if err != nil {
		return err
	}
	return t.exec(ctx, "INSERT INTO words(rowid, title, tags, body) VALUES(?,?,?,?)", id, spaced(title), spaced(tags),
		spaced(body))
}

// unword takes items out.
func (t *taker) unword(ctx context.Context, which string, args ...any) error {
	for _, text := range []string{"DELETE FROM words WHERE rowid IN (SELECT id FROM item WHERE ",
		"DELETE FROM vector WHERE item IN (SELECT id FROM item WHERE "} {
		if err := t.exec(ctx, text+which+")", args...); err != nil {
			return err
		}
	}
	return t.exec(ctx, "DELETE FROM item WHERE "+which, args...)
}

// forget takes out the text of an entry whose body is gone. That there was a version stays known, so that what it
// replaced stays replaced.
func (t *taker) forget(ctx context.Context, a *agentRow, entry perdure.Hash) error {
	if err := t.unword(ctx, "agent=? AND entry=?", a.id, entry[:]); err != nil {
		return err
	}
	const gone = " WHERE agent=? AND entry=?"
	if err := t.exec(ctx, "DELETE FROM link WHERE version IN (SELECT id FROM version"+gone+")", a.id,
		entry[:]); err != nil {
		return err
	}
	return t.exec(ctx, "UPDATE version SET title='', tags='', by='', proof='', gone=1, size=0, expires=0"+gone, a.id,
		entry[:])
}

// expire forgets what has outlived its time.
func (t *taker) expire(ctx context.Context, now int64) error {
	if err := t.unword(ctx, "expires>0 AND expires<=?", now); err != nil {
		return err
	}
	const over = " WHERE expires>0 AND expires<=?"
	if err := t.exec(ctx, "DELETE FROM link WHERE version IN (SELECT id FROM version"+over+")", now); err != nil {
		return err
	}
	return t.exec(ctx, "UPDATE version SET title='', tags='', by='', proof='', gone=1, size=0, expires=0"+over, now)
}

// sweep forgets what was pruned from memories that say that something was.
func (t *taker) sweep(ctx context.Context) error {
	rows, err := t.tx.QueryContext(ctx, "SELECT id, name FROM agent WHERE swept=0")
	if err != nil {
		return err
	}
	found := map[perdure.AgentID]*agentRow{}
	for rows.Next() {
		a, name := &agentRow{}, []byte(nil)
		if err := rows.Scan(&a.id, &name); err != nil {
			return errors.Join(err, rows.Close())
		}
		found[perdure.AgentID(hashOf(name))] = a
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for id, a := range found {
		for item, err := range t.s.Entries(ctx, id, 0) {
			if err == nil && item.Content() == nil {
				err = t.forget(ctx, a, item.Name)
			}
			if err != nil {
				return err
			}
		}
		if err := t.exec(ctx, "UPDATE agent SET swept=1 WHERE id=?", a.id); err != nil {
			return err
		}
	}
	return nil
}
