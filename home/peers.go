package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/view"
)

// PeerConfig is another place that agents are passed to and from, as node.yaml names it: one of url and dir.
type PeerConfig struct {
	Name  string        `yaml:"name"`
	URL   string        `yaml:"url"`   // of its server
	Dir   string        `yaml:"dir"`   // or a folder
	Key   string        `yaml:"key"`   // of the server, which shows a certificate over it
	Token string        `yaml:"token"` // a reference to it; none: this home's key says who asks
	Scope string        `yaml:"scope"` // of the agents that are passed; none: all
	Way   string        `yaml:"way"`   // both, push or pull
	Every time.Duration `yaml:"every"` // how often it is asked what is new
}

// Ways are the directions in which agents pass, by their names.
var Ways = map[string]exchange.Way{"": exchange.Both, "both": exchange.Both, "push": exchange.Push,
	"pull": exchange.Pull}

// Peer is another place, in use.
type Peer struct {
	exchange.Peer
	Name string
	PeerConfig
	server *client.Client // nil: it is a folder
	folder *dir.Store
	looks  bool // a folder is only read, and left as it is
}

// Peers are those of node.yaml, checked.
func (h *Home) Peers() ([]PeerConfig, error) {
	file, err := readNodeFile(h)
	if err != nil {
		return nil, err
	}
	for _, scope := range file.Scopes {
		if err := checkScope(scope); err != nil && scope != perdure.AnyScope {
			return nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("%s: scopes: %w", filepath.Join(h.Dir,
				NodeFileName), err)), "perdure help node.yaml describes scopes")
		}
	}
	for i := range file.Peers {
		p := &file.Peers[i]
		err := p.check()
		if err == nil && slices.ContainsFunc(file.Peers[:i], func(o PeerConfig) bool { return o.Name == p.Name }) {
			err = errors.New("another peer has that name")
		}
		if err != nil {
			at := filepath.Join(h.Dir, NodeFileName)
			return nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("%s: peers[%d]%s: %w", at, i,
				strings.TrimSuffix(" "+view.InLine(p.Name), " "), err)), peersHint(err))
		}
	}
	return file.Peers, nil
}

// peersHint is what to do about a peer in node.yaml that is not right.
func peersHint(err error) string {
	if errors.Is(err, errPassword) {
		return "leave it out, and name a token in its place: token: env:NAME; see perdure help node.yaml"
	}
	return "perdure help node.yaml describes peers"
}

func (p *PeerConfig) check() error {
	_, way := Ways[p.Way]
	switch {
	case p.Name == "":
		return errors.New("it needs a name")
	case !view.PlainWord(p.Name) || strings.ContainsAny(p.Name, "./:,@+"):
		return errors.New("name: want letters, digits, _ and -")
	case (p.URL == "") == (p.Dir == ""):
		return errors.New("want one of url and dir")
	case openURL(p.URL) != nil:
		return openURL(p.URL)
	case p.Dir != "" && (p.Key != "" || p.Token != ""):
		return errors.New("key and token are for a url")
	case p.Key != "" && strings.HasPrefix(p.URL, "http:"):
		return errUnpinned
	case !way:
		return errors.New("way: want both, push or pull")
	case p.Every < 0:
		return errors.New("every: want a time such as 10s")
	case p.Scope != "" && p.Scope != perdure.AnyScope:
		if err := checkScope(p.Scope); err != nil {
			return fmt.Errorf("scope: %w", err)
		}
	}
	return nil
}

// errUnpinned says that a key cannot be asked for.
var errUnpinned = errors.New("a server shows its key only over https: write https://…, or leave the key out")

// isURL reports whether a word is where a server is.
func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "unix:")
}

// errPassword says that a URL holds what is not for printing.
var errPassword = perdure.Invalid(errors.New("a URL with a password in it is refused: URLs are printed"))

// openURL refuses the URL of a server that holds a password: URLs are printed.
func openURL(text string) error {
	u, err := url.Parse(text)
	if err == nil && u.User == nil || err != nil && !strings.Contains(text, "@") {
		return nil // whoever uses it says what else is wrong
	}
	return perdure.WithHint(errPassword,
		"put the token in $PERDURE_TOKEN or a file, see --token-file")
}

