package home

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// losingPeer takes an agent; afterwards the store it came from is empty.
type losingPeer struct {
	exchange.Peer
	desk *Desk
}

func (p losingPeer) Offer(_ context.Context, id perdure.AgentID) (exchange.Offer, error) {
	return exchange.Offer{Agent: id}, nil
}

func (p losingPeer) Take(_ context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	*exchange.Receipt, error) {
	r := &exchange.Receipt{Agent: id}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		r.Heads, r.Entries = []perdure.Hash{e.Name}, r.Entries+1
	}
	p.desk.Store = new(perdure.MemStore)
	p.desk.Node = &perdure.Node{Store: p.desk.Store, Key: p.desk.Node.Key}
	return r, nil
}

// TestAnAgentThatCannotBeReadIsNotSaidToHaveEnded: why no seat goes with it is the error, and no end that never was.
func TestAnAgentThatCannotBeReadIsNotSaidToHaveEnded(t *testing.T) {
	h := &Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
			Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			return err
		}
		v, err := h.Owner()
		if err != nil {
			return err
		}
		d := &Desk{Home: h, Store: s, Node: n}
		got, err := Local{Desk: d, Visitor: v}.move(ctx, &Peer{Peer: losingPeer{desk: d}}, a.ID(), n.Key.Key())
		if !errors.Is(err, perdure.ErrNotFound) || got.Pushed == nil || got.Stays != "" {
			t.Errorf("got %+v, %v", got, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
