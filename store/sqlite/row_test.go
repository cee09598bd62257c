package sqlite

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"slices"
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
	says, a := commit(tb, other, a, saying(tb, es[2].Name))
	more, _ := commit(tb, other, a, draft(10))
	r, before := new(row), perdure.Hash{}
	for i, e := range append(append([]*perdure.Entry{g}, es...), says[0], more[0].Drop()) {
		p, err := newPart(e, before, words.of)
		if err != nil {
			tb.Fatal(err)
		}
		if p.raw != nil {
			tb.Errorf("the header of entry %s is kept whole", e.Name.Short())
		}
		if p.named = e.Kind != perdure.KindGenesis; i > 0 {
			p.leaveOut(before)
		}
		if want := e == says[0]; p.says != want {
			tb.Errorf("a name is left out of entry %d: %t", i, p.says)
		}
		r.parts, before = append(r.parts, p), e.Name
	}
	r.forked, r.heads = true, []head{{before, 5}, {es[0].Name, 0}}
	return r.append(nil)
}

// saying is an event that says names.
func saying(tb testing.TB, names ...perdure.Hash) perdure.Draft {
	var b []byte
	for _, h := range names {
		b = append(b, h[:]...)
	}
	d, err := perdure.DataOf(b)
	if err != nil {
		tb.Fatal(err)
	}
	return perdure.Draft{Body: perdure.Event{Name: "e", Data: d}}
}

// TestANameIsLeftOutOfABodyAndPutBack stores entries whose bodies say the name of the entry before, in one row and in
// rows of their own, and drops a body of each sort.
func TestANameIsLeftOutOfABodyAndPutBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openBench(t, path)
	key := newSigner(t)
	g, a := begin(t, key, "a")
	all := []*perdure.Entry{g}
	far := perdure.HashOf([]byte("elsewhere"))
	for _, say := range []func(before perdure.Hash) perdure.Draft{
		func(h perdure.Hash) perdure.Draft { return saying(t, h) },
		func(h perdure.Hash) perdure.Draft { return saying(t, h, h, far) },
		func(h perdure.Hash) perdure.Draft { return saying(t, far, far, far, far, h) },
		func(perdure.Hash) perdure.Draft { return saying(t, far) },
		func(h perdure.Hash) perdure.Draft { return saying(t, far, h) },
	} {
		var es []*perdure.Entry
		es, a = commit(t, key, a, say(all[len(all)-1].Name))
		all = append(all, es...)
	}
	if err := s.Put(t.Context(), a.ID(), all[:5]...); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), a.ID(), all[5]); err != nil {
		t.Fatal(err)
	}
	check := func(dropped ...int) {
		t.Helper()
		i := 0
		for item, err := range s.Entries(t.Context(), a.ID(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			want := all[i].BodyBytes()
			if slices.Contains(dropped, i) {
				want = nil
			}
			if item.Name != all[i].Name || !bytes.Equal(item.BodyBytes(), want) {
				t.Errorf("entry %d is not what was stored", i)
			}
			i++
		}
		if i != len(all) {
			t.Errorf("%d entries, want %d", i, len(all))
		}
	}
	check()
	if n, want := saidIn(t, path, all[1].Name), 1; n != want { // the second time it is said
		t.Errorf("the name of an entry is in the file %d times, want %d", n, want)
	}
	heads, err := s.Heads(t.Context(), a.ID())
	if err != nil {
		t.Fatal(err)
	}
	gone, err := s.Prune(t.Context(), a.ID(), heads, []perdure.Hash{all[2].Name, all[4].Name, all[5].Name})
	if err != nil || gone != all[2].Size+all[4].Size+all[5].Size {
		t.Fatalf("dropped %d bytes, %v", gone, err)
	}
	check(2, 4, 5)
}

// saidIn is how often a name is in the rows of a file.
func saidIn(t *testing.T, path string, name perdure.Hash) (n int) {
	c, err := dial(path, "ro")
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	err = c.query("SELECT data FROM log ORDER BY rid", func(v []driver.Value) error {
		piece, _ := v[0].([]byte)
		b = append(b, piece...)
		return nil
	})
	if err := errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, name[:])
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