// PeerNamed is the place that a word means: a peer of node.yaml by its name, a server by its URL, else a folder. What
// it says of key and token is for a server that node.yaml does not name.
func (h *Home) PeerNamed(word, key, token string) (PeerConfig, error) {
	peers, err := h.Peers()
	if err != nil {
		return PeerConfig{}, err
	}
	for _, p := range peers {
		if p.Name == word || p.URL != "" && p.URL == word && key == "" && token == "" {
			return p, nil
		}
	}
	if isURL(word) {
		if err := openURL(word); err != nil {
			return PeerConfig{}, err
		}
		if key != "" && strings.HasPrefix(word, "http:") {
			return PeerConfig{}, perdure.Invalid(errUnpinned)
		}
		return PeerConfig{Name: word, URL: word, Key: key}, nil
	}
	if scheme, _, ok := strings.Cut(word, "://"); ok {
		return PeerConfig{}, perdure.WithHint(perdure.Invalid(fmt.Errorf("agents are not passed by %s://",
			view.InLine(scheme))), "name a URL such as https://HOST:7433 or unix:PATH, or a folder such as ./agents")
	}
	if path, ok := strings.CutPrefix(word, "dir:"); ok {
		word = path
	} else if info, err := os.Stat(word); err != nil && !isPath(word) || err == nil && !info.IsDir() {
		host := "HOST:7433"
		if strings.ContainsAny(word, ".:") {
			host = view.InLine(word)
		}
		return PeerConfig{}, perdure.WithHint(perdure.Missing("there is no peer, server or folder "+view.InLine(word)),
			"name a peer of node.yaml, a URL such as https://"+host+", or a folder such as ./agents")
	}
	return PeerConfig{Name: word, Dir: word}, nil
}

// isPath reports whether a word that nothing is at yet means a folder that is to be made. One that could be the address
// of a server, whose https:// was forgotten, does not: seats would go into a folder that nobody looks at.
func isPath(word string) bool {
	first, _, nested := strings.Cut(filepath.ToSlash(word), "/")
	switch {
	case filepath.IsAbs(word) || first == "." || first == "..":
		return true
	}
	return nested && !strings.ContainsAny(first, ".:")
}

// OpenPeer opens another place. The token of a server that node.yaml names is the one it refers to, else this one.
func (h *Home) OpenPeer(c PeerConfig, token string) (*Peer, error) {
	return h.openPeer(c, token, false)
}

// LookPeer is OpenPeer for who only gets something there: a folder is left as it is.
func (h *Home) LookPeer(c PeerConfig, token string) (*Peer, error) {
	c.Way = "pull"
	return h.openPeer(c, token, true)
}

func (h *Home) openPeer(c PeerConfig, token string, looks bool) (*Peer, error) {
	p := &Peer{Name: c.Name, PeerConfig: c, looks: looks}
	if c.Dir != "" {
		return p, p.openFolder(h)
	}
	p.server = &client.Client{URL: c.URL, Token: token, Foreign: true}
	p.Peer = p.server
	if c.Token != "" {
		file, err := readNodeFile(h)
		if err != nil {
			return nil, err
		}
		if p.server.Token, err = h.resolve(c.Token, file.Secrets); err != nil {
			return nil, fmt.Errorf("peer %s: token: %w", c.Name, err)
		}
	}
	var err error
	if c.Key != "" {
		if p.server.Pin, _, err = perdure.ParseKey(c.Key); err != nil {
			return nil, perdure.Invalid(fmt.Errorf("peer %s: key: %w", c.Name, err))
		}
	}
	if p.server.Token == "" && strings.HasPrefix(c.URL, "https:") {
		s, err := h.Key()
		if s == nil || err != nil {
			return p, err
		}
		cert, err := Certificate(s)
		p.server.Certificate = &cert
		return p, err
	}
	return p, nil
}

// openFolder opens a folder of agents, which nobody runs: what is put there need not be admitted, and what is taken
// from there is checked where it arrives. Copies that lie there by other names, as Syncthing leaves them, are joined,
// also for who only looks: else a part of the agent would be missing. Files that are cut short or that do not verify
// are left alone, see leftAlone.
func (p *Peer) openFolder(h *Home) error {
	at := p.Dir
	if h.Dir != "" && disk.Within(at, h.Dir) {
		return perdure.Invalid(fmt.Errorf("%s is in the home: name a folder outside it", at))
	}
	if err := folderFor(at); err != nil {
		return err
	}
	if _, err := os.Stat(at); p.Way == "pull" && errors.Is(err, fs.ErrNotExist) {
		return perdure.WithHint(perdure.Missing("there is no folder "+view.InLine(at)+" to pull from"),
			"name the folder that agents were pushed to, or exported into")
	}
	trust, err := h.Trust()
	if err != nil {
		return err
	}
	if p.folder, err = dir.Open(at, dir.Options{Trust: trust, Secret: h.secret(), Look: p.looks}); err != nil {
		return err
	}
	if p.looks {
		apart, err := p.folder.Apart()
		if err == nil && apart {
			if err = p.folder.Close(); err == nil {
				p.folder, err = dir.Open(at, dir.Options{Trust: trust, Secret: h.secret()})
			}
		}
		if err != nil {
			return err
		}
	}
	p.Peer = &folderPeer{s: p.folder, trust: trust}
	return nil
}

