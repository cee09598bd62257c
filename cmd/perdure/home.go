package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
)

// What lies in a home folder.
const (
	homeName  = ".perdure" // looked for upward from the working directory
	storeFile = "store.db"
	keyFile   = "key"
	trustFile = "trust"

	witnessFile = "seen.db"
	storeEnv    = "PERDURE_STORE"
)

// home is where agents rest for one command: a store, and beside it the key that signs and whom to trust.
type home struct {
	c   *cobra.Command
	url *string

	scheme         string // sqlite, dir or mem
	dir            string // the folder of key and trust; "" for mem
	file           string // of the store; a folder for dir
	agent          string // the file of an agent that is the store
	options        sqlite.Options
	seen, looked   *sqlite.Witness // what was seen here: to be told, and to be asked only
	found          bool            // the home was found here or in a folder above, not named
	loose          bool            // the store was named by its file: the folder is whatever that is in
	looks          bool            // asks nobody, and changes nothing: not the home, not the store, not the file of an agent
	mends          bool            // but for the store, which it puts right
	completes      bool            // for somebody who is still typing: it says nothing
	acts           bool            // the command signs or runs something: a home that was found must be accepted first
	located, fresh bool            // whether the home had been looked for, and was empty then
	judged         *bool           // whether what the home says counts, once that is known
}

// lookFlag is storeFlag for a command that only looks: whatever it is pointed at stays as it is, to the last byte.
func lookFlag(c *cobra.Command) *home {
	h := storeFlag(c)
	h.looks = true
	return h
}

// storeFlag adds --store to a command.
func storeFlag(c *cobra.Command) *home {
	h := &home{c: c}
	h.url = c.Flags().String("store", "", "the store: a folder, a file, sqlite:PATH[?sync=normal], dir:PATH or mem: (default: $"+storeEnv+", else "+homeName+
		" here or above, else the user's data folder)")
	return h
}

// locate says where the store is, and refuses a home in which somebody else decides.
func (h *home) locate() error {
	if err := h.find(); err != nil {
		return err
	}
	if err := h.vet(); err != nil {
		return err
	}
	if h.acts {
		return h.consent()
	}
	return nil
}

// acting is h for a command that signs or runs something.
func (h *home) acting() *home {
	h.acts = true
	return h
}

// find says where the store is, without touching it, and whether there is a home yet.
func (h *home) find() error {
	if err := h.place(); err != nil {
		return err
	}
	if !h.located { // later this command may have begun one
		h.located, h.fresh, h.judged = true, len(h.has()) == 0, nil
	}
	return nil
}

// place says where the store is.
func (h *home) place() error {
	h.found, h.loose, h.options = false, false, sqlite.Options{}
	url := *h.url
	inForce.store = url
	if url == "" {
		url = os.Getenv(storeEnv)
	}
	if url == "" {
		dir, found, err := defaultHome()
		if err != nil {
			return err
		}
		h.found = found
		h.scheme, h.dir, h.file = "sqlite", dir, filepath.Join(dir, storeFile)
		return nil
	}
	scheme, path, found := strings.Cut(url, ":")
	switch {
	case !found || strings.ContainsAny(scheme, `/\.`) || len(scheme) == 1: // a drive is no scheme
		scheme, path = "sqlite", url
	case scheme == "mem" && path == "":
		h.scheme, h.dir, h.file = "mem", "", ""
		return nil
	case scheme == "dir" && path != "":
		dir, found, err := defaultHome() // the folder is shared with others: no place for a key
		h.found = found
		h.scheme, h.dir, h.file = scheme, dir, path
		return err
	case scheme != "sqlite" || path == "":
		return misuse(h.c, fmt.Errorf("store %q: want mem:, sqlite:PATH, dir:PATH, a file or a folder", url))
	default:
		var err error
		if path, h.options, err = sqlite.ParseName(path); err != nil {
			return misuse(h.c, fmt.Errorf("store sqlite:%w; a file with a question mark in its name goes without sqlite:", err))
		}
		if path == "" {
			return misuse(h.c, fmt.Errorf("store %q: want a path before the question mark", url))
		}
	}
	h.scheme, h.dir, h.file = scheme, path, filepath.Join(path, storeFile)
	if info, err := os.Stat(path); err == nil && !info.IsDir() || err != nil && filepath.Ext(path) == filepath.Ext(storeFile) {
		h.dir, h.file, h.loose = filepath.Dir(path), path, true
	}
	return nil
}

// defaultHome is .perdure here or in a folder above, which is found, else the user's data folder.
func defaultHome() (dir string, found bool, err error) {
	at, err := os.Getwd()
	if err != nil {
		return "", false, err
	}
	for {
		dir := filepath.Join(at, homeName)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, true, nil
		}
		above := filepath.Dir(at)
		if above == at {
			break
		}
		at = above
	}
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "perdure"), false, nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", false, fmt.Errorf("find the user's data folder: %w: name a store with --store or %s", err, storeEnv)
	}
	return filepath.Join(user, ".local", "share", "perdure"), false, nil
}

