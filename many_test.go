package perdure

import (
	"fmt"
	"testing"
	"time"
)

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
			e, err := newEntry(Header{Agent: g.ID(), Parents: []Hash{p.Name}, Seq: p.Seq + 1, Time: g.Time}, &rec, g.Origin)
			if err != nil {
				t.Fatal(err)
			}
			mark(e)
			all = append(all, e)
		}
		begin := time.Now()
		v, err := Verify(seq(all), VerifyOptions{})
		if err != nil || v.Entries != n {
			t.Fatalf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%s: %d heads took %v", name, len(v.Heads), took)
		} else {
			t.Logf("%s: %d heads in %v", name, len(v.Heads), took)
		}
	}
}
