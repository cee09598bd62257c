package files

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// Copies that wrote at once, again and again, each on top of all before: what it takes to merge them grows with how
// often they did, no faster.
func TestMergingVersionsCostsWhatTheyAre(t *testing.T) {
	t.Parallel()
	merges := func(generations int) int {
		known := map[perdure.Hash]*workspace.Document{}
		var last []*workspace.Document
		for g := range generations {
			var now []*workspace.Document
			for i := range 3 {
				d := &workspace.Document{Version: perdure.HashOf(fmt.Append(nil, g, i)), Seq: int64(g),
					Text: fmt.Sprintf("a %d %d\n", g, i)}
				for _, l := range last {
					d.Base = append(d.Base, l.Version)
				}
				known[d.Version] = d
				now = append(now, d)
			}
			last = now
		}
		l := lineage{known: known}
		if _, _, err := l.merged(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		return l.merges
	}
	if got := merges(12); got > 12*4 {
		t.Errorf("%d merges for 12 generations of three versions, want at most 4 per generation", got)
	}
}
