package sqlite

import (
	"database/sql/driver"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
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

// TestAListThatIsReadAgainBeginsWhereItBegan lists by name, from a store that is only looked at, while its file seems
// to change: a page that was read is read again then.
func TestAListThatIsReadAgainBeginsWhereItBegan(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := perdure.GenerateSigner("list")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: key}
	g := perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "be listed"}, Charter: perdure.Charter{Scope: "x"}}
	if _, err := n.Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), path, Options{Existing: true, Look: true}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	stop, stopped := make(chan bool), make(chan error)
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-time.After(100 * time.Microsecond):
				err = os.Chtimes(path, time.Time{}, time.Unix(int64(i), 0))
			}
		}
		stopped <- err
	}()
	for again := 0; again < 10; {
		before, found := s.Looked(), 0
		for _, err := range s.List(t.Context(), perdure.Filter{Name: "a"}) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if found != 1 {
			t.Errorf("it lists %d agents, want 1", found)
			break
		}
		if s.Looked()-before > 1 {
			again++
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}
