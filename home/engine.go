package home

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/postgres"
)

// isEngine reports whether a scheme is of a server that many nodes share.
func isEngine(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// engine says where a store on a server is. Key and trust are in this machine's own home: a server that many share is
// no place for them.
func (h *Home) engine(url string) error {
	name, err := postgres.Parse(url)
	if err != nil {
		return err
	}
	dir, found, err := defaultHome()
	h.Found = found
	h.Scheme, h.Dir, h.File, h.remote = "postgres", dir, name.Label, url
	return err
}

// openEngine opens a store on a server.
func (h *Home) openEngine(ctx context.Context, create bool) (perdure.Store, error) {
	s, err := postgres.Open(
		ctx,
		h.remote,
		postgres.Options{Existing: !create, Look: h.Looks && !h.Mends, Patience: patience},
	)
	if errors.Is(err, perdure.ErrNotFound) {
		return nil, perdure.WithHint(
			perdure.Missing("there is no store at "+h.File+" yet"),
			"make an agent with perdure new --store "+h.File,
		)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// enginePlace is the id of a store on a server.
func (h *Home) enginePlace(ctx context.Context) (at perdure.Hash, err error) {
	s, err := postgres.Open(ctx, h.remote, postgres.Options{Existing: h.Looks, Look: h.Looks, Patience: patience})
	if errors.Is(err, perdure.ErrNotFound) {
		return at, nil
	}
	if err == nil {
		at, err = s.Place(ctx)
		err = errors.Join(err, s.Close())
	}
	return at, err
}

// there reports whether the store may be there; of one on a server only opening it tells.
func (h *Home) there() bool {
	if h.remote != "" {
		return true
	}
	_, err := os.Stat(h.File)
	return h.File != "" && !errors.Is(err, fs.ErrNotExist)
}

// beside is the name of a file of this home that belongs to its store, where that is elsewhere.
func (h *Home) beside(what string) string {
	name := filepath.Base(h.File)
	if h.remote != "" {
		sum := perdure.HashOf([]byte(h.File))
		name = h.Scheme + "-" + hex.EncodeToString(sum[:6])
	}
	return filepath.Join(h.Dir, name+what)
}

// Shown is the name of a store as people may read it, and type it again: without a password.
func Shown(url string) string {
	scheme, _, _ := strings.Cut(url, ":")
	if !isEngine(scheme) {
		return url
	}
	name, err := postgres.Parse(url)
	if err != nil {
		return scheme + ":…"
	}
	return name.Label
}