// openStore opens the store; create makes it where there is none.
func (h *home) openStore(ctx context.Context, create bool) (perdure.Store, error) {
	if err := h.locate(); err != nil {
		return nil, err
	}
	if h.scheme == "mem" {
		return new(perdure.MemStore), nil
	}
	if create && h.scheme == "dir" {
		return h.openFolder(false)
	}
	if create {
		if err := h.makeHome(); err != nil {
			return nil, err
		}
		if h.fresh { // its key comes first: a home that has a store and no key was begun by somebody else
			if _, err := h.signer(); err != nil {
				return nil, err
			}
		}
	} else if _, err := os.Stat(h.file); errors.Is(err, fs.ErrNotExist) {
		return nil, &advised{missing("there is no store at " + h.file + " yet"),
			"make an agent with " + suggest("new") + ", or name a store with --store or " + storeEnv}
	}
	look := h.looks && !h.mends
	if h.scheme == "dir" {
		return h.openFolder(look)
	}
	o := h.options
	if o.Existing, o.Look = !create, look; h.mends {
		o.Known = h.hashes()
	}
	return sqlite.Open(ctx, h.file, o)
}

// survivedBy is what the writes to a store survive as it was opened, where there is a choice.
func survivedBy(s perdure.Store) string {
	if s, ok := s.(*sqlite.Store); ok {
		return s.Sync().Survives()
	}
	return ""
}

// openFolder opens a folder of agents. Copies beside an agent join it as imports do: only with entries that count here.
func (h *home) openFolder(look bool) (perdure.Store, error) {
	trust, err := h.trust()
	if err != nil {
		return nil, err
	}
	return dir.Open(h.file, dir.Options{Look: look, Trust: trust})
}

// use opens the store, calls f and closes it.
func (h *home) use(create bool, f func(ctx context.Context, s perdure.Store) error) error {
	ctx := h.c.Context()
	s, err := h.openStore(ctx, create)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, s), s.Close(), h.closeWitness())
}

// witness remembers how far the memories this home has seen had come; nil for a home in memory.
func (h *home) witness() (perdure.Witness, error) {
	if h.dir == "" {
		return nil, nil
	}
	if h.seen == nil {
		w, err := sqlite.OpenWitness(filepath.Join(h.dir, witnessFile), h.storePath())
		if err != nil {
			return nil, err
		}
		h.seen = w
	}
	return h.seen, nil
}

func (h *home) closeWitness() error {
	var errs []error
	for _, w := range []**sqlite.Witness{&h.seen, &h.looked} {
		if *w != nil {
			errs = append(errs, (*w).Close())
			*w = nil
		}
	}
	return errors.Join(errs...)
}

