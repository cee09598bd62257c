package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
)

// past is the names of an agent's entries from some row on. Children arrive after their parents, so once it reaches
// back to the parents of an entry, it also says whether the entry itself is there.
type past struct {
	s     *Store
	id    perdure.AgentID
	key   int64
	names map[perdure.Hash]bool
	from  int64 // the earliest row it knows
	to    int64 // the latest
	whole bool  // there is nothing before

	cached bool // the committer has it from an earlier request

	each func(rid int64, i int, name perdure.Hash) // called with each entry learned, if set
}

// maxPasts bounds the names that the committer remembers, at about 50 bytes each.
const maxPasts = 1 << 20

// recalled is what the committer remembers of the entries of an agent, or what a request has found out.
func (w *writer) recalled(id perdure.AgentID, found *past) *past {
	if found != nil {
		return found
	}
	return w.pasts[id]
}

// learned remembers the entries of an agent for the next request, which need not look for them again. Before is the row
// that was the last before the fresh entries.
func (w *writer) learned(a *agent, p *past, before int64, fresh []*perdure.Entry) {
	if p.to != before {
		delete(w.pasts, a.id) // it was not needed, and lacks what came since
		return
	}
	for _, e := range fresh {
		p.names[e.Name] = true
	}
	p.to = a.rid
	if w.pasts[a.id] == p {
		return
	}
	total := len(p.names)
	for _, other := range w.pasts {
		total += len(other.names)
	}
	if total > maxPasts {
		clear(w.pasts)
	}
	if p.cached = len(p.names) <= maxPasts; p.cached {
		w.pasts[a.id] = p
	}
}

func (p *past) has(name perdure.Hash) bool { return p.names[name] }

// scan reads back as far as is needed to decide about entries.
func (s *Store) scan(ctx context.Context, id perdure.AgentID, entries []*perdure.Entry) (*past, error) {
	p := &past{s: s, id: id, names: map[perdure.Hash]bool{}}
	fresh := map[perdure.Hash]bool{}
	for _, e := range entries {
		top := false
		for _, parent := range e.Parents {
			if fresh[parent] {
				top = true
				continue
			}
			for !p.has(parent) && !p.whole {
				if err := s.read(ctx, p.back); err != nil {
					return nil, err
				}
			}
		}
		if top || !p.has(e.Name) && e.Kind != perdure.KindGenesis {
			fresh[e.Name] = true
		}
	}
	return p, nil
}

// back reads the rows before those it knows.
func (p *past) back(c *conn) (err error) {
	p.s.lookBacks.Add(1)
	if p.key == 0 {
		if p.key, err = keyOf(c, p.id); err != nil {
			return err
		}
		p.from = 1<<62 - 1
	}
	rows, err := rowsBelow(c, p.key, p.from, pageRows)
	if err != nil {
		return err
	}
	for i, r := range rows {
		var before perdure.Hash
		if i+1 < len(rows) {
			before = rows[i+1].last(p.id)
		} else if before, err = lastBefore(c, p.id, p.key, r.rid); err != nil {
			return err
		}
		if err := p.learn(c, before, r); err != nil {
			return err
		}
		p.from = r.rid
	}
	p.whole = len(rows) < pageRows
	return nil
}

// catchUp reads the rows that arrived since, in the transaction that decides.
func (p *past) catchUp(w *writer, a *agent) error {
	if p.to == a.rid {
		return nil
	}
	rows, err := rowsFrom(w.conn, a.key, p.to+1, 1<<62)
	for _, r := range rows {
		var before perdure.Hash
		if before, err = lastBefore(w.conn, p.id, a.key, r.rid); err != nil {
			break
		}
		if err = p.learn(w.conn, before, r); err != nil {
			break
		}
	}
	return brokenOr(err)
}

// learn takes in the names of the entries of a row.
func (p *past) learn(c *conn, before perdure.Hash, r storedRow) error {
	p.to = max(p.to, r.rid)
	return p.s.nameEach(c, p.id, before, r, func(i int, name perdure.Hash) {
		p.names[name] = true
		if p.each != nil {
			p.each(r.rid, i, name)
		}
	})
}

// nameEach calls f with the name of each entry of a row, which arrived after the one named before. Only where a name is
// not kept is a body looked at.
func (s *Store) nameEach(c *conn, id perdure.AgentID, before perdure.Hash, r storedRow,
	f func(int, perdure.Hash)) error {
	var b []byte
	for i := range r.parts {
		part := &r.parts[i]
		name := part.name
		if !part.named {
			var err error
			if b, err = s.header(c, b[:0], id, before, part, part.hashAfter(before)); err != nil {
				return fmt.Errorf("%w (row %d)", err, r.rid)
			}
			name = perdure.HashOf(b)
		}
		f(i, name)
		before = name
	}
	return nil
}
