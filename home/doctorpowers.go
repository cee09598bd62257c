package home

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// modes looks whether somebody else decides here, or reads what is secret. It reports whether the home can be used.
func (d *Doctor) modes() bool {
	usable := true
	for _, w := range d.h.weaknesses(false) {
		usable = usable && !w.Grave
		d.say(w.About, Unwell, w.Fix, "%s", w.What)
	}
	return usable
}

// socket looks whether a server listens on a socket of the home.
func (d *Doctor) socket(path string) {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(d.ctx, "unix", path)
	if err != nil {
		d.say("serve", Odd, "start perdure serve again, which replaces it; or remove "+path,
			"nobody listens on %s, which a server that was killed left", path)
		return
	}
	_ = c.Close() // it was only to see
	d.say("serve", Well, "", "a server listens on %s", path)
}

// strays looks for what has no business in a home: what was cut short while it was written, and what is no file.
func (d *Doctor) strays() {
	d.remnants()
	names, err := os.ReadDir(d.h.Dir)
	if err != nil || d.h.Loose {
		return // a folder that also has other things
	}
	said, _ := disk.ReadFile(filepath.Join(d.h.Dir, NodeFileName), maxConfig) // its faults are said elsewhere
	for _, one := range names {
		path := filepath.Join(d.h.Dir, one.Name())
		switch name := one.Name(); {
		case remnant.MatchString(name): // said before
		case one.Type()&fs.ModeSocket != 0:
			d.socket(path)
		case !one.IsDir() && !one.Type().IsRegular() && one.Type()&fs.ModeSymlink == 0:
			d.say("stray", Odd, "remove "+path, "%s is neither a file nor a folder", path)
		case strings.HasSuffix(name, ".part") || strings.HasSuffix(name, "-part") ||
			strings.Contains(name, ".new-"):
			d.say("stray", Odd, "remove "+path+" if no perdure is running",
				"%s was left by something that was cut short", path)
		case !d.h.Knows(name) && !mentions(said, name):
			d.say("stray", Odd, "move it elsewhere: agents, keys and what decides are here",
				"%s does not belong in a home, and node.yaml does not name it", path)
		}
	}
}

// mentions reports whether a text has a name as a word of its own.
func mentions(text []byte, name string) bool {
	return regexp.MustCompile(`(^|[^\pL\pN_.-])` + regexp.QuoteMeta(name) + `($|[^\pL\pN_.-])`).Match(text)
}

// accepted says whether what the home decides counts.
func (d *Doctor) accepted() bool {
	err := d.h.Consent()
	switch {
	case err != nil:
		_, hint := view.Explain(err, "perdure doctor")
		d.say("accepted", Unwell, hint, "%v", err)
		return false
	case !d.h.Found || d.h.Fresh:
	case d.h.Own():
		d.say("accepted", Well, "", "%s: it was made here", d.h.Dir)
	default:
		d.say("accepted", Well, "", "%s: accepted", d.h.Dir)
	}
	return true
}

// policies looks whether they load, as a node would load them.
func (d *Doctor) policies() {
	set, err := d.p.Policy(d.h)
	if err != nil {
		fix := "correct the file; perdure policy check lists everything that is wrong"
		if errors.Is(err, fs.ErrNotExist) {
			fix = "check the path"
		}
		d.say("policy", Unwell, fix, "%v", err)
		return
	}
	d.say("policy", Well, "", "%s, set %s", view.Several(int64(len(set.Rules())), "rule"), set.Hash().Short())
	if by := d.h.attendedBy(); !by.IsZero() && by != set.Hash() {
		d.say("policy", Odd, "start that node again, unless it was given another policy with --policy", "the node "+
			"that runs here goes by set %s, not by what the files say now", by.Short())
	}
	key, err := d.h.Key()
	trust, bad := d.h.Trust()
	if err != nil || bad != nil || key == nil {
		return // as said elsewhere
	}
	f := &perdure.Fold{Charter: perdure.Charter{Owner: key.Key(), Scope: workspace.DefaultScope}}
	for _, text := range short(set, trust, f) {
		d.say("people", Odd, "", "an agent that names no approvers: %s", text)
	}
}

