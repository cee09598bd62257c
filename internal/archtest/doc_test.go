package archtest

import (
	"fmt"
	"strings"
	"testing"
)

// undocumented says what is wrong with a package's comment, or returns "".
func undocumented(p pkg) string {
	want := "Package " + p.Name + " "
	if p.Name == "main" {
		want = "Command "
	}
	switch {
	case len(p.GoFiles) == 0:
		return fmt.Sprintf("%s has only tests; say in a doc.go what they test", p.ImportPath)
	case !strings.HasPrefix(p.Doc, want):
		return fmt.Sprintf("the comment of %s starts %.40q, want %q; say what the package is for", p.ImportPath, p.Doc,
			want+"…")
	}
	return ""
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		if wrong := undocumented(p); wrong != "" {
			t.Error(wrong)
		}
	}
}

func TestMissingPackageCommentsAreFound(t *testing.T) {
	for _, c := range []struct {
		p    pkg
		want bool
	}{
		{pkg{Name: "canon", Doc: "Package canon turns values into bytes.", GoFiles: []string{"a.go"}}, false},
		{pkg{Name: "main", Doc: "Command perdure runs agents.", GoFiles: []string{"main.go"}}, false},
		{pkg{Name: "canon", Doc: "", GoFiles: []string{"a.go"}}, true},
		{pkg{Name: "canon", Doc: "Package cannon fires.", GoFiles: []string{"a.go"}}, true},
		{pkg{Name: "canon", Doc: "Package canon turns values into bytes."}, true},
	} {
		if got := undocumented(c.p); (got != "") != c.want {
			t.Errorf("%+v: got %q, want a complaint: %v", c.p, got, c.want)
		}
	}
}
