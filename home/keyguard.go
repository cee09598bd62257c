package home

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/tool"
)

// homeGuard keeps the private keys of a home out of every memory: the one that signs, those of people and those of the
// vault, in whatever common spelling; and its secrets and tokens. A tool that can read files, or a program an agent
// runs, may come upon them; whoever has them speaks for the home.
type homeGuard struct {
	perdure.Guard // of the node's secrets
	h             *Home

	named *tool.Guard // the secrets that node.yaml refers to
	file  NodeFile    // which names keys of people

	mu   sync.Mutex
	keys *tool.Guard
	seen [3]time.Time // when the folders that have keys last changed
}

// guardOf keeps the secrets of a node, the keys of model providers in its environment, what node.yaml and these
// advisors refer to, and the keys and tokens of the home out of every memory it writes to.
func (h *Home) guardOf(ctx context.Context, known tool.SecretMap, log *slog.Logger, advisors ...string) (perdure.Guard,
	error) {
	secrets, err := secretGuard(ctx, known, log)
	if err != nil || h.Dir == "" {
		return secrets, err
	}
	file, err := readNodeFile(h)
	if err != nil {
		return nil, err
	}
	g := &homeGuard{Guard: secrets, h: h, file: file}
	if g.named, err = tool.NewGuard(ctx, h.namedSecrets(&file, advisors), log); err != nil {
		return nil, err
	}
	return g, g.refresh(ctx)
}

// Check implements perdure.Guard.
func (g *homeGuard) Check(body []byte) error {
	g.mu.Lock()
	err := g.refresh(context.Background())
	keys := g.keys
	g.mu.Unlock()
	if err != nil {
		return err // what is not known cannot be kept out
	}
	if keys.Check(body) != nil { // which would name a secret to refer to: there is none
		return errors.New("it holds a private key of this home, which must never be in a memory: leave it out")
	}
	if g.named.Check(body) != nil { // nor is there one of these for tools
		return errors.New("it holds a secret that node.yaml or an advisor refers to, which must never be in a " +
			"memory: leave it out")
	}
	if g.h.holdsToken(body) {
		return errors.New("it holds a token or a link of this home, which must never be in a memory: leave it out, " +
			"and revoke it (perdure token revoke)")
	}
	return g.Guard.Check(body)
}

// settles is how long after a change of a folder another may bear the same time.
const settles = 100 * time.Millisecond

// refresh reads the keys, if a folder that has some has changed since: sealing data for somebody new makes one, and so
// do a rotation of the home's own key and a new person, beside a node that runs.
func (g *homeGuard) refresh(ctx context.Context) error {
	vault := filepath.Join(g.h.Dir, vaultDir)
	var changed [3]time.Time
	for i, dir := range []string{g.h.Dir, filepath.Join(g.h.Dir, peopleDir), vault} {
		info, err := os.Stat(dir)
		if err == nil && time.Since(info.ModTime()) > settles {
			changed[i] = info.ModTime()
		} else if err == nil {
			changed[i] = time.Now() // never the same
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if g.keys != nil && changed == g.seen {
		return nil
	}
	values, err := g.h.signingKeys()
	if err == nil {
		g.h.peoplesKeys(&g.file, values)
		err = vaultKeys(vault, values)
	}
	if err != nil {
		return err
	}
	g.keys, err = tool.NewGuard(ctx, values, nil)
	g.seen = changed
	return err
}

// signingKeys is what must not be seen of the key this home signs with, of those it did, and of one it will.
func (h *Home) signingKeys() (tool.SecretMap, error) {
	all := tool.SecretMap{}
	paths, err := h.begins(KeyFile + ".")
	for _, path := range append(paths, filepath.Join(h.Dir, KeyFile)) {
		values, err := signingKey(path)
		if err != nil {
			return nil, err
		}
		for name, value := range values {
			all[filepath.Base(path)+" "+name] = value
		}
	}
	return all, err
}

// signingKey is what of a key file must not be seen: the text of the key as it is there, and the bytes it stands for.
func signingKey(path string) (tool.SecretMap, error) {
	values := tool.SecretMap{}
	b, err := disk.ReadFile(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return values, nil
	}
	if err != nil {
		return nil, err
	}
	// PRIVATE+KEY+NAME+HASH+SEED, as keyfile.Write writes it
	parts := strings.SplitN(strings.TrimSpace(string(b)), "+", 5)
	if len(parts) != 5 {
		return values, nil // no key: reading it says so
	}
	values["text"] = parts[4]
	if seed, err := base64.StdEncoding.DecodeString(parts[4]); err == nil && len(seed) > 1 {
		values["seed"] = string(seed[1:]) // after the mark of the algorithm
	}
	return values, nil
}

// vaultKeys adds the keys of subjects.
func vaultKeys(dir string, to tool.SecretMap) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const size = 32 // of a key; what is left of an erased one is shorter
	for _, f := range files {
		b, err := disk.ReadFile(filepath.Join(dir, f.Name()), maxConfig)
		if err == nil && len(b) == size {
			to["vault "+f.Name()] = string(b)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process was quicker
			return err
		}
	}
	return nil
}
