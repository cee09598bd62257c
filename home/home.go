package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
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
	HomeName  = disk.HomeName // looked for upward from the working directory
	StoreFile = "store.db"
	KeyFile   = "key"
	TrustFile = "trust"

	witnessFile = "seen.db"
	looksDir    = "looks"
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
	Founds    bool // it may make a store on a server; else one is made only in a file or folder
	Acts      bool // the command signs or runs something: a home that was found must be accepted first

	Scheme         string // sqlite, dir, postgres, nats or mem
	Dir            string // the folder of key and trust; "" for mem
	File           string // of the store; a folder for dir; for one on a server its name, without a password
	remote         string // the URL of a store on a server, for nobody to read
	own            string // the file of the home's own store, where another is used in its place
	agent          string // the file of an agent that is the store
	options        sqlite.Options
	seen, looked   *sqlite.Witness // what was seen here: to be told, and to be asked only
	Found          bool            // the home was found here or in a folder above, not named
	Loose          bool            // the store was named by its file: the folder is whatever that is in
	located, Fresh bool            // whether the home had been looked for, and was empty then
	begun          bool            // the folder was made by Begin
	policies       []string        // files of the policy of a node that goes by others than the home's

	InFile string   // the file that UseFor was given in the place of an agent's name; "": it was given a name
	Filed  []string // what commands call that agent: its name, and the beginning of its id

	mu     sync.Mutex // guards what is found out on first use: seen, looked and judged
	judged *bool      // whether what the home says counts, once that is known

	// What files were read as: a server asks for them with every request, and they count as they are then.
	key    disk.Kept[*perdure.Signer]
	trust  disk.Kept[*perdure.Trust]
	whole  atomic.Pointer[ownTrust]
	tokens tokenFiles
	// linking is held while links are counted and one is made.
	linking sync.Mutex
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

// witness remembers how far the memories this home has seen had come; nil for a home in memory.
func (h *Home) witness() (perdure.Witness, error) {
	if h.Dir == "" {
		return nil, nil
	}
	path := filepath.Join(h.Dir, witnessFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if h.Looks {
			return nil, nil
		}
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
		w.Own = h.isStore
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
	// The one that writes is last: SQLite takes a log away with the last connection, which must be able to write.
	for _, w := range []**sqlite.Witness{&h.looked, &h.seen} {
		if *w != nil {
			errs = append(errs, (*w).Close())
			*w = nil
		}
	}
	if err := errors.Join(errs...); err != nil && !h.Looks {
		h.note("what was done is recorded, but how far the agents have come could not be noted in %s: %v; an older "+
			"copy of them may not be noticed",
			filepath.Join(h.Dir, witnessFile), err)
	}
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
	if n.State, err = h.stateSchemas(); err != nil {
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

// Agent is the agent that a name or the beginning of an id means, as this home sees it.
func (h *Home) Agent(ctx context.Context, s perdure.Store, arg string) (*perdure.Agent, error) {
	id, err := h.FindAgent(ctx, s, arg)
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
