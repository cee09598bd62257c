package capsule

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/storetest"
)

// keep opens a store at a path until the test ends.
func keep(t testing.TB, path string) *Store {
	t.Helper()
	s, err := OpenStore(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAnAgentLivesInItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.agent")
	s := keep(t, path)
	w := newAuthor()
	g, a := w.genesis("a")
	if _, err := s.Heads(t.Context(), g.ID()); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("heads in a new file: %v, want ErrNotFound", err)
	}
	if err := s.Append(t.Context(), g.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	all := []*perdure.Entry{g}
	for i := range 30 {
		es, next := w.commit(a, event("x", 5000*i, uint64(i)), event("y", 10, 1))
		if i%10 == 9 {
			es, next = w.commit(a, snapshot(a))
		}
		if err := s.Append(t.Context(), g.ID(), a.Heads(), es...); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), g.ID(), a.Heads(), es...); !errors.Is(err, perdure.ErrConflict) {
			t.Fatalf("append on old heads: %v, want ErrConflict", err)
		}
		all, a = append(all, es...), next
	}
	other, _ := newAuthor().genesis("b")
	if err := s.Append(t.Context(), other.ID(), nil, other); err == nil {
		t.Fatal("a second agent was put into the file")
	}
	want := must(a.Fold().Hash())
	check := func(when string) {
		t.Helper()
		var got []*perdure.Entry
		for e, err := range perdure.Memory(t.Context(), s, g.ID()) {
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			got = append(got, e)
		}
		for i := range got {
			if len(got) != len(all) || !bytes.Equal(must(got[i].MarshalBinary()), must(all[i].MarshalBinary())) {
				t.Fatalf("%s: %d entries, want %d; entry %d differs", when, len(got), len(all), i)
			}
		}
		loaded, err := perdure.Load(t.Context(), s, g.ID())
		if err != nil || must(loaded.Fold().Hash()) != want {
			t.Fatalf("%s: loaded something else: %v", when, err)
		}
	}
	check("while open")
	if _, err := OpenStore(path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Fatalf("the file was opened twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heads(t.Context(), g.ID()); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("heads of a closed store: %v", err)
	}
	closed := must(os.ReadFile(path))
	to := new(perdure.MemStore)
	if _, err := take(t, to, closed, ImportOptions{Anyone: true}); err != nil {
		t.Fatalf("import of a closed store's file: %v", err)
	}
	if foldHash(t, to, g.ID()) != want {
		t.Fatal("the closed store's file imports as something else")
	}
	s = keep(t, path)
	check("after reopening")
	gone, err := storetest.Prune(t.Context(), s, g.ID(), all[5].Name, all[9].Name)
	if err != nil || gone != int64(len(all[5].BodyBytes())+len(all[9].BodyBytes())) {
		t.Fatalf("prune: %d bytes, %v", gone, err)
	}
	if _, err := OpenStore(path); err == nil {
		t.Fatal("the file lost its lock when it was pruned")
	}
	es, next := w.commit(a, event("goes on", 10, 1))
	if err := s.Append(t.Context(), g.ID(), a.Heads(), es...); err != nil {
		t.Fatal(err)
	}
	all[5], all[9] = all[5].Drop(), all[9].Drop()
	all, a, want = append(all, es...), next, must(next.Fold().Hash())
	check("after pruning")
}

