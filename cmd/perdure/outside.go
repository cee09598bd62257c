package main

import (
	"os"
	"path/filepath"
	"strings"
)

// keepOut is what agents' files tools and commands are kept out of: the home with its key, trust and policies, the store,
// the secrets, policies named by a flag, and the files that this node runs or is advised by: an agent that writes the program of an
// MCP server runs code unasked. Where the store is a file in a folder that agents work in, which makes that folder
// the home, it is what is the node's in it.
func (p *powers) keepOut(h *home) []string {
	out := append([]string{*p.secrets, *p.prices}, *p.policies...)
	out = append(out, p.ownFiles()...)
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

// ownFiles are the files that are run, or advise: programs named by a path, the files in the commands of MCP servers, and scripts.
func (p *powers) ownFiles() []string {
	var out []string
	for _, name := range *p.programs {
		switch {
		case filepath.IsAbs(name):
			out = append(out, name)
		case strings.ContainsAny(name, `/\`):
			out = append(out, filepath.Join(*p.files, name)) // where it is run
		}
	}
	for _, server := range *p.servers {
		_, command, _ := strings.Cut(server, "=")
		for _, word := range strings.Fields(command) {
			if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
				out = append(out, word)
			}
		}
	}
	for _, a := range *p.advisors {
		if _, file, ok := strings.Cut(a, "script:"); ok {
			out = append(out, file)
		}
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
