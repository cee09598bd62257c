package exchange

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

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

// ErrUntrue says that a place does not have of an agent what it says: it is not asked again at once.
var ErrUntrue = errors.New("the other place does not have what it says it has")

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
		if s.Pushed, err = push(ctx, here, there, &mine, &theirs, s); err != nil {
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
	r, w, err := pass(ctx, there, here, theirs, mine, s)
	if err == nil && w != nil && len(w.owed) > 0 {
		err = w.paid(ctx, here, mine, theirs)
	}
	return r, err
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

// push sends what here has and there lacks; nil: nothing. There has it then, or has gone on from it.
func push(ctx context.Context, here, there Peer, mine, theirs *Offer, s *Synced) (*Receipt, error) {
	r, w, err := pass(ctx, here, there, mine, theirs, s)
	if err == nil && w != nil {
		err = w.kept(ctx, here, theirs)
	}
	return r, err
}

// pass sends what one place has and the other lacks; nil: nothing.
func pass(ctx context.Context, from, to Peer, has, lacks *Offer, s *Synced) (*Receipt, *watched, error) {
	switch {
	case !has.Has() || has.Same(lacks):
		return nil, nil, nil
	case has.Kept != "":
		s.Kept = has.Kept
		return nil, nil, nil
	}
	w := &watched{owed: map[perdure.Hash]bool{}, tips: map[perdure.Hash]bool{}}
	for _, h := range has.Heads {
		if !slices.Contains(lacks.Heads, h) {
			w.owed[h] = true
		}
	}
	receipt, err := to.Take(ctx, has.Agent, w.watch(from.Missing(ctx, *lacks)))
	if err != nil {
		return nil, nil, err
	}
	if w.heads = receipt.Heads; receipt.Entries == 0 {
		receipt = nil
	}
	return receipt, w, nil
}

// watched is what was seen of entries as they passed.
type watched struct {
	owed  map[perdure.Hash]bool // heads that were offered, and were not among them
	tips  map[perdure.Hash]bool // those that none of the others follows
	heads []perdure.Hash        // that the agent has then where they went, that place says
}

func (w *watched) watch(entries iter.Seq2[*perdure.Entry, error]) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				for _, p := range e.Parents {
					delete(w.tips, p)
				}
				w.tips[e.Name] = true
				delete(w.owed, e.Name)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// paid refuses heads that were offered, did not come, and are not here. The second look is at all there is here: a
// place may have written a snapshot after it named its heads. Where that is much, nobody is accused.
func (w *watched) paid(ctx context.Context, here Peer, mine, theirs *Offer) error {
	k, ok := here.(Knower)
	o := Offer{Agent: theirs.Agent, Heads: slices.Collect(maps.Keys(w.owed))}
	for _, o.Anchors = range [][]perdure.Hash{theirs.Anchors, nil} {
		if !ok || o.Anchors == nil && len(mine.Anchors) == MaxAnchors {
			return nil
		}
		_, all, err := k.Known(ctx, o)
		if err != nil || all {
			return err
		}
	}
	return untrue("it names the head %s, and did not send it", o.Heads[0].Short())
}

// kept refuses what a place says that it has, once entries were sent to it, if these are not among that: it names
// nothing that is not known here, and something that was sent does not lead to what it names. Of what is not known here
// nobody can tell what it follows.
func (w *watched) kept(ctx context.Context, here Peer, theirs *Offer) error {
	k, ok := here.(Knower)
	for _, h := range w.heads {
		delete(w.tips, h)
	}
	if !ok || len(w.tips) == 0 {
		return nil
	}
	o := Offer{Agent: theirs.Agent, Heads: w.heads, Anchors: theirs.Anchors}
	if _, all, err := k.Known(ctx, o); err != nil || !all && o.Has() {
		return err
	}
	for e, err := range here.Missing(ctx, o) {
		if errors.Is(err, perdure.ErrDenied) || errors.Is(err, perdure.ErrNotFound) {
			return ctx.Err() // it is no longer passed on: what is here cannot be told
		}
		if err != nil {
			return err
		}
		if w.tips[e.Name] {
			return untrue("entries were sent to it, and it names neither them nor what follows them")
		}
	}
	return nil
}

func untrue(text string, of ...any) error {
	return perdure.Invalid(fmt.Errorf("%w: "+text, append([]any{ErrUntrue}, of...)...))
}

// answers refuses an offer that is not one of the agent that was asked for.
func (o *Offer) answers(id perdure.AgentID) error {
	if o.Agent != id {
		return perdure.Invalid(fmt.Errorf("offer: agent %s was asked for, and the answer is about %s", id.Short(),
			o.Agent.Short()))
	}
	return o.Check()
}
