package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// numbers is a table of words.
type numbers map[perdure.Hash]int64

func (n numbers) of(h perdure.Hash) (int64, error) {
	if n[h] == 0 {
		n[h] = int64(len(n) + 1)
	}
	return n[h], nil
}

// sample is the bytes of a row with entries of all sorts.
func sample(tb testing.TB) []byte {
	key, other, words := newSigner(tb), newSigner(tb), numbers{}
	g, a := begin(tb, key, "a")
	es, a := commit(tb, key, a, draft(10), perdure.Draft{Body: draft(20).Body, Trace: [16]byte{1},
		Policy: perdure.HashOf(nil)}, draft(100_000))
	more, _ := commit(tb, other, a, draft(10))
	r, before := new(row), perdure.Hash{}
	for _, e := range append(append([]*perdure.Entry{g}, es...), more[0].Drop()) {
		p, err := newPart(e, before, words.of)
		if err != nil {
			tb.Fatal(err)
		}
		if p.raw != nil {
			tb.Errorf("the header of entry %s is kept whole", e.Name.Short())
		}
		p.named = e.Kind != perdure.KindGenesis
		r.parts, before = append(r.parts, p), e.Name
	}
	r.forked, r.heads = true, []head{{before, 5}, {es[0].Name, 0}}
	return r.append(nil)
}

func FuzzRowsNeverPanic(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte{2, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRow(b)
		if err != nil {
			return
		}
		again, err := parseRow(r.append(nil))
		if err != nil {
			t.Fatalf("a row that was read is not a row when written: %v", err)
		}
		if diff := cmp.Diff(r, again, cmp.AllowUnexported(row{}, part{}, head{})); diff != "" {
			t.Fatalf("a row that was read, written and read again (-first +second):\n%s", diff)
		}
	})
}

// TestUnknownFieldsOfAHeaderAreKept stores an entry that a later version of the format wrote.
func TestUnknownFieldsOfAHeaderAreKept(t *testing.T) {
	s := openBench(t, filepath.Join(t.TempDir(), "store"))
	key := newSigner(t)
	g, a := begin(t, key, "a")
	es, _ := commit(t, key, a, draft(10), draft(20))
	h := es[0].HeaderBytes()
	header := append([]byte{h[0] + 1}, h[1:]...)
	header = append(canon.AppendUint(header, 100), 7)
	odd, err := perdure.NewEntry(header, es[0].BodyBytes(), nil, perdure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), a.ID(), g, odd, es[0], es[1]); err != nil {
		t.Fatal(err)
	}
	var got []string
	for item, err := range s.Entries(t.Context(), a.ID(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, item.Name.Short())
	}
	if diff := cmp.Diff([]string{g.Name.Short(), odd.Name.Short(), es[0].Name.Short(), es[1].Name.Short()},
		got); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
	if err := s.Put(t.Context(), a.ID(), odd, es[1]); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, a.ID()); n != 4 {
		t.Fatalf("entries after duplicates: %d, want 4", n)
	}
}
