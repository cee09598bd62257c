package home

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// reach is a node whose agents reach agents of peers, too: one that is not here is pulled from a peer that has it, told
// here what it is told, and passed back as every agent is.
type reach struct {
	*perdure.Node
	h    *Home
	from sync.Map // the PeerConfig of agents that were pulled, or none, by their id; exchange.db remembers them
}

// Load is that of the node, of an agent that is here or can be pulled.
func (r *reach) Load(ctx context.Context, id perdure.AgentID) (*perdure.Agent, error) {
	a, err := r.Node.Load(ctx, id)
	if !errors.Is(err, perdure.ErrNotFound) {
		return a, err
	}
	peers, bad := r.h.Peers()
	if bad != nil || len(peers) == 0 {
		return a, errors.Join(err, bad)
	}
	v, bad := r.h.Owner()
	if bad != nil {
		return nil, bad
	}
	here := Local{Desk: &Desk{Home: r.h, Store: r.Store, Node: r.Node}, Visitor: v}
	for _, c := range peers {
		if Ways[c.Way] == exchange.Push {
			continue
		}
		if r.pass(ctx, here, c, id, exchange.Pull) == nil {
			r.from.Store(id, c)
			if err := r.noted(ctx, func(d *Dealings) error { return d.came(ctx, id, c.at()) }); err != nil {
				return nil, err
			}
			return r.Node.Load(ctx, id)
		}
	}
	return a, err
}

// Tell is that of the node. What an agent is told that was pulled goes back at once, or with a later sync, also if its
// scope is none that is synced.
func (r *reach) Tell(ctx context.Context, id perdure.AgentID, ev perdure.Event) (*perdure.Entry, error) {
	e, err := r.Node.Tell(ctx, id, ev)
	if err != nil {
		return e, err
	}
	peer, err := r.origin(ctx, id)
	if err != nil || peer.Name == "" {
		return e, err
	}
	v, err := r.h.Owner()
	if err == nil {
		here := Local{Desk: &Desk{Home: r.h, Store: r.Store, Node: r.Node}, Visitor: v}
		if r.pass(ctx, here, peer, id, exchange.Push) == nil {
			return e, nil
		}
	}
	return e, r.noted(ctx, func(d *Dealings) error { return d.owe(ctx, peer.Name, []perdure.AgentID{id}) })
}

// noted does something with what the home knows of other places.
func (r *reach) noted(ctx context.Context, do func(*Dealings) error) error {
	book, err := r.h.OpenDealings(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(book), book.Close())
}

// origin is the peer that an agent was pulled from, also by a process before this one; none: it is not of a peer that
// there is.
func (r *reach) origin(ctx context.Context, id perdure.AgentID) (PeerConfig, error) {
	if c, ok := r.from.Load(id); ok {
		return c.(PeerConfig), nil // nothing else is stored
	}
	peers, err := r.h.Peers()
	if err != nil || len(peers) == 0 {
		return PeerConfig{}, err
	}
	at := ""
	if err := r.noted(ctx, func(d *Dealings) (err error) { at, err = d.cameFrom(ctx, id); return err }); err != nil {
		return PeerConfig{}, err
	}
	var from PeerConfig
	for _, c := range peers {
		if c.at() == at {
			from = c
		}
	}
	r.from.Store(id, from)
	return from, nil
}

// pass passes an agent from or to a peer.
func (r *reach) pass(ctx context.Context, here Local, c PeerConfig, id perdure.AgentID, way exchange.Way) error {
	p, err := r.h.OpenPeer(c, "")
	if err != nil {
		return err
	}
	here.from = c.source()
	_, err = exchange.Sync(ctx, here, p, id, way)
	return errors.Join(err, p.Close())
}

// What is done with agents whose seat is elsewhere.
const (
	copiesRest = "rest" // nothing: they are worked on where their seat is
	copiesWork = "work" // they think, and do what can be repeated
)

// seated reports whether nodes of this home leave agents alone whose seat is elsewhere: where agents are exchanged,
// they do, unless node.yaml says otherwise.
func (h *Home) seated() (bool, error) {
	file, err := readNodeFile(h)
	if err != nil {
		return false, err
	}
	switch file.Copies {
	case "":
		return len(file.Peers) > 0, nil
	case copiesRest:
		return true, nil
	case copiesWork:
		return false, nil
	}
	return false, perdure.WithHint(perdure.Invalid(fmt.Errorf("%s: copies: want rest or work",
		filepath.Join(h.Dir, NodeFileName))), "perdure help node.yaml says what they mean")
}
