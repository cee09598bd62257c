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

// unexported are the types of a package that only it can name.
func unexported(files []*ast.File) (names []string) {
	for _, file := range files {
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				if t := s.(*ast.TypeSpec); !t.Name.IsExported() && !t.Assign.IsValid() {
					names = append(names, t.Name.Name)
				}
			}
		}
	}
	return names
}

// unnameable finds the exported functions, and exported methods of exported types, that take or return a type which
// their callers cannot name.
func unnameable(file *ast.File, names []string) (found []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !f.Name.IsExported() || f.Recv != nil && !exportedType(f.Recv.List[0].Type) {
			continue
		}
		own := slices.Clone(names) // without its own type parameters
		if f.Type.TypeParams != nil {
			for _, p := range f.Type.TypeParams.List {
				for _, name := range p.Names {
					own = slices.DeleteFunc(own, func(s string) bool { return s == name.Name })
				}
			}
		}
		for _, list := range []*ast.FieldList{f.Type.Params, f.Type.Results} {
			if list == nil {
				continue
			}
			for _, p := range list.List {
				ast.Inspect(p.Type, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.SelectorExpr:
						return false // of another package
					case *ast.Ident:
						if slices.Contains(own, n.Name) {
							found = append(found, f.Name.Name+": "+n.Name)
						}
					}
					return true
				})
			}
		}
	}
	return found
}

// exportedType reports whether the type of a receiver is one that others can name.
func exportedType(e ast.Expr) bool {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

func TestCallersCanNameWhatExportedFunctionsTakeAndReturn(t *testing.T) {
	for _, p := range packages(t) {
		if p.Name == "main" {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		names := unexported(files)
		for i, file := range files {
			for _, one := range unnameable(file, names) {
				t.Errorf("%s/%s: %s is not exported: return a type that callers can name, or do not export the "+
					"function", p.path(), p.GoFiles[i], one)
			}
		}
	}
}

func TestUnnameableTypesAreFound(t *testing.T) {
	const source = `package x
type hidden struct{}
type Shown struct{}
type alias = Shown
func Make() hidden { return hidden{} }
func Take(list ...*hidden) {}
func Each(f func(map[string]hidden)) {}
func (Shown) Method() (hidden, error) { return hidden{}, nil }
func (hidden) Method() hidden { return hidden{} }
func Fine(a alias, o other.hidden) Shown { return Shown{} }
func Own[hidden any](v hidden) hidden { return v }
func quiet(hidden) {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := unnameable(file, unexported([]*ast.File{file}))
	if want := "Make: hidden Take: hidden Each: hidden Method: hidden"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
