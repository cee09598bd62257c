package view_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// TestAFolderInThePlaceOfAFileIsExplained: such as one that is called search.db.
func TestAFolderInThePlaceOfAFileIsExplained(t *testing.T) {
	_, err := os.OpenFile(t.TempDir(), os.O_RDWR, 0)
	if text, hint := view.Explain(err, "perdure"); !strings.Contains(hint, "folder") {
		t.Errorf("%q has the hint %q", text, hint)
	}
}

func TestJoinedErrorsAreToldOneByOne(t *testing.T) {
	a, b, c := errors.New("a is wrong"), errors.New("b is wrong"), errors.New("c: two\n  lines")
	all := view.Each(errors.Join(a, errors.Join(b, c)))
	if len(all) != 3 || all[0] != a || all[1] != b || all[2] != c {
		t.Fatalf("got %q", all)
	}
	for _, whole := range []error{a, fmt.Errorf("read: %w, %w", a, b), perdure.WithHint(errors.Join(a, b), "do it")} {
		if all := view.Each(whole); len(all) != 1 || all[0] != whole {
			t.Errorf("%v: got %q, want it as one", whole, all)
		}
	}
	if text, hint := view.Explain(perdure.WithHint(errors.Join(a, c), "do it"), "perdure"); text !=
		"a is wrong; c: two; lines" || hint != "do it" {
		t.Errorf("got %q and %q", text, hint)
	}
}
