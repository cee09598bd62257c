package capsule

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
)

var forms = []Form{Binary, Described, Text}

func TestAnyAgentInAnyFormComesBackTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := anyMemory(t)
		id := all[0].ID()
		s := new(perdure.MemStore)
		if err := s.Put(t.Context(), id, all...); err != nil {
			t.Fatal(err)
		}
		want := foldHash(t, s, id)
		form := rapid.SampledFrom(forms).Draw(t, "form")
		var first bytes.Buffer
		index, err := Export(t.Context(), &first, s, id, Options{Form: form})
		if err != nil {
			t.Fatal(err)
		}
		entries, r, err := read(first.Bytes(), ReadOptions{})
		if err != nil {
			t.Fatalf("%v: %v", form, err)
		}
		if r.Form() != form || r.Index().Digest != index.Digest || len(entries) != len(all) {
			t.Fatalf("read %d entries in form %v, want %d in %v", len(entries), r.Form(), len(all), form)
		}
		back := new(perdure.MemStore)
		if err := back.Put(t.Context(), id, entries...); err != nil {
			t.Fatal(err)
		}
		if got := foldHash(t, back, id); got != want {
			t.Fatalf("fold after the round trip: %s, want %s", got.Short(), want.Short())
		}
		for _, again := range forms {
			var a, b bytes.Buffer
			if _, err := Export(t.Context(), &a, s, id, Options{Form: again}); err != nil {
				t.Fatal(err)
			}
			if _, err := Export(t.Context(), &b, back, id, Options{Form: again}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Fatalf("exports in form %v differ after a trip through form %v", again, form)
			}
		}
	})
}

func TestEveryFormHasItsDepths(t *testing.T) {
	s, id := simple(t, 40)
	whole, _, err := read(exported(t, s, id, Options{}), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := foldHash(t, s, id)
	for _, form := range forms {
		for _, c := range []struct {
			depth   Depth
			entries int
			bodies  int
			once    bool
		}{
			{perdure.Full, 83, 83, true}, {perdure.Headers, 83, 10, false}, {perdure.Last(0), 9, 9, false},
			{perdure.Last(8), 9, 9, false}, {perdure.Last(9), 40, 40, false}, {perdure.Last(1000), 83, 83, false},
		} {
			t.Run(fmt.Sprint(form, " ", c.depth), func(t *testing.T) {
				got, r, err := read(exported(t, s, id, Options{Form: form, Depth: c.depth}), ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if x := r.Index(); len(got) != c.entries || int(x.Bodies) != c.bodies {
					t.Fatalf("%d entries, %d bodies, want %d and %d", len(got), x.Bodies, c.entries, c.bodies)
				}
				if r.Head().Depth.Allows(perdure.Once) != c.once || !r.Head().Depth.Allows(perdure.Read) {
					t.Fatalf("depth %v allows once: %v, want %v", c.depth, !c.once, c.once)
				}
				for i, e := range got {
					if e.Name != whole[len(whole)-len(got)+i].Name {
						t.Fatalf("entry %d is another one", i)
					}
				}
				a, err := Fold(r.Head(), each(got))
				if err != nil {
					t.Fatal(err)
				}
				if h := must(a.Fold().Hash()); h != want {
					t.Fatalf("fold at depth %v: %s, want %s", c.depth, h.Short(), want.Short())
				}
			})
		}
	}
}

func TestShallowDepthsNeedASnapshot(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("young")
	es, _ := w.commit(a, event("x", 10, 1))
	s, id := put(t, g, es[0])
	for _, d := range []Depth{perdure.Last(0), perdure.Headers} {
		var b bytes.Buffer
		if _, err := Export(t.Context(), &b, s, id, Options{Depth: d}); err == nil || b.Len() > 0 {
			t.Errorf("depth %v without a snapshot: error %v after %d bytes, want an error and nothing written", d, err,
				b.Len())
		}
	}
}

func TestDepthsSayWhatTheyAllow(t *testing.T) {
	for _, c := range []struct {
		d                      string
		read, idempotent, once bool
	}{{"full", true, true, true}, {"headers", true, true, false}, {"5", true, true, false}, {"0", true, false, false}} {
		var d Depth
		err := d.UnmarshalText([]byte(c.d))
		if err != nil || d.String() != c.d {
			t.Fatalf("depth %q reads as %v, %v", c.d, d, err)
		}
		if d.Allows(perdure.Read) != c.read || d.Allows(perdure.Idempotent) != c.idempotent ||
			d.Allows(perdure.Once) != c.once || d.Allows(0) != c.once {
			t.Errorf("depth %v allows read %v, idempotent %v, once %v, unknown %v", d, d.Allows(perdure.Read),
				d.Allows(perdure.Idempotent), d.Allows(perdure.Once), d.Allows(0))
		}
	}
	for _, bad := range []string{"", "-1", "deep", "1.5"} {
		var d Depth
		if err := d.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("depth %q reads as %v, want an error", bad, d)
		}
	}
}
