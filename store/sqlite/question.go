package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

// question asks for up to n rows of an agent from one rid on and before another; with back, the last comes first.
type question struct {
	key, from, before, n int64
	back                 bool
}

// refusal is what keeps a question from being answered: a statement that meets the damage at once. While it does, the
// answer is the same, whatever else is written to the file.
type refusal struct {
	text string
	args []driver.Value
}

// maxRefusals bounds the questions that a connection remembers to have no answer.
const maxRefusals = 1024

// refuses reports whether a question had no answer, and still has none.
func (c *conn) refuses(q question) bool {
	r, known := c.refused[q]
	if !known {
		return false
	}
	if corrupt(c.query(r.text, func([]driver.Value) error { return nil }, r.args...)) {
		return true
	}
	delete(c.refused, q)
	return false
}

// refuse remembers that a question has no answer.
func (c *conn) refuse(q question, text string, args ...driver.Value) {
	if c.refused == nil || len(c.refused) >= maxRefusals {
		c.refused = map[question]refusal{}
	}
	c.refused[q] = refusal{text, args}
}

// rids are the rows that are asked for, as indexes say, and the note where the rows after mark cannot be read.
func (q *question) rids(c *conn) (rids []int64, err error) {
	order := " ORDER BY rid"
	const tail = "SELECT rid FROM log WHERE agent=? AND rid>=? AND rid<? AND rid>(SELECT rid FROM mark)"
	sources := []string{
		"SELECT rid FROM places WHERE agent=? AND rid>=? AND rid<?",
		"SELECT rid FROM recent WHERE agent=? AND rid>=? AND rid<?",
		tail,
	}
	if q.back {
		slices.Reverse(sources)
		order += " DESC"
	}
	for _, text := range sources {
		had := len(rids)
		err := c.query(text+order, func(v []driver.Value) error {
			if int64(len(rids)) >= q.n {
				return errEnough
			}
			rids = append(rids, integer(v[0]))
			return nil
		}, q.key, q.from, q.before)
		if corrupt(err) && text == tail {
			rids, err = q.noted(c, rids[:had])
		}
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	}
	return rids, nil
}

// noted adds the rows after mark that are asked for, as the note has them.
func (q *question) noted(c *conn, rids []int64) ([]int64, error) {
	tail, err := tailOf(c, q.key)
	if err != nil {
		return nil, err
	}
	if q.back {
		slices.Reverse(tail)
	}
	for _, rid := range tail {
		if rid >= q.from && rid < q.before && int64(len(rids)) < q.n {
			rids = append(rids, rid)
		}
	}
	return rids, nil
}

// errUnnoted says that nobody can tell who misses a row.
var errUnnoted = fmt.Errorf("%w: nothing says any more which rows are whose: run `perdure doctor --repair`, or "+
	"import a good copy", errRow)

// fetch reads rows one by one.
func (q *question) fetch(c *conn, rids []int64) (rows []storedRow, err error) {
	for _, rid := range rids {
		one, err := rowsOf(c, 1, "SELECT rid, data FROM log WHERE rid=? AND agent=?", rid, q.key)
		if corrupt(err) {
			r, e := salvage(c, q.key, rid, err)
			if e != nil {
				q.lost(c, rid)
				return nil, e
			}
			one, err = []storedRow{r}, nil
		}
		if err == nil && len(one) == 0 {
			err = fmt.Errorf("%w: row %d is lost: run `perdure doctor --repair`, or import a good copy", errRow, rid)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, one...)
	}
	return rows, nil
}

// lost remembers which row, or piece of it, keeps the question from being answered.
func (q *question) lost(c *conn, rid int64) {
	const text = "SELECT data FROM log WHERE rid=?"
	for i := range int64(mostPieces) {
		if corrupt(c.query(text, func([]driver.Value) error { return nil }, rid+i)) {
			c.refuse(*q, text, rid+i)
			return
		}
	}
}

// scan reads the log for the rows, where what says which they are is damaged.
func (q *question) scan(c *conn) ([]storedRow, error) {
	const columns = "SELECT rid, agent=? FROM log WHERE "
	text, rest, at := columns+"rid>=? AND rid<? ORDER BY rid", columns+"rid>? AND rid<? ORDER BY rid LIMIT 1", q.from-1
	if q.back {
		text += " DESC"
		rest, at = columns+"rid>=? AND rid<? ORDER BY rid DESC LIMIT 1", q.before
	}
	var rids []int64
	err := c.query(text, func(v []driver.Value) error {
		if at = integer(v[0]); integer(v[1]) == 1 {
			rids = append(rids, at)
		}
		if int64(len(rids)) == q.n {
			return errEnough
		}
		return nil
	}, q.key, q.from, q.before)
	if corrupt(err) {
		low, high := at, q.before
		if q.back {
			low, high = q.from, at
		}
		c.refuse(*q, rest, q.key, low, high)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return q.fetch(c, rids)
}
