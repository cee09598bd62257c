package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// resolve is the secret that a reference in node.yaml stands for: env:NAME, file:PATH, or a NAME of the home's secrets.
// The secret itself is never written there: the file says what runs, and people show it to each other. No error quotes
// it.
func (h *Home) resolve(ref, secrets string) (string, error) {
	kind, name, found := strings.Cut(ref, ":")
	switch {
	case ref == "":
		return "", errors.New("no secret is named: env:NAME, file:PATH, or a NAME of the file of secrets")
	case found && kind == "env":
		value := os.Getenv(name)
		if value == "" {
			return "", perdure.WithHint(fmt.Errorf("the variable %s of the environment is not set", name),
				"set it where the node is started")
		}
		return value, nil
	case found && kind == "file":
		if !filepath.IsAbs(name) {
			name = filepath.Join(h.Dir, name)
		}
		return readOwn(name)
	case found || strings.ContainsAny(ref, "_/+=") && len(ref) > 24:
		return "", errors.New("want a reference to the secret, not the secret: env:NAME, file:PATH, or a NAME of the " +
			"file of secrets")
	}
	known, err := readSecrets(secrets)
	if err != nil {
		return "", err
	}
	value, ok := known[ref]
	if !ok {
		return "", perdure.WithHint(fmt.Errorf("there is no secret %s", ref),
			"add a line "+ref+"=… to the file that secrets in node.yaml names")
	}
	return value, nil
}

// readOwn reads a short file that only its owner may read.
func readOwn(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&others != 0 {
		return "", perdure.WithHint(fmt.Errorf("others can read the secret in %s", path), "chmod 600 "+path)
	}
	b, err := disk.ReadFile(path, maxConfig)
	return strings.TrimSpace(string(b)), err
}
