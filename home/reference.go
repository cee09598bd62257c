package home

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/schema"
)

// schemaDir is the folder of a home whose .lode files are the schemas it knows.
const schemaDir = "schemas"

// Schemas are the schemas of a home. Agents name them by their hash, each in the version it had then. Those that agents
// brought along are known by it alone.
func (h *Home) Schemas() (*schema.Registry, error) {
	r := new(schema.Registry)
	if h.Dir == "" {
		return r, nil
	}
	found, err := disk.Files(filepath.Join(h.Dir, schemaDir), ".lode")
	if err != nil {
		return nil, fmt.Errorf("look for schemas: %w", err)
	}
	named, err := h.libraries()
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		text, err := disk.ReadFile(name, maxConfig)
		if err != nil {
			return nil, err
		}
		if schema.IsLibrary(text) {
			continue
		}
		s, err := schema.ParseWith(text, nil, named)
		switch {
		case err != nil:
		case broughtAlong(filepath.Base(name)):
			r.AddByID(s)
		default:
			err = r.Add(s)
		}
		if err != nil {
			return nil, perdure.WithHint(fmt.Errorf("schema %s: %w", name, err),
				"correct it, or take it out of "+filepath.Dir(name))
		}
	}
	return r, nil
}

// libraries are the predicates of the library files among the home's schemas.
func (h *Home) libraries() (schema.Expressions, error) {
	all := schema.Expressions{}
	found, err := filepath.Glob(filepath.Join(h.Dir, schemaDir, "*.lode"))
	if err != nil {
		return nil, fmt.Errorf("look for schemas: %w", err)
	}
	for _, name := range found {
		text, err := disk.ReadFile(name, maxConfig)
		if err == nil && schema.IsLibrary(text) {
			err = all.Add(text)
		}
		if err != nil {
			return nil, fmt.Errorf("library %s: %w", name, err)
		}
	}
	return all, nil
}

// Refer puts into a new agent what its intent file refers to by name: the schema of its state and its own policies,
// each a file beside the intent file or the hash of one the home has. Files are kept in the home, where nodes find them
// by their hash.
func (f *IntentFile) Refer(h *Home, file string, g *perdure.Genesis) error {
	dir := ""
	if file != "" && file != "-" {
		dir = filepath.Dir(file)
	}
	var err error
	if f.StateSchema != "" {
		if g.Intent.StateSchema, err = h.keepSchema(dir, f.StateSchema); err != nil {
			return fmt.Errorf("state_schema: %w", err)
		}
	}
	for _, name := range f.Policies {
		hash, err := h.keepPolicy(dir, name)
		if err != nil {
			return fmt.Errorf("policies: %w", err)
		}
		g.Charter.Policies = append(g.Charter.Policies, hash)
	}
	return nil
}

// beside is the path of a file that another one refers to.
func beside(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// keepSchema is the hash of a schema, whose file is kept in the home.
func (h *Home) keepSchema(dir, name string) (perdure.Hash, error) {
	known, err := h.Schemas()
	if err != nil {
		return perdure.Hash{}, err
	}
	if hash, err := perdure.ParseHash(name); err == nil {
		if _, err := known.Lookup(schema.Hash(hash)); err != nil {
			return hash, perdure.WithHint(perdure.Missing(fmt.Sprintf("this home has no schema %s", name)),
				"name its .lode file instead")
		}
		return hash, nil
	}
	text, err := disk.ReadFile(beside(dir, name), maxConfig)
	if err != nil {
		return perdure.Hash{}, err
	}
	named, err := h.libraries()
	if err != nil {
		return perdure.Hash{}, err
	}
	s, err := schema.ParseWith(text, nil, named)
	if err != nil {
		return perdure.Hash{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(named) > 0 {
		text = s.JSON() // as it is without the libraries
	}
	hash := perdure.Hash(s.ID())
	own := known.Latest(s.Name())
	if err := known.Add(s); err != nil { // another schema of that name says something else
		return hash, err
	}
	if own != nil && own.Version() >= s.Version() {
		return hash, nil // it is part of that one
	}
	base := strings.TrimSuffix(filepath.Base(name), ".lode")
	return hash, h.Keep(filepath.Join(schemaDir, base+"-"+hash.Short()+ownMark+".lode"), text)
}

// keepPolicy is the hash of a policy set, whose files are kept in the home.
func (h *Home) keepPolicy(dir, name string) (perdure.Hash, error) {
	known, err := LoadPolicy(h, nil)
	if err != nil {
		return perdure.Hash{}, err
	}
	if hash, err := perdure.ParseHash(name); err == nil {
		if known.Under(hash) == nil {
			return hash, perdure.WithHint(perdure.Missing(fmt.Sprintf("this home has no policy %s", name)),
				"name its files instead")
		}
		return hash, nil
	}
	path := beside(dir, name)
	set, err := policy.LoadPaths(path)
	if err != nil {
		return perdure.Hash{}, err
	}
	if known.Under(set.Hash()) != nil {
		return set.Hash(), nil
	}
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = disk.Files(path, ".cedar"); err != nil {
			return perdure.Hash{}, err
		}
	}
	for _, file := range files {
		text, err := disk.ReadFile(file, maxConfig)
		if err == nil {
			err = h.Keep(filepath.Join(PolicyDir, knownDir, set.Hash().String()+ownMark, filepath.Base(file)), text)
		}
		if err != nil {
			return perdure.Hash{}, err
		}
	}
	return set.Hash(), nil
}

// Keep writes a file of the home that is not there yet. What is there already must be the same.
func (h *Home) Keep(name string, content []byte) error {
	if h.Dir == "" {
		return errors.New("a store in memory keeps no files; name another store")
	}
	path := filepath.Join(h.Dir, name)
	old, err := disk.ReadFile(path, maxConfig)
	switch {
	case err == nil && bytes.Equal(old, content):
		return nil
	case err == nil:
		return fmt.Errorf("%s already exists with other content", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return h.change(func() error { return disk.WriteNew(path, content, 0o600) })
}
