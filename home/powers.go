package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// PolicyDir is the folder of a home whose .cedar files are its policy.
const PolicyDir = "policies"

// Powers say what a node can do: who advises, what is permitted, which tools there are. It is the one place where they
// are put together.
type Powers struct {
	Policies []string // .cedar files, or folders of them; none: those of the home, else the built-in policy
	Advisors []string // [NAME=]SOURCE
	Files    string   // the folder of the tools files.*, and of shell
	Programs []string // that shell may run
	Hosts    []string // that the tools http.* may talk to
	Trusted  []string // tools whose results are taken at their word
	Secrets  string   // a file of NAME=value lines
	Servers  []string // that speak MCP, NAME=COMMAND or NAME=URL
	Effects  []string // of their tools, NAME.TOOL=CLASS
	Prices   string   // a file of what models cost
	Scopes   []string // of the agents that are worked on, and below; none: any
	Demo     string   // the folder of the shop that perdure demo has

	ownServers map[string]tool.MCPConfig // MCP servers of the home's file
	written    map[string]string         // where in the home's file what counts stands, by its key

	// Shop makes the tools of Demo.
	Shop func(dir string) []perdure.Tool
	// Say hears what models say, as they say it.
	Say func(perdure.AgentID, string)

	Known   tool.SecretMap // the secrets, read
	started []*tool.MCP
	outside []string          // what files tools and shell keep out of
	memory  *memories         // the documents of the store
	sources map[string]string // where tools come from, by their names; none: they are built in
}

// Govern has everything that is asked of a home go by the policies of these powers, if they name some: who comes to a
// node, and what documents it shows, is judged as what it does. It is called before others use the home.
func (p *Powers) Govern(h *Home) {
	if len(p.Policies) > 0 && h.policies == nil {
		h.policies = p.Policies
	}
}

// Node is a node over a store with these powers.
func (p *Powers) Node(ctx context.Context, h *Home, s perdure.Store, log *slog.Logger) (*perdure.Node, error) {
	if err := p.Fill(h); err != nil {
		return nil, err
	}
	n, err := h.base(ctx, s)
	if err != nil {
		return nil, err
	}
	p.Govern(h)
	set, err := p.Policy(h)
	if err != nil {
		return nil, err
	}
	if p.Known, err = readSecrets(p.Secrets); err != nil {
		if p.written["secrets"] != "" {
			err = fmt.Errorf("%s: %w", p.about("secrets"), err)
		}
		return nil, err
	}
	if n.Guard, err = h.guardOf(ctx, p.Known, log, p.Advisors...); err != nil {
		return nil, err
	}
	if n.Scopes, err = p.scopes(); err != nil {
		return nil, err
	}
	n.Policy, n.PolicyHash, n.Log, n.CollectEvery = set, set.Hash(), log, 10*time.Minute
	if n.Seated, err = h.seated(); err != nil {
		return nil, err
	}
	if err := p.equip(ctx, h, n); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if n.Advisors, err = p.thinkers(s, n.Tools, log); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := h.finishArrivals(ctx, n); err != nil {
		log.Warn("the seat of an agent that arrived could not be taken", "err", err)
	}
	return n, nil
}

// Think refuses where it is certain that nobody thinks for an agent that names no advisor, before anything is made.
func (p *Powers) Think(h *Home) error {
	if len(p.Advisors) > 0 || p.Demo != "" {
		return nil
	}
	n, err := readNodeFile(h)
	if err != nil || n.Advisor != "" || n.Demo != "" {
		return nil // what is wrong with it is said where it is used
	}
	return Advised(new(perdure.Node), "")
}

// scopes are those of the agents that are worked on, checked.
func (p *Powers) scopes() ([]string, error) {
	for _, scope := range p.Scopes {
		if err := checkScope(scope); err != nil && scope != perdure.AnyScope {
			return nil, p.wrong("scopes", err)
		}
	}
	return p.Scopes, nil
}

