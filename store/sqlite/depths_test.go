package sqlite

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// TestARebuiltFileNeverHoldsMoreOfAnAgentThanWasThere loses what says how much of two agents is there: in the table, in
// its index, in both.
func TestARebuiltFileNeverHoldsMoreOfAnAgentThanWasThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := openBench(t, path)
	key := newSigner(t)
	depths := map[perdure.AgentID]perdure.Depth{}
	part := func(name string, d perdure.Depth, pick func(all []*perdure.Entry) []*perdure.Entry) {
		g, a := begin(t, key, name)
		es, a := commit(t, key, a, draft(30), draft(2_000))
		snap, a := commit(t, key, a, perdure.Draft{Body: perdure.Snapshot{Fold: *a.Fold()}})
		last, _ := commit(t, key, a, draft(30))
		all := pick(slices.Concat([]*perdure.Entry{g}, es, snap, last))
		err := s.Replace(t.Context(), g.ID(), nil, d, func(yield func(*perdure.Entry, error) bool) {
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		depths[g.ID()] = d
	}
	part("whole", perdure.Full, func(all []*perdure.Entry) []*perdure.Entry { return all })
	part("end", perdure.Last(1), func(all []*perdure.Entry) []*perdure.Entry { return all[3:] })
	part("headers", perdure.Headers, func(all []*perdure.Entry) []*perdure.Entry {
		for i := range all[1:3] {
			e, err := perdure.NewEntry(all[1+i].HeaderBytes(), nil, all[1+i].Signature, perdure.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			all[1+i] = e
		}
		return all
	})
	if err := errors.Join(s.Checkpoint(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	pristine := read(t, path)
	root := func(name string) int64 {
		c, err := dial(path, "ro")
		if err != nil {
			t.Fatal(err)
		}
		n, _, err := c.number("SELECT rootpage FROM sqlite_schema WHERE name=?", name)
		if err = errors.Join(err, c.close()); err != nil || n == 0 {
			t.Fatal(n, err)
		}
		return n
	}
	table, index := root("depths"), root("depths_copy")
	for name, pages := range map[string][]int64{"the table": {table}, "its index": {index}, "both": {table, index}} {
		for _, damage := range []func([]byte){
			func(p []byte) { clear(p) },
			func(p []byte) { p[3], p[4] = 0, 0 }, // no cells
			func(p []byte) { copy(p, bytes.Replace(p, []byte("headers"), []byte("heAders"), 1)) },
		} {
			copy := copied(t, path, filepath.Join(t.TempDir(), "store.db"))
			b := slices.Clone(pristine)
			for _, n := range pages {
				damage(b[(n-1)*pageSize:][:pageSize])
			}
			write(t, copy, b)
			if _, err := Rebuild(t.Context(), copy); err != nil {
				t.Fatal(err)
			}
			s := openBench(t, copy)
			for id, was := range depths {
				is, err := s.Depth(t.Context(), id)
				if err != nil {
					t.Error(err)
				}
				if is.Kind < was.Kind || is.Kind == was.Kind && is.N > was.N {
					t.Errorf("%s: depth %s was %s", name, is, was)
				}
				if was == perdure.Full && is != was {
					t.Errorf("%s: a whole memory counts as %s", name, is)
				}
			}
			_ = s.Close()
		}
	}
}
