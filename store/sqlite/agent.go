package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// agent is what the committer remembers of an agent.
type agent struct {
	id    perdure.AgentID
	key   int64        // zero: the store does not hold it
	heads []head       // ascending
	wide  bool         // they are in their table
	sum   perdure.Hash // of their names
	last  perdure.Hash // the entry that arrived last
	rid   int64        // of the row it is in
	due   perdure.Time
	node  perdure.Key // that holds it, if one does: then due is the end of its lease
	fence int64

	unlisted bool // it is known to be in the table of that name
}

// agent finds an agent, or an empty one for an id the store does not hold.
func (w *writer) agent(id perdure.AgentID) (*agent, error) {
	if a := w.agents[id]; a != nil {
		return a, nil
	}
	a, err := readAgent(w.eyes(), id)
	if err != nil {
		return nil, brokenOr(err)
	}
	if len(w.agents) >= maxAgents {
		for forgotten := range w.agents { // any will do
			if delete(w.agents, forgotten); len(w.agents) < maxAgents*3/4 {
				break
			}
		}
	}
	if a.key != 0 {
		w.agents[id] = a
	}
	return a, nil
}

// held is agent, with an error for one the store does not hold.
func (w *writer) held(id perdure.AgentID) (*agent, error) {
	a, err := w.agent(id)
	if err == nil && a.key == 0 {
		err = perdure.ErrNotFound
	}
	return a, err
}

// readAgent reads an agent and its heads.
func readAgent(c *conn, id perdure.AgentID) (*agent, error) {
	a := &agent{id: id}
	take := func(v []driver.Value) error {
		a.key, a.due, a.fence = integer(v[0]), perdure.Time(integer(v[1])), integer(v[3])
		if node, ok := v[2].([]byte); ok {
			copy(a.node[:], node)
		}
		return nil
	}
	err := c.query("SELECT key, due, node, fence FROM agents WHERE substr(id,1,8)=? AND id=?", take, id[:8], id[:])
	if corrupt(err) { // of the index, it may be
		if c.query("SELECT key, due, node, fence FROM agents NOT INDEXED WHERE id=?", take, id[:]) == nil {
			err = nil
		}
	}
	if err != nil || a.key == 0 {
		return a, err
	}
	if err := a.readHeads(c); err != nil {
		return nil, err
	}
	return a, nil
}

// readHeads reads the heads of an agent whose key is known.
func (a *agent) readHeads(c *conn) error {
	stored, err := newestRow(c, a.key)
	if err != nil {
		return fmt.Errorf("agent %s in %s: %w", a.id.Short(), c.path, err)
	}
	if a.heads, a.wide, err = headsAfter(c, a.id, a.key, stored); err != nil {
		return fmt.Errorf("heads of agent %s in %s: %w", a.id.Short(), c.path, err)
	}
	a.rid, a.last, a.sum = stored.rid, stored.last(a.id), sumOf(a.heads)
	return nil
}

// integer is a number of a row, or zero for none.
func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

// null is a number for a row, zero being none.
func null[T ~int64](n T) driver.Value {
	if n == 0 {
		return nil
	}
	return int64(n)
}

// names are the names of the heads.
func (a *agent) names() []perdure.Hash {
	out := make([]perdure.Hash, len(a.heads))
	for i := range a.heads {
		out[i] = a.heads[i].name
	}
	return out
}

// isHead reports whether name is a head.
func isHead(heads []head, name perdure.Hash) bool {
	_, found := findHead(heads, name)
	return found
}

func findHead(heads []head, name perdure.Hash) (int, bool) {
	return slices.BinarySearchFunc(heads, name, func(h head, name perdure.Hash) int { return h.name.Compare(name) })
}

// on reports whether these, in any order, are the heads.
func (a *agent) on(names []perdure.Hash) bool {
	if len(names) != len(a.heads) {
		return false
	}
	for i, h := range a.heads {
		if names[i] != h.name && !slices.Contains(names, h.name) {
			return false
		}
	}
	return true
}

// compare refuses heads that are not those of the agent.
func (a *agent) compare(heads []perdure.Hash) error {
	if !a.on(heads) {
		return perdure.ErrConflict
	}
	return nil
}

// advance puts e in the place of its parents among the heads.
func advance(heads []head, e *perdure.Entry) []head {
	h := head{e.Name, e.Due}
	if len(heads) == 1 && slices.Contains(e.Parents, heads[0].name) {
		heads[0] = h
		return heads
	}
	for _, parent := range e.Parents {
		if i, found := findHead(heads, parent); found {
			heads = slices.Delete(heads, i, i+1)
		}
	}
	i, _ := findHead(heads, e.Name)
	return slices.Insert(heads, i, h)
}

// dueOf is when the heads say a node should look.
func dueOf(heads []head) perdure.Time {
	switch len(heads) {
	case 0:
		return 0
	case 1:
		return heads[0].due
	}
	return perdure.AtOnce
}

// busy reports whether a node holds the agent whose lease can be believed.
func (a *agent) busy(now time.Time) bool {
	return !a.node.IsZero() && a.due > perdure.TimeOf(now) && a.due <= perdure.TimeOf(now.Add(perdure.MaxLease))
}

// look sets when a node should look at the agent.
func (w *writer) look(a *agent, due perdure.Time) error {
	if a.due == due {
		return nil
	}
	a.due = due
	return w.do("UPDATE agents SET due=? WHERE key=?", null(due), a.key)
}
