package perdure_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/schema"
)

const predicatesHead = `# Predicates

Every rule by which bytes can be refused. The names are stable: programs may compare with them. A phase says
what kind of rule it is; in which order rules are checked is in [README.md](README.md) §4 and [capsule.md](capsule.md) §3. Each has a vector in [vectors/reject](vectors/reject), but for schema.chain-cycle, which takes a
collision of SHA-256. This page is made from the code, by ` + "`go test -run TestSpec . -update-spec`" + `.
`

func TestSpecListsEveryPredicate(t *testing.T) {
	var b strings.Builder
	b.WriteString(predicatesHead)
	for _, part := range []struct {
		title string
		list  []canon.Predicate
	}{
		{"Values, entries and memories", perdure.Predicates()},
		{"Capsules", capsule.Predicates},
		{"Schemas and their files", schema.Predicates},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| predicate | phase | holds when |\n|---|---|---|\n", part.title)
		for _, p := range part.list {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Name, p.Phase, p.Meaning)
		}
	}
	const path = "spec/predicates.md"
	if flag.Lookup("update-spec").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the code says (%v): run `go test -run TestSpec . -update-spec`", path, err)
	}
}
