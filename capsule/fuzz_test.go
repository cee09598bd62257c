package capsule

import (
	"bytes"
	"testing"

	"github.com/perdure/perdure"
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
				f.Add(exported(f, s, id, Options{Form: form, Depth: Last(0)}))
				f.Add(exported(f, s, id, Options{Form: form, Depth: Headers, Schema: true}))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, r, err := read(b, ReadOptions{})
		if err != nil || r.Head().Depth != Full || r.head.grows() || r.Head().Binding != Inline {
			return
		}
		s, id := put(t, entries...)
		again := exported(t, s, id, Options{Form: r.Form(), Schema: !r.Head().Schema.IsZero()})
		if !bytes.Equal(again, b) {
			t.Fatalf("accepted %d bytes that are written as %d others", len(b), len(again))
		}
	})
}
