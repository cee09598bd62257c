package sqlite

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// crowded is a house beside an agent that fills hundreds of pages.
func crowded(t *testing.T) *house {
	t.Helper()
	h := housing(t)
	s := openBench(t, h.path)
	g, a := begin(t, h.key, "big")
	h.add(t, s, g)
	for range 60 {
		es, next := commit(t, h.key, a, draft(25_000))
		h.add(t, s, es...)
		a = next
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return h
}

// worked is what reading the rows of an agent costs a connection, and how it ends.
func worked(c *conn, key int64) (int64, error) {
	was := c.work
	_, err := rowsFrom(c, key, 0, 1<<30)
	return c.work - was, err
}

// What a damaged agent costs does not depend on how much else there is in the store: neither the first time that it is
// looked at, nor after that, whatever is written meanwhile.
func TestALostRowCostsLittle(t *testing.T) {
	t.Parallel()
	h := crowded(t)
	on, names := rowsOn(t, h.path), pageNames(t, h.path)
	hurt := int64(1)
	for !on[hurt][h.keys[2]] || names[hurt] != "log leaf" {
		hurt++
	}
	b := read(t, h.path)
	clear(b[(hurt-1)*pageSize:][:pageSize])
	write(t, h.path, b)
	c, err := dial(h.path, "rw", readerPragmas...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	pages, _, err := c.number("PRAGMA page_count")
	if err != nil || pages < 400 {
		t.Fatalf("%d pages, %v", pages, err)
	}
	for look := range 3 {
		n, err := worked(c, h.keys[2])
		if !corrupt(err) {
			t.Fatalf("an agent whose row is lost: %v", err)
		}
		if most := int64(300); look == 0 && n > most {
			t.Errorf("the first look costs %d queries and rows, want at most %d", n, most)
		}
		if most := int64(60); look > 0 && n > most {
			t.Errorf("look %d costs %d queries and rows, want at most %d", look, n, most)
		}
		vandal(t, h.path, "UPDATE agents SET due=coalesce(due,0)+1")
	}
	// what is sound again is read again
	for q := range c.refused {
		c.refused[q] = refusal{"SELECT 1", nil}
		if c.refuses(q) || len(c.refused) > 0 {
			t.Error("it is refused though nothing is in the way")
		}
	}
}

// Where an inner page is lost, every page is read once, not whenever somebody writes.
func TestEveryPageIsReadOnce(t *testing.T) {
	t.Parallel()
	h := crowded(t)
	without(t, h.path, "log internal")
	c, err := dial(h.path, "rw", readerPragmas...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	pages, _, err := c.number("PRAGMA page_count")
	if err != nil {
		t.Fatal(err)
	}
	for look := range 3 {
		n, err := worked(c, h.keys[1])
		if err != nil {
			t.Fatal(err)
		}
		if look == 0 && n > 4*pages || look > 0 && n > 200 {
			t.Errorf("look %d costs %d queries and rows in a file of %d pages", look, n, pages)
		}
		vandal(t, h.path, "UPDATE agents SET due=coalesce(due,0)+1")
	}
}

// Where what says which rows are an agent's is lost, and a page of the log too, the log is read once.
func TestALogThatIsDamagedIsReadOnce(t *testing.T) {
	t.Parallel()
	h := crowded(t)
	on, names := rowsOn(t, h.path), pageNames(t, h.path)
	without(t, h.path, "places leaf")
	b := read(t, h.path)
	last := int64(0)
	for at := range on {
		if names[at] == "log leaf" {
			last = max(last, at)
		}
	}
	clear(b[(last-1)*pageSize:][:pageSize])
	write(t, h.path, b)
	c, err := dial(h.path, "rw", readerPragmas...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	var first int64
	for look := range 3 {
		n, err := worked(c, h.keys[1])
		if err == nil || !strings.Contains(err.Error(), "perdure doctor --repair") {
			t.Fatalf("got %v", err)
		}
		if look == 0 {
			first = n
		} else if n > 20 {
			t.Errorf("look %d costs %d queries and rows, the first %d", look, n, first)
		}
	}
}

// A node asks what is due after each turn: what that costs does not depend on how many agents are due later.
func TestToFindTheFirstThatIsDueCostsLittle(t *testing.T) {
	t.Parallel()
	path := filled(t)
	vandal(t, path, "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i+1 FROM n WHERE i<5999) "+
		"INSERT INTO agents(key,id,due) SELECT i, randomblob(32), i FROM n")
	c, err := dial(path, "rw", readerPragmas...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	was := c.work
	looks, last, err := dueAfter(c, nil, firstLooks, 9_000, 999, 0)
	if n := c.work - was; err != nil || len(looks) != firstLooks || last != 1000+firstLooks-1 || n > 2*firstLooks {
		t.Errorf("%d are due, up to %d, %v; that took %d queries and rows, want at most %d", len(looks), last, err, n,
			2*firstLooks)
	}
	found, at := 0, perdure.Time(0)
	for l, err := range openBench(t, path).Due(t.Context(), perdure.Time(5_999).Go()) {
		if err != nil || l.Due < at {
			t.Fatalf("%v is due after %v, %v", l.Due, at, err)
		}
		if at = l.Due; at >= 1000 {
			found++
		}
	}
	if found != 5_000 {
		t.Errorf("%d are found, want 5000", found)
	}
}
