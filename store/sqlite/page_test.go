package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestPagesAreFull: whatever the size of its rows, a store has few bytes that no row uses, also when it was opened
// again in between, and gives back what was written.
func TestPagesAreFull(t *testing.T) {
	const rows = 200
	for _, size := range []int{100, 600, 900, 1371, 1700, 2100, 3000, 3900} {
		path := filepath.Join(t.TempDir(), "store")
		s := openBench(t, path)
		key, said := newSigner(t), 0
		g, a := begin(t, key, "agent")
		if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
			t.Fatal(err)
		}
		text, err := perdure.DataOf(strings.Repeat("x", size))
		if err != nil {
			t.Fatal(err)
		}
		names := []perdure.Hash{g.Name}
		for i := range rows {
			var es []*perdure.Entry
			es, a = commit(t, key, a, perdure.Draft{Body: perdure.Event{Name: "said", Data: text}})
			if err := s.Append(t.Context(), a.ID(), es[0].Parents, es...); err != nil {
				t.Fatal(err)
			}
			names, said = append(names, es[0].Name), said+len(es[0].BodyBytes())
			if i == rows/2 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openBench(t, path)
			}
		}
		var read []perdure.Hash
		for item, err := range s.Entries(t.Context(), a.ID(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, item.Entry.Name)
		}
		if !slices.Equal(read, names) {
			t.Errorf("of rows of %d bytes %d come back, or in another order, want %d", size, len(read), len(names))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		// a row has a name, a signature and a few fields besides; a store, some pages
		per := (settled(t, path) - 25*4096) / rows
		t.Logf("rows with bodies of %d bytes take %d", said/rows, per)
		if most := (said/rows + 190) * 11 / 10; int(per) > most {
			t.Errorf("rows with bodies of %d bytes take %d on disk, want at most %d", said/rows, per, most)
		}
	}
}
