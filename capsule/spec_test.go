package capsule

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

var updateSpec = flag.Bool("update-spec", false, "write the parts of spec/ that are made from the code")

// tableOf is the fields of a record and of those in it.
func tableOf(out *strings.Builder, seen map[string]bool, t *canon.Type) {
	for t.Kind == canon.List {
		t = t.Elem
	}
	if t.Kind != canon.Record || seen[t.Schema.Name] {
		return
	}
	seen[t.Schema.Name] = true
	fmt.Fprintf(out, "\n### %s\n\n| id | field | kind | presence |\n|---|---|---|---|\n", t.Schema.Name)
	for _, f := range t.Schema.Fields {
		fmt.Fprintf(out, "| %d | %s | %s | %s |\n", f.ID, f.Name, kindOf(f.Type),
			[]string{"required", "optional", "omitzero"}[f.Presence])
	}
	for _, f := range t.Schema.Fields {
		tableOf(out, seen, f.Type)
	}
}

func kindOf(t *canon.Type) string {
	switch t.Kind {
	case canon.List:
		return "list of " + kindOf(t.Elem)
	case canon.Record:
		return "record " + t.Schema.Name
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

func TestSpecSaysWhatFramesHold(t *testing.T) {
	var out strings.Builder
	seen := map[string]bool{}
	for i := range named {
		tableOf(&out, seen, named[i].typ())
	}
	for _, typ := range []*canon.Type{signatureHeadCodec.Type(), signatureCodec.Type(), attestationCodec.Type()} {
		tableOf(&out, seen, typ)
	}
	const path, open, end = "../spec/capsule.md", "<!-- records -->\n", "<!-- /records -->"
	old := string(must(os.ReadFile(path)))
	i, j := strings.Index(old, open), strings.Index(old, end)
	if i < 0 || j < i {
		t.Fatalf("%s has no place for records", path)
	}
	want := old[:i+len(open)] + out.String() + "\n" + old[j:]
	if *updateSpec {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != want {
		t.Errorf("%s is not what the code says: run `go test ./capsule -run TestSpec -update-spec`", path)
	}
}

// TestVectorsAreJudgedAsPublished reads the files that spec/vectors has for this package. How the others come about is
// for internal/dev/vectors.
func TestVectorsAreJudgedAsPublished(t *testing.T) {
	refused := map[string]bool{}
	for _, path := range must(filepath.Glob("../spec/vectors/*/capsule-*.json")) {
		var v struct {
			As, Form, Hex, Text, Signatures, Here, Predicate, Path string
			Offset                                                 int64
			Shallow                                                bool
			Limits                                                 struct{ Bytes int64 }
		}
		if err := json.Unmarshal(must(os.ReadFile(path)), &v); err != nil {
			t.Fatal(err)
		}
		if refused[v.Predicate] = true; v.As != "capsule" || v.Here != "" {
			continue
		}
		in := must(hex.DecodeString(v.Hex))
		if v.Form == "text" {
			in = []byte(v.Text)
		}
		o := ReadOptions{MaxBytes: v.Limits.Bytes, Shallow: v.Shallow}
		if v.Signatures != "" {
			o.Signatures = bytes.NewReader(must(hex.DecodeString(v.Signatures)))
		}
		_, _, err := read(in, o)
		var r *perdure.Rejection
		if errors.As(err, &r); v.Predicate == "" && err != nil || v.Predicate != "" &&
			(r == nil || r.Predicate != v.Predicate || r.Path != v.Path || r.Offset != v.Offset) {
			t.Errorf("%s: got %v, want %s at %s (byte %d)", path, err, v.Predicate, v.Path, v.Offset)
		}
	}
	for _, p := range Predicates {
		if !refused[p.Name] && !slices.Contains(chunk.Predicates, p) { // chunks have vectors of their own
			t.Errorf("%s refuses none of the vectors: add one to internal/dev/vectors/capsule.go", p.Name)
		}
	}
}