// powers looks at what a node here can do, one thing at a time, so that one that is wrong does not hide the others.
func (d *Doctor) powers() {
	file, err := readNodeFile(d.h)
	if d.accepted() && err == nil {
		err = d.p.Fill(d.h)
		d.embeddings(&file)
	}
	if err != nil {
		d.say("node", Unwell, "correct "+filepath.Join(d.h.Dir, NodeFileName)+
			"; perdure help node.yaml says what can be in it", "%v", err)
	}
	d.files()
	d.secrets()
	servers, err := d.p.mcpServers()
	if err != nil {
		d.say("mcp", Unwell, "write NAME=COMMAND or NAME=URL", "%v", err)
	} else if err := d.p.checkEffects(servers); err != nil {
		d.say("effects", Unwell, "correct it in "+filepath.Join(d.h.Dir, NodeFileName)+
			"; perdure help node.yaml says what can be in it", "%v", err)
	}
	for _, s := range servers {
		d.server(s)
	}
	d.advisors()
	d.hooks()
	d.notified()
}

// hooks looks whether who may post can be told apart, and who stands behind them.
func (d *Doctor) hooks() {
	file, err := readNodeFile(d.h)
	if err != nil || len(file.Hooks) == 0 {
		return // said before
	}
	all, err := d.h.hooks(&file)
	if err != nil {
		_, hint := view.Explain(err, "perdure doctor")
		d.say("hooks", Unwell, cmp.Or(hint, "correct it in node.yaml"), "%v", err)
		return
	}
	trust, err := d.h.Trust()
	for _, hook := range all {
		switch {
		case hook.Person == nil:
			d.say("hook", Well, "", "%s may send events", hook.Name)
		case err == nil && !trust.Allows(hook.Person.Key(), perdure.MayApprove, perdure.AnyScope) &&
			!slices.ContainsFunc(trust.Trustees(), func(t perdure.Trustee) bool {
				return t.Key == hook.Person.Key()
			}):
			d.say("hook", Odd, "perdure key trust "+hook.Person.Key().String()+" --rights approve",
				"%s approves in the name of %s, whose key is not trusted here", hook.Name, hook.Person.Name)
		default:
			d.say("hook", Well, "", "%s may send events, and approves in the name of %s", hook.Name, hook.Person.Name)
		}
	}
}

// notified looks whether everybody has been told what they were to be told.
func (d *Doctor) notified() {
	if _, err := readNodeFile(d.h); err != nil {
		return // said before
	}
	n, err := d.h.Notifier(&perdure.Node{}, nil)
	if err != nil {
		_, hint := view.Explain(err, "perdure doctor")
		d.say("notify", Unwell, cmp.Or(hint, "correct it in node.yaml"), "%v", err)
		return
	}
	all, err := n.Statuses(d.ctx)
	if err != nil {
		d.say("notify", Unwell, "remove the file: its destination is told what happens from then on", "%v", err)
		return
	}
	for _, s := range all {
		switch dead := int64(len(s.Dead)) + s.Dropped; {
		case dead > 0:
			last := "of which none is kept"
			if len(s.Dead) > 0 {
				last = "the last because " + s.Dead[len(s.Dead)-1].Why
			}
			d.say("notify", Unwell, "correct what is wrong, then perdure notify retry "+s.Name,
				"%s was not told %s, %s", s.Name, view.Several(dead, "event"), last)
		case s.Fault != "":
			d.say("notify", Unwell, "correct what is wrong: it is tried again by itself",
				"%s does not take what it is told: %s", s.Name, s.Fault)
		case !s.Told:
			d.say("notify", Odd, "it is told what happens once perdure node runs here", "%s has been told nothing yet",
				s.Name)
		default:
			d.say("notify", Well, "", "%s has been told %s", s.Name, view.Several(s.Sent, "event"))
		}
	}
}

// files looks at the tools that work here: the folder, programs and hosts.
func (d *Doctor) files() {
	dir := d.p.Files
	if info, err := os.Stat(dir); dir != "" && err != nil {
		d.say("files", Unwell, "mkdir -p "+dir+", or name another folder for files in node.yaml", "%v", err)
	} else if dir != "" && !info.IsDir() {
		d.say("files", Unwell, "name a folder for files in node.yaml", "%s is not a folder", dir)
	} else if err := d.h.apart(dir); dir != "" && err != nil {
		_, hint := view.Explain(err, "perdure doctor")
		d.say("files", Unwell, cmp.Or(hint, "name another folder for files in node.yaml"), "%v", err)
	} else if dir != "" {
		d.say("files", Well, "", "%s", dir)
	}
	for _, name := range d.p.Programs {
		at, err := exec.LookPath(name)
		switch {
		case err != nil:
			d.say("program", Unwell, "install "+name+", or leave it out", "%v", err)
		case dir == "":
			d.say("program", Unwell, "name a folder for files in node.yaml", "%s has no folder to run in",
				name)
		default:
			d.say("program", Well, "", "%s is %s", name, at)
		}
	}
	if len(d.p.Hosts) == 0 {
		return
	}
	if _, err := (tool.HTTP{Allow: d.p.Hosts}).Tools(); err != nil {
		d.say("hosts", Unwell, "name hosts such as api.example.com", "%v", err)
		return
	}
	d.say("hosts", Well, "", "%s", strings.Join(d.p.Hosts, ", "))
}

