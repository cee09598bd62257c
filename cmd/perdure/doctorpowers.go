package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/tool"
)

// modes looks whether somebody else decides here, or reads what is secret. It reports whether the home can be used.
func (d *doctor) modes() bool {
	usable := true
	for _, w := range d.h.weaknesses(false) {
		usable = usable && !w.grave
		d.say(w.about, unwell, w.fix, "%s", w.what)
	}
	return usable
}

// strays looks for what has no business in a home: what was cut short while it was written, and what is no file.
func (d *doctor) strays() {
	names, err := os.ReadDir(d.h.dir)
	if err != nil || d.h.loose {
		return // a folder that also has other things
	}
	for _, one := range names {
		path := filepath.Join(d.h.dir, one.Name())
		switch name := one.Name(); {
		case !one.IsDir() && !one.Type().IsRegular() && one.Type()&fs.ModeSymlink == 0:
			d.say("stray", odd, "remove "+path, "%s is neither a file nor a folder", path)
		case strings.HasSuffix(name, ".part") || strings.Contains(name, ".new-"):
			d.say("stray", odd, "remove "+path+" if no perdure is running", "%s was left by something that was cut short", path)
		case !d.h.knows(name):
			d.say("stray", odd, "move it elsewhere: agents, keys and what decides are here", "%s is not of a home", path)
		}
	}
}

// knows reports whether a name is one that a home has.
func (h *home) knows(name string) bool {
	if name == ".gitignore" || h.scheme != "sqlite" || strings.HasPrefix(name, oldKeyFile) || name == nextKeyFile {
		return true
	}
	return slices.ContainsFunc(h.parts(), func(p part) bool {
		return p.path == filepath.Join(h.dir, name) || strings.HasPrefix(name, filepath.Base(h.file))
	})
}

// accepted says whether what the home decides counts.
func (d *doctor) accepted() bool {
	err := d.h.consent()
	switch {
	case err != nil:
		_, hint := explain(err)
		d.say("accepted", unwell, hint, "%v", err)
		return false
	case !d.h.found || d.h.fresh:
	case d.h.own():
		d.say("accepted", well, "", "%s: it was made here", d.h.dir)
	default:
		d.say("accepted", well, "", "%s: accepted", d.h.dir)
	}
	return true
}

// policies looks whether they load, as a node would load them.
func (d *doctor) policies() {
	set, err := d.p.policy(d.h)
	if err != nil {
		fix := "correct the file; perdure policy check lists everything that is wrong"
		if errors.Is(err, fs.ErrNotExist) {
			fix = "check the path"
		}
		d.say("policy", unwell, fix, "%v", err)
		return
	}
	d.say("policy", well, "", "%s, set %s", several(int64(len(set.Rules())), "rule"), set.Hash().Short())
}

// powers looks at what a node here can do, one thing at a time, so that one that is wrong does not hide the others.
func (d *doctor) powers() {
	_, err := readNodeFile(d.h)
	if d.accepted() && err == nil {
		err = d.p.fill(d.h)
	}
	if err != nil {
		d.say("node", unwell, "correct "+filepath.Join(d.h.dir, nodeFile)+"; perdure node --help says what can be in it", "%v", err)
	}
	d.files()
	d.secrets()
	servers, err := d.p.mcpServers()
	if err != nil {
		d.say("mcp", unwell, "write NAME=COMMAND or NAME=URL", "%v", err)
	}
	for _, s := range servers {
		d.server(s)
	}
	d.advisors()
}

// files looks at the tools that work here: the folder, programs and hosts.
func (d *doctor) files() {
	dir := *d.p.files
	if info, err := os.Stat(dir); dir != "" && err != nil {
		d.say("files", unwell, "mkdir -p "+dir+", or name another folder with --files", "%v", err)
	} else if dir != "" && !info.IsDir() {
		d.say("files", unwell, "name a folder with --files", "%s is no folder", dir)
	} else if dir != "" {
		d.say("files", well, "", "%s", dir)
	}
	for _, name := range *d.p.programs {
		at, err := exec.LookPath(name)
		switch {
		case err != nil:
			d.say("program", unwell, "install "+name+", or leave it out", "%v", err)
		case dir == "":
			d.say("program", unwell, "name a folder with --files, or files in node.yaml", "%s has no folder to run in", name)
		default:
			d.say("program", well, "", "%s is %s", name, at)
		}
	}
	if len(*d.p.hosts) == 0 {
		return
	}
	if _, err := (tool.HTTP{Allow: *d.p.hosts}).Tools(); err != nil {
		d.say("hosts", unwell, "name hosts such as api.example.com", "%v", err)
		return
	}
	d.say("hosts", well, "", "%s", strings.Join(*d.p.hosts, ", "))
}

// secrets looks whether the secrets can be read, by their owner alone, and keeps them for the advisors.
func (d *doctor) secrets() {
	if *d.p.secrets == "" {
		return
	}
	known, err := readSecrets(*d.p.secrets)
	if err != nil {
		_, hint := explain(err)
		d.say("secrets", unwell, hint, "%v", err)
		return
	}
	d.p.known = known
	d.say("secrets", well, "", "%s in %s, readable by its owner alone", several(int64(len(known)), "value"), *d.p.secrets)
}

// serverPatience is how long an MCP server may take to start and say what it can do: some are fetched over the network first.
const serverPatience = 30 * time.Second

// server starts an MCP server and asks for its tools.
func (d *doctor) server(s mcpServer) {
	m, err := s.open(d.p)
	if err != nil {
		d.say("mcp", unwell, "correct it in node.yaml", "%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(d.c.Context(), serverPatience)
	defer cancel()
	tools, err := m.Tools(ctx)
	if err = errors.Join(err, m.Close()); err != nil {
		fix := "check the URL, and that the server runs"
		if len(m.Command) > 0 {
			fix = "run it by hand and see what it says: " + strings.Join(m.Command, " ")
		}
		d.say("mcp", unwell, fix, "%s: %v", m.Name, err)
		return
	}
	d.say("mcp", well, "", "%s has %s", m.Name, several(int64(len(tools)), "tool"))
}

// advisors looks whether each could be asked: it loads, and its key is there. Nothing is sent.
func (d *doctor) advisors() {
	if _, err := readPrices(*d.p.prices); err != nil {
		_, hint := explain(err)
		d.say("prices", unwell, hint, "%v", err)
	}
	for _, text := range *d.p.advisors {
		name, source := advisorName(text)
		a, err := d.p.thinker(source, new(perdure.MemStore))
		if err != nil {
			d.say("advisor", unwell, "correct its source, in node.yaml or after --advisor", "%s: %v", name, err)
			continue
		}
		if err := keyOf(a); err != nil {
			d.say("advisor", unwell, "set it in the environment, or in the file of --secrets", "%s: %v", name, err)
			continue
		}
		d.say("advisor", well, "", "%s is %s", name, source)
	}
	if len(*d.p.advisors) == 0 {
		d.say("advisor", odd, "name one in node.yaml, or with --advisor when you run a node", "there is none: nodes here can only go on with what is already decided")
	}
}

// advisorName parts [NAME=]SOURCE, for people.
func advisorName(text string) (name, source string) {
	name, source, named := strings.Cut(text, "=")
	if !named || strings.Contains(name, ":") {
		return "the one for agents that name none", text
	}
	return name, source
}

// keyOf says why the key of a model cannot be had, if it has one.
func keyOf(a perdure.Advisor) error {
	l, ok := a.(*advisor.LLM)
	if !ok {
		return nil
	}
	if m, ok := l.Model.(interface{ CheckKey() error }); ok {
		return m.CheckKey()
	}
	return nil
}