// leftAlone is the files of a folder that are not used, and why; nil: the place is not a folder, or all of them are.
func (p *Peer) leftAlone() (all []LeftFile) {
	if p.folder == nil {
		return nil
	}
	for name, fault := range p.folder.Faults() {
		if inner := errors.Unwrap(fault); inner != nil {
			fault = inner // it says the name again
		}
		all = append(all, LeftFile{File: name, Error: fault.Error(), err: fault})
	}
	slices.SortFunc(all, func(a, b LeftFile) int { return cmp.Compare(a.File, b.File) })
	return all
}

// Close ends the use of a place.
func (p *Peer) Close() error {
	if p.folder != nil {
		return p.folder.Close()
	}
	p.server.Close()
	return nil
}

// Server reports whether the place is a server.
func (p *Peer) Server() bool { return p.server != nil }

// Find is the agent of a name there.
func (p *Peer) Find(ctx context.Context, arg string) (perdure.AgentID, error) {
	if p.folder != nil {
		return find(ctx, p.folder, arg, nil)
	}
	return p.server.Find(ctx, arg)
}

// List yields the agents there that a filter selects, with their names and kinds: of a server page by page, of a folder
// as they were when it was called, so that they may be written meanwhile.
func (p *Peer) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		if p.folder != nil {
			var all []perdure.Listing
			for one, err := range p.folder.List(ctx, f) {
				if err != nil {
					yield(one, err)
					return
				}
				all = append(all, one)
			}
			for _, one := range all {
				if !yield(one, nil) {
					return
				}
			}
			return
		}
		q := client.Filter{Name: f.Name, Kind: f.Kind, Scope: f.Scope, Labels: f.Labels}
		for _, s := range f.States {
			q.States = append(q.States, s.String())
		}
		if f.Since != 0 {
			q.Since = f.Since.String()
		}
		n := 0
		for one, err := range p.server.List(ctx, q) {
			if !yield(perdure.Listing{Agent: one.Agent, Name: one.Name, Kind: one.Kind}, err) || err != nil {
				return
			}
			if n++; f.Limit > 0 && n == f.Limit {
				return
			}
		}
	}
}

// Changes are the agents there that have changed since a position.
func (p *Peer) Changes(ctx context.Context, after string, limit int) (exchange.Changes, error) {
	if p.server != nil {
		return p.server.Changes(ctx, after, p.Scope, limit)
	}
	d := &Desk{Home: &Home{}, Store: p.folder, Node: new(perdure.Node)}
	return Local{Desk: d, Visitor: &Visitor{Scope: perdure.AnyScope}}.Changes(ctx, after, p.Scope, limit)
}

// folderPeer is a folder of agents as a place.
type folderPeer struct {
	s     *dir.Store
	trust *perdure.Trust
}

func (p *folderPeer) Offer(ctx context.Context, id perdure.AgentID) (exchange.Offer, error) {
	o, err := exchange.Of(ctx, p.s, id)
	if err == nil && o.Has() {
		if depth, err := perdure.DepthOf(ctx, p.s, id); err != nil {
			return o, err
		} else if depth != perdure.Full {
			o.Kept = "only a part of its memory is there: " + depth.Words()
		}
	}
	return o, err
}

func (p *folderPeer) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return exchange.Missing(ctx, p.s, o)
}

func (p *folderPeer) Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	_ *exchange.Receipt, err error) {
	s, err := new(Home).openSpool(id, "") // it is read more than once
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.fill(entries); err != nil {
		return nil, err
	}
	r := &exchange.Receipt{Agent: id, Time: time.Now().UTC().Truncate(time.Millisecond)}
	a, err := p.s.Heads(ctx, id)
	if r.Created = errors.Is(err, perdure.ErrNotFound); r.Created {
		v, err := perdure.Verify(s.entries(), perdure.VerifyOptions{})
		if err == nil {
			err = perdure.PutAll(ctx, p.s, id, s.entries())
		}
		if err != nil {
			return nil, err
		}
		r.Entries, r.Heads = v.Entries, v.Derived().Heads()
		return r, Index(ctx, p.s, v.Derived())
	}
	if err != nil {
		return nil, err
	}
	r.Heads = a
	now, added, err := capsule.Join(ctx, p.s, id, s.entries(), capsule.ImportOptions{Trust: p.trust})
	if err != nil {
		return nil, err
	}
	r.Entries, r.Heads = int64(added), now.Heads()
	return r, Index(ctx, p.s, now)
}

// Called is what a peer is called for people.
func (p *Peer) Called() string { return cmp.Or(view.InLine(p.Name), "the other place") }