// equip gives a node its tools.
func (p *Powers) equip(ctx context.Context, h *Home, n *perdure.Node) (err error) {
	if p.Files != "" {
		if err := h.apart(p.Files); err != nil {
			return p.noFolder(err)
		}
	}
	p.outside, p.sources = p.keepOut(h), map[string]string{}
	p.memory = &memories{h: h, s: n.Store, n: n}
	if n.Tools, err = p.tools(ctx, h, n.Store); err != nil {
		return err
	}
	n.Tools = append(n.Tools, tool.Cancel(n), tool.Send(&reach{Node: n, h: h}))
	remembers, err := h.usesMemory(ctx, n.Store)
	if err != nil {
		return err
	}
	if remembers {
		for _, t := range workspace.Tools(p.memory.get) {
			p.sources[t.Spec().Name] = "memory"
			n.Tools = append(n.Tools, t)
		}
	}
	return n.CheckTools()
}

// Close ends what was started for the node.
func (p *Powers) Close() error {
	var errs []error
	for _, m := range p.started {
		errs = append(errs, m.Close())
	}
	p.started = nil
	if p.memory != nil {
		errs = append(errs, p.memory.Close())
	}
	return errors.Join(errs...)
}

// tools are what the flags let agents do, and what concerns the agent alone. Nothing is reachable outside that was not
// named.
func (p *Powers) tools(ctx context.Context, h *Home, s perdure.Store) ([]perdure.Tool, error) {
	all := tool.Builtins(s)
	add := func(source string, more ...perdure.Tool) {
		for _, t := range more {
			p.sources[t.Spec().Name] = source
		}
		all = append(all, more...)
	}
	if p.Demo != "" && p.Shop != nil {
		add("demo "+p.Demo, p.Shop(p.Demo)...)
	}
	if p.Files != "" {
		root, err := os.OpenRoot(p.Files)
		if err != nil {
			return nil, p.noFolder(err)
		}
		add("files "+p.Files, tool.Files(root, p.outside...)...)
	}
	if len(p.Programs) > 0 {
		if p.Files == "" {
			return nil, p.wrong("programs", errors.New("there is no folder to run them in; name one for files"))
		}
		add("programs "+strings.Join(p.Programs, " "), tool.Shell{Dir: p.Files, Allow: p.Programs, Exclude: p.outside})
	}
	if len(p.Hosts) > 0 {
		http, err := tool.HTTP{Allow: p.Hosts}.Tools()
		if err != nil {
			return nil, p.wrong("hosts", err)
		}
		add("hosts "+strings.Join(p.Hosts, " "), http...)
	}
	servers, err := p.mcpServers()
	if err == nil {
		err = p.checkEffects(servers)
	}
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	for _, server := range servers {
		tools, err := p.serve(ctx, h, server)
		if err != nil {
			return nil, err
		}
		add("mcp "+server.name, tools...)
	}
	all, err = tool.Trust(all, p.Trusted...)
	if err != nil {
		return nil, p.wrong("trusted", err)
	}
	if p.Known == nil {
		return all, nil
	}
	return tool.WithSecrets(all, p.Known), nil
}

// serve starts an MCP server, and returns its tools.
func (p *Powers) serve(ctx context.Context, h *Home, server mcpServer) ([]perdure.Tool, error) {
	key := "mcp." + server.name
	m, err := server.open(ctx, p)
	if err != nil {
		return nil, p.wrong(key, err)
	}
	m.Waiting = func(most time.Duration) {
		h.note("waiting for MCP server %s to answer, %s at most", m.Name, most)
	}
	if m.Effects, m.TrustHints, err = p.effectsOf(m.Name); err != nil {
		return nil, perdure.Invalid(err)
	}
	if slices.ContainsFunc(p.started, func(o *tool.MCP) bool { return strings.EqualFold(o.Name, m.Name) }) {
		return nil, p.wrong(key, errors.New("another server has that name already, and their tools could not be told "+
			"apart"))
	}
	p.started = append(p.started, m)
	tools, err := m.Tools(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, perdure.ErrInvalid):
		err = p.wrong(key, err)
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		err = perdure.WithHint(fmt.Errorf("%s: %w", p.about(key), err),
			"install that program, or name the one to start by its path in node.yaml, or with --mcp")
	default:
		err = perdure.WithHint(fmt.Errorf("%s: %w", p.about(key), err),
			"perdure doctor checks it by itself; start, under it in node.yaml, sets how long it may take to start")
	}
	return tools, err
}

