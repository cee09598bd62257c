package home

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/alive"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// sessionsDir is the folder of a home where the processes of open sessions are known.
const sessionsDir = "sessions"

// indexFile is the search index of the store: it can be thrown away. Stores beside the home each have their own.
func (h *Home) indexFile() string {
	switch {
	case h.Dir == "":
		return ""
	case h.Loose && h.Scheme == "sqlite":
		return h.File + "-" + workspace.IndexFile
	case h.Scheme == "dir":
		sum := sha256.Sum256([]byte(h.storePath()))
		return filepath.Join(h.Dir, strings.TrimSuffix(workspace.IndexFile,
			".db")+"-"+hex.EncodeToString(sum[:4])+".db")
	}
	return filepath.Join(h.Dir, workspace.IndexFile)
}

// openIndex is where the index of the store is that is in use; that of the file of an agent is in memory, as is one
// for whoever leaves all as it is.
func (h *Home) openIndex() string {
	if h.agent != "" || h.Looks {
		return ""
	}
	return h.indexFile()
}

// Workspace is the documents of a store of this home, for somebody who uses memory: from then on agents have its tools.
// Whoever opens it closes its Index. What roles may read and write, the policy of the home says.
func (h *Home) Workspace(ctx context.Context, s perdure.Store, n *perdure.Node) (*workspace.Workspace, error) {
	if err := h.useMemory(); err != nil {
		return nil, err
	}
	w, err := h.documents(s, n)
	if err != nil {
		return nil, err
	}
	return w, h.derive(ctx, w, false)
}

// documents is a workspace that has no index yet.
func (h *Home) documents(s perdure.Store, n *perdure.Node) (*workspace.Workspace, error) {
	set, err := LoadPolicy(h, nil)
	if err != nil {
		return nil, err
	}
	file, err := readNodeFile(h)
	if err != nil {
		return nil, err
	}
	w := &workspace.Workspace{Store: s, Node: n, Vault: h.Vault(), Allow: documentPolicy(set, n),
		Holds: &checker{home: h, node: n, policy: set}, Resolve: h.resolver(s)}
	if w.Embed, err = file.embedder(); err != nil {
		return nil, fmt.Errorf("%s: embeddings: %w", filepath.Join(h.Dir, NodeFileName), err)
	}
	if h.Dir != "" {
		w.Alive = &alive.Folder{Path: filepath.Join(h.Dir, sessionsDir)}
	}
	return w, nil
}

// derive opens the index of a workspace, and brings it up to date. Whoever only looks gets one in memory if the other
// cannot be written.
func (h *Home) derive(ctx context.Context, w *workspace.Workspace, looks bool) error {
	open := func(path string) (err error) {
		if w.Index, err = workspace.OpenIndex(ctx, path); err != nil {
			return err
		}
		if err = w.Index.Ready(ctx, w.Store); err != nil {
			_ = w.Index.Close() // it can be thrown away
		}
		return err
	}
	err := h.beginIndex()
	if err == nil {
		err = open(h.openIndex())
	}
	if err == nil || !looks || ctx.Err() != nil || h.openIndex() == "" {
		return err
	}
	why, hint := view.Explain(err, "perdure")
	if hint != "" {
		why += "; " + hint
	}
	h.note("the search index cannot be used, so one is derived for this command: %s", why)
	return open("")
}

