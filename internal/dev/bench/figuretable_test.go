package bench

import (
	"slices"
	"strings"
	"testing"
)

// Lines of one run may be measured beside different engines: each has a column.
func TestATableHasAColumnForEachThatWasMeasuredBeside(t *testing.T) {
	t.Parallel()
	a, b := Other{Label: "a", Name: "A", PerSecond: 1}, Other{Label: "b", Name: "B", PerSecond: 2}
	run := Run{{Unit: "append"}, {Unit: "append", Others: []Other{a}}, {Unit: "append", Others: []Other{a, b}}}
	got := run.Tables()[0]
	for _, head := range []string{"A/s", "B/s"} {
		if n := len(slices.DeleteFunc(slices.Clone(got.Head), func(h string) bool { return h != head })); n != 1 {
			t.Errorf("%d columns %s in %q, want 1", n, head, got.Head)
		}
	}
	if all := strings.Join(got.Notes, "\n"); !strings.Contains(all, "a: A,") || !strings.Contains(all, "b: B,") {
		t.Errorf("the notes do not name both: %s", all)
	}
}

func TestNodesOfALineAreNotNegative(t *testing.T) {
	t.Parallel()
	w := stepsLoad(new(Host))
	for _, p := range w.Params {
		if p.Name == "nodes" {
			*p.To.(*[]int) = []int{-1}
		}
	}
	if err := w.Check(); err == nil {
		t.Error("--nodes -1 is not refused")
	}
}
