package workspace_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// Many who write at once through one process, such as a client that sends 200 notes without waiting, do not overtake
// each other: each is written at the first try, so that the cost of one stays what it is alone.
func TestManyWritesOfAProcessTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	r := w.as("coder")
	w.write(r, workspace.Draft{Path: "notes/first.md", Text: "first\n"})
	var tries atomic.Int64
	w.Allow = func(_ *perdure.Agent, x workspace.Access) perdure.Verdict {
		if x.Write {
			tries.Add(1)
		}
		return perdure.Verdict{Answer: perdure.Allow}
	}
	const many = 60
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			d := workspace.Draft{Path: fmt.Sprintf("notes/%d.md", i), Text: "x\n"}
			if _, err := r.Write(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := tries.Load(); n != many {
		t.Errorf("%d writes took %d tries", many, n)
	}
}
