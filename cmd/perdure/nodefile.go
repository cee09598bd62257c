package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// nodeFile is the file of a home that says what its nodes can do, so that it need not be said on every command line.
const nodeFile = "node.yaml"

// nodeConfig is that file. Paths in it are relative to its folder.
type nodeConfig struct {
	Advisors map[string]string `yaml:"advisors"` // sources by name
	Files    string            `yaml:"files"`
	Programs []string          `yaml:"programs"`
	Hosts    []string          `yaml:"hosts"`
	Secrets  string            `yaml:"secrets"`
	Prices   string            `yaml:"prices"`
	MCP      map[string]string `yaml:"mcp"` // commands or URLs by name
	Demo     string            `yaml:"demo"`
}

// fill takes from the home's file what was not said on the command line.
func (p *powers) fill(h *home) error {
	if h.dir == "" {
		return nil
	}
	path := filepath.Join(h.dir, nodeFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var n nodeConfig
	dec := yaml.NewDecoder(f)
	dec.KnownFields(true)
	if err := dec.Decode(&n); err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	given := h.c.Flags().Changed
	at := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(h.dir, name)
	}
	for flag, from := range map[string]struct {
		to    *string
		value string
	}{"files": {p.files, n.Files}, "secrets": {p.secrets, n.Secrets}, "prices": {p.prices, n.Prices}, "demo": {p.demo, n.Demo}} {
		if !given(flag) {
			*from.to = at(from.value)
		}
	}
	if !given("program") {
		*p.programs = n.Programs
	}
	if !given("host") {
		*p.hosts = n.Hosts
	}
	for name, source := range n.Advisors {
		if file, ok := strings.CutPrefix(source, "script:"); ok {
			n.Advisors[name] = "script:" + at(file)
		}
	}
	addNamed(p.advisors, n.Advisors)
	addNamed(p.servers, n.MCP)
	return f.Close()
}

// addNamed adds NAME=VALUE for what is not there by that name yet.
func addNamed(to *[]string, more map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(more)) {
		named := func(text string) bool { return strings.HasPrefix(text, name+"=") }
		if !slices.ContainsFunc(*to, named) {
			*to = append(*to, name+"="+more[name])
		}
	}
}
