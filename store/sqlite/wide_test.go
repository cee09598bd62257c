package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// siblings are entries that were all written on the genesis of an agent.
func siblings(t *testing.T, key *perdure.Signer, a *perdure.Agent, n int) []*perdure.Entry {
	t.Helper()
	var out []*perdure.Entry
	for i := range n {
		es, _, err := key.Commit(a, began.Add(time.Duration(i)*time.Second), draft(20))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, es...)
	}
	return out
}

// TestAPutBesideManyHeadsCostsAsMuchAsBesideFew counts what is read and written for the last of many siblings of
// genesis, each put by itself.
func TestAPutBesideManyHeadsCostsAsMuchAsBesideFew(t *testing.T) {
	t.Parallel()
	s := openBench(t, filepath.Join(t.TempDir(), "store.db"))
	defer func() { _ = s.Close() }()
	key := newSigner(t)
	g, a := begin(t, key, "wide")
	all := siblings(t, key, a, 1200)
	if err := s.Put(t.Context(), g.ID(), g); err != nil {
		t.Fatal(err)
	}
	size := func() (n int64) {
		err := s.read(t.Context(), func(c *conn) (err error) {
			n, _, err = c.number("SELECT max(length(data)) FROM log WHERE rid>(SELECT max(rid)-8 FROM log)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var few int64
	for i, e := range all {
		if err := s.Put(t.Context(), g.ID(), e); err != nil {
			t.Fatal(err)
		}
		if i == fewHeads-1 {
			few = size()
		}
	}
	if many := size(); many > few {
		t.Errorf("a row beside %d heads has %d bytes, beside %d heads %d", len(all), many, fewHeads, few)
	}
	if n := s.lookBacks.Load(); n > 3 {
		t.Errorf("%d pages were read back to find the parent of %d entries", n, len(all))
	}
	want := make([]perdure.Hash, len(all))
	for i, e := range all {
		want[i] = e.Name
	}
	slices.SortFunc(want, perdure.Hash.Compare)
	for _, again := range []bool{false, true} {
		if again {
			s = reopened(t, s)
		}
		if got, err := s.Heads(t.Context(), g.ID()); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d heads, %v, want %d", len(got), err, len(want))
		}
	}
	// What is there already changes nothing, also after a restart.
	if err := s.Put(t.Context(), g.ID(), append([]*perdure.Entry{g}, all[:50]...)...); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Heads(t.Context(), g.ID()); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d heads, %v, want %d", len(got), err, len(want))
	}
}

func reopened(t *testing.T, s *Store) *Store {
	t.Helper()
	path := s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return openBench(t, path)
}

// TestHeadsInATableAreDerivedWhereItIsWrong loses the table, or some of it, and rebuilds the file.
func TestHeadsInATableAreDerivedWhereItIsWrong(t *testing.T) {
	t.Parallel()
	s := openBench(t, filepath.Join(t.TempDir(), "store.db"))
	key := newSigner(t)
	g, a := begin(t, key, "wide")
	all := siblings(t, key, a, 3*fewHeads)
	if err := s.Put(t.Context(), g.ID(), g); err != nil {
		t.Fatal(err)
	}
	for _, e := range all[:2*fewHeads] {
		if err := s.Put(t.Context(), g.ID(), e); err != nil {
			t.Fatal(err)
		}
	}
	want := func(entries []*perdure.Entry) []perdure.Hash {
		var out []perdure.Hash
		for _, e := range entries {
			out = append(out, e.Name)
		}
		slices.SortFunc(out, perdure.Hash.Compare)
		return out
	}
	path := s.Path()
	for i, text := range []string{"DELETE FROM heads WHERE rowid IN ()", "DELETE FROM heads",
		"DELETE FROM heads WHERE name>x'80'", "DROP TABLE heads", "rebuild"} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if text == "rebuild" {
			if _, err := Rebuild(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		} else if i > 0 {
			c, err := dial(path, "rw")
			if err == nil {
				err = c.exec(text)
			}
			if err == nil {
				err = c.close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s = openBench(t, path)
		held := all[:2*fewHeads+i]
		if got, err := s.Heads(t.Context(), g.ID()); err != nil || !slices.Equal(got, want(held)) {
			t.Fatalf("%s: %d heads, %v, want %d", text, len(got), err, len(held))
		}
		if err := s.Put(t.Context(), g.ID(), all[2*fewHeads+i]); err != nil {
			t.Fatal(err)
		}
		held = all[:2*fewHeads+i+1]
		if got, err := s.Heads(t.Context(), g.ID()); err != nil || !slices.Equal(got, want(held)) {
			t.Fatalf("%s, then one more: %d heads, %v, want %d", text, len(got), err, len(held))
		}
	}
	// Joined again they are one, and the table is not needed any more.
	loaded, err := perdure.Load(t.Context(), s, g.ID())
	if err != nil {
		t.Fatal(err)
	}
	es, _ := commit(t, key, loaded, draft(20))
	if err := s.Append(t.Context(), g.ID(), loaded.Heads(), es...); err != nil {
		t.Fatal(err)
	}
	got, err := s.Heads(t.Context(), g.ID())
	if err != nil || len(got) != 1 {
		t.Fatalf("%d heads, %v, want 1", len(got), err)
	}
	if err := s.read(t.Context(), func(c *conn) error {
		n, _, err := c.number("SELECT count(*) FROM heads")
		if err == nil && n != 0 {
			err = fmt.Errorf("%d heads are left in the table", n)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	_ = s.Close()
}
