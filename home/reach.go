package home

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// reach is a node whose agents reach agents of peers, too: one that is not here is pulled from a peer that has it, told
// here what it is told, and passed back as every agent is.
type reach struct {
	*perdure.Node
	h *Home
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
	here := Local{&Desk{Home: r.h, Store: r.Store, Node: r.Node}, v}
	for _, c := range peers {
		if Ways[c.Way] == exchange.Push {
			continue
		}
		if r.pull(ctx, here, c, id) == nil {
			return r.Node.Load(ctx, id)
		}
	}
	return a, err
}

// pull gets an agent from a peer.
func (r *reach) pull(ctx context.Context, here Local, c PeerConfig, id perdure.AgentID) error {
	p, err := r.h.OpenPeer(c, "")
	if err != nil {
		return err
	}
	_, err = exchange.Sync(ctx, here, p, id, exchange.Pull)
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
	file, err := ReadNodeFile(h)
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
	return false, perdure.Invalid(fmt.Errorf("%s: copies: want rest or work", filepath.Join(h.Dir, NodeFileName)))
}
