package sqlite

import (
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"
)

// TestAListIsReadInTheOrderOfAnIndex asks SQLite how it would go about each statement: what sorts, or reads a table
// from its beginning, would make each page of a list cost as much as all of it.
func TestAListIsReadInTheOrderOfAnIndex(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, text := range []string{
		listingColumns + listSame + " ORDER BY l.agent LIMIT ?",
		listingColumns + listMore + " ORDER BY l.name, l.agent LIMIT ?",
		listingColumns + listFrom + " ORDER BY l.name, l.agent LIMIT ?",
		listingColumns + listSame + " AND l.waiting ORDER BY l.agent LIMIT ?",
		listingColumns + listMore + " AND l.waiting ORDER BY l.name, l.agent LIMIT ?",
	} {
		var plan []string
		err := s.read(t.Context(), func(c *conn) error {
			args := []driver.Value{"a", int64(1), int64(1)}[:strings.Count(text, "?")]
			return c.once("EXPLAIN QUERY PLAN "+text, func(v []driver.Value) error {
				line, _ := v[3].(string)
				plan = append(plan, line)
				return nil
			}, args...)
		})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(plan, "; ")
		if !strings.HasPrefix(got, "SEARCH l USING INDEX listings_") || strings.Contains(got, "TEMP B-TREE") ||
			strings.Contains(got, "SCAN") {
			t.Errorf("%s\n%s", text, got)
		}
	}
}
