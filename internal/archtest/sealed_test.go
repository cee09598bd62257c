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

// seals are the methods by which a type of the root package is a body, an action, a trigger or a notice. All of them
// are values: a pointer has the method as well, so `case *perdure.Advice` compiles, and is never met.
var seals = []string{"kind", "action", "trigger", "notice"}

// sealed are the types of the root package with such a method, as a file declares them.
func sealed(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !slices.Contains(seals, f.Name.Name) || f.Type.Params.NumFields() > 0 {
			continue
		}
		if id, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
	}
	return names
}

// pointerCases finds the type switches and assertions of a file that ask for a pointer to one of these types.
func pointerCases(file *ast.File, names []string) (found []string) {
	look := func(e ast.Expr) {
		star, ok := e.(*ast.StarExpr)
		if !ok {
			return
		}
		id, ok := star.X.(*ast.Ident)
		if s, selects := star.X.(*ast.SelectorExpr); selects {
			pkg, isPkg := s.X.(*ast.Ident)
			id, ok = s.Sel, isPkg && pkg.Name == "perdure"
		} else if file.Name.Name != "perdure" {
			ok = false
		}
		if ok && slices.Contains(names, id.Name) {
			found = append(found, id.Name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			look(n.Type)
		case *ast.TypeSwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					look(e)
				}
			}
		}
		return true
	})
	return found
}

func TestNobodyAsksForAPointerToABody(t *testing.T) {
	files := map[string]*ast.File{}
	var names []string
	for _, p := range packages(t) {
		paths, err := filepath.Glob(filepath.Join("..", "..", p.path(), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if files[path] = file; file.Name.Name == "perdure" {
				names = append(names, sealed(file)...)
			}
		}
	}
	for _, want := range []string{"Advice", "Execute", "Every", "Pause"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not found to be sealed: got %s", want, strings.Join(names, " "))
		}
	}
	for path, file := range files {
		for _, name := range pointerCases(file, names) {
			t.Errorf("%s asks for a *%s: bodies, actions, triggers and notices are values, ask for a %s", path, name,
				name)
		}
	}
}

func TestPointerCasesAreFound(t *testing.T) {
	const source = `package x
func f(b perdure.Body) {
	switch b.(type) {
	case perdure.Event, *perdure.Advice:
	}
	_, _ = b.(*perdure.Outcome)
	_, _ = b.(perdure.Outcome)
	_, _ = b.(*other.Advice)
}`
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := pointerCases(file, []string{"Advice", "Event", "Outcome"}); !slices.Equal(got,
		[]string{"Advice", "Outcome"}) {
		t.Errorf("got %v", got)
	}
}
