package perdure

import (
	"fmt"
	"testing"
)

// A reader whose cost grew with the square of the heads would not end before the test's own time limit.
func TestManyHeadsDoNotStopAReader(t *testing.T) {
	const n = 20_000
	d := lineage(t, "G")
	g := d.entries["G"]
	for name, parent := range map[string]func(i int, all []*Entry) *Entry{
		"all on genesis":  func(int, []*Entry) *Entry { return g },
		"a tree":          func(i int, all []*Entry) *Entry { return all[(i-1)/2] },
		"near each other": func(i int, all []*Entry) *Entry { return all[max(0, i-1-i%3)] },
	} {
		all := []*Entry{g}
		for i := 1; i < n; i++ {
			p := parent(i, all)
			rec := saltedBody{Content: Event{Name: fmt.Sprint(i)}}
			e, err := newEntry(Header{Agent: g.ID(), Parents: []Hash{p.Name}, Seq: p.Seq + 1, Time: g.Time}, &rec,
				g.Origin)
			if err != nil {
				t.Fatal(err)
			}
			mark(e)
			all = append(all, e)
		}
		v, err := Verify(seq(all), VerifyOptions{})
		if err != nil || v.Entries != n {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
