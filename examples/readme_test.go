package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryExampleIsInTheReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.Contains(string(text), "`go run ./examples/"+e.Name()+"`") {
			t.Errorf("README.md does not say how to run %s", e.Name())
		}
	}
	for word := range strings.FieldsSeq(string(text)) {
		name, ok := strings.CutPrefix(strings.Trim(word, "`"), "./examples/")
		if !ok {
			continue
		}
		if _, err := os.Stat(name + "/main.go"); err != nil {
			t.Errorf("README.md names %s: %v", name, err)
		}
	}
}

func TestEveryExampleCanBeCopied(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			ours := strings.Contains(line, `"github.com/perdure/perdure`)
			if ours && (strings.Contains(line, "/internal/") || strings.Contains(line, "/examples/")) {
				t.Errorf("%s imports %s, which another module cannot", file, strings.TrimSpace(line))
			}
		}
	}
}
