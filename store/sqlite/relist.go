package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// relist is List where the listings are damaged, which are derived: every agent is folded and listed as it is. Agents
// that cannot be are named at the end.
func (s *Store) relist(ctx context.Context, f perdure.Filter, damage error,
	yield func(perdure.Listing, error) bool) {
	all, lost, err := s.derived(ctx, f, damage)
	if err != nil {
		yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
		return
	}
	for i, l := range all {
		if !yield(l, nil) || i+1 == f.Limit {
			return
		}
	}
	if lost != nil {
		yield(perdure.Listing{}, fmt.Errorf("list agents: %w", lost))
	}
}

// derived are the listings after a place that a filter selects, in order, and what keeps others from being listed.
func (s *Store) derived(ctx context.Context, f perdure.Filter, damage error) (all []perdure.Listing, lost, err error) {
	var ids []perdure.AgentID // in the order in which they came
	err = s.read(ctx, func(c *conn) error {
		ids = ids[:0]
		return c.query("SELECT id FROM agents NOT INDEXED ORDER BY key", func(v []driver.Value) error {
			if b, _ := v[0].([]byte); len(b) == hashSize {
				ids = append(ids, perdure.AgentID(b))
			}
			return nil
		})
	})
	if corrupt(err) {
		return nil, nil, damage
	}
	if err != nil {
		return nil, nil, err
	}
	after := slices.Index(ids, f.After.Agent) // -1: before all of its name
	for i, id := range ids {
		a, err := perdure.Load(ctx, s, id)
		if err != nil {
			lost = cmp.Or(lost, err)
			continue
		}
		l := a.Listing(time.Now())
		passed := !f.After.Agent.IsZero() && (l.Name < f.After.Name || l.Name == f.After.Name && i <= after)
		if !passed && f.Match(l) {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(a, b perdure.Listing) int { return cmp.Compare(a.Name, b.Name) })
	return all, lost, nil
}
