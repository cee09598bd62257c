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
	"github.com/perdure/perdure/store/nats"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/view"
)

// isEngine reports whether a scheme is of a server that many nodes share.
func isEngine(scheme string) bool { return isPostgres(scheme) || isNATS(scheme) }

func isPostgres(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// isNATS has tls, too: that is how servers are named that want it.
func isNATS(scheme string) bool { return scheme == "nats" || scheme == "tls" }

// engineName is a store on a server as a URL names it: what tells it from others, and what people may read and type
// again. Neither has a password in it.
func engineName(url string) (scheme, label, shown string, err error) {
	if scheme, _, _ = strings.Cut(url, ":"); isNATS(scheme) {
		n, err := nats.Parse(url)
		if err != nil {
			return "", "", "", err
		}
		return "nats", n.Label, n.Shown, nil
	}
	n, err := postgres.Parse(url)
	if err != nil {
		return "", "", "", err
	}
	return "postgres", n.Label, n.Label, nil
}

// engine says where a store on a server is. Key and trust are in this machine's own home: a server that many share is
// no place for them.
func (h *Home) engine(url string) error {
	scheme, label, _, err := engineName(url)
	if err != nil {
		return err
	}
	h.Scheme, h.File, h.remote = scheme, label, url
	return h.beneath()
}

// engineStore is a store on a server.
type engineStore interface {
	claimed
	perdure.Placed
}

// dial opens a store on a server; existing: it is not made where there is none.
func (h *Home) dial(ctx context.Context, existing, look bool) (engineStore, error) {
	if h.Scheme == "nats" {
		s, err := nats.Open(ctx, h.remote, nats.Options{Existing: existing, Look: look, Patience: patience,
			Note: h.Note, Aside: h.aside(h.File)})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := postgres.Open(ctx, h.remote, postgres.Options{Existing: existing, Look: look, Patience: patience,
		Waits: h.Note})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// writable says why a store on a server can only be read, if this user may not write to it.
func writable(ctx context.Context, s perdure.Store) error {
	if e, ok := s.(interface{ Writable(context.Context) error }); ok {
		return e.Writable(ctx)
	}
	return nil
}

// openEngine opens a store on a server. It is made only by a command that founds one: a node with a typing error in the
// name of its store would look healthy, and have nothing to do.
func (h *Home) openEngine(ctx context.Context, create bool) (perdure.Store, error) {
	founds := create && h.Founds
	if founds {
		if err := h.settle(ctx); err != nil {
			return nil, err
		}
	}
	s, err := h.dial(ctx, !founds, h.Looks && !h.Mends)
	if err != nil {
		return nil, h.unmade(err)
	}
	if create && !founds {
		if err := h.settle(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// unmade says that there is no store on a server yet, if that is what an error says.
func (h *Home) unmade(err error) error {
	if !errors.Is(err, perdure.ErrNotFound) {
		return err
	}
	return perdure.WithHint(perdure.Missing("there is no store at "+h.File+" yet"),
		"look whether its name is right; to make it there: perdure new --store "+view.Pasted(Shown(h.remote)))
}

// enginePlace is the place of a store on a server. Zero: there is none, for whoever only looks.
func (h *Home) enginePlace(ctx context.Context) (at perdure.Place, err error) {
	s, err := h.dial(ctx, true, h.Looks)
	if errors.Is(err, perdure.ErrNotFound) && h.Looks {
		return at, nil
	}
	if err != nil {
		return at, h.unmade(err)
	}
	at, err = s.Place(ctx)
	return at, errors.Join(err, s.Close())
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
	_, _, shown, err := engineName(url)
	if err != nil {
		return scheme + ":…"
	}
	return shown
}
