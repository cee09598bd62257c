package home

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/view"
)

// vaultDir is the folder of a home with the keys of subjects.
const vaultDir = "vault"

// Vault is where the keys of subjects are; nil for a store in memory.
func (h *Home) Vault() seal.Vault {
	if h.Dir == "" {
		return nil
	}
	return keyfile.Vault(filepath.Join(h.Dir, vaultDir))
}

// What lies in a home folder.
const (
	HomeName  = ".perdure" // looked for upward from the working directory
	StoreFile = "store.db"
	KeyFile   = "key"
	TrustFile = "trust"

	witnessFile = "seen.db"
	StoreEnv    = "PERDURE_STORE"
)

// Home is where agents rest: a store, and beside it the key that signs and whom to trust. Once it is located, several
// may use it at once.
type Home struct {
	URL string // the store as people name it; empty: the one in the environment, or the one here, above or of the user

	// Patient waits for as long as another process keeps the store from being written, as nodes do; else a write gives
	// up in time.
	Patient bool

	// Note is told what a person should know; nil: nobody is.
	Note func(text string)
	// Ask asks a person whether what a home says, which was found and is not their own, counts from now on. Asked is
	// false where nobody can be asked.
	Ask func(parts []Saying) (asked, yes bool, err error)

	// Progress is told how far long work has come; without a word for what, that it is over. Nil: nobody is.
	Progress func(what string, done, total int64)

	Looks     bool // asks nobody, and changes nothing: not the home, not the store, not the file of an agent
	Mends     bool // but for the store, which it puts right
	Completes bool // for somebody who is still typing: it says nothing
	Acts      bool // the command signs or runs something: a home that was found must be accepted first

	Scheme         string // sqlite, dir, postgres, nats or mem
	Dir            string // the folder of key and trust; "" for mem
	File           string // of the store; a folder for dir; for one on a server its name, without a password
	remote         string // the URL of a store on a server, for nobody to read
	agent          string // the file of an agent that is the store
	options        sqlite.Options
	seen, looked   *sqlite.Witness // what was seen here: to be told, and to be asked only
	Found          bool            // the home was found here or in a folder above, not named
	Loose          bool            // the store was named by its file: the folder is whatever that is in
	located, Fresh bool            // whether the home had been looked for, and was empty then
	begun          bool            // the folder was made by Begin

	InFile string // the file that UseFor was given in the place of an agent's name; "": it was given a name
	Filed  string // that name, as commands have it

	mu     sync.Mutex // guards what is found out on first use: seen, looked and judged
	judged *bool      // whether what the home says counts, once that is known

	// What files were read as: a server asks for them with every request, and they count as they are then.
	key    disk.Kept[*perdure.Signer]
	trust  disk.Kept[*perdure.Trust]
	whole  atomic.Pointer[ownTrust]
	tokens tokenFiles
}

// ownTrust is a trust file together with the key of the home.
type ownTrust struct {
	file, all *perdure.Trust
	key       *perdure.Signer
}

func (h *Home) note(format string, args ...any) {
	if h.Note != nil {
		h.Note(fmt.Sprintf(format, args...))
	}
}

func (h *Home) Progressed(what string, done, total int64) {
	if h.Progress != nil {
		h.Progress(what, done, total)
	}
}

// Locate says where the store is, and refuses a home in which somebody else decides.
func (h *Home) Locate() error {
	if err := h.Find(); err != nil {
		return err
	}
	if err := h.vet(); err != nil {
		return err
	}
	if h.Acts {
		return h.Consent()
	}
	return nil
}

// acting is h for a command that signs or runs something.
func (h *Home) acting() *Home {
	h.Acts = true
	return h
}

// Find says where the store is, without touching it, and whether there is a home yet.
func (h *Home) Find() error {
	if err := h.place(); err != nil {
		return err
	}
	if !h.located { // later this command may have begun one
		h.located, h.Fresh, h.judged = true, len(h.has()) == 0, nil
	}
	return nil
}

// Anywhere is the store as a process that starts anywhere finds it; empty: as every process does.
func (h *Home) Anywhere() (string, error) {
	url := cmp.Or(h.URL, os.Getenv(StoreEnv))
	switch {
	case url == "" && !h.Found:
		return "", nil
	case url == "":
		return filepath.Abs(h.Dir)
	}
	if shown := Shown(url); shown != url || h.Remote() {
		return shown, nil
	}
	scheme, path, found := strings.Cut(url, ":")
	if !found || strings.ContainsAny(scheme, `/\.`) || len(scheme) == 1 { // as place takes it
		return filepath.Abs(url)
	}
	path, options, asked := strings.Cut(path, "?")
	path, err := filepath.Abs(path)
	if asked {
		path += "?" + options
	}
	return scheme + ":" + path, err
}