// useFor is use for a command about one agent, which may be a file: then the file is the store, and arg is passed on as the id of the
// agent in it. The key stays that of the home.
func (h *home) useFor(arg string, f func(ctx context.Context, s perdure.Store, arg string) error) error {
	name, ref := splitRef(arg)
	if _, err := os.Stat(arg); err == nil && isPath(arg) {
		name, ref = arg, "" // the @ is in the name of the file
	}
	if !isPath(name) {
		return h.use(false, func(ctx context.Context, s perdure.Store) error { return f(ctx, s, arg) })
	}
	if err := h.locate(); err != nil {
		return err
	}
	inForce.file = name
	info, err := os.Stat(name)
	if err == nil { // else opening it would make it
		err = disk.Regular(name, info)
	}
	if err != nil {
		return err
	}
	h.agent = name
	open := capsule.OpenStore
	if h.looks {
		open = capsule.LookStore
	}
	s, err := open(name)
	if err != nil {
		return err
	}
	if h.looks && s.Torn() {
		note(h.c, "%s was cut short while it was written: what is whole of it is looked at", name)
	}
	ctx := h.c.Context()
	found, err := candidates(ctx, s, "")
	if err == nil && len(found) != 1 {
		err = missing("there is no agent in " + name)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	id := found[0].Agent.String()
	if name != arg {
		id += "@" + ref
	}
	return errors.Join(f(ctx, s, id), s.Close(), h.closeWitness())
}

// isPath reports whether an argument can only be a file: it names a folder on the way, or ends as capsules do.
func isPath(arg string) bool {
	return strings.ContainsAny(arg, `/\`) || strings.HasSuffix(arg, capsule.Ext)
}

// signer is the key this home signs with, once what the home says is accepted. The first time it makes one, and says
// so; a key that was there and is gone is not replaced.
func (h *home) signer() (*perdure.Signer, error) {
	if h.dir == "" {
		return perdure.GenerateSigner(keyName())
	}
	if err := h.consent(); err != nil {
		return nil, err
	}
	s, err := h.key()
	if s != nil || err != nil {
		return s, err
	}
	if err := h.lostKey(); err != nil {
		return nil, err
	}
	s, err = h.makeKey(keyName())
	if errors.Is(err, fs.ErrExist) {
		return h.key() // another process was first
	}
	if err != nil {
		return nil, err
	}
	note(h.c, "made a key in %s: keep it safe, agents made here answer to it", filepath.Join(h.dir, keyFile))
	return s, nil
}

// key is the key of this home, nil if it has none yet.
func (h *home) key() (*perdure.Signer, error) {
	if h.dir == "" {
		return nil, nil
	}
	s, err := perdure.ReadKey(filepath.Join(h.dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, perdure.ErrNotFound) {
		return nil, nil
	}
	return s, err
}

// makeKey makes the key of this home, and trusts it. The error wraps fs.ErrExist if there is one.
func (h *home) makeKey(name string) (*perdure.Signer, error) {
	s, err := perdure.GenerateSigner(name)
	if err != nil {
		return nil, misuse(h.c, err)
	}
	if err := h.makeHome(); err != nil {
		return nil, err
	}
	return s, h.change(func() error {
		h.madeHere(s.Key()) // before it is there: another process that finds it knows whose it is
		if err := perdure.WriteKey(filepath.Join(h.dir, keyFile), s); err != nil {
			return err
		}
		own := ownLine(s)
		own.Comment = madeComment
		return h.trustKey(own)
	})
}

// node is a node that can tell agents things, but not run them.
func (h *home) node(s perdure.Store) (*perdure.Node, error) {
	key, err := h.signer()
	if err != nil {
		return nil, err
	}
	guard, err := h.guard()
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
	return &perdure.Node{Store: s, Key: key, Trust: trust, Witness: witness, State: schemas, Guard: guard, Vault: h.vault(), Place: place}, nil
}

// trust is whom this home trusts: those it names, and its own key, as for a node. A home that was found and not
// accepted trusts nobody.
func (h *home) trust() (*perdure.Trust, error) {
	if !h.counts() {
		return perdure.NewTrust(), nil
	}
	t, err := h.readTrust()
	if err != nil {
		return nil, err
	}
	if s, err := h.key(); err == nil && s != nil { // one that cannot be read signs nothing
		t = t.With(ownLine(s))
	}
	return t, nil
}

// ownLine trusts the key of a home with everything in it.
func ownLine(s *perdure.Signer) perdure.Trustee {
	return perdure.Trustee{Key: s.Key(), Name: s.Name, Rights: perdure.MayOwn, Scope: perdure.AnyScope}
}

// readTrust is the trust file as it is written; empty if there is none.
func (h *home) readTrust() (*perdure.Trust, error) {
	if h.dir == "" {
		return perdure.NewTrust(), nil
	}
	f, err := disk.Open(filepath.Join(h.dir, trustFile))
	if errors.Is(err, fs.ErrNotExist) {
		return perdure.NewTrust(), nil
	}
	if err != nil {
		return nil, err
	}
	t, err := perdure.ParseTrust(f)
	return t, errors.Join(err, f.Close())
}

// load is lookAt by whom this home trusts.
func (h *home) load(ctx context.Context, s perdure.Store, id perdure.AgentID) (*perdure.Agent, error) {
	t, err := h.trust()
	if err != nil {
		return nil, err
	}
	return lookAt(ctx, s, t, id)
}

// lookAt folds an agent to look at: from what can be derived here or somebody trusted vouches for, else on the word of
// its snapshots.
func lookAt(ctx context.Context, s perdure.Store, t *perdure.Trust, id perdure.AgentID) (*perdure.Agent, error) {
	a, err := t.Load(ctx, s, id)
	if errors.Is(err, perdure.ErrRejected) {
		return perdure.Load(ctx, s, id)
	}
	return a, err
}

// trustKey adds a line to the trust file, which is replaced whole. Of several processes that do, none loses another's line.
func (h *home) trustKey(who perdure.Trustee) error {
	path := filepath.Join(h.dir, trustFile)
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := disk.Lock(lock, true); err != nil {
		return errors.Join(err, lock.Close())
	}
	err = h.change(func() error { return h.writeTrust(path, who) })
	return errors.Join(err, disk.Unlock(lock), lock.Close())
}

func (h *home) writeTrust(path string, who perdure.Trustee) error {
	t, err := h.readTrust()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(h.dir, trustFile+".*.part")
	if err != nil {
		return err
	}
	_, err = t.Again(who).WriteTo(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return errors.Join(os.Rename(f.Name(), path), disk.Sync(h.dir))
}

// keyName is what people call a key made here: the user's name, as one word.
func keyName() string {
	name := "me"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	name = strings.Map(func(r rune) rune {
		if r == '+' || r <= ' ' || r > '~' {
			return '-'
		}
		return r
	}, name)
	return name
}

// keyNames are the names of keys this home knows.
func (h *home) keyNames() map[perdure.Key]string {
	names := map[perdure.Key]string{}
	if t, err := h.trust(); err == nil {
		for _, who := range t.Trustees() {
			if who.Name != "" {
				names[who.Key] = who.Name
			}
		}
	}
	return names
}

// note tells people something beside the result.
func note(c *cobra.Command, format string, args ...any) {
	_, _ = fmt.Fprintf(c.ErrOrStderr(), "perdure: %s\n", oneLine(fmt.Sprintf(format, args...), 0)) // the result does not depend on it
}
