package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// printing are the packages that may write where people read: the program, the examples, what is for development, and
// the store contract, whose child processes speak through their output.
var printing = []string{"cmd", "examples", "internal/dev", "storetest"}

// prints finds where a file writes to the output of the process: fmt.Print and the like, os.Stdout and os.Stderr, print
// and println.
func prints(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if ok && (pkg.Name == "fmt" && strings.HasPrefix(n.Sel.Name, "Print") ||
				pkg.Name == "os" && slices.Contains([]string{"Stdout", "Stderr"}, n.Sel.Name)) {
				found = append(found, pkg.Name+"."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
				found = append(found, name.Name)
			}
		}
		return true
	})
	return found
}

func TestOnlyTheProgramPrints(t *testing.T) {
	for _, p := range packages(t) {
		if under(p.path(), printing...) {
			continue
		}
		names, err := filepath.Glob(filepath.Join("..", "..", p.path(), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, what := range prints(file) {
				t.Errorf("%s uses %s: return values, and print in cmd", name, what)
			}
		}
	}
}

func TestPrintingIsFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
func f() { fmt.Printf("a"); fmt.Fprintln(os.Stderr); println(1); fmt.Sprint(2); w.Print(3) }`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(prints(file), " "); got != "fmt.Printf os.Stderr println" {
		t.Errorf("found %q", got)
	}
}
