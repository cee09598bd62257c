package exchange

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/perdure/perdure"
)

// Peer is a place that has agents, or may get them.
type Peer interface {
	// Offer says what the place has of an agent.
	Offer(ctx context.Context, id perdure.AgentID) (Offer, error)
	// Missing yields what the place has of an agent and one with this offer lacks, parents before children.
	Missing(ctx context.Context, o Offer) iter.Seq2[*perdure.Entry, error]
	// Take adds entries to an agent that the place has, all or none, once it has checked them. It may range over them
	// more than once.
	Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (*Receipt, error)
	// Export writes an agent as a capsule.
	Export(ctx context.Context, id perdure.AgentID, w io.Writer) error
	// Import takes in an agent that the place does not have, once it has checked it.
	Import(ctx context.Context, capsule io.Reader) (*Receipt, error)
}

// Receipt is what a place says it has durably taken.
type Receipt struct {
	Agent   perdure.AgentID `json:"agent"`
	Heads   []perdure.Hash  `json:"heads"`   // that the agent has there now
	Entries int64           `json:"entries"` // that were new there
	Created bool            `json:"created,omitempty"`
	Held    string          `json:"held,omitempty"` // why it does not go on there by itself; empty: it may
}

// Way is in which direction agents pass.
type Way uint8

const (
	Both Way = iota
	Push     // only from here to there
	Pull     // only from there to here
)

// Synced is what came of passing one agent.
type Synced struct {
	Agent  perdure.AgentID `json:"agent"`
	Pulled *Receipt        `json:"pulled,omitempty"` // what came here; nil: nothing was lacking
	Pushed *Receipt        `json:"pushed,omitempty"` // what went there
}

// Sync passes what each place has of an agent and the other lacks. An error may leave one of them with what the other
// had: done again, it goes on from there.
func Sync(ctx context.Context, here, there Peer, id perdure.AgentID, way Way) (*Synced, error) {
	s := &Synced{Agent: id}
	mine, err := here.Offer(ctx, id)
	if err != nil {
		return nil, err
	}
	theirs, err := there.Offer(ctx, id)
	if err != nil {
		return nil, err
	}
	if !mine.Has() && !theirs.Has() {
		return nil, perdure.Missing("agent " + id.Short() + " is in neither place")
	}
	if way != Push {
		if s.Pulled, err = pass(ctx, there, here, &theirs, &mine); err != nil {
			return s, fmt.Errorf("pull agent %s: %w", id.Short(), err)
		}
		if s.Pulled != nil {
			if mine, err = here.Offer(ctx, id); err != nil {
				return s, err
			}
		}
	}
	if way != Pull {
		if s.Pushed, err = pass(ctx, here, there, &mine, &theirs); err != nil {
			return s, fmt.Errorf("push agent %s: %w", id.Short(), err)
		}
	}
	return s, nil
}

// pass sends what one place has and the other lacks; nil: nothing.
func pass(ctx context.Context, from, to Peer, has, lacks *Offer) (*Receipt, error) {
	switch {
	case !has.Has() || has.Same(lacks):
		return nil, nil
	case !lacks.Has():
		return passWhole(ctx, from, to, has.Agent)
	}
	receipt, err := to.Take(ctx, has.Agent, from.Missing(ctx, *lacks))
	if err != nil || receipt.Entries == 0 {
		return nil, err
	}
	return receipt, nil
}

// passWhole sends an agent as a capsule.
func passWhole(ctx context.Context, from, to Peer, id perdure.AgentID) (*Receipt, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.CloseWithError(from.Export(ctx, id, w))
	}()
	receipt, err := to.Import(ctx, r)
	_ = r.CloseWithError(io.ErrClosedPipe) // an export that nobody reads any more ends
	<-done
	return receipt, err
}
