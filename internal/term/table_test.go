package term

import (
	"testing"
)

func TestANarrowTerminalIsNotShownWhatATableCanDoWithout(t *testing.T) {
	t.Parallel()
	table := Table{Head: []string{"NAME", "ID", "ENTRIES", "SCOPE"}, Whole: "ID", Drop: []string{"ENTRIES", "SCOPE"}}
	table.Add("a-name-that-is-long", "0123456789ab", "1", "home")
	width := []int{19, 12, 7, 5}
	if less := table.narrowed(width, 80); less != nil {
		t.Fatalf("80 columns have room for all, and %v are left", less.Head)
	}
	less := table.narrowed(width, 31)
	if less == nil || len(less.Head) != 3 || less.Head[2] != "SCOPE" || less.Rows[0][2] != "home" {
		t.Fatalf("31 columns: %+v, want it without ENTRIES", less)
	}
	left := []int{19, 12, 5}
	if fit(left, 1, 31); left[0] != 10 || left[1] != 12 {
		t.Errorf("31 columns: widths %v, want the id whole", left)
	}
}