// secrets looks whether the secrets can be read, by their owner alone, and keeps them for the advisors.
func (d *Doctor) secrets() {
	if d.p.Secrets == "" {
		return
	}
	known, err := readSecrets(d.p.Secrets)
	if err != nil {
		_, hint := view.Explain(err, "perdure doctor")
		d.say("secrets", Unwell, hint, "%v", err)
		return
	}
	d.p.Known = known
	d.say("secrets", Well, "", "%s in %s, readable by its owner alone", view.Several(int64(len(known)), "value"),
		d.p.Secrets)
}

// serverPatience is how long an MCP server may take to start and say what it can do: some are fetched over the network
// first.
const serverPatience = 30 * time.Second

// server starts an MCP server and asks for its tools.
func (d *Doctor) server(s mcpServer) {
	m, err := s.open(d.ctx, d.p)
	if err != nil {
		d.say("mcp", Unwell, "correct it in node.yaml", "%v", err)
		return
	}
	m.Start = cmp.Or(m.Start, serverPatience)
	tools, err := m.Tools(d.ctx)
	if err = errors.Join(err, m.Close()); err != nil {
		fix := "check the URL, and that the server runs"
		if len(m.Command) > 0 {
			fix = "run it by hand and see what it says: " + strings.Join(m.Command, " ")
		}
		d.say("mcp", Unwell, fix, "%s: %v", m.Name, err)
		return
	}
	d.say("mcp", Well, "", "%s has %s", m.Name, view.Several(int64(len(tools)), "tool"))
}

// advisors looks whether each could be asked: it loads, its key is there, and its server answers and takes the key.
func (d *Doctor) advisors() {
	if _, err := readPrices(d.p.Prices); err != nil {
		_, hint := view.Explain(err, "perdure doctor")
		d.say("prices", Unwell, hint, "%v", err)
	}
	for _, text := range d.p.Advisors {
		name, source := splitAdvisor(text)
		name = cmp.Or(name, "the one for agents that name none")
		a, err := d.p.thinker(source, new(perdure.MemStore))
		if err != nil {
			d.say("advisor", Unwell, "correct its source", "%s: %v", name, err)
			continue
		}
		if err := keyOf(a); err != nil {
			d.say("advisor", Unwell, "set it in the environment, or in the file of secrets", "%s: %v", name, err)
			continue
		}
		d.reach(a, name, source)
	}
	if len(d.p.Advisors) == 0 {
		d.say("advisor", Odd, "name one in node.yaml",
			"there is none: nodes here can only go on with what is already decided")
	}
}

// modelPatience is how long the server of a model may take to say which models it has.
const modelPatience = 4 * time.Second

// reach asks the server of a model which models it has, which costs nothing.
func (d *Doctor) reach(a perdure.Advisor, name, source string) {
	var err error
	if l, ok := a.(*advisor.LLM); ok {
		if m, ok := l.Model.(interface{ Reach(context.Context) error }); ok {
			ctx, cancel := context.WithTimeout(d.ctx, modelPatience)
			err = m.Reach(ctx)
			cancel()
		}
	}
	switch {
	case err == nil:
		d.say("advisor", Well, "", "%s is %s", name, source)
	case errors.Is(err, perdure.ErrDenied):
		d.say("advisor", Unwell, "put the right key into the environment, or into the file of secrets", "%s: %v", name,
			err)
	case errors.Is(err, syscall.ECONNREFUSED):
		d.say("advisor", Unwell, "start that server, or correct the address in node.yaml", "%s: %v", name, err)
	default:
		d.say("advisor", Odd, "look whether that server can be reached from here",
			"%s is %s, which could not be checked: %v", name, source, err)
	}
}

// embeddings looks whether the server that searches by meaning answers.
func (d *Doctor) embeddings(file *NodeFile) {
	e, err := file.embedder()
	if e == nil && err == nil {
		return
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(d.ctx, modelPatience)
		_, err = e.Embed(ctx, []string{"perdure doctor"})
		cancel()
	}
	if err != nil {
		_, hint := view.Explain(err, "perdure doctor")
		d.say("embeddings", Unwell, cmp.Or(hint, "correct embeddings in node.yaml"),
			"searches are by words alone: %v", err)
		return
	}
	d.say("embeddings", Well, "", "%s", file.Embeddings)
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
