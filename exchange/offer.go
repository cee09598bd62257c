package exchange

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure"
)

// MaxAnchors is how many snapshots an offer names: enough that copies which parted lately find one they share.
const MaxAnchors = 32

// MaxRecent is how many of its newest entries a place names: enough for those it shares with copies that parted since
// the last snapshot, see Known.
const MaxRecent = 64

// MaxHeads is how many heads an offer may name. A memory has one per place that wrote without having seen the others.
const MaxHeads = 4096

// Offer is what a place has of an agent.
type Offer struct {
	Agent   perdure.AgentID `json:"agent"`
	Heads   []perdure.Hash  `json:"heads"`             // none: nothing
	Anchors []perdure.Hash  `json:"anchors,omitempty"` // snapshots that know all that came before them, newest first
	// Partial are the heads of entries that came before the connection broke: nobody has checked them, but they need
	// not be sent again.
	Partial []perdure.Hash `json:"partial,omitempty"`
	// Recent are some of the newest entries there. All that led to them is there, too, so none of it need be sent.
	Recent []perdure.Hash `json:"recent,omitempty"`
	// Kept is why nothing of the agent is passed on from there; empty: it is.
	Kept string `json:"kept,omitempty"`
}

// Has reports whether the place has anything of the agent.
func (o *Offer) Has() bool { return len(o.Heads) > 0 }

// Same reports whether both have the same.
func (o *Offer) Same(other *Offer) bool { return o.Has() && slices.Equal(o.Heads, other.Heads) }

// Check refuses an offer that nobody would make.
func (o *Offer) Check() error {
	switch {
	case o.Agent.IsZero():
		return perdure.Invalid(errors.New("offer: it names no agent"))
	case len(o.Anchors) > MaxAnchors:
		return perdure.Invalid(fmt.Errorf("offer: %d anchors, at most %d", len(o.Anchors), MaxAnchors))
	case len(o.Recent) > MaxRecent:
		return perdure.Invalid(fmt.Errorf("offer: %d recent entries, at most %d", len(o.Recent), MaxRecent))
	case len(o.Heads) > MaxHeads || len(o.Partial) > MaxHeads:
		return perdure.Invalid(fmt.Errorf("offer: %d heads, at most %d", max(len(o.Heads), len(o.Partial)), MaxHeads))
	}
	return nil
}

// Of is what a store has of an agent.
func Of(ctx context.Context, s perdure.Store, id perdure.AgentID) (Offer, error) {
	o := Offer{Agent: id}
	heads, err := s.Heads(ctx, id)
	if errors.Is(err, perdure.ErrNotFound) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	o.Heads = heads
	err = nameSnapshots(ctx, s, id, func(name perdure.Hash, _ perdure.Cursor) bool {
		o.Anchors = append(o.Anchors, name)
		return len(o.Anchors) < MaxAnchors
	})
	return o, err
}

// namer is a store that names what Snapshots yields, and where it stands, without reading it, until yield returns
// false. It may name some whose bodies were dropped.
type namer interface {
	NameSnapshots(ctx context.Context, id perdure.AgentID, yield func(perdure.Hash, perdure.Cursor) bool) error
}

// nameSnapshots names the snapshots to resume from, newest first.
func nameSnapshots(ctx context.Context, s perdure.Store, id perdure.AgentID,
	yield func(perdure.Hash, perdure.Cursor) bool) error {
	if n, ok := s.(namer); ok {
		return n.NameSnapshots(ctx, id, yield)
	}
	for snap, err := range s.Snapshots(ctx, id) {
		if err != nil || !yield(snap.Name, snap.Cursor) {
			return err
		}
	}
	return nil
}

// Missing yields what a store has of an agent and a place with this offer lacks, parents before children. It may yield
// some that are there: what came after the newest snapshot both have, and is not in the past of a head that the store
// knows.
func Missing(ctx context.Context, s perdure.Store, o Offer) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		err := o.Check()
		var after perdure.Cursor
		if err == nil {
			_, after, err = common(ctx, s, &o)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		known, err := past(ctx, s, &o, after)
		if err != nil {
			yield(nil, err)
			return
		}
		for item, err := range s.Entries(ctx, o.Agent, after) {
			if err == nil && known[item.Name] {
				continue
			}
			if !yield(item.Entry, err) || err != nil {
				return
			}
		}
	}
}

// Known is what a store has of what another place offers: whether all of it, so that nothing need be asked for, and
// else some of the entries since the newest snapshot both have, for the other place to find those it has as well.
func Known(ctx context.Context, s perdure.Store, o Offer) (recent []perdure.Hash, all bool, err error) {
	shared, after, err := common(ctx, s, &o)
	if errors.Is(err, perdure.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	lacks := make(map[perdure.Hash]bool, len(o.Heads))
	for _, h := range o.Heads {
		lacks[h] = true
	}
	var names []perdure.Hash
	delete(lacks, shared)
	for item, err := range s.Entries(ctx, o.Agent, after) {
		if errors.Is(err, perdure.ErrNotFound) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		names = append(names, item.Name)
		delete(lacks, item.Name)
	}
	if len(lacks) == 0 && o.Has() {
		return nil, true, nil
	}
	return sampled(names), false, nil
}

// sampled is the newest of some names, and then fewer and fewer of them towards the oldest.
func sampled(names []perdure.Hash) (some []perdure.Hash) {
	const each = MaxRecent / 4 // all of so many, then every second of so many, every fourth, …
	step := 1
	for at := len(names) - 1; at >= 0 && len(some) < MaxRecent; at -= step {
		if some = append(some, names[at]); len(some)%each == 0 {
			step *= 2
		}
	}
	return some
}

// common is the newest snapshot that both have, and where in the memory it stands; zero: before everything.
func common(ctx context.Context, s perdure.Store, o *Offer) (snap perdure.Hash, at perdure.Cursor, err error) {
	if len(o.Anchors) == 0 {
		return snap, at, nil
	}
	theirs := make(map[perdure.Hash]bool, len(o.Anchors))
	for _, name := range o.Anchors {
		theirs[name] = true
	}
	err = nameSnapshots(ctx, s, o.Agent, func(name perdure.Hash, c perdure.Cursor) bool {
		if theirs[name] {
			snap, at = name, c
		}
		return !theirs[name]
	})
	return snap, at, err
}

// past is which entries after a cursor are in the past of the offer's heads, themselves included.
func past(ctx context.Context, s perdure.Store, o *Offer, after perdure.Cursor) (map[perdure.Hash]bool, error) {
	type link struct {
		name    perdure.Hash
		parents []perdure.Hash
	}
	var window []link // parents before children
	for item, err := range s.Entries(ctx, o.Agent, after) {
		if err != nil {
			return nil, err
		}
		window = append(window, link{item.Name, slices.Clone(item.Parents)})
	}
	known := make(map[perdure.Hash]bool, len(window))
	for _, h := range slices.Concat(o.Heads, o.Partial, o.Recent) {
		known[h] = true
	}
	for _, e := range slices.Backward(window) {
		if known[e.name] {
			for _, p := range e.parents {
				known[p] = true
			}
		}
	}
	return known, nil
}