// place says where the store is.
func (h *Home) place() error {
	h.Found, h.Loose, h.remote, h.options = false, false, "", sqlite.Options{}
	url := h.URL
	if url == "" {
		url = os.Getenv(StoreEnv)
	}
	if url == "" {
		dir, found, err := defaultHome()
		if err != nil {
			return err
		}
		h.Found = found
		h.Scheme, h.Dir, h.File = "sqlite", dir, filepath.Join(dir, StoreFile)
		return nil
	}
	scheme, path, found := strings.Cut(url, ":")
	switch {
	case !found || strings.ContainsAny(scheme, `/\.`) || len(scheme) == 1: // a drive is no scheme
		scheme, path = "sqlite", url
	case scheme == "mem" && path == "":
		h.Scheme, h.Dir, h.File = "mem", "", ""
		return nil
	case scheme == "dir" && path != "":
		dir, found, err := defaultHome() // the folder is shared with others: no place for a key
		h.Found = found
		h.Scheme, h.Dir, h.File = scheme, dir, path
		return err
	case isEngine(scheme):
		return h.engine(url)
	case scheme != "sqlite" || path == "":
		return perdure.Invalid(
			fmt.Errorf("store %q: want mem:, sqlite:PATH, dir:PATH, postgres://…, nats://…, a file or a folder", url),
		)
	default:
		var err error
		if path, h.options, err = sqlite.ParseName(path); err != nil {
			return perdure.Invalid(fmt.Errorf("store sqlite:%w; a file with a question mark in its name goes without "+
				"sqlite:", err))
		}
		if path == "" {
			return perdure.Invalid(fmt.Errorf("store %q: want a path before the question mark", url))
		}
	}
	h.Scheme, h.Dir, h.File = scheme, path, filepath.Join(path, StoreFile)
	if info, err := os.Stat(path); err == nil && !info.IsDir() || err != nil &&
		filepath.Ext(path) == filepath.Ext(StoreFile) {
		h.Dir, h.File, h.Loose = filepath.Dir(path), path, true
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
		dir := filepath.Join(at, HomeName)
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
		return "", false, fmt.Errorf("find the user's data folder: %w: name a store in %s", err, StoreEnv)
	}
	return filepath.Join(user, ".local", "share", "perdure"), false, nil
}

