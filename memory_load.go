package perdure

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Load folds an agent out of a store: from the newest snapshot nothing came before, or from genesis. Its cost is that
// of the entries since.
//
// It believes the snapshots it finds: use it to look at an agent. What acts on one uses Trust.Load.
func Load(ctx context.Context, s Store, id AgentID) (*Agent, error) { return load(ctx, s, id, nil) }

// Load is the package's Load, but resumes only from snapshots by people trusted to own the agent: what others wrote is
// folded from the entries themselves. Where bodies are gone and nobody trusted vouches for what they came to, it
// refuses (key.trusted).
func (t *Trust) Load(ctx context.Context, s Store, id AgentID) (*Agent, error) {
	return load(ctx, s, id, t)
}

// vouch says which snapshots of an agent in a store are by people trusted to own it; nil: all are believed.
func (t *Trust) vouch(ctx context.Context, s Store, id AgentID) func(*Entry) bool {
	if t == nil {
		return nil
	}
	scope := ""
	return func(snapshot *Entry) bool {
		if t.Allows(snapshot.Origin, MayOwn, AnyScope) {
			return true
		}
		if scope == "" {
			scope = scopeOf(ctx, s, id)
		}
		return t.Allows(snapshot.Origin, MayOwn, scope)
	}
}

// Fold is FoldEntries, but where bodies are gone it resumes only from snapshots by people trusted to own the agent, as
// Load does.
func (t *Trust) Fold(entries iter.Seq2[*Entry, error]) (*Agent, error) {
	scope := NoScope
	watched := func(yield func(*Entry, error) bool) {
		for e, err := range entries {
			if err == nil && e.Kind == KindGenesis {
				if g, ok := e.content.(Genesis); ok {
					scope = g.Charter.Scope
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
	return foldEntries(watched, func(snapshot *Entry) bool { return t.Allows(snapshot.Origin, MayOwn, scope) })
}

// remade reports whether a snapshot says of an agent that it became another than it began as, which none does: a
// program wrote it that let mutations change more than relabel does. Genesis is read of those only that were changed.
func remade(ctx context.Context, s Store, snapshot *Entry) bool {
	snap, _ := snapshot.content.(Snapshot)
	f := &snap.Fold
	if f.Edited == Hash(f.Agent) {
		return false
	}
	labels := map[string]string{} // none are labels, too
	maps.Copy(labels, f.Intent.Labels)
	g, ok := genesisOf(ctx, s, f.Agent)
	return ok && (&Fold{Intent: g.Intent}).remakes(&Mutate{Kind: &f.Intent.Kind, Labels: labels}) != nil
}

// scopeOf is the scope of an agent as its genesis says. Where that is not here, nothing is in it: only who is trusted
// everywhere is.
func scopeOf(ctx context.Context, s Store, id AgentID) string {
	if g, ok := genesisOf(ctx, s, id); ok {
		return g.Charter.Scope
	}
	return NoScope
}

// genesisOf is how an agent begins, if that is in a store.
func genesisOf(ctx context.Context, s Store, id AgentID) (g Genesis, ok bool) {
	for item, err := range s.Entries(ctx, id, 0) {
		if err == nil {
			g, ok = item.content.(Genesis)
		}
		break
	}
	return g, ok
}

// load is Load for somebody who trusts; nil believes all snapshots.
func load(ctx context.Context, s Store, id AgentID, t *Trust) (*Agent, error) {
	vouch := t.vouch(ctx, s, id)
	failed, skip := 0, 0
	for snap, err := range s.Snapshots(ctx, id) {
		if err != nil {
			return nil, fmt.Errorf("load agent %s: %w", id.Short(), err)
		}
		if vouch != nil && !vouch(snap.Entry) || remade(ctx, s, snap.Entry) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		a, err := loadAfter(ctx, s, snap, FromSnapshot)
		if errors.Is(err, ErrBehind) {
			a, err = loadAfter(ctx, s, snap, beforeSnapshot)
		}
		if behind(err) {
			// An entry belongs before this snapshot, or beside it and has no body any more: another one may do. Each
			// time twice as many are passed over, so that all tries together cost about what the last one does.
			failed++
			skip = 1<<(failed-1) - 1
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("load agent %s: %w", id.Short(), err)
		}
		return a.asHeld(ctx, s)
	}
	a, err := foldEntries(covered(Memory(ctx, s, id)), vouch)
	if err != nil {
		return nil, fmt.Errorf("load agent %s: %w", id.Short(), err)
	}
	return a.asHeld(ctx, s)
}

// asHeld is an agent that knows how much of its memory the store holds. The caller owns a.
func (a *Agent) asHeld(ctx context.Context, s Store) (*Agent, error) {
	d, err := DepthOf(ctx, s, a.ID())
	if err != nil {
		return nil, fmt.Errorf("load agent %s: %w", a.ID().Short(), err)
	}
	a.depth = d
	return a, nil
}

// Memory yields the entries of an agent, parents before children.
func Memory(ctx context.Context, s Store, id AgentID) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for item, err := range s.Entries(ctx, id, 0) {
			if !yield(item.Entry, err) {
				return
			}
		}
	}
}

// loadAfter folds the entries after a snapshot, by loadBytes of their bodies at a time, on what from makes of it.
func loadAfter(ctx context.Context, s Store, snap Item, from func(*Entry) (*Agent, error)) (*Agent, error) {
	var a *Agent
	batch, size := []*Entry{snap.Entry}, 0
	fold := func() (err error) {
		cover(batch)
		if a == nil {
			if err := snap.verifySignature(); err != nil {
				return err
			}
			if a, err = from(snap.Entry); err != nil {
				return err
			}
			if a.top == snap.Position() {
				batch = batch[1:] // it is folded
			}
		}
		a, err = a.Apply(batch...)
		batch, size = nil, 0
		return err
	}
	for item, err := range s.Entries(ctx, snap.Agent, snap.Cursor) {
		if err != nil {
			return nil, err
		}
		if batch, size = append(batch, item.Entry), size+len(item.body); size >= loadBytes {
			if err := fold(); err != nil {
				return nil, err
			}
		}
	}
	if err := fold(); err != nil {
		return nil, err
	}
	return a.complete()
}

// covered yields entries after cover has seen them, some at first, then more and more at a time, up to loadBytes of
// their bodies: a memory whose branches lie far apart is soon given up by whoever folds it as it comes, and what was
// verified for that is verified again.
func covered(entries iter.Seq2[*Entry, error]) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		var batch []*Entry
		size, most := 0, firstBytes
		flush := func() bool {
			cover(batch)
			most = min(2*most, loadBytes)
			for _, e := range batch {
				if !yield(e, nil) {
					return false
				}
			}
			batch, size = batch[:0], 0
			return true
		}
		for e, err := range entries {
			if err != nil {
				_ = flush() && yield(nil, err)
				return
			}
			if batch, size = append(batch, e), size+len(e.header)+len(e.body); size >= most && !flush() {
				return
			}
		}
		flush()
	}
}

// cover verifies the newest signatures of each author among entries, which come parents first, and marks the signatures
// they make superfluous: an entry in the past of one its own author signed is covered by that signature through the
// links. It is for entries out of a store that verified each when it came in; Verify checks every signature.
func cover(entries []*Entry) {
	covered := make(map[Hash][]Key, len(entries)) // the authors that have signed something after the entry
	for _, e := range slices.Backward(entries) {
		after := covered[e.Name]
		if slices.Contains(after, e.Origin) {
			e.markVerified()
		} else if e.Signature != nil && e.verifySignature() == nil {
			if after = withKey(after, e.Origin); len(after) > maxCovered {
				after = []Key{e.Origin} // the others' earlier signatures are verified one by one
			}
		}
		for _, p := range e.Parents {
			if had := covered[p]; len(had) == 0 {
				covered[p] = after
			} else {
				if had = united(had, after); len(had) > maxCovered {
					had = after
				}
				covered[p] = had
			}
		}
	}
}
