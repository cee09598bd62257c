package home

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// bounds are which agents pass between a home and a peer by themselves. They rest on node.yaml and on what this home
// has noted, never on what the peer says: it could have any agent sent to it that it names.
type bounds struct {
	conf *PeerConfig
	book *Dealings
}

// at is where a place is. What passes rests on that: a name in node.yaml can come to mean another place.
func (p *PeerConfig) at() string {
	if dir, err := filepath.Abs(p.Dir); p.Dir != "" && err == nil {
		return dir
	}
	return strings.TrimSuffix(p.URL, "/") + p.Dir
}

// source tells a place that is pulled from from all others: where it is, and the key it has to show there.
func (p *PeerConfig) source() string { return strings.TrimSpace(p.at() + " " + p.Key) }

// everywhere reports whether agents of all scopes pass.
func (p *PeerConfig) everywhere() bool { return p.Scope == "" || p.Scope == perdure.AnyScope }

// keep is why an agent stays where it is; empty: it passes.
func (b *bounds) keep(ctx context.Context, id perdure.AgentID, scope string, private bool) (string, error) {
	from, err := b.book.cameFrom(ctx, id)
	if err != nil || from == b.conf.at() {
		return "", err // it was pulled from there to be told something, which goes back
	}
	if !b.conf.everywhere() && !perdure.InScope(scope, b.conf.Scope) {
		return fmt.Sprintf("it is in scope %s, and only agents of %s pass by themselves to %s and from it", scope,
			b.conf.Scope, b.conf.Name), nil
	}
	if !private {
		return "", nil
	}
	shared, err := b.book.shared(ctx, b.conf.at(), id)
	if err != nil || shared {
		return "", err
	}
	return "it keeps the private notes of a role, which nobody here has passed to " + b.conf.Name +
		" or from it by name", nil
}

// outside is why an agent that is here does not pass by itself; empty: it does, or is not here.
func (l Local) outside(ctx context.Context, id perdure.AgentID) (string, error) {
	if l.within == nil {
		return "", nil
	}
	if _, err := l.Desk.Store.Heads(ctx, id); errors.Is(err, perdure.ErrNotFound) {
		return "", nil // what arrives is looked at then
	} else if err != nil {
		return "", err
	}
	private, err := l.private(ctx, id)
	if err != nil {
		return "", err
	}
	scope := ""
	if !l.within.conf.everywhere() {
		a, err := l.Desk.Load(ctx, id)
		if err != nil {
			return "", err
		}
		scope = a.Fold().Charter.Scope
	}
	return l.within.keep(ctx, id, scope, private)
}

// welcome refuses an agent that is new here and does not pass by itself.
func (l Local) welcome(ctx context.Context, s *spool) error {
	if l.within == nil {
		return nil
	}
	for e, err := range s.entries() {
		if err != nil {
			return err
		}
		g, _ := e.Content().(perdure.Genesis)
		why, err := l.within.keep(ctx, s.id, g.Charter.Scope, workspace.KeepsPrivate(g.Intent.Kind))
		if err == nil && why != "" {
			err = fmt.Errorf("%w: agent %s is not taken in: %s", perdure.ErrDenied, s.id.Short(), why)
		}
		return err
	}
	return nil
}
