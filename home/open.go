package home

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// openStore opens the store; create makes it where there is none, see Founds.
func (h *Home) openStore(ctx context.Context, create bool) (perdure.Store, error) {
	if err := h.Locate(); err != nil {
		return nil, err
	}
	if h.Scheme == "mem" {
		return new(perdure.MemStore), nil
	}
	if h.remote != "" {
		return h.openEngine(ctx, create)
	}
	if create && h.Scheme == "dir" {
		if h.Dir != "" && disk.Within(h.File, h.Dir) { // it is to be shared, and the key is not
			return nil, perdure.Invalid(fmt.Errorf("%s is in the home: name a folder outside it", h.File))
		}
		return h.openFolder(false)
	}
	if create {
		if err := h.settle(ctx); err != nil {
			return nil, err
		}
	} else if !h.there() {
		return nil, perdure.WithHint(perdure.Missing("there is no store at "+h.File+" yet"),
			"make a home here with perdure init, or name another in "+StoreEnv)
	}
	look := h.Looks && !h.Mends
	if h.Scheme == "dir" {
		return h.openFolder(look)
	}
	o := h.options
	if o.Existing, o.Look = !create, look; h.Mends {
		o.Known = h.hashes()
	}
	if o.Waits = h.Note; !h.Patient {
		o.Patience = patience
	}
	s, err := sqlite.Open(ctx, h.File, o)
	if err != nil {
		return nil, cmp.Or(h.agentFile(), err)
	}
	return s, nil
}

// agentFile refuses the file of an agent in the place of a store; nil: it is not that.
func (h *Home) agentFile() error {
	if !h.Loose || !holdsAgent(h.File) {
		return nil
	}
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s is the file of an agent, and not a store", h.File)),
		"name it in the place of the agent, as in perdure log "+h.File+"; or name its folder: --store dir:"+
			filepath.Dir(h.File))
}

// holdsAgent reports whether a file begins as that of an agent.
func holdsAgent(name string) bool {
	f, err := disk.Open(name)
	if err != nil {
		return false
	}
	_, err = capsule.NewReader(f, capsule.ReadOptions{})
	return errors.Join(err, f.Close()) == nil
}

// settle makes the folder of a home where there is none. Its key comes first: a home that has a store and no key was
// begun by somebody else.
func (h *Home) settle(ctx context.Context) error {
	err := h.MakeHome()
	if err == nil && h.Fresh {
		_, err = h.Signer(ctx)
	}
	return err
}

// patience is how long a command waits for another process that keeps the store from being written.
const patience = 30 * time.Second

// lasting is what knows what acknowledged writes survive: in words, and whether a power cut is among it for certain.
type lasting interface {
	Survives() string
	Lasts() bool
}

// lastingOf is what knows that of a store as it was opened; nil: there is no choice.
func lastingOf(s perdure.Store) lasting {
	if s, ok := s.(*sqlite.Store); ok {
		return s.Sync()
	}
	l, _ := s.(lasting)
	return l
}

// openFolder opens a folder of agents. Copies beside an agent join it as imports do: only with entries that count here.
func (h *Home) openFolder(look bool) (perdure.Store, error) {
	trust, err := h.Trust()
	if err != nil {
		return nil, err
	}
	return dir.Open(h.File, dir.Options{Look: look, Trust: trust, Secret: h.secret(), Aside: h.aside(h.File)})
}

// aside is where who only looks at a store keeps what it derives of it; empty: nowhere, as without a home.
func (h *Home) aside(store string) string {
	if abs, err := filepath.Abs(store); err == nil {
		store = abs
	}
	if info, err := os.Stat(h.Dir); h.Dir == "" || err != nil || !info.IsDir() {
		return ""
	}
	return filepath.Join(h.Dir, looksDir, perdure.HashOf([]byte(store)).Short())
}

// secret is known to this home alone; nil if it has no key.
func (h *Home) secret() []byte {
	s, err := h.Key()
	if s == nil || err != nil {
		return nil
	}
	text, err := s.PrivateText()
	if err != nil {
		return nil
	}
	sum := sha256.Sum256([]byte("perdure dir index\n" + text))
	return sum[:]
}