// about is what a part of a node is called in messages: by its key in node.yaml, with the place if it stands there.
func (p *Powers) about(key string) string {
	if at := p.written[key]; at != "" {
		return at + ": " + key
	}
	return key
}

// wrong is what is wrong with a part of a node: with the command line, or with node.yaml if it stands there.
func (p *Powers) wrong(key string, err error) error {
	hint := new(perdure.Hint)
	hinted := errors.As(err, &hint)
	err = fmt.Errorf("%s: %w", p.about(key), err)
	switch {
	case p.written[key] == "" && errors.Is(err, fs.ErrNotExist):
		return err
	case p.written[key] == "":
		return perdure.Invalid(err)
	case hinted || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return &Error{KindFailure, err}
	}
	return explainNodeFile(&Error{KindFailure, err})
}

// noFolder is what is wrong with the folder of files.
func (p *Powers) noFolder(err error) error {
	if p.written["files"] == "" {
		return fmt.Errorf("%s: %w", p.about("files"), err)
	}
	return p.wrong("files", err)
}

// hintsClass in the place of a class says that the annotations of a server are believed.
const hintsClass = "hints"

// checkEffects refuses classes that are none, and those of servers there are not.
func (p *Powers) checkEffects(servers []mcpServer) error {
	for _, text := range p.Effects {
		name, _, _ := strings.Cut(text, "=")
		of, _, _ := strings.Cut(name, ".")
		_, _, err := p.effectsOf(of)
		if err == nil && !slices.ContainsFunc(servers, func(s mcpServer) bool { return s.name == of }) {
			err = fmt.Errorf("%s: there is no MCP server %s", p.about("effects."+name), of)
		}
		if err != nil && p.written["effects."+name] != "" {
			err = explainNodeFile(&Error{KindFailure, err})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// effectsOf are the classes of the tools of a server, by its own names for them, and whether its annotations are
// believed.
func (p *Powers) effectsOf(server string) (classes map[string]perdure.Effect, hints bool, err error) {
	classes = map[string]perdure.Effect{}
	for _, text := range p.Effects {
		name, class, ok := strings.Cut(text, "=")
		of, own, dotted := strings.Cut(name, ".")
		if !ok || !dotted {
			return nil, false, fmt.Errorf("%s: want the class of a tool of an MCP server, NAME.TOOL=CLASS",
				p.about("effects."+name))
		}
		if of != server {
			continue
		}
		if own == "*" && class == hintsClass {
			hints = true
			continue
		}
		e, err := view.ParseName[perdure.Effect](p.about("effects."+name), class)
		if err != nil {
			return nil, false, err
		}
		classes[own] = e
	}
	return classes, hints, nil
}

// Policy is what the flags name, else what the node of this process was given, else the policies beside the store, else
// the built-in one.
func (p *Powers) Policy(h *Home) (*policy.Set, error) {
	paths := p.Policies
	if len(paths) == 0 {
		paths = h.policies
	}
	if len(paths) == 0 && h.Dir != "" {
		found, err := disk.Files(filepath.Join(h.Dir, PolicyDir), ".cedar")
		if err != nil {
			return nil, fmt.Errorf("look for policies: %w", err)
		}
		paths = found
	}
	known, err := knownPolicies(h, false)
	if err != nil {
		return nil, err
	}
	set := policy.Default()
	if len(paths) > 0 {
		set, err = policy.LoadPaths(paths...)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, perdure.WithHint(err, "check the path: nothing runs under a policy that is not there")
	}
	if err != nil {
		return nil, perdure.WithHint(fmt.Errorf("load policies: %w", err),
			"nothing runs under a policy that does not load; correct it")
	}
	return set.Know(known...).Seek(h.seekPolicy()), nil
}

// Describe says what a node can do.
func Describe(n *perdure.Node) (advisors, tools string) {
	var a, t []string
	for name := range n.Advisors {
		a = append(a, cmp.Or(name, "default"))
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
