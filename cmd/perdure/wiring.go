package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/tool"
)

// policyDir is the folder of a home whose .cedar files are its policy.
const policyDir = "policies"

// powers are the flags that say what a node can do: who advises, what is permitted, which tools there are. It is the one place where
// they are put together.
type powers struct {
	policies *[]string
	advisors *[]string
	files    *string
	programs *[]string
	hosts    *[]string
	secrets  *string
	servers  *[]string // that speak MCP
	demo     *string   // the folder of perdure demo

	started []*tool.MCP
}

func powerFlags(c *cobra.Command) *powers {
	return &powers{
		policies: policyFlag(c),
		advisors: c.Flags().StringArray("advisor", nil, "an advisor, [NAME=]SOURCE: anthropic:MODEL, gemini:MODEL, openai:MODEL[@URL], script:FILE or the URL of one elsewhere; without a NAME for agents that name none; may be repeated"),
		files:    c.Flags().String("files", "", "give agents the tools files.* in this folder"),
		programs: c.Flags().StringSlice("program", nil, "let the tool shell run this program, in the folder of --files; may be repeated"),
		hosts:    c.Flags().StringSlice("host", nil, "let the tools http.* talk to this host; may be repeated"),
		secrets:  c.Flags().String("secrets", "", "a file of NAME=value lines that tools find as secret:NAME; only its owner may read it"),
		servers:  c.Flags().StringArray("mcp", nil, "give agents the tools of an MCP server, NAME=COMMAND or NAME=URL; may be repeated"),
		demo:     c.Flags().String("demo", "", "give agents the shop of perdure demo, in this folder"),
	}
}

func policyFlag(c *cobra.Command) *[]string {
	return c.Flags().StringSlice("policy", nil, "a policy file, or a folder of .cedar files; may be repeated (default: "+policyDir+"/ beside the store, else the built-in policy)")
}

// node is a node over a store with these powers.
func (p *powers) node(h *home, s perdure.Store, log *slog.Logger) (*perdure.Node, error) {
	if err := p.fill(h); err != nil {
		return nil, err
	}
	key, err := h.signer()
	if err != nil {
		return nil, err
	}
	set, err := p.policy(h)
	if err != nil {
		return nil, err
	}
	n := &perdure.Node{Store: s, Key: key, Policy: set, PolicyHash: set.Hash(), Advisors: map[string]perdure.Advisor{}, Vault: h.vault(), Log: log}
	if n.Tools, err = p.tools(h.c, s); err != nil {
		return nil, errors.Join(err, p.close())
	}
	for _, text := range *p.advisors {
		name, a, err := advisorOf(text, s, n.Tools)
		if err == nil && n.Advisors[name] != nil {
			err = fmt.Errorf("--advisor: %q is there twice", name)
		}
		if err != nil {
			return nil, errors.Join(misuse(h.c, err), p.close())
		}
		n.Advisors[name] = a
	}
	return n, nil
}

// advisorOf reads [NAME=]SOURCE. Language models are offered the tools.
func advisorOf(text string, s perdure.Store, tools []perdure.Tool) (name string, a perdure.Advisor, err error) {
	name, source, named := strings.Cut(text, "=")
	if !named || strings.Contains(name, ":") { // the = is in the source
		name, source = "", text
	}
	scheme, rest, _ := strings.Cut(source, ":")
	switch scheme {
	case "script":
		f, err := os.Open(rest)
		if err != nil {
			return "", nil, fmt.Errorf("--advisor %s: %w", text, err)
		}
		script, err := advisor.LoadScript(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", nil, fmt.Errorf("--advisor %s: %w", text, err)
		}
		script.Store = s
		return name, script, nil
	case "http", "https":
		if u, err := url.Parse(source); err != nil || u.Host == "" {
			return "", nil, fmt.Errorf("--advisor %s: want the URL of an advisor", text)
		}
		return name, &advisor.HTTP{URL: source, Store: s}, nil
	}
	if m := modelOf(scheme, rest); m != nil {
		return name, &advisor.LLM{Model: m, Store: s, Tools: advisor.Specs(tools...)}, nil
	}
	return "", nil, fmt.Errorf("--advisor %s: want [NAME=]SOURCE, where SOURCE is script:FILE, a URL, anthropic:MODEL, gemini:MODEL or openai:MODEL[@URL]", text)
}

