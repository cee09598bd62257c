package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/demo"
	"github.com/perdure/perdure/internal/disk"
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
	trusted  *[]string
	secrets  *string
	servers  *[]string // that speak MCP
	effects  *[]string // of their tools
	prices   *string
	demo     *string // the folder of perdure demo
	live     *bool

	c       *cobra.Command
	known   tool.SecretMap                // the secrets, read
	say     func(perdure.AgentID, string) // hears what models say
	started []*tool.MCP

	ownServers map[string]tool.MCPConfig // MCP servers of the home's file

	outside []string // what files tools and shell keep out of
}

func powerFlags(c *cobra.Command) *powers {
	return &powers{
		c:        c,
		policies: policyFlag(c),
		advisors: c.Flags().StringArray("advisor", nil, "an advisor, [NAME=]SOURCE: anthropic:MODEL, gemini:MODEL or openai:MODEL, each with [@URL[#KEY]], script:FILE or the URL of one elsewhere; without a NAME for agents that name none; may be repeated"),
		files:    c.Flags().String("files", "", "give agents the tools files.* in this folder"),
		programs: c.Flags().StringSlice("program", nil, "let the tool shell run this program, in the folder of --files; may be repeated"),
		hosts:    c.Flags().StringSlice("host", nil, "let the tools http.* talk to this host; may be repeated"),
		trusted:  c.Flags().StringSlice("trusted", nil, "take what this tool returns at its word, such as files.*: else text from outside taints the agent, and policy can make it ask; may be repeated"),
		secrets:  c.Flags().String("secrets", "", "a file of NAME=value lines that tools find as secret:NAME; only its owner may read it"),
		servers:  c.Flags().StringArray("mcp", nil, "give agents the tools of an MCP server, NAME=COMMAND or NAME=URL; may be repeated"),
		effects:  c.Flags().StringArray("effect", nil, "the class of a tool of an MCP server, NAME.TOOL=read, idempotent or once (default: once, whatever the server says); NAME.* is for all not named, and NAME.*=hints believes what the server says of them; may be repeated"),
		prices:   c.Flags().String("prices", "", `a file of what models cost, in JSON: {"MODEL": {"in": 3, "out": 15, "cached": 0.3}}, US dollars a million tokens; comes before the prices built in`),
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
	if p.known, err = readSecrets(*p.secrets); err != nil {
		return nil, err
	}
	guard, err := h.guardOf(h.c.Context(), p.known, log)
	if err != nil {
		return nil, err
	}
	schemas, err := h.schemas()
	if err != nil {
		return nil, err
	}
	trust, err := h.trust()
	if err != nil {
		return nil, err
	}
	witness, err := h.witness()
	if err != nil {
		return nil, err
	}
	place, err := h.placeOf(h.c.Context(), s)
	if err != nil {
		return nil, err
	}
	n := &perdure.Node{
		Store: s, Key: key, Trust: trust, Witness: witness, Policy: set, PolicyHash: set.Hash(), State: schemas, Guard: guard, Vault: h.vault(),
		Place: place, Log: log, CollectEvery: 10 * time.Minute,
	}
	if *p.files != "" {
		if err := h.apart(*p.files); err != nil {
			return nil, fmt.Errorf("--files: %w", err)
		}
	}
	p.outside = p.keepOut(h)
	if n.Tools, err = p.tools(h.c, s); err != nil {
		return nil, errors.Join(err, p.close())
	}
	n.Tools = append(n.Tools, tool.Cancel(n), tool.Send(n))
	if err := perdure.CheckTools(n.Tools); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if n.Advisors, err = p.thinkers(s, n.Tools, log); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return n, nil
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
		all = append(all, demo.Tools(*p.demo)...)
	}
	if *p.files != "" {
		root, err := os.OpenRoot(*p.files)
		if err != nil {
			return nil, fmt.Errorf("--files: %w", err)
		}
		all = append(all, tool.Files(root, p.outside...)...)
	}
	if len(*p.programs) > 0 {
		if *p.files == "" {
			return nil, misuse(c, errors.New("--program needs a folder to run programs in; name it with --files"))
		}
		all = append(all, tool.Shell{Dir: *p.files, Allow: *p.programs, Exclude: p.outside})
	}
	if len(*p.hosts) > 0 {
		http, err := tool.HTTP{Allow: *p.hosts}.Tools()
		if err != nil {
			return nil, misuse(c, fmt.Errorf("--host: %w", err))
		}
		all = append(all, http...)
	}
	servers, err := p.mcpServers()
	if err != nil {
		return nil, misuse(c, err)
	}
	for _, server := range servers {
		m, err := server.open(p)
		if err != nil {
			return nil, misuse(c, err)
		}
		if m.Effects, m.TrustHints, err = p.effectsOf(m.Name); err != nil {
			return nil, misuse(c, err)
		}
		if slices.ContainsFunc(p.started, func(o *tool.MCP) bool { return strings.EqualFold(o.Name, m.Name) }) {
			return nil, misuse(c, fmt.Errorf("--mcp %s: another server has that name already: its tools could not be told apart", m.Name))
		}
		p.started = append(p.started, m)
		tools, err := m.Tools(c.Context())
		if err != nil {
			return nil, fmt.Errorf("--mcp %s: %w", m.Name, err)
		}
		all = append(all, tools...)
	}
	all, err = tool.Trust(all, *p.trusted...)
	if err != nil {
		return nil, misuse(c, fmt.Errorf("--trusted: %w", err))
	}
	if p.known == nil {
		return all, nil
	}
	return tool.WithSecrets(all, p.known), nil
}

// hintsClass in the place of a class says that the annotations of a server are believed.
const hintsClass = "hints"

// effectsOf are the classes of the tools of a server, by its own names for them, and whether its annotations are
// believed.
func (p *powers) effectsOf(server string) (classes map[string]perdure.Effect, hints bool, err error) {
	classes = map[string]perdure.Effect{}
	for _, text := range *p.effects {
		name, class, ok := strings.Cut(text, "=")
		of, own, dotted := strings.Cut(name, ".")
		if !ok || !dotted {
			return nil, false, fmt.Errorf("--effect %s: want NAME.TOOL=CLASS", text)
		}
		if of != server {
			continue
		}
		if own == "*" && class == hintsClass {
			hints = true
			continue
		}
		e, err := parseName[perdure.Effect]("--effect "+name, class)
		if err != nil {
			return nil, false, err
		}
		classes[own] = e
	}
	return classes, hints, nil
}

// policy is what the flags name, else the policies beside the store, else the built-in one.
func (p *powers) policy(h *home) (*policy.Set, error) {
	paths := *p.policies
	if len(paths) == 0 && h.dir != "" {
		found, err := disk.Files(filepath.Join(h.dir, policyDir), ".cedar")
		if err != nil {
			return nil, fmt.Errorf("look for policies: %w", err)
		}
		paths = found
	}
	known, err := knownPolicies(h)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return policy.Default().Know(known...), nil
	}
	set, err := policy.LoadPaths(paths...)
	if err != nil {
		return nil, &advised{fmt.Errorf("load policies: %w", err), "nothing runs under a policy that does not load; correct it"}
	}
	return set.Know(known...), nil
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
