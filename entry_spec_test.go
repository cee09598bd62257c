package perdure

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/canon"
)

var updateSpec = flag.Bool("update-spec", false, "write the parts of spec/ that are made from the code")

// sources are the parsed files of this package.
func sources(t *testing.T) []*ast.File {
	t.Helper()
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), ".go") || strings.HasSuffix(n.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), n.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// comments are what the code says of each field, by the name of the record and the name of the field on the wire.
func comments(files []*ast.File) map[string]string {
	out := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			name := strings.ToLower(spec.Name.Name[:1]) + spec.Name.Name[1:]
			for _, f := range body.Fields.List {
				if f.Tag == nil {
					continue
				}
				tag, err := strconv.Unquote(f.Tag.Value)
				if err != nil {
					continue
				}
				parts := strings.Split(reflect.StructTag(tag).Get("canon"), ",")
				if len(parts) < 2 {
					continue
				}
				text := strings.TrimSpace(f.Comment.Text())
				if text == "" {
					text = strings.TrimSpace(f.Doc.Text())
				}
				out[name+"."+parts[1]] = strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", "\\|")
			}
			return true
		})
	}
	return out
}

// goNames are the records whose name on the wire is not that of their Go type.
var goNames = map[string]string{"entry": "entryRecord", "effect": "effectRecord", "effect-key": "keyRecord"}

// tables writes every definition reachable from the types, each once.
func tables(notes map[string]string, roots ...*canon.Type) string {
	var out strings.Builder
	seen := map[string]bool{}
	var write func(t *canon.Type)
	write = func(t *canon.Type) {
		switch t.Kind {
		case canon.List, canon.Map:
			write(t.Elem)
			return
		case canon.Record, canon.Union:
		default:
			return
		}
		if seen[t.Kind.String()+t.Schema.Name] {
			return
		}
		seen[t.Kind.String()+t.Schema.Name] = true
		fmt.Fprintf(&out, "\n### %s %s\n\n", t.Schema.Name, t.Kind)
		if t.Kind == canon.Union {
			out.WriteString("| id | case | record |\n|---|---|---|\n")
		} else {
			out.WriteString("| id | field | kind | presence | |\n|---|---|---|---|---|\n")
		}
		from := t.Schema.Name
		if n := goNames[from]; n != "" {
			from = n
		}
		for _, f := range t.Schema.Fields {
			if t.Kind == canon.Union {
				fmt.Fprintf(&out, "| %d | %s | %s |\n", f.ID, f.Name, f.Type.Schema.Name)
				continue
			}
			presence := []string{"required", "optional", "omitzero"}[f.Presence]
			fmt.Fprintf(&out, "| %d | %s | %s | %s | %s |\n", f.ID, f.Name, kindText(f.Type), presence,
				notes[from+"."+f.Name])
		}
		for _, f := range t.Schema.Fields {
			write(f.Type)
		}
	}
	for _, t := range roots {
		write(t)
	}
	return out.String()
}

func kindText(t *canon.Type) string {
	switch t.Kind {
	case canon.List, canon.Map:
		return t.Kind.String() + " of " + kindText(t.Elem)
	case canon.Record, canon.Union:
		return t.Kind.String() + " " + t.Schema.Name
	case canon.Enum:
		var names []string
		for _, n := range t.Names {
			names = append(names, fmt.Sprint(n.Number, " ", n.Name))
		}
		return "enum: " + strings.Join(names, ", ")
	case canon.Bytes:
		if t.Len > 0 {
			return fmt.Sprintf("bytes(%d)", t.Len)
		}
	}
	return t.Kind.String()
}

// conflictTexts are the texts of conflicts: they are in the fold, so they are part of the format.
func conflictTexts(files []*ast.File) string {
	var out []string
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == "conflictVoid" {
				out = append(out, "- `"+strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)+"`")
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			lit, isText := call.Args[1].(*ast.BasicLit)
			if ok && isText && sel.Sel.Name == "conflict" {
				out = append(out, "- `"+strings.Trim(lit.Value, `"`)+"`")
			}
			return true
		})
	}
	slices.Sort(out)
	return "\n" + strings.Join(slices.Compact(out), "\n") + "\n\n"
}

// between replaces what stands between two marks.
func between(t *testing.T, text, mark, with string) string {
	t.Helper()
	open, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->"
	i, j := strings.Index(text, open), strings.Index(text, end)
	if i < 0 || j < i {
		t.Fatalf("spec/README.md has no part %s", mark)
	}
	return text[:i+len(open)] + with + text[j:]
}

func TestSpecSaysWhatTheCodeDoes(t *testing.T) {
	files := sources(t)
	old, err := os.ReadFile("spec/README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := between(t, string(old), "records", tables(comments(files), entryCodec.Type(), foldCodec.Type(),
		effectCodec.Type(), keyCodec.Type())+"\n")
	readme = between(t, readme, "conflicts", conflictTexts(files))
	same(t, "spec/README.md", readme)
}

func same(t *testing.T, path, want string) {
	t.Helper()
	if *updateSpec {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the code says (%v): run `go test -run TestSpec . -update-spec`", path, err)
	}
}
