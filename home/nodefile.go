package home

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/tool"
)

// NodeFileName is the file of a home that says what its nodes can do, so that it need not be said on every command
// line.
const NodeFileName = "node.yaml"

// NodeFile is that file. Paths in it are relative to its folder.
type NodeFile struct {
	Advisor  string                    `yaml:"advisor"`  // the source of agents that name none
	Advisors map[string]string         `yaml:"advisors"` // sources by name
	Files    string                    `yaml:"files"`
	Programs []string                  `yaml:"programs"`
	Hosts    []string                  `yaml:"hosts"`
	Trusted  []string                  `yaml:"trusted"` // tools whose results are taken at their word
	Secrets  string                    `yaml:"secrets"`
	Prices   string                    `yaml:"prices"`
	MCP      map[string]tool.MCPConfig `yaml:"mcp"`     // by name
	Effects  map[string]string         `yaml:"effects"` // classes by the names of tools of MCP servers
	Demo     string                    `yaml:"demo"`
	Hooks    []HookConfig              `yaml:"hooks"`  // who may post to agents
	Notify   []NotifyConfig            `yaml:"notify"` // who is told what happens to them

	Embeddings string `yaml:"embeddings"` // MODEL@URL[#KEY]: search by meaning, too

	Peers  []PeerConfig `yaml:"peers"`  // other places that agents are passed to and from
	Scopes []string     `yaml:"scopes"` // of the agents that this node works on, and below; none: any
	Copies string       `yaml:"copies"` // whether agents whose seat is elsewhere are worked on: rest or work

	Serve     ServeConfig     `yaml:"serve"`     // how it is served
	Telemetry TelemetryConfig `yaml:"telemetry"` // where traces and metrics go

	places map[string]string // where keys stand, as FILE:LINE: advisor, mcp.NAME, effects.TOOL
}

// readNodeFile reads the file of a home; no file says nothing.
func readNodeFile(h *Home) (NodeFile, error) {
	var n NodeFile
	if h.Dir == "" {
		return n, nil
	}
	path := filepath.Join(h.Dir, NodeFileName)
	text, err := disk.ReadFile(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	if err := n.decode(path, text); err != nil {
		return n, err
	}
	at := func(name *string) {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(h.Dir, *name)
		}
	}
	for _, name := range []*string{&n.Files, &n.Secrets, &n.Prices, &n.Demo, &n.Serve.TLS.Cert, &n.Serve.TLS.Key} {
		at(name)
	}
	if n.Advisor != "" {
		if n.Advisors[""] != "" {
			return n, fmt.Errorf(`%s: advisor and advisors[""] are the same one; keep advisor`, n.places["advisors"])
		}
		if n.Advisors == nil {
			n.Advisors = map[string]string{}
		}
		n.Advisors[""] = n.Advisor
	}
	for name, source := range n.Advisors {
		if file, ok := strings.CutPrefix(source, "script:"); ok {
			at(&file)
			n.Advisors[name] = "script:" + file
		}
	}
	for name, server := range n.MCP {
		if len(server.Command) > 0 {
			server.Command[0] = programIn(h.Dir, server.Command[0])
		}
		if at(&server.Dir); server.Dir == "" && len(server.Command) > 0 {
			server.Dir = h.ground()
		}
		n.MCP[name] = server
	}
	for i := range n.Hooks {
		at(&n.Hooks[i].Key)
	}
	for i := range n.Peers {
		at(&n.Peers[i].Dir)
	}
	n.Advisor = n.Advisors[""]
	return n, nil
}

// ground is where programs run that a home names: the folder that holds the home, whatever folder somebody happens to
// be in; where a home is a folder with other things in it, that folder.
func (h *Home) ground() string {
	dir, err := filepath.Abs(h.Dir)
	switch {
	case err != nil:
		return h.Dir
	case h.Loose:
		return dir
	}
	return filepath.Dir(dir)
}

// programIn is a program that, if it is a path, is taken from the home: else a node would start what lies by that name
// in whatever folder somebody happens to be in, which may be a stranger's.
func programIn(dir, program string) string {
	if !strings.ContainsAny(program, `/\`) || filepath.IsAbs(program) {
		return program
	}
	at := filepath.Join(dir, program)
	if !filepath.IsAbs(at) { // a name alone would be looked for elsewhere
		at = "." + string(filepath.Separator) + at
	}
	return at
}

// Fill takes from the home's file what was not said.
func (p *Powers) Fill(h *Home) error {
	n, err := readNodeFile(h)
	if err != nil {
		return err
	}
	if err := h.Consent(); err != nil {
		return err
	}
	p.written = map[string]string{}
	for _, x := range []struct {
		key  string
		to   *string
		from string
	}{{"files", &p.Files, n.Files}, {"secrets", &p.Secrets, n.Secrets}, {"prices", &p.Prices, n.Prices},
		{"demo", &p.Demo, n.Demo}} {
		if *x.to == "" {
			*x.to, p.written[x.key] = x.from, n.places[x.key]
		}
	}
	for _, x := range []struct {
		key  string
		to   *[]string
		from []string
	}{{"programs", &p.Programs, n.Programs}, {"hosts", &p.Hosts, n.Hosts}, {"trusted", &p.Trusted, n.Trusted},
		{"scopes", &p.Scopes, n.Scopes}} {
		if len(*x.to) == 0 {
			*x.to, p.written[x.key] = x.from, n.places[x.key]
		}
	}
	given := map[string]bool{}
	for _, text := range p.Advisors {
		name, _ := splitAdvisor(text)
		given[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(n.Advisors)) {
		if !given[name] {
			p.Advisors = append(p.Advisors, name+"="+n.Advisors[name])
			p.written[advisorKey(name)] = n.places[advisorKey(name)]
		}
	}
	p.ownServers = n.MCP
	for name := range n.MCP {
		if !slices.ContainsFunc(p.Servers, func(text string) bool { return strings.HasPrefix(text, name+"=") }) {
			p.written["mcp."+name] = n.places["mcp."+name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Effects)) {
		if !slices.ContainsFunc(p.Effects, func(text string) bool { return strings.HasPrefix(text, name+"=") }) {
			p.Effects = append(p.Effects, name+"="+n.Effects[name])
			p.written["effects."+name] = n.places["effects."+name]
		}
	}
	return nil
}
