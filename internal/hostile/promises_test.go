package hostile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cases are the tests of this package.
func cases(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, file := range have(filepath.Glob("*_test.go"))(t) {
		parsed := have(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") &&
				f.Name.Name != "TestMain" {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestEveryPromiseHasItsCase(t *testing.T) {
	t.Parallel()
	text := string(have(os.ReadFile(filepath.Join("..", "..", "docs", "security.md")))(t))
	var promised []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			promised = append(promised, regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllString(line, -1)...)
		}
	}
	for i := range promised {
		promised[i] = strings.Trim(promised[i], "`")
	}
	// of other packages: this one's name, a point, and the test
	for _, found := range regexp.MustCompile("`([a-z0-9]+)\\.(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1) {
		dir := filepath.Join("..", "..", found[1])
		if found[1] == "perdure" {
			dir = filepath.Join("..", "..")
		}
		if !slices.ContainsFunc(have(filepath.Glob(filepath.Join(dir, "*_test.go")))(t), func(file string) bool {
			return strings.Contains(string(have(os.ReadFile(file))(t)), "\nfunc "+found[2]+"(t *testing.T)")
		}) {
			t.Errorf("docs/security.md names %s, and there is no such test", found[0])
		}
	}
	all := cases(t)
	for _, name := range promised {
		if !slices.Contains(all, name) {
			t.Errorf("docs/security.md names %s, and there is no such case", name)
		}
	}
	for _, name := range all {
		if !slices.Contains(promised, name) {
			t.Errorf("%s holds a promise that docs/security.md does not make: add it to a table there", name)
		}
	}
}
