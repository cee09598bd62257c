package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

const (
	page  = 4096 - 8 // bytes of a leaf that its cells have
	cell  = 20       // what a cell takes beside its data, at most
	whole = 4050     // the longest data that goes into a page; what is longer has pages of its own, without much waste
	least = 256      // the shortest data that is worth a row of its own
	// mostPieces is in how many rows of the table a row may be: files of earlier versions have as many.
	mostPieces = 5
)

// insert writes a row whose first byte is to say in how many more rows it goes on. Where a page ends within it, that is
// one: pages of whole rows would waste up to half of each.
func (w *writer) insert(key int64, data []byte) error {
	first := len(data)
	if left := w.room - cell; first <= whole && first > left && left >= least {
		first = left
	}
	data[0] = 0
	if first < len(data) {
		data[0] = 1
	}
	if w.tail = append(w.tail, key, w.next); key != w.rest {
		w.rest = 0
	}
	if err := w.put(key, data[:first]); err != nil || first == len(data) {
		return err
	}
	return w.put(nil, data[first:])
}

// put writes a row of the table, and reckons how much room the last page has after it. Where it is wrong, as it may be
// about a page that somebody else wrote on, a page has more left unused than it need have.
func (w *writer) put(agent driver.Value, data []byte) error {
	if err := w.do("INSERT INTO log VALUES(?,?,?)", w.next, agent, data); err != nil {
		return err
	}
	w.next++
	if cell+len(data) > w.room {
		w.room = page
	}
	w.room = max(w.room-cell-len(data), 0)
	return nil
}

const (
	// maxTail is how many rows may follow mark. Noting a row costs an append another page; reading the tail costs a
	// reader little.
	maxTail = 64
	// maxRecent is how many rows are in recent before they move to places. Every agent has a page of its own in places,
	// sooner or later, so that an append would change one for each; recent is a few pages for all.
	maxRecent = 4096
)

// placeMany writes 32 rows at once: what a statement costs is mostly not the row.
const placeMany = "INSERT INTO recent VALUES(?,?)" +
	",(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?)" +
	",(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?)"

// place notes in recent which rows after mark are whose, once there are many, and moves what is there to places, once
// that is much.
func (w *writer) place() error {
	if w.unmarked { // nobody can tell any more where the tail begins, and everybody reads all rows
		return nil
	}
	if len(w.tail) < 2*maxTail || w.stuck && len(w.tail) < 2*mostTail {
		return w.note()
	}
	err := w.move()
	w.stuck = w.stuck || w.apart && corrupt(err)
	return err
}

// mostTail is how many rows may follow mark in a file in which they cannot be noted elsewhere.
const mostTail = 64 * maxTail

// move notes in recent which rows after mark are whose.
func (w *writer) move() error {
	for rest := w.tail; len(rest) > 0; {
		text, n := "INSERT INTO recent VALUES(?,?)", 2
		if len(rest) >= 64 {
			text, n = placeMany, 64
		}
		if err := w.exec(text, rest[:n]...); err != nil {
			return err
		}
		rest, w.recent = rest[n:], w.recent+int64(n/2)
	}
	w.tail, w.mark, w.moved, w.noted, w.rest = w.tail[:0], w.next-1, true, 0, 0
	if err := w.note(); err != nil || w.recent < maxRecent {
		return err
	}
	return w.settle()
}

// settle moves what is in recent to places.
func (w *writer) settle() error {
	w.recent = 0
	if err := w.exec("INSERT INTO places SELECT agent, rid FROM recent ORDER BY agent, rid"); err != nil {
		return err
	}
	return w.exec("DELETE FROM recent")
}

// recall finds what other connections left in the tail and in recent.
func (w *writer) recall() error {
	w.tail, w.noted, w.rest, w.moved = w.tail[:0], 0, 0, false
	if w.unmarked {
		return nil
	}
	n, err := readNote(w.eyes())
	if w.apart && corrupt(err) {
		w.unmarked = true
		return nil
	}
	if err == nil && n == nil {
		return w.recount(w.eyes())
	}
	if err == nil {
		w.mark, w.rest = n.mark, n.rest
		for i := 0; i < len(n.rows); i += 2 {
			w.tail = append(w.tail, n.rows[i], n.rows[i+1])
		}
	}
	if err == nil && !w.apart {
		w.recent, _, err = w.number("SELECT count(*) FROM recent")
	}
	return err
}

// rescan finds what is in the tail and in recent after rows were removed: what is noted may be of those.
func (w *writer) rescan() error { return w.recount(w.conn) }

// recount is rescan by a connection. Beside a damaged page nothing is counted in recent: it may be on it.
func (w *writer) recount(c *conn) (err error) {
	w.noted, w.rest, w.moved = 0, 0, false
	if w.mark, _, err = c.number("SELECT max(rid) FROM mark"); err != nil {
		return err
	}
	w.tail = w.tail[:0]
	err = c.query("SELECT agent, rid FROM log WHERE rid>(SELECT rid FROM mark) AND agent IS NOT NULL",
		func(v []driver.Value) error {
			w.tail = append(w.tail, v[0], v[1])
			return nil
		})
	if err == nil && !w.apart {
		w.recent, _, err = c.number("SELECT count(*) FROM recent")
	}
	return err
}