// Use opens the store, calls f and closes it.
func (h *Home) Use(ctx context.Context, create bool, f func(ctx context.Context, s perdure.Store) error) error {
	s, err := h.openStore(ctx, create)
	if err != nil {
		return err
	}
	return h.finish(f(ctx, s), s)
}

// finish closes a store that was used, with what came of it.
func (h *Home) finish(err error, s io.Closer) error {
	err = errors.Join(err, s.Close())
	h.CloseWitness()
	return err
}

// fileArg is the file that AGENT or AGENT@REF names, and the ref; file is "" if it names an agent of the store.
func fileArg(arg string) (file, ref string) {
	name, ref := SplitRef(arg)
	if _, err := os.Stat(arg); err == nil && view.IsPath(arg) {
		name, ref = arg, "" // the @ is in the name of the file
	}
	if !view.IsPath(name) {
		return "", ""
	}
	return name, ref
}

// plainFile is fileArg for a name that is not spelled as a path. It is a file's only if no agent is called so, and the
// file is that of an agent.
func (h *Home) plainFile(ctx context.Context, arg string) (file, ref string) {
	name, ref := SplitRef(arg)
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || !holdsAgent(name) {
		return "", ""
	}
	if h.Locate() != nil {
		return "", ""
	}
	if h.there() {
		err := h.Use(ctx, false, func(ctx context.Context, s perdure.Store) error {
			_, err := h.FindAgent(ctx, s, name)
			return err
		})
		if !errors.Is(err, perdure.ErrNotFound) {
			return "", ""
		}
	}
	return name, ref
}

// UseFor is use for what is about one agent, which may be a file: then the file is the store, and arg is passed on as
// the id of the agent in it. The key stays that of the home.
func (h *Home) UseFor(ctx context.Context, arg string, f func(ctx context.Context, s perdure.Store,
	arg string) error) error {
	name, ref := fileArg(arg)
	if name == "" {
		name, ref = h.plainFile(ctx, arg)
	}
	if h.InFile = name; name == "" {
		return h.Use(ctx, false, func(ctx context.Context, s perdure.Store) error { return f(ctx, s, arg) })
	}
	s, one, err := h.openFile(ctx, name)
	if err != nil {
		return err
	}
	h.Filed = []string{view.CommandName(one.Name, one.Agent), one.Agent.Short()}
	id := one.Agent.String()
	if name != arg {
		id += "@" + ref
	}
	return h.finish(f(ctx, s, id), s)
}

// openFile opens the file of an agent as a store, and says which agent it is.
func (h *Home) openFile(ctx context.Context, name string) (*capsule.Store, perdure.Listing, error) {
	if err := h.Locate(); err != nil {
		return nil, perdure.Listing{}, err
	}
	info, err := os.Stat(name)
	if err == nil { // else opening it would make it
		err = disk.Regular(name, info)
	}
	if err != nil {
		return nil, perdure.Listing{}, err
	}
	h.agent = name
	open := capsule.OpenStore
	if h.Looks {
		open = capsule.LookStore
	}
	s, err := open(name)
	if err != nil {
		return nil, perdure.Listing{}, err
	}
	h.noteCut(s, name)
	trust, err := h.Trust()
	s.SetTrust(trust)
	var found []perdure.Listing
	if err == nil {
		found, err = Candidates(ctx, s, "")
	}
	if err == nil && len(found) != 1 {
		err = perdure.Missing("there is no agent in " + name)
	}
	if err != nil {
		return nil, perdure.Listing{}, errors.Join(err, s.Close())
	}
	return s, found[0], nil
}

// noteCut says that a file lacked its end, and what became of that.
func (h *Home) noteCut(s *capsule.Store, name string) {
	switch aside := s.Aside(); {
	case !s.Torn():
	case h.Looks:
		h.note("%s was cut short while it was written: what is whole of it is looked at", name)
	case aside != "":
		h.note("%s was cut short: it goes on with what is whole of it; as it was it is kept as %s", name, aside)
	default:
		h.note("%s was cut short while it was written: the unfinished entry at its end was removed", name)
	}
}
