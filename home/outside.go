package home

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure/internal/disk"
)

// keepOut is what agents' files tools and commands are kept out of: the home with its key, trust and policies, the
// store, the secrets, policies named by a flag, and the files that this node runs or is advised by: an agent that
// writes the program of an MCP server runs code unasked. Where the store is a file in a folder that agents work in,
// which makes that folder the home, it is what is the node's in it.
func (p *Powers) keepOut(h *Home) []string {
	out := append([]string{p.Secrets, p.Prices}, p.Policies...)
	out = append(out, p.ownFiles()...)
	for _, part := range h.parts() {
		out = append(out, part.path)
	}
	switch {
	case h.Dir == "":
		return out
	case filepath.Base(h.Dir) == HomeName || !disk.Within(p.Files, h.Dir):
		return append(out, h.Dir)
	}
	return append(out, filepath.Join(h.Dir, HomeName))
}

// ownFiles are the files that are run, or advise: programs named by a path, the files in the commands of MCP servers,
// and scripts.
func (p *Powers) ownFiles() []string {
	var out []string
	for _, name := range p.Programs {
		switch {
		case filepath.IsAbs(name):
			out = append(out, name)
		case strings.ContainsAny(name, `/\`):
			out = append(out, filepath.Join(p.Files, name)) // where it is run
		}
	}
	servers, _ := p.mcpServers() // one that cannot be read is not started either
	for _, server := range servers {
		for _, word := range server.Command {
			if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
				out = append(out, word)
			}
		}
	}
	for _, a := range p.Advisors {
		if _, file, ok := strings.Cut(a, "script:"); ok {
			out = append(out, file)
		}
	}
	return out
}
