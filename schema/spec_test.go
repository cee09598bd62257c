package schema

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestVectorsAreJudgedAsPublished reads the schemas and files that spec/vectors has for this package. How the others
// come about is for internal/dev/vectors.
func TestVectorsAreJudgedAsPublished(t *testing.T) {
	done := 0
	refused := map[string]bool{predLoop.Name: true} // it takes a collision of SHA-256
	for _, folder := range []string{"accept", "reject"} {
		paths, err := filepath.Glob("../spec/vectors/" + folder + "/*.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var v struct{ As, Form, Hex, Text, Schema, Fingerprint, Predicate string }
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
			refused[v.Predicate] = true
			in, err := hex.DecodeString(v.Hex)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case v.As == "schema" && v.Schema == "" && v.Form == "text":
				_, err = Parse([]byte(v.Text), nil)
			case v.As == "schema" && v.Schema == "":
				_, err = FromCanonical(in, nil)
			case v.As == "vein" && v.Schema == "" && v.Fingerprint == "":
				_, err = Open(in, nil)
			default:
				continue
			}
			if done++; v.Predicate != "" {
				t.Run(filepath.Base(path), func(t *testing.T) { refusedBy(t, err, v.Predicate, "") })
			} else if err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if done < 10 {
		t.Errorf("%d vectors were judged: there are more", done)
	}
	for _, p := range Predicates {
		if !refused[p.Name] {
			t.Errorf("%s refuses none of the vectors: add one to internal/dev/vectors/schema.go", p.Name)
		}
	}
}
