package perdure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryFieldOfAFoldIsExplained reads the source: each field of Fold, and of the records inside it, says what it
// means. Whoever writes another implementation, or reads a snapshot, has nothing else.
func TestEveryFieldOfAFoldIsExplained(t *testing.T) {
	records, cases := sourceRecords(t)
	seen := map[string]bool{}
	todo := []string{"Fold"}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		todo = append(todo, cases[name]...)
		record := records[name]
		if record == nil {
			continue
		}
		for _, f := range record.Fields.List {
			ast.Inspect(f.Type, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					todo = append(todo, id.Name)
				}
				return true
			})
			if f.Tag == nil || f.Doc.Text() != "" || f.Comment.Text() != "" {
				continue
			}
			t.Errorf("%s.%s has no comment: say what it means, and who sets it", name, f.Names[0].Name)
		}
	}
	for _, want := range []string{"Open", "Spend", "Execute", "Every", "Verdict", "SignalRecord"} {
		if !seen[want] {
			t.Errorf("the test did not look at %s", want)
		}
	}
}

// sourceRecords are the structs of this package, and by the name of a sealed interface those that are in it.
func sourceRecords(t *testing.T) (records map[string]*ast.StructType, cases map[string][]string) {
	records, cases = map[string]*ast.StructType{}, map[string][]string{}
	sealed := map[string]string{"action": "Action", "trigger": "Trigger"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && sealed[d.Name.Name] != "" {
					is := sealed[d.Name.Name]
					cases[is] = append(cases[is], d.Recv.List[0].Type.(*ast.Ident).Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok {
						if st, ok := ts.Type.(*ast.StructType); ok {
							records[ts.Name.Name] = st
						}
					}
				}
			}
		}
	}
	return records, cases
}
