// Command vectors writes the test vectors of the format to spec/vectors. It writes the same files each time, and never
// changes one that is there: a vector is frozen once it is published.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	dir := filepath.Join("spec", "vectors")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := write(dir); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

// write writes every vector that is not there yet.
func write(dir string) error {
	vectors, err := generate()
	if err != nil {
		return err
	}
	for _, v := range vectors {
		path := filepath.Join(dir, v.folder(), v.Name+".json")
		text, err := v.encode()
		if err != nil {
			return err
		}
		old, err := os.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(old, text):
			continue
		case err == nil:
			return fmt.Errorf("%s would change: vectors are frozen; give the new one another name", path)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate makes every vector and holds what the code says of it against what it is for.
func generate() ([]*vector, error) {
	vectors, err := accepted()
	if err != nil {
		return nil, err
	}
	refused, err := rejected()
	if err != nil {
		return nil, err
	}
	vectors = append(vectors, refused...)
	names := map[string]bool{}
	for _, v := range vectors {
		if names[v.Name] {
			return nil, fmt.Errorf("%s: two vectors of one name", v.Name)
		}
		names[v.Name] = true
		want := v.Predicate
		if err := v.run(); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		if v.Predicate != want {
			return nil, fmt.Errorf("%s: got %q (%s), want %q", v.Name, v.Predicate, v.Path, want)
		}
	}
	return vectors, nil
}

func (v *vector) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
