package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"strings"

	"filippo.io/age"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/tool"
)

// Recipients are whom to encrypt to; none: nobody.
func Recipients(to []string, passphraseFile string) ([]age.Recipient, error) {
	if passphraseFile != "" {
		if len(to) > 0 {
			return nil, errors.New("a passphrase cannot be combined with other recipients; give one or the other")
		}
		r, _, err := passphrase(passphraseFile)
		return []age.Recipient{r}, err
	}
	var all []age.Recipient
	for _, text := range to {
		r, err := capsule.ParseRecipient(text)
		if err != nil {
			return nil, fmt.Errorf("whom it is encrypted to: %w", err)
		}
		all = append(all, r)
	}
	return all, nil
}

// Identities are whom to decrypt as.
func Identities(files []string, passphraseFile string) ([]age.Identity, error) {
	var all []age.Identity
	if passphraseFile != "" {
		_, id, err := passphrase(passphraseFile)
		if err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	for _, name := range files {
		f, err := disk.Open(name)
		if err != nil {
			return nil, err
		}
		ids, err := capsule.ParseIdentities(f, func() ([]byte, error) {
			return nil, fmt.Errorf("identity %s is protected by a passphrase; unlock a copy of it with ssh-keygen "+
				"-p, or use an age identity", name)
		})
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("identity %s: %w", name, err)
		}
		all = append(all, ids...)
	}
	return all, nil
}

// passphrase reads a passphrase from a file, without its line end.
func passphrase(file string) (age.Recipient, age.Identity, error) {
	b, err := disk.ReadFile(file, maxConfig)
	if err != nil {
		return nil, nil, err
	}
	b = bytes.TrimRight(b, "\r\n")
	if len(b) == 0 {
		return nil, nil, fmt.Errorf("passphrase file %s is empty", file)
	}
	return capsule.Passphrase(string(b))
}

// readSecrets reads NAME=value lines from a file that only its owner may read; no file, no secrets.
func readSecrets(path string) (tool.SecretMap, error) {
	if path == "" {
		return nil, nil
	}
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()            // of what is read, whatever has the name by now
	if err != nil {
		return nil, err
	}
	if owner, known := disk.Owner(info); known && owner != disk.Myself() && owner != 0 && os.Getenv(foreignEnv) == "" {
		return nil, perdure.WithHint(fmt.Errorf("the secrets in %s belong to %s", path, userName(owner)),
			"copy what you need of them to a file of your own")
	}
	if info.Mode().Perm()&others != 0 {
		return nil, perdure.WithHint(fmt.Errorf("others can read the secrets in %s", path), "chmod 600 "+path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return nil, err
	}
	secrets := tool.SecretMap{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		if line = strings.TrimRight(line, "\r\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("secrets %s, line %d: want NAME=value", path, n) // never the line itself
		}
		secrets[name] = value
	}
	return secrets, nil
}

// credentials are the variables of the environment that hold the keys of model providers, and the token for a server.
var credentials = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", TokenEnv}

// TokenEnv is the variable of the environment that holds the token for a server.
const TokenEnv = "PERDURE_TOKEN"

// secretGuard keeps the secrets of a node, and the credentials in its environment, out of every memory it writes to.
func secretGuard(ctx context.Context, known tool.SecretMap, log *slog.Logger) (perdure.Guard, error) {
	all := tool.SecretMap{}
	for _, name := range credentials {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" { // it is sent without white space around it
			all[name] = v
		}
	}
	maps.Copy(all, known)
	return tool.NewGuard(ctx, all, log)
}

// guard is the guard of a home, for commands that write to memories without running them.
func (h *Home) guard(ctx context.Context) (perdure.Guard, error) {
	n, err := readNodeFile(h)
	if err != nil {
		return nil, err
	}
	known, err := readSecrets(n.Secrets)
	// whoever may not read them can still stop an agent
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		h.note("the secrets of this home cannot be read, so they are not looked for in what is written: %v", err)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return h.guardOf(ctx, known, nil)
}