func TestATornTailIsCut(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("a")
	first, a1 := w.commit(a, event("x", 100, 1), event("large", 70_000, 2))
	second, a2 := w.commit(a1, event("y", 100, 1), event("large", 70_000, 3), event("z", 10, 1))
	for _, form := range forms {
		path := filepath.Join(t.TempDir(), "a.agent")
		s := keep(t, path)
		s.form = form
		for _, es := range [][]*perdure.Entry{{g}, first} {
			if err := s.Put(t.Context(), g.ID(), es...); err != nil {
				t.Fatal(err)
			}
		}
		whole := len(must(os.ReadFile(path)))
		if err := s.Put(t.Context(), g.ID(), second...); err != nil {
			t.Fatal(err)
		}
		all := must(os.ReadFile(path))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		closed := must(os.ReadFile(path))
		for i := whole; i <= len(closed); i += 1 + (i-whole)%211 {
			for name, b := range map[string][]byte{"cut": closed[:i],
				"ending in zeros": append(bytes.Clone(closed[:i]), make([]byte, 5000)...)} {
				if form != Binary && name != "cut" {
					continue // zeros are no line, and no name
				}
				if err := os.WriteFile(path, b, 0o644); err != nil {
					t.Fatal(err)
				}
				s, err := OpenStore(path)
				if err != nil {
					t.Fatalf("%v %s at byte %d: %v", form, name, i, err)
				}
				want := a1
				if i >= len(all) {
					want = a2
				}
				heads, err := s.Heads(t.Context(), g.ID())
				if err != nil || len(heads) != 1 || heads[0] != want.Heads()[0] {
					t.Fatalf("%v %s at byte %d of %d to %d: heads %v, %v", form, name, i, whole, len(all), heads, err)
				}
				if err := s.Put(t.Context(), g.ID(), second...); err != nil {
					t.Fatal(err)
				}
				if foldHash(t, s, g.ID()) != must(a2.Fold().Hash()) {
					t.Fatalf("%v %s at byte %d: folds to something else after going on", form, name, i)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if now := must(os.ReadFile(path)); !bytes.Equal(now, closed) {
					t.Fatalf("%v %s at byte %d: the file is not what it was before", form, name, i)
				}
			}
		}
	}
}

func TestAnExportedCapsuleGoesOnAsAStore(t *testing.T) {
	from, id := withBlobs(t)
	want := foldHash(t, from, id)
	for _, form := range forms {
		path := filepath.Join(t.TempDir(), "a.agent")
		b := exported(t, from, id, Options{Form: form})
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		s := keep(t, path)
		if foldHash(t, s, id) != want {
			t.Fatalf("%v: the store folds to something else", form)
		}
		if !bytes.Equal(exported(t, s, id, Options{Form: form}), b) {
			t.Fatalf("%v: exported again it is something else", form)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b[:len(b)*2/3], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.FoldEntries(perdure.Memory(t.Context(), keep(t, path), id)); err != nil {
			t.Fatalf("%v cut short: %v", form, err)
		}
	}
}

func TestFilesThatAreNoStoresAreLeftAlone(t *testing.T) {
	from, id := simple(t, 12)
	good := exported(t, from, id, Options{})
	for name, c := range map[string]struct {
		file []byte
		pred string
	}{
		"a picture":         {[]byte("\x89PNG"), PredMagic},
		"nothing":           {nil, PredMagic},
		"encrypted":         {[]byte("age-encryption.org/v1\n"), PredRecipient},
		"a changed capsule": {flip(good, len(good)/2), ""},
		"a newer version": {bytes.Replace(exported(t, from, id, Options{Form: Text}), []byte(`"version":1}`),
			[]byte(`"version":3}`), 1), PredVersion},
	} {
		path := filepath.Join(t.TempDir(), "a.agent")
		if err := os.WriteFile(path, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := OpenStore(path)
		if c.pred != "" {
			refused(t, name, err, c.pred)
		} else if !errors.Is(err, perdure.ErrRejected) {
			t.Errorf("%s: %v, want a rejection", name, err)
		}
		if now := must(os.ReadFile(path)); !bytes.Equal(now, c.file) {
			t.Errorf("%s was changed", name)
		}
	}
	dir := t.TempDir()
	if _, err := OpenStore(filepath.Join(dir, "none", "a.agent")); err == nil {
		t.Error("a store opened in a folder that is not there")
	}
	if _, err := OpenStore(dir); err == nil {
		t.Error("a folder opened as a file")
	}
}

func TestTheLockIsTheClaim(t *testing.T) {
	s := keep(t, filepath.Join(t.TempDir(), "a.agent"))
	w := newAuthor()
	g, a := w.genesis("a")
	if err := s.Append(t.Context(), g.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	one, two := newAuthor().Key(), newAuthor().Key()
	c, err := s.Claim(t.Context(), g.ID(), one, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), g.ID(), two, time.Hour); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("claimed twice: %v", err)
	}
	for l := range s.Due(t.Context(), time.Now()) {
		t.Fatalf("due while claimed: %v", l)
	}
	if err := s.Release(t.Context(), c, a.Heads(), perdure.TimeOf(began)); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Claim(t.Context(), g.ID(), two, 0); err != nil || again.Fence <= c.Fence {
		t.Fatalf("claim after release: %+v, %v", again, err)
	}
	for l, err := range s.List(t.Context(), perdure.Filter{Name: "a"}) {
		if err != nil || l.Agent != g.ID() {
			t.Fatalf("listing: %+v, %v", l, err)
		}
		return
	}
	t.Fatal("the agent is not listed")
}

// TestFileUpsideDownIsReadInOrder opens a text file whose entries stand last first, as nobody's merge leaves them.
func TestFileUpsideDownIsReadInOrder(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("turned")
	all := []*perdure.Entry{g}
	for i := range 3000 {
		more, next := w.commit(a, perdure.Event{Name: strconv.Itoa(i)})
		all, a = append(all, more...), next
	}
	path := filepath.Join(t.TempDir(), "turned.agent")
	if err := CreateLog(path, Text, all...); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.ReplaceAll(string(must(os.ReadFile(path))), moreText, ""), "\n")
	turned := []string{lines[0]}
	for _, line := range slices.Backward(lines[1:]) {
		turned = append(turned, line)
	}
	if err := os.WriteFile(path, []byte(strings.Join(turned, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	l := must(OpenLog(path))
	defer func() { _ = l.Close() }()
	if heads := l.Heads(); l.Len() != len(all) || len(heads) != 1 || heads[0] != all[len(all)-1].Name {
		t.Errorf("got %d entries and heads %v, want %d and the last", l.Len(), heads, len(all))
	}
}