// tidyIndex takes out of the index, if there is one, what is gone from memories.
func (h *Home) tidyIndex(ctx context.Context, s perdure.Store) error {
	path := h.openIndex()
	if _, err := os.Stat(path); path == "" || err != nil {
		return nil //nolint:nilerr // there is nothing to tidy
	}
	ix, err := workspace.OpenIndex(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(ix.Ready(ctx, s), ix.Close())
}

// resolver finds agents of a store by their names.
func (h *Home) resolver(s perdure.Store) func(context.Context, string, func(perdure.AgentID) bool) (
	perdure.AgentID, error) {
	return func(ctx context.Context, arg string, shows func(perdure.AgentID) bool) (perdure.AgentID, error) {
		return h.FindAgentShown(ctx, s, arg, shows)
	}
}

// UseScope is UseWorkspace for the documents of one scope; empty: of all.
func (h *Home) UseScope(ctx context.Context, create bool, scope string,
	f func(ctx context.Context, w *workspace.Workspace) error) error {
	if scope != "" {
		if err := perdure.CheckScope(scope); err != nil {
			return perdure.Invalid(err)
		}
	}
	return h.UseWorkspace(ctx, create, func(ctx context.Context, w *workspace.Workspace) error {
		w.Scope = scope
		return f(ctx, w)
	})
}

// UseWorkspace opens the store and its documents, calls f and closes both. Whoever may not create the store makes no
// role either: a slip of the pen would be one. They read also where nothing can be written, as on a full disk.
func (h *Home) UseWorkspace(ctx context.Context, create bool,
	f func(ctx context.Context, w *workspace.Workspace) error) error {
	began := false
	err := h.useDocuments(ctx, create, func(ctx context.Context, w *workspace.Workspace) error {
		began = true
		return f(ctx, w)
	})
	stuck := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) ||
		errors.Is(err, syscall.EDQUOT)
	if began || create || h.Looks || !stuck {
		return err
	}
	h.Looks = true
	defer func() { h.Looks = false }()
	again := h.useDocuments(ctx, false, func(ctx context.Context, w *workspace.Workspace) error {
		h.note("%s cannot be written, so it is only read", h.Dir)
		return f(ctx, w)
	})
	if again == nil || errors.Is(again, perdure.ErrNotFound) || errors.Is(again, perdure.ErrInvalid) {
		return again
	}
	return err // says what to do, for what cannot be done without writing
}

func (h *Home) useDocuments(ctx context.Context, create bool,
	f func(ctx context.Context, w *workspace.Workspace) error) error {
	return h.Use(ctx, create, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		w, err := h.documents(s, n)
		if err == nil {
			err = h.derive(ctx, w, !create)
		}
		if err != nil {
			return err
		}
		defer func() { _ = w.Index.Close() }() // it can be thrown away
		w.Looks = !create
		return f(ctx, w)
	})
}

// documentPolicy is what a policy says about documents, as a workspace asks it.
func documentPolicy(set *policy.Set, n *perdure.Node) func(*perdure.Agent, workspace.Access) perdure.Verdict {
	return func(a *perdure.Agent, x workspace.Access) perdure.Verdict {
		seen := n.Trusted().Sees(a, perdure.Request{})
		d := policy.Document{Write: x.Write, Path: x.Path, Kind: x.Kind, Tier: string(x.Tier), Scope: x.Scope,
			Node: n.Key.Key(), Unnamed: x.Unnamed, Owner: seen.Owner, Tainted: seen.Tainted}
		return set.Document(a, d, time.Now())
	}
}

// embedder is the embedder that the file names as MODEL@URL[#KEY]; nil for none. Its key is looked for when it is
// needed, where those of advisors are.
func (n *NodeFile) embedder() (workspace.Embedder, error) {
	text := n.Embeddings
	if text == "" {
		return nil, nil
	}
	model, at, ok := strings.Cut(text, "@")
	url, key, _ := strings.Cut(at, "#")
	if !ok || model == "" || !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return nil, fmt.Errorf("%q: want MODEL@URL[#KEY], such as nomic-embed-text@http://127.0.0.1:11434/v1", text)
	}
	e := &workspace.Embeddings{URL: url, Model: model}
	if key != "" {
		e.Key = func() (string, error) {
			known, err := readSecrets(n.Secrets)
			if err != nil {
				return "", err
			}
			return (&Powers{Known: known}).key(key)()
		}
	}
	return e, nil
}

// memories opens the documents of a store when they are first asked for.
type memories struct {
	h *Home
	s perdure.Store
	n *perdure.Node

	mu   sync.Mutex
	open *workspace.Workspace
}

// get is the documents.
func (m *memories) get(ctx context.Context) (*workspace.Workspace, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		w, err := m.h.documents(m.s, m.n)
		if err == nil {
			err = m.h.derive(context.WithoutCancel(ctx), w, false)
		}
		if err != nil {
			return nil, err
		}
		m.open = w
	}
	return m.open, nil
}

// state is the current state of an agent, for its advisor. A home in which no document was ever written is not looked
// through for one.
func (m *memories) state(ctx context.Context, a *perdure.Agent) string {
	m.mu.Lock()
	known := m.open != nil
	m.mu.Unlock()
	if _, err := os.Stat(m.h.openIndex()); err != nil && !known {
		return ""
	}
	w, err := m.get(ctx)
	if err != nil {
		return ""
	}
	text, err := w.CurrentState(ctx, a)
	if err != nil {
		return ""
	}
	return text
}

func (m *memories) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		return nil
	}
	err := m.open.Index.Close()
	m.open = nil
	return err
}
