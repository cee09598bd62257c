package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/schema"
)

var published = filepath.Join("..", "..", "..", "spec", "vectors")

// read is every published vector.
func read(t *testing.T) map[string]*vector {
	t.Helper()
	vectors := map[string]*vector{}
	for _, folder := range []string{"accept", "reject"} {
		paths, err := filepath.Glob(filepath.Join(published, folder, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var v vector
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&v); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if v.folder() != folder || filepath.Base(path) != v.Name+".json" {
				t.Errorf("%s holds %s, to %s", path, v.Name, v.folder())
			}
			vectors[v.Name] = &v
		}
	}
	if len(vectors) == 0 {
		t.Fatal("there are no vectors")
	}
	return vectors
}

func TestCodeSaysWhatTheVectorsSay(t *testing.T) {
	for name, want := range read(t) {
		got := *want
		if err := got.run(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Errorf("%s (%s): want -, got +:\n%s", name, want.Why, diff)
		}
	}
}

func TestEveryPredicateRefusesAVector(t *testing.T) {
	refused := map[string]bool{}
	for _, v := range read(t) {
		refused[v.Predicate] = true
	}
	if p := "schema.chain-cycle"; refused[p] { // it takes a collision of SHA-256
		t.Errorf("%s refuses a vector; take it off the exceptions", p)
	}
	refused["schema.chain-cycle"] = true
	for _, p := range slices.Concat(perdure.Predicates(), capsule.Predicates, schema.Predicates) {
		if !refused[p.Name] {
			t.Errorf("%s (%s) refuses none of the vectors: add one to reject.go", p.Name, p.Meaning)
		}
	}
}

func TestGeneratorWritesWhatIsPublished(t *testing.T) {
	vectors, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		text, err := v.encode()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(published, v.folder(), v.Name+".json")
		if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, text) {
			t.Errorf("%s is not what the generator makes (%v): vectors are frozen; run `go run "+
				"./internal/dev/vectors` for new ones", path, err)
		}
	}
}

func TestPublishedVectorsAreNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err != nil {
		t.Fatalf("a second time: %v", err)
	}
	path := filepath.Join(dir, "accept", "value-zero.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err == nil {
		t.Error("a vector that differs was overwritten")
	}
}