// modelOf is the language model of a provider, or nil if there is none. Keys are read from the environment when they are needed.
func modelOf(provider, model string) advisor.Model {
	model, base, _ := strings.Cut(model, "@")
	switch {
	case model == "" || base != "" && provider != "openai":
		return nil
	case provider == "anthropic":
		return advisor.Anthropic{Model: model}
	case provider == "gemini":
		return advisor.Gemini{Model: model}
	case provider == "openai":
		return advisor.OpenAI{Model: model, BaseURL: base}
	}
	return nil
}

// close ends what was started for the node.
func (p *powers) close() error {
	var errs []error
	for _, m := range p.started {
		errs = append(errs, m.Close())
	}
	p.started = nil
	return errors.Join(errs...)
}

// tools are what the flags let agents do, and what concerns the agent alone. Nothing is reachable outside that was not named.
func (p *powers) tools(c *cobra.Command, s perdure.Store) ([]perdure.Tool, error) {
	all := tool.Builtins(s)
	if *p.demo != "" {
		all = append(all, demoTools(*p.demo)...)
	}
	if *p.files != "" {
		root, err := os.OpenRoot(*p.files)
		if err != nil {
			return nil, fmt.Errorf("--files: %w", err)
		}
		all = append(all, tool.Files(root)...)
	}
	if len(*p.programs) > 0 {
		if *p.files == "" {
			return nil, misuse(c, errors.New("--program needs a folder to run programs in; name it with --files"))
		}
		all = append(all, tool.Shell{Dir: *p.files, Allow: *p.programs})
	}
	if len(*p.hosts) > 0 {
		http, err := tool.HTTP{Allow: *p.hosts}.Tools()
		if err != nil {
			return nil, misuse(c, fmt.Errorf("--host: %w", err))
		}
		all = append(all, http...)
	}
	for _, text := range *p.servers {
		m, err := serverOf(text)
		if err != nil {
			return nil, misuse(c, err)
		}
		p.started = append(p.started, m)
		tools, err := m.Tools(c.Context())
		if err != nil {
			return nil, fmt.Errorf("--mcp %s: %w", m.Name, err)
		}
		all = append(all, tools...)
	}
	if *p.secrets == "" {
		return all, nil
	}
	secrets, err := readSecrets(*p.secrets)
	if err != nil {
		return nil, err
	}
	return tool.WithSecrets(all, secrets), nil
}

// serverOf reads NAME=COMMAND or NAME=URL. The words of a command are parted by spaces.
func serverOf(text string) (*tool.MCP, error) {
	name, at, ok := strings.Cut(text, "=")
	if !ok || name == "" || strings.TrimSpace(at) == "" {
		return nil, fmt.Errorf("--mcp %s: want NAME=COMMAND or NAME=URL", text)
	}
	if strings.HasPrefix(at, "http://") || strings.HasPrefix(at, "https://") {
		return &tool.MCP{Name: name, URL: at}, nil
	}
	return &tool.MCP{Name: name, Command: strings.Fields(at)}, nil
}

// readSecrets reads NAME=value lines from a file that only its owner may read.
func readSecrets(path string) (tool.SecretMap, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, &advised{fmt.Errorf("others can read the secrets in %s", path), "chmod 600 " + path}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	secrets := tool.SecretMap{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		if line = strings.TrimRight(line, "\r\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("secrets %s, line %d: want NAME=value", path, n) // never the line itself
		}
		secrets[name] = value
	}
	return secrets, nil
}

// policy is what the flags name, else the policies beside the store, else the built-in one.
func (p *powers) policy(h *home) (*policy.Set, error) {
	paths := *p.policies
	if len(paths) == 0 && h.dir != "" {
		found, err := filepath.Glob(filepath.Join(h.dir, policyDir, "*.cedar"))
		if err != nil {
			return nil, fmt.Errorf("look for policies: %w", err)
		}
		paths = found
	}
	if len(paths) == 0 {
		return policy.Default(), nil
	}
	set, err := policy.LoadPaths(paths...)
	if err != nil {
		return nil, &advised{fmt.Errorf("load policies: %w", err), "nothing runs under a policy that does not load; correct it"}
	}
	return set, nil
}

// describe says what a node can do.
func describe(n *perdure.Node) (advisors, tools string) {
	var a, t []string
	for name := range n.Advisors {
		a = append(a, name)
	}
	for _, tool := range n.Tools {
		t = append(t, tool.Spec().Name)
	}
	slices.Sort(a)
	slices.Sort(t)
	or := func(words []string) string {
		if len(words) == 0 {
			return "none"
		}
		return strings.Join(words, " ")
	}
	return or(a), or(t)
}
