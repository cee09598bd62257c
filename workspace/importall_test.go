package workspace_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// TestManyTextsAreImportedInFewCommits imports texts together and one by one into two worlds: what comes of each is the
// same, and together they cost few commits. A second time, nothing is written.
func TestManyTextsAreImportedInFewCommits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var all []workspace.Foreign
		for i := range 100 {
			all = append(all, workspace.Foreign{Path: fmt.Sprintf("notes/%d.md", i), Kind: workspace.KindNote,
				Text: fmt.Sprintf("# Note %d\n\nabout %d\n", i, i), Format: "test", Source: "test.json"})
		}
		all = append(all, workspace.Foreign{Path: "../x.md", Text: "of no place"},
			workspace.Foreign{Path: "notes/own.md", Text: "of somebody else"},
			workspace.Foreign{Path: "notes/3.md", Text: "the third again"},
			workspace.Foreign{Path: "notes/bad.md", Text: "no text: \xff"},
			workspace.Foreign{Path: "notes/3.md", Text: "and again"})
		own := workspace.Draft{Path: "notes/own.md", Text: "mine"}
		var want []string
		other := newWorld(t, new(perdure.MemStore))
		if _, err := other.Owner().Write(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			one, err := other.Owner().Import(t.Context(), x, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, one.Path+" "+one.Status)
		}
		doc, err := w.Owner().Write(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		before := w.commits(doc.Agent)
		for again := range 2 {
			done, err := w.Owner().ImportAll(t.Context(), all, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range done {
				got = append(got, one.Path+" "+one.Status)
				wrote := one.Status == workspace.ImportNew || one.Status == workspace.ImportChanged
				if wrote == one.Version.IsZero() {
					t.Errorf("%s is %s, with version %s", one.Path, one.Status, one.Version.Short())
				}
			}
			if diff := cmp.Diff(want, got); diff != "" && again == 0 {
				t.Errorf("together, otherwise than one by one (-want +got):\n%s", diff)
			}
		}
		if n := w.commits(doc.Agent) - before; n > 3 {
			t.Errorf("%d commits for what takes 3", n)
		}
		if found := w.find(w.Owner(), "about 42"); len(found) == 0 || found[0].Path != "notes/42.md" {
			t.Errorf("found %v", snippets(found))
		}
	})
}

// A path is a document or a folder, also among texts that are imported together.
func TestTextsImportedTogetherFitTheirPlaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	w.write(w.Owner(), workspace.Draft{Path: "plans/a", Text: "a document\n"})
	var all []workspace.Foreign
	for _, path := range []string{"plans/a/b.md", "decisions", "notes/x", "notes/x/y.md", "designs/x/y.md", "designs/x",
		"designs/x/z.md"} {
		all = append(all, workspace.Foreign{Path: path, Text: path})
	}
	done, err := w.Owner().ImportAll(t.Context(), all, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range done {
		got = append(got, one.Path+" "+one.Status)
	}
	want := []string{"plans/a/b.md refused", "decisions refused", "notes/x new", "notes/x/y.md refused",
		"designs/x/y.md new", "designs/x refused", "designs/x/z.md new"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// commits is how many commits a memory has.
func (w *world) commits(id perdure.AgentID) (n int) {
	w.t.Helper()
	for e, err := range perdure.Memory(w.t.Context(), w.store, id) {
		if err != nil {
			w.t.Fatal(err)
		}
		if len(e.Signature) > 0 {
			n++
		}
	}
	return n
}
