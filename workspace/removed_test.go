package workspace_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// Of two stores that were apart one removes documents and the other changes them, whichever wrote more: what was
// written stands alone, can be changed like any other document, and is no conflict. What both removed is gone.
func TestWhatOneRemovedAndAnotherChangedStays(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"here", "there"} {
		t.Run(more+" writes more", func(t *testing.T) {
			t.Parallel()
			here := newWorld(t, new(perdure.MemStore))
			there := worldOf(t, new(perdure.MemStore), here.key, "")
			r := here.as("coder")
			paths := []string{"read.md", "append.md", "move.md", "replace.md", "remove.md", "base.md", "both.md"}
			for _, path := range paths {
				here.write(r, workspace.Draft{Path: path, Text: "one\n"})
			}
			copyAll(t, here.store, there.store)
			other := there.as("coder")
			w, longer := here, r
			if more == "there" {
				w, longer = there, other
			}
			for i := range 9 {
				w.write(longer, workspace.Draft{Path: fmt.Sprintf("more/%d.md", i), Text: "more\n"})
			}
			for _, path := range paths {
				if path == "both.md" {
					_, err := other.Remove(t.Context(), path, nil, nil)
					if err != nil {
						t.Fatal(err)
					}
				} else {
					there.write(other, workspace.Draft{Path: path, Text: "one\ntwo\n"})
				}
				if _, err := r.Remove(t.Context(), path, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			copyAll(t, there.store, here.store)

			if d := here.read(r, "read.md"); d.Gone || d.Text != "one\ntwo\n" || len(d.Beside) != 0 {
				t.Errorf("it reads %q (%d beside it), want what was written, alone", d.Text, len(d.Beside))
			}
			if d, err := r.Read(t.Context(), "both.md", nil); !errors.Is(err, perdure.ErrNotFound) {
				t.Errorf("what both removed reads %v, %v, want that it is not there", d, err)
			}
			o, err := r.Open(t.Context())
			if err != nil || len(o.Conflicts) != 0 {
				t.Errorf("an opening shows %v, %v; want no conflict", o.Conflicts, err)
			}
			if d, err := r.Append(t.Context(), workspace.Draft{Path: "append.md", Text: "three\n"}); err != nil ||
				d.Text != "one\ntwo\nthree\n" {
				t.Errorf("append: %v, %v", d, err)
			}
			if _, err := r.Rename(t.Context(), "move.md", "moved.md", nil); err != nil {
				t.Errorf("rename: %v", err)
			}
			if _, err := r.Do(t.Context(), workspace.FileCommand{Command: "str_replace",
				Path: "/memories/team/replace.md", OldStr: "two", NewStr: "2"}); err != nil {
				t.Errorf("replace: %v", err)
			}
			settle(here, r, "base.md", "settled\n")
			if _, err := r.Remove(t.Context(), "remove.md", nil, nil); err != nil {
				t.Errorf("remove: %v", err)
			}
			for _, path := range []string{"both.md", "move.md", "remove.md"} {
				if d, err := r.Read(t.Context(), path, nil); !errors.Is(err, perdure.ErrNotFound) {
					t.Errorf("%s reads %v, %v, want that it is not there", path, d, err)
				}
				here.write(r, workspace.Draft{Path: path, Text: "again\n", New: true})
				if d := here.read(r, path); d.Text != "again\n" || len(d.Beside) != 0 {
					t.Errorf("%s reads %q (%d beside it), want what was written again", path, d.Text, len(d.Beside))
				}
			}
		})
	}
}