// storedRow is a row and where it is.
type storedRow struct {
	*row
	rid  int64
	rows int64 // in the table
}

// join reads the rows that a row goes on in, and parses it.
func join(c *conn, rid int64, data []byte) (storedRow, error) {
	if len(data) == 0 {
		return storedRow{}, errRow
	}
	pieces := more(data)
	data = data[1:len(data):len(data)]
	if pieces > 0 {
		err := c.query("SELECT data FROM log WHERE rid>? AND rid<=? ORDER BY rid", func(v []driver.Value) error {
			piece, _ := v[0].([]byte)
			data = append(data, piece...)
			return nil
		}, rid, rid+pieces)
		if err != nil {
			return storedRow{}, err
		}
	}
	r, err := parseRow(data)
	if err != nil {
		return storedRow{}, fmt.Errorf("%w (row %d): run `perdure doctor --repair`, or import a good copy", err, rid)
	}
	return storedRow{r, rid, pieces + 1}, nil
}

// newestRow is the row that arrived last for an agent.
func newestRow(c *conn, key int64) (storedRow, error) {
	rows, err := rowsBelow(c, key, 1<<62, 1)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%w: an agent has no entries", errRow)
	}
	if err != nil {
		return storedRow{}, err
	}
	return rows[0], nil
}

// rowsFrom are up to n rows of an agent from rid on, in order. An agent's rows in places come before those in recent,
// and these before those in the tail.
func rowsFrom(c *conn, key, rid, n int64) (rows []storedRow, err error) {
	for i, text := range []string{
		"SELECT l.rid, l.data FROM places p JOIN log l ON l.rid=p.rid WHERE p.agent=? AND p.rid>=? ORDER BY p.rid",
		"SELECT l.rid, l.data FROM recent p JOIN log l ON l.rid=p.rid WHERE p.agent=? AND p.rid>=? ORDER BY p.rid",
		"SELECT rid, data FROM log WHERE rid>(SELECT rid FROM mark) AND agent=? AND rid>=? ORDER BY rid",
	} {
		left := n - int64(len(rows))
		more, err := rowsOf(c, left, text, key, rid)
		if i == 2 && corrupt(err) {
			more, err = tailFrom(c, key, rid, 1<<62, left, false)
		}
		if err != nil {
			return bypass(c, err, key, rid, 1<<62, n, false)
		}
		if rows = append(rows, more...); int64(len(rows)) == n {
			break
		}
	}
	return rows, nil
}

// rowsBelow are up to n rows of an agent before rid, the last one first.
func rowsBelow(c *conn, key, rid, n int64) (rows []storedRow, err error) {
	for i, text := range []string{
		"SELECT rid, data FROM log WHERE rid>(SELECT rid FROM mark) AND agent=? AND rid<? ORDER BY rid DESC",
		"SELECT l.rid, l.data FROM recent p JOIN log l ON l.rid=p.rid WHERE p.agent=? AND p.rid<? ORDER BY p.rid DESC",
		"SELECT l.rid, l.data FROM places p JOIN log l ON l.rid=p.rid WHERE p.agent=? AND p.rid<? ORDER BY p.rid DESC",
	} {
		left := n - int64(len(rows))
		more, err := rowsOf(c, left, text, key, rid)
		if i == 0 && corrupt(err) {
			more, err = tailFrom(c, key, 0, rid, left, true)
		}
		if err != nil {
			return bypass(c, err, key, 0, rid, n, true)
		}
		if rows = append(rows, more...); int64(len(rows)) == n {
			break
		}
	}
	return rows, nil
}

// errEnough ends a query.
var errEnough = errors.New("enough rows")

// rowsOf reads the first n rows that a query for rid and data yields. It says when it has enough rather than set a
// LIMIT: SQLite makes a plan for every value of one that is a parameter, which costs more than the rows.
func rowsOf(c *conn, n int64, text string, args ...driver.Value) ([]storedRow, error) {
	type raw struct {
		rid  int64
		data []byte
	}
	var raws []raw
	err := c.query(text, func(v []driver.Value) error {
		data, _ := v[1].([]byte)
		if raws = append(raws, raw{integer(v[0]), data}); int64(len(raws)) == n {
			return errEnough
		}
		return nil
	}, args...)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	rows := make([]storedRow, len(raws))
	for i, r := range raws {
		if rows[i], err = join(c, r.rid, r.data); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// lastBefore is the name of the entry of an agent that arrived before a row, or zero.
func lastBefore(c *conn, id perdure.AgentID, key, rid int64) (perdure.Hash, error) {
	rows, err := rowsBelow(c, key, rid, 1)
	if err != nil || len(rows) == 0 {
		return perdure.Hash{}, err
	}
	return rows[0].last(id), nil
}
