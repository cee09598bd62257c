package main

import (
	"path/filepath"
	"strings"
)

// keepOut is what agents' files tools and commands are kept out of: the home with its key, trust and policies, the store,
// the secrets, and policies named by a flag. Where the store is a file in a folder that agents work in, which makes that folder
// the home, it is what is the node's in it.
func (p *powers) keepOut(h *home) []string {
	out := append([]string{*p.secrets}, *p.policies...)
	if h.file != "" {
		for _, with := range []string{"", "-wal", "-shm", "-journal", "-blobs", ".lock"} {
			out = append(out, h.file+with)
		}
	}
	if h.dir == "" {
		return out
	}
	if filepath.Base(h.dir) == homeName || !below(*p.files, h.dir) {
		return append(out, h.dir)
	}
	for _, name := range []string{keyFile, trustFile, nodeFile, vaultDir, policyDir, schemaDir, homeName} {
		out = append(out, filepath.Join(h.dir, name))
	}
	return out
}

// below reports whether a path is dir or in it.
func below(path, dir string) bool {
	from, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(from, to)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