// openStore opens the store; create makes it where there is none.
func (h *Home) openStore(ctx context.Context, create bool) (perdure.Store, error) {
	if err := h.Locate(); err != nil {
		return nil, err
	}
	if h.Scheme == "mem" {
		return new(perdure.MemStore), nil
	}
	if create && h.Scheme == "dir" {
		return h.openFolder(false)
	}
	if create {
		if err := h.MakeHome(); err != nil {
			return nil, err
		}
		if h.Fresh { // its key comes first: a home that has a store and no key was begun by somebody else
			if _, err := h.Signer(ctx); err != nil {
				return nil, err
			}
		}
	} else if !h.there() {
		return nil, perdure.WithHint(perdure.Missing("there is no store at "+h.File+" yet"),
			"make a home here with perdure init, or name another in "+StoreEnv)
	}
	if h.remote != "" {
		return h.openEngine(ctx, create)
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
	return sqlite.Open(ctx, h.File, o)
}

// patience is how long a command waits for another process that keeps the store from being written.
const patience = 30 * time.Second

// SurvivedBy is what the writes to a store survive as it was opened, where there is a choice.
func SurvivedBy(s perdure.Store) string {
	switch s := s.(type) {
	case *sqlite.Store:
		return s.Sync().Survives()
	case interface{ Survives() string }:
		return s.Survives()
	}
	return ""
}

// openFolder opens a folder of agents. Copies beside an agent join it as imports do: only with entries that count here.
func (h *Home) openFolder(look bool) (perdure.Store, error) {
	trust, err := h.Trust()
	if err != nil {
		return nil, err
	}
	return dir.Open(h.File, dir.Options{Look: look, Trust: trust, Secret: h.secret()})
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

// witness remembers how far the memories this home has seen had come; nil for a home in memory.
func (h *Home) witness() (perdure.Witness, error) {
	if h.Dir == "" {
		return nil, nil
	}
	path := filepath.Join(h.Dir, witnessFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := h.seeAgain(path); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		w, err := sqlite.OpenWitness(path, h.storePath())
		if err != nil {
			return nil, err
		}
		if h.seen = w; h.agent != "" {
			w.Eager()
		}
	}
	return h.seen, nil
}

// CloseWitness writes what was seen, and closes it. That this fails is said, and no error: what was done is in the
// store, and who is told that it failed does it again.
func (h *Home) CloseWitness() {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, w := range []**sqlite.Witness{&h.seen, &h.looked} {
		if *w != nil {
			errs = append(errs, (*w).Close())
			*w = nil
		}
	}
	if err := errors.Join(errs...); err != nil {
		h.note("what was done is recorded, but how far the agents have come could not be noted in %s: %v; an older "+
			"copy of them may not be noticed",
			filepath.Join(h.Dir, witnessFile), err)
	}
}

// FileArg is the file that AGENT or AGENT@REF names, and the ref; file is "" if it names an agent of the store.
func FileArg(arg string) (file, ref string) {
	name, ref := SplitRef(arg)
	if _, err := os.Stat(arg); err == nil && view.IsPath(arg) {
		name, ref = arg, "" // the @ is in the name of the file
	}
	if !view.IsPath(name) {
		return "", ""
	}
	return name, ref
}

// UseFor is use for what is about one agent, which may be a file: then the file is the store, and arg is passed on as
// the id of the agent in it. The key stays that of the home.
func (h *Home) UseFor(ctx context.Context, arg string, f func(ctx context.Context, s perdure.Store,
	arg string) error) error {
	name, ref := FileArg(arg)
	if h.InFile = name; name == "" {
		return h.Use(ctx, false, func(ctx context.Context, s perdure.Store) error { return f(ctx, s, arg) })
	}
	s, one, err := h.openFile(ctx, name)
	if err != nil {
		return err
	}
	h.Filed = view.CommandName(one.Name, one.Agent)
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
	if h.Looks && s.Torn() {
		h.note("%s was cut short while it was written: what is whole of it is looked at", name)
	}
	found, err := Candidates(ctx, s, "")
	if err == nil && len(found) != 1 {
		err = perdure.Missing("there is no agent in " + name)
	}
	if err != nil {
		return nil, perdure.Listing{}, errors.Join(err, s.Close())
	}
	return s, found[0], nil
}

// Signer is the key this home signs with, once what the home says is accepted. The first time it makes one, and says
// so; a key that was there and is gone is not replaced.
func (h *Home) Signer(ctx context.Context) (*perdure.Signer, error) {
	if h.Dir == "" {
		return perdure.GenerateSigner(KeyName())
	}
	if err := h.Consent(); err != nil {
		return nil, err
	}
	s, err := h.Key()
	if s != nil || err != nil {
		return s, err
	}
	if err := h.lostKey(ctx); err != nil {
		return nil, err
	}
	s, err = h.MakeKey(KeyName())
	if errors.Is(err, fs.ErrExist) {
		return h.Key() // another process was first
	}
	if err != nil {
		return nil, err
	}
	h.note("made a key in %s: keep it safe, agents made here answer to it", filepath.Join(h.Dir, KeyFile))
	return s, nil
}

// Key is the key of this home, nil if it has none yet.
func (h *Home) Key() (*perdure.Signer, error) {
	if h.Dir == "" {
		return nil, nil
	}
	path := filepath.Join(h.Dir, KeyFile)
	s, err := h.key.Get(path, func() (*perdure.Signer, error) { return keyfile.Read(path) })
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, perdure.ErrNotFound) {
		return nil, nil
	}
	return s, err
}

// MakeKey makes the key of this home, and trusts it. The error wraps fs.ErrExist if there is one.
func (h *Home) MakeKey(name string) (*perdure.Signer, error) {
	s, err := perdure.GenerateSigner(name)
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	if err := h.MakeHome(); err != nil {
		return nil, err
	}
	return s, h.change(func() error {
		h.madeHere(s.Key()) // before it is there: another process that finds it knows whose it is
		if err := keyfile.Write(filepath.Join(h.Dir, KeyFile), s); err != nil {
			return err
		}
		own := ownLine(s)
		own.Comment = madeComment
		return h.TrustKey(own)
	})
}

// Node is a node that can tell agents things, but not run them.
func (h *Home) Node(ctx context.Context, s perdure.Store) (*perdure.Node, error) {
	n, err := h.base(ctx, s)
	if err != nil {
		return nil, err
	}
	n.Guard, err = h.guard(ctx)
	return n, err
}

// base is what every node over a store of this home has: the key it signs with, whom it trusts, what it has seen, the
// schemas it knows, the vault and the place of the store. Its guard is for the caller to add.
func (h *Home) base(ctx context.Context, s perdure.Store) (n *perdure.Node, err error) {
	n = &perdure.Node{Store: s, Vault: h.Vault(), Survivors: tool.Survivors, Working: tool.Working}
	if n.Key, err = h.Signer(ctx); err != nil {
		return nil, err
	}
	if n.State, err = h.Schemas(); err != nil {
		return nil, err
	}
	if n.Trust, err = h.Trust(); err != nil {
		return nil, err
	}
	n.TrustNow = func() *perdure.Trust {
		t, _ := h.Trust() // without an answer it stays as it was; FollowTrust says so
		return t
	}
	if n.Witness, err = h.witness(); err != nil {
		return nil, err
	}
	if h.agent == "" && h.Dir != "" {
		n.Barred = h.barred
	}
	n.Place, err = h.PlaceOf(ctx, s)
	return n, err
}

// Trust is whom this home trusts now: those it names, and its own key, as for a node. A home that was found and not
// accepted trusts nobody. While the files are the same, so is what it returns.
func (h *Home) Trust() (*perdure.Trust, error) {
	if !h.counts() {
		return perdure.NewTrust(), nil
	}
	t, err := h.ReadTrust()
	if err != nil {
		return nil, err
	}
	s, err := h.Key()
	if err != nil {
		s = nil // one that cannot be read signs nothing
	}
	was := h.whole.Load()
	if was != nil && was.file == t && was.key == s {
		return was.all, nil
	}
	w := &ownTrust{file: t, key: s, all: t}
	if s != nil {
		w.all = t.With(ownLine(s))
	}
	if was != nil && was.all.String() == w.all.String() {
		w.all = was.all // it was read again, and says the same
	}
	h.whole.Store(w)
	return w.all, nil
}

// ownLine trusts the key of a home with everything in it.
func ownLine(s *perdure.Signer) perdure.Trustee {
	return perdure.Trustee{Key: s.Key(), Name: s.Name, Rights: perdure.MayOwn, Scope: perdure.AnyScope}
}

// ReadTrust is the trust file as it is written; empty if there is none.
func (h *Home) ReadTrust() (*perdure.Trust, error) {
	if h.Dir == "" {
		return perdure.NewTrust(), nil
	}
	path := filepath.Join(h.Dir, TrustFile)
	t, err := h.trust.Get(path, func() (*perdure.Trust, error) {
		f, err := disk.Open(path)
		if err != nil {
			return nil, err
		}
		t, err := perdure.ParseTrust(f)
		return t, errors.Join(err, f.Close())
	})
	if errors.Is(err, fs.ErrNotExist) {
		return perdure.NewTrust(), nil
	}
	return t, err
}

// Agent is the agent that a name or the beginning of an id means, as this home sees it.
func (h *Home) Agent(ctx context.Context, s perdure.Store, arg string) (*perdure.Agent, error) {
	id, err := Find(ctx, s, arg)
	if err != nil {
		return nil, err
	}
	return h.Load(ctx, s, id)
}

// Load is lookAt by whom this home trusts.
func (h *Home) Load(ctx context.Context, s perdure.Store, id perdure.AgentID) (*perdure.Agent, error) {
	t, err := h.Trust()
	if err != nil {
		return nil, err
	}
	return view.LookAt(ctx, s, t, id)
}

// TrustKey adds a line to the trust file, which is replaced whole. Of several processes that do, none loses another's
// line.
func (h *Home) TrustKey(who perdure.Trustee) error {
	path := filepath.Join(h.Dir, TrustFile)
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

func (h *Home) writeTrust(path string, who perdure.Trustee) error {
	t, err := h.ReadTrust()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(h.Dir, TrustFile+".*.part")
	if err != nil {
		return err
	}
	_, err = t.Again(who).WriteTo(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return errors.Join(os.Rename(f.Name(), path), disk.Sync(h.Dir))
}

// KeyName is what people call a key made here: the user's name, as one word.
func KeyName() string {
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

// KeyNames are the names of keys this home knows.
func (h *Home) KeyNames() map[perdure.Key]string {
	names := map[perdure.Key]string{}
	if t, err := h.Trust(); err == nil {
		for _, who := range t.Trustees() {
			if who.Name != "" {
				names[who.Key] = who.Name
			}
		}
	}
	return names
}
