package examples

import (
	"os"
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
		if e.IsDir() && e.Name() != "internal" && !strings.Contains(string(text), "`go run ./examples/"+e.Name()+"`") {
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
