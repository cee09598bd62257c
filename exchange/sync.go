package exchange

import (
	"context"
	"fmt"
	"iter"

	"github.com/perdure/perdure"
)

// Peer is a place that has agents, or may get them.
type Peer interface {
	// Offer says what the place has of an agent; of one that it does not have, nothing.
	Offer(ctx context.Context, id perdure.AgentID) (Offer, error)
	// Missing yields what the place has of an agent and one with this offer lacks, parents before children.
	Missing(ctx context.Context, o Offer) iter.Seq2[*perdure.Entry, error]
	// Take adds entries to an agent, all or none, once it has checked them. Of one that the place does not have they
	// are the whole memory. It ranges over them once.
	Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (*Receipt, error)
}

// Knower is a Peer that can say what it has of what another place offers, see Known. Then only what it lacks is asked
// for.
type Knower interface {
	Known(ctx context.Context, o Offer) (recent []perdure.Hash, all bool, err error)
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
	Kept   string          `json:"kept,omitempty"`   // why what one of them has was not passed on
	Behind bool            `json:"behind,omitempty"` // of a push: nothing had to go there, where there is more
}

// Sync passes what each place has of an agent and the other lacks. An error may leave one of them with what the other
// had: done again, it goes on from there.
func Sync(ctx context.Context, here, there Peer, id perdure.AgentID, way Way) (*Synced, error) {
	s := &Synced{Agent: id}
	mine, err := here.Offer(ctx, id)
	if err != nil {
		return s, err
	}
	theirs, err := there.Offer(ctx, id)
	if err == nil {
		err = theirs.answers(id)
	}
	if err != nil {
		return s, err
	}
	if !mine.Has() && !theirs.Has() {
		return s, perdure.Missing("agent " + id.Short() + " is in neither place")
	}
	if way != Push {
		if s.Pulled, err = pull(ctx, here, there, &mine, &theirs, s); err != nil {
			return s, fmt.Errorf("pull agent %s: %w", id.Short(), err)
		}
		if s.Pulled != nil && s.Pulled.Created && s.Pulled.Held != "" {
			return s, nil // what is held is not passed on, and there is nothing else
		}
		if s.Pulled != nil {
			if mine, err = here.Offer(ctx, id); err != nil {
				return s, err
			}
		}
	}
	if way == Push {
		if err := meet(ctx, here, there, &mine, &theirs); err != nil {
			return s, fmt.Errorf("push agent %s: %w", id.Short(), err)
		}
	}
	if way != Pull {
		if s.Pushed, err = pass(ctx, here, there, &mine, &theirs, s); err != nil {
			return s, fmt.Errorf("push agent %s: %w", id.Short(), err)
		}
	}
	s.Behind = way == Push && s.Pushed == nil && s.Kept == "" && !mine.Same(&theirs)
	return s, nil
}

// pull gets what there has and here lacks; nil: nothing. What here knows that it has is not asked for.
func pull(ctx context.Context, here, there Peer, mine, theirs *Offer, s *Synced) (*Receipt, error) {
	if k, ok := here.(Knower); ok && mine.Has() && theirs.Has() && !theirs.Same(mine) && theirs.Kept == "" {
		recent, all, err := k.Known(ctx, *theirs)
		if err != nil || all {
			return nil, err
		}
		mine.Recent = recent
	}
	return pass(ctx, there, here, theirs, mine, s)
}

// maxMeet is how much of what there is new elsewhere is looked at to find where the copies parted.
const maxMeet = 256

// meet finds where two copies parted that have both gone on, so that a push need not send what came before that: what
// there says is new there follows entries that both have. Where there tells nothing, as to whoever may only push, all
// since the newest shared snapshot is sent.
func meet(ctx context.Context, here, there Peer, mine, theirs *Offer) error {
	k, ok := here.(Knower)
	if !ok || !mine.Has() || !theirs.Has() || theirs.Same(mine) || mine.Kept != "" || theirs.Kept != "" {
		return nil
	}
	recent, all, err := k.Known(ctx, *theirs)
	if err != nil || all { // it has no news: its heads say what it has
		return err
	}
	ask := *mine
	ask.Recent = recent
	seen, looked := map[perdure.Hash]bool{}, 0
	for e, err := range there.Missing(ctx, ask) {
		if looked++; err != nil || looked > maxMeet {
			return ctx.Err()
		}
		seen[e.Name] = true
		for _, p := range e.Parents {
			if !seen[p] && len(theirs.Recent) < MaxRecent {
				seen[p], theirs.Recent = true, append(theirs.Recent, p)
			}
		}
	}
	return nil
}

// pass sends what one place has and the other lacks; nil: nothing.
func pass(ctx context.Context, from, to Peer, has, lacks *Offer, s *Synced) (*Receipt, error) {
	switch {
	case !has.Has() || has.Same(lacks):
		return nil, nil
	case has.Kept != "":
		s.Kept = has.Kept
		return nil, nil
	}
	receipt, err := to.Take(ctx, has.Agent, from.Missing(ctx, *lacks))
	if err != nil || receipt.Entries == 0 {
		return nil, err
	}
	return receipt, nil
}

// answers refuses an offer that is not one of the agent that was asked for.
func (o *Offer) answers(id perdure.AgentID) error {
	if o.Agent != id {
		return perdure.Invalid(fmt.Errorf("offer: agent %s was asked for, and the answer is about %s", id.Short(),
			o.Agent.Short()))
	}
	return o.Check()
}
