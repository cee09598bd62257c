package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// house is a store with agents that go on, and what was written to it.
type house struct {
	written
	key    *perdure.Signer
	agents []*perdure.Agent
	keys   []int64

	unnoted bool // the file does not say whose the last rows are: where one is lost, all agents are refused
}

// housing writes a store with five agents whose rows lie between each other's: in places, in recent, and in the tail.
func housing(t *testing.T) *house {
	t.Helper()
	h := &house{key: newSigner(t)}
	h.path, h.entries = filepath.Join(t.TempDir(), "store.db"), map[perdure.AgentID][]*perdure.Entry{}
	s := openBench(t, h.path)
	for i := range 5 {
		g, a := begin(t, h.key, fmt.Sprintf("agent-%d", i))
		h.add(t, s, g)
		h.agents = append(h.agents, a)
	}
	sizes := []int{60, 700, 60, 1_500, 300, 5_000, 60, 2_500, 60, 500, perdure.InlineBody + 100}
	for round := range 21 {
		for i, a := range h.agents {
			es, next := commit(t, h.key, a, draft(sizes[(3*i+round)%len(sizes)]+i))
			h.add(t, s, es...)
			h.agents[i] = next
		}
		if round == 4 {
			if err := s.Reindex(t.Context(), nil); err != nil { // all of it into places
				t.Fatal(err)
			}
		}
	}
	for _, a := range h.agents {
		h.rest(t, s, a)
	}
	if err := errors.Join(s.Checkpoint(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := dial(h.path, "ro")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range h.agents {
		key, err := keyOf(c, a.ID())
		if err != nil {
			t.Fatal(err)
		}
		h.keys = append(h.keys, key)
	}
	for _, table := range []string{"places", "recent"} {
		if n, _, err := c.number("SELECT count(*) FROM " + table); err != nil || n < 10 {
			t.Fatalf("%d rows in %s, %v", n, table, err)
		}
	}
	if n, err := readNote(c); err != nil || n == nil || len(n.rows) < 20 {
		t.Fatalf("the note is %+v, %v: it should name ten rows", n, err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	return h
}

// rest has an agent be due and listed as it is.
func (h *house) rest(t *testing.T, s *Store, a *perdure.Agent) {
	t.Helper()
	c, err := s.Claim(t.Context(), a.ID(), h.key.Key(), time.Minute)
	if err == nil {
		err = s.Release(t.Context(), c, a.Heads(), 1)
	}
	if err == nil {
		err = s.Index(t.Context(), a.Heads(), a.Listing(a.Fold().Updated.Go()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// whole says what keeps an agent from being read as it was written: loaded, exported, listed.
func (h *house) whole(ctx context.Context, s *Store, i int) error {
	id := h.agents[i].ID()
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return err
	}
	heads, err := s.Heads(ctx, id)
	if err != nil {
		return err
	}
	if want := h.agents[i].Heads(); !slices.Equal(a.Heads(), want) || !slices.Equal(heads, want) {
		return errors.New("it is not as it was, and nobody says so")
	}
	if !holdsAll(ctx, s, id, h.entries[id]) {
		return errors.New("it lacks entries, and nobody says so")
	}
	n := 0
	for l, err := range s.List(ctx, perdure.Filter{Name: fmt.Sprintf("agent-%d", i)}) {
		if err != nil {
			return err
		}
		if n++; l.Agent != id {
			return fmt.Errorf("listed as %s", l.Agent.Short())
		}
	}
	if n != 1 {
		return fmt.Errorf("it is listed %d times", n)
	}
	return nil
}

// goOn has an agent go on, and be read after that.
func (h *house) goOn(t *testing.T, s *Store, i int) error {
	t.Helper()
	id := h.agents[i].ID()
	es, next := commit(t, h.key, h.agents[i], draft(50))
	if err := s.Append(t.Context(), id, h.agents[i].Heads(), es...); err != nil {
		return err
	}
	a, err := perdure.Load(t.Context(), s, id)
	if err == nil && !slices.Equal(a.Heads(), next.Heads()) {
		err = errors.New("what was added is not there, and nobody says so")
	}
	return err
}

// fed counts what the feed of a store has of each agent.
func (h *house) fed(t *testing.T, s *Store) (map[perdure.AgentID]int, error) {
	t.Helper()
	n := map[perdure.AgentID]int{}
	for item, err := range s.Feed(t.Context(), 0) {
		if err != nil {
			return n, err
		}
		n[item.ID()]++
	}
	return n, nil
}

// belongings is what there is of each agent in a file, by its key, as bytes that tell whether any of it is missing.
func belongings(t *testing.T, path string) map[int64]string {
	t.Helper()
	m, err := openImage(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.close() }()
	type row struct {
		key  int64
		data []byte
	}
	rows, out := map[int64]row{}, map[int64]string{}
	m.scan(func(rid int64, v []value) {
		if isLog(rid, v) {
			r := row{data: v[2].bytes}
			if v[1].number != nil {
				r.key = *v[1].number
			}
			rows[rid] = r
		} else if len(v) == 5 && rid > 0 && len(v[1].bytes) == hashSize {
			out[rid] += "agent "
		}
	})
	for rid := int64(1); rid < 1_000; rid++ {
		r, there := rows[rid]
		if !there || r.key == 0 {
			continue
		}
		out[r.key] += fmt.Sprint(rid, perdure.HashOf(r.data))
		for i := range more(r.data) {
			out[r.key] += fmt.Sprint(" ", perdure.HashOf(rows[rid+1+i].data))
		}
	}
	return out
}

// pageNames is which table or index each page is of, and what in it.
func pageNames(t *testing.T, path string) map[int64]string {
	t.Helper()
	c, err := dial(path, "ro")
	if err != nil {
		t.Fatal(err)
	}
	names := map[int64]string{}
	last := int64(0)
	err = c.query("SELECT pageno, name, pagetype FROM dbstat ORDER BY path", func(v []driver.Value) error {
		names[integer(v[0])] = fmt.Sprint(v[1], " ", v[2])
		if names[integer(v[0])] == "log leaf" {
			last = integer(v[0])
		}
		return nil
	})
	names[last] = "last log leaf"
	if err = errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	return names
}

// Whichever page of a file is lost: agents none of whose rows were on it are read as they were, are due when they were
// and, unless nothing can be added to the log any more or nobody can note when they are due, go on. The others are
// refused by name, and never come back shorter than they were. A repair makes whole what can be, and good copies the
// rest.
func TestWhicheverPageIsLostTheOtherAgentsGoOn(t *testing.T) {
	t.Parallel()
	h := housing(t)
	h.loseEach(t)
}

// The note of the last rows is not written anew while one agent works alone.
func TestWhicheverPageIsLostAfterOneAgentWorkedAloneTheOthersGoOn(t *testing.T) {
	t.Parallel()
	h := housing(t)
	s := openBench(t, h.path)
	for i := range 12 {
		es, next := commit(t, h.key, h.agents[2], draft([]int{900, 60, 3_000, 1_300}[i%4]))
		h.add(t, s, es...)
		h.agents[2] = next
	}
	h.rest(t, s, h.agents[2])
	if err := errors.Join(s.Checkpoint(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := dial(h.path, "ro")
	if err != nil {
		t.Fatal(err)
	}
	n, err := readNote(c)
	if err != nil || n == nil || n.rest != h.keys[2] || len(n.rows) < 24 {
		t.Fatalf("the note is %+v, %v: it should say that the last rows are of %d", n, err, h.keys[2])
	}
	var written *note
	err = c.query("SELECT tail FROM mark", func(v []driver.Value) error {
		written = parseNote(v[0].([]byte))
		return nil
	})
	if err != nil || written.end+12 > n.end {
		t.Fatalf("it was written up to row %d, of %d, %v: for each commit of an agent alone", written.end, n.end, err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	h.loseEach(t)
}

// loseEach loses each page in turn.
func (h *house) loseEach(t *testing.T) {
	pristine, had, names := read(t, h.path), belongings(t, h.path), pageNames(t, h.path)
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for n := part; n < len(pristine)/pageSize; n += parts {
				path := copied(t, h.path, filepath.Join(t.TempDir(), "store.db"))
				b := slices.Clone(pristine)
				clear(b[n*pageSize:][:pageSize])
				write(t, path, b)
				h.lose(t, path, names[int64(n+1)], had)
				if lacking := cured(t, &h.written, path, h.entries); len(lacking) > 0 {
					t.Errorf("%s: with good copies of all, %d agents are still not whole", names[int64(n+1)],
						len(lacking))
				}
			}
		})
	}
}

// lose looks at a store of which a page is lost.
func (h *house) lose(t *testing.T, path, page string, had map[int64]string) {
	t.Helper()
	has := belongings(t, path)
	s, err := Open(t.Context(), path, Options{})
	if page == "sqlite_schema leaf" { // the page that says what the file is
		if err == nil || !strings.Contains(err.Error(), "perdure doctor --repair") {
			t.Errorf("%s lost: %v", page, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s lost: %v", page, err)
		return
	}
	defer func() { _ = s.Close() }()
	fed, err := h.fed(t, s)
	if err != nil && page != "log internal" && !(h.unnoted && page == "last log leaf") {
		t.Errorf("%s lost: %v", page, err)
	}
	if _, err := s.Ailing(t.Context()); err != nil && page != "agents leaf" { // else nothing is listed
		t.Errorf("%s lost: %v", page, err)
	}
	due := map[perdure.AgentID]bool{}
	for l, err := range s.Due(t.Context(), time.Now()) {
		if err != nil {
			t.Errorf("%s lost: %v", page, err)
			break
		}
		due[l.Agent] = true
	}
	for i, key := range h.keys {
		err := h.whole(t.Context(), s, i)
		switch {
		case err == nil:
		case !strings.Contains(err.Error(), "perdure doctor --repair"):
			t.Errorf("%s lost: agent %d is refused without a word of what to do: %v", page, i, err)
		case had[key] == has[key] && !(h.unnoted && strings.Contains(page, "log ")):
			t.Errorf("%s lost: nothing of agent %d was on it: %v", page, i, err)
		}
		if err != nil {
			continue
		}
		if !due[h.agents[i].ID()] {
			t.Errorf("%s lost: agent %d is not due any more", page, i)
		}
		id, unfed := h.agents[i].ID(), page == "log internal" || page == "agents leaf"
		if want := len(h.entries[id]); fed[id] != want && !unfed {
			t.Errorf("%s lost: the feed has %d entries of agent %d, want %d", page, fed[id], i, want)
		}
		if had[key] != has[key] && page != "agents leaf" {
			t.Errorf("%s lost: it had rows of agent %d, which is read as if nothing had happened", page, i)
		}
		err = h.goOn(t, s, i)
		switch page {
		case "log internal", "last log leaf", "agents_due leaf":
			if err == nil || !strings.Contains(err.Error(), "perdure doctor --repair") {
				t.Errorf("%s lost: agent %d goes on where nothing can be written: %v", page, i, err)
			}
		default:
			if err != nil {
				t.Errorf("%s lost: agent %d does not go on: %v", page, i, err)
			}
		}
	}
}
