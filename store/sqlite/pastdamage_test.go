package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// The rows below a lost inner page are passed over at once, and no others.
func TestAFeedPassesALostPageAtOnce(t *testing.T) {
	t.Parallel()
	h := housing(t)
	const all = 60_000
	vandal(t, h.path, fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 10001 UNION ALL SELECT i+1 FROM n WHERE i<%d) "+
		"INSERT INTO log SELECT i, %d, zeroblob(60) FROM n", 10_000+all, h.keys[0]))
	names, lost := pageNames(t, h.path), int64(0)
	c, err := dial(h.path, "rw", readerPragmas...)
	if err != nil {
		t.Fatal(err)
	}
	root, _, err := c.number("SELECT rootpage FROM sqlite_schema WHERE name='log'")
	if err = errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	for at, name := range names {
		if name == "log internal" && at != root && (lost == 0 || at < lost) {
			lost = at
		}
	}
	if lost == 0 {
		t.Fatal("there is no inner page but the root")
	}
	b := read(t, h.path)
	clear(b[(lost-1)*pageSize:][:pageSize])
	write(t, h.path, b)
	if c, err = dial(h.path, "rw", readerPragmas...); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	found, want := int64(0), int64(0)
	err = eachRecord(c, func(rid int64, v []value) {
		if isLog(rid, v) && rid > 10_000 && !corrupt(c.exec("SELECT 1 FROM log WHERE rid=?", rid)) {
			want++
		}
	})
	if err != nil || want == 0 || want == all {
		t.Fatalf("%d rows can be reached, %v", want, err)
	}
	was := c.work
	for next := int64(10_001); ; {
		rows, err := feedRows(t.Context(), c, next)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		found, next = found+int64(len(rows)), rows[len(rows)-1].rid+1
	}
	if found != want {
		t.Errorf("the feed has %d rows, want %d", found, want)
	}
	if n, most := c.work-was-found, found/pageRows+100; n > most {
		t.Errorf("it took %d queries, want at most %d", n, most)
	}
}

func TestAFeedOfLostRowsEndsWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	h := housing(t)
	without(t, h.path, "agents leaf")
	c, err := dial(h.path, "rw", readerPragmas...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := feedRows(ctx, c, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Agents that are due beside a lost page are found page by page, and all of them.
func TestWhoIsDueBesideALostPageIsFoundPageByPage(t *testing.T) {
	t.Parallel()
	path := filled(t)
	vandal(t, path, "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i+1 FROM n WHERE i<5999) "+
		"INSERT INTO agents(key,id,due) SELECT i, randomblob(32), 5 FROM n", "UPDATE agents SET due=5")
	names, lost := pageNames(t, path), int64(0)
	for at, name := range names {
		if name == "agents leaf" {
			lost = max(lost, at)
		}
	}
	b := read(t, path)
	clear(b[(lost-1)*pageSize:][:pageSize])
	write(t, path, b)
	c, err := dial(path, "rw", readerPragmas...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	want := 0
	for key := range int64(6_000) {
		if _, found, _ := c.number("SELECT key FROM agents WHERE key=?", key); found {
			want++
		}
	}
	looks, _, err := dueAround(c, errRow, nil, 9, 0, 0)
	was := c.work
	if err != nil || len(looks) != pageLooks {
		t.Fatalf("%d are due, %v", len(looks), err)
	}
	if _, _, err := c.number("SELECT count(*) FROM agents NOT INDEXED"); !corrupt(err) {
		t.Fatalf("the table can be read: %v", err)
	}
	looks, last, err := dueAround(c, errRow, nil, 9, 5, 2_000)
	if n := c.work - was; err != nil || len(looks) != pageLooks || last < 2_000 || n > 8*pageLooks {
		t.Errorf("%d are due, %v; that took %d queries and rows, want at most %d", len(looks), err, n, 8*pageLooks)
	}
	s := openBench(t, path)
	found := map[perdure.AgentID]bool{}
	for l, err := range s.Due(t.Context(), time.Now()) {
		if err != nil {
			t.Fatal(err)
		}
		found[l.Agent] = true
	}
	if len(found) != want || want < 4_000 || want > 5_999 {
		t.Errorf("%d are due, want %d", len(found), want)
	}
}
