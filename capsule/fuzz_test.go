package capsule

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// FuzzReader holds every input to the law: it is refused, or exported again it is the same bytes.
func FuzzReader(f *testing.F) {
	w := newAuthor()
	g, a := w.genesis("fuzz")
	es, a := w.commit(a, event("x", 10, 1), snapshot(a))
	large, _ := w.commit(a, event("large", inlineBody+10, 2))
	for _, entries := range [][]*perdure.Entry{{g}, {g, es[0], es[1]}, {g, es[0], es[1], large[0]}} {
		s, id := put(f, entries...)
		for _, form := range forms {
			f.Add(exported(f, s, id, Options{Form: form}))
			if len(entries) == 3 {
				f.Add(exported(f, s, id, Options{Form: form, Depth: perdure.Last(0)}))
				f.Add(exported(f, s, id, Options{Form: form, Depth: perdure.Headers, Schema: true}))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, r, err := read(b, ReadOptions{})
		if err != nil || r.Head().Depth != perdure.Full || r.head.grows() || r.Head().Binding != Inline {
			return
		}
		if _, own, err := schemaOf(); err != nil || !r.Head().Schema.IsZero() && r.Head().Schema != own {
			return // of another version
		}
		s, id := put(t, entries...)
		again := exported(t, s, id, Options{Form: r.Form(), Schema: !r.Head().Schema.IsZero()})
		if !bytes.Equal(again, b) {
			t.Fatalf("accepted %d bytes that are written as %d others", len(b), len(again))
		}
	})
}

// FuzzStore holds every file to the law: it is refused and left as it was, or opened as a store it has a good
// beginning, and closed it is a whole capsule with the same entries.
func FuzzStore(f *testing.F) {
	w := newAuthor()
	g, a := w.genesis("fuzz")
	es, a := w.commit(a, event("x", 10, 1), snapshot(a))
	large, _ := w.commit(a, event("large", inlineBody+10, 2))
	for _, form := range forms {
		for _, entries := range [][]*perdure.Entry{{g}, {g, es[0], es[1]}, {g, es[0], es[1], large[0]}} {
			b := must(logBytes(form, g.ID(), entries))
			f.Add(b)
			f.Add(b[:len(b)-3])
			f.Add(append(bytes.Clone(b), make([]byte, 20)...))
			s, id := put(f, entries...)
			f.Add(exported(f, s, id, Options{Form: form}))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "a"+Ext)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenStore(path)
		if err != nil {
			if left := must(os.ReadFile(path)); !bytes.Equal(left, b) {
				t.Fatalf("refused (%v), and changed", err)
			}
			return
		}
		var held []perdure.Hash
		bad := false
		for item, err := range s.Entries(t.Context(), s.log.Agent(), 0) {
			if bad = err != nil; bad {
				break // bodies are looked at when they are read
			}
			held = append(held, item.Name)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if bad || len(held) == 0 {
			return
		}
		all, _, err := read(must(os.ReadFile(path)), ReadOptions{})
		var r *perdure.Rejection
		if errors.As(err, &r) && r.Phase == canon.PhaseSignature {
			return // signatures are for who loads the agent
		}
		if err != nil || len(all) != len(held) {
			t.Fatalf("closed it has %d entries (%v), want %d", len(all), err, len(held))
		}
	})
}
