package workspace_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/perdure/perdure/workspace"
)

// Texts that are read together are those that are read one by one: of any store, in any order, and however far
// apart they are.
func TestTextsReadTogetherAreThoseReadAlone(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open(t))
			coder, tester := w.as("coder"), w.as("tester")
			for i := range 12 {
				w.write(coder, workspace.Draft{Path: fmt.Sprintf("agents/coder/n%d.md", i), Text: fmt.Sprint(i)})
				w.write(coder, workspace.Draft{Path: fmt.Sprintf("shared/n%d.md", 12-i), Text: fmt.Sprint(-i)})
				for n := 0; i == 6 && n < 70; n++ {
					w.write(tester, workspace.Draft{Path: fmt.Sprintf("agents/tester/n%d.md", n), Text: "between"})
				}
			}
			listed, err := coder.List(t.Context(), workspace.Listed{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, d := range listed {
				want[d.Path] = w.read(coder, d.Path).Text
			}
			read, err := coder.Texts(t.Context(), listed)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, d := range read {
				got[d.Path] = d.Text
			}
			if !maps.Equal(got, want) || len(read) != len(listed) {
				t.Errorf("read together are %v, want %v", got, want)
			}
			if slices.ContainsFunc(listed, func(d *workspace.Document) bool { return d.Text != "" }) {
				t.Error("what was listed has texts now")
			}
		})
	}
}
