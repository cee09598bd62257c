// Package relist lists agents as their memories have them. A listing is an index: where entries came that it does not
// tell of, because whoever wrote them was stopped before it wrote the line, is still at work, or only copied a file
// here, the agent is folded before anybody is shown the line or decides by it.
package relist

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Lister lists what a store does, with no line behind. It writes nothing to the store. An agent that cannot be folded
// keeps the line it has: what is wrong with its memory is said by who reads that.
type Lister struct {
	perdure.Lister
	store perdure.Store

	mu    sync.Mutex
	known map[perdure.AgentID]derived
	kept  kept
}

// derived is the line of an agent as folded at heads.
type derived struct {
	Heads []perdure.Hash
	Line  perdure.Listing
}

// Of is the lister of a store that lists by l. If the store has a folder for what is derived (Derived), lines that were
// long in the making are kept there, and the next to look need not fold those agents again.
func Of(s perdure.Store, l perdure.Lister) *Lister {
	r := &Lister{Lister: l, store: s, known: map[perdure.AgentID]derived{}}
	if s, ok := s.(interface{ Derived() string }); ok && s.Derived() != "" {
		r.kept.path = filepath.Join(s.Derived(), "lines")
	}
	return r
}

// List implements perdure.Lister. Those that the index does not have where their names belong come last of their name.
func (r *Lister) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	if f.Behind {
		return r.Lister.List(ctx, f)
	}
	return func(yield func(perdure.Listing, error) bool) {
		all, moved, err := r.behind(ctx, f)
		if err != nil {
			yield(perdure.Listing{}, err)
			return
		}
		rest, left := r.after(f.After, moved), f.Limit
		give := func(l perdure.Listing) bool {
			left--
			return yield(l, nil) && left != 0
		}
		if f.Limit > 0 {
			f.Limit += len(all)
		}
		isMoved := slices.ContainsFunc(moved, func(l perdure.Listing) bool { return l.Agent == f.After.Agent })
		for l, err := range r.Lister.List(ctx, f) {
			if err != nil {
				yield(l, err)
				return
			}
			for len(rest) > 0 && rest[0].Name < l.Name {
				if !give(rest[0]) {
					return
				}
				rest = rest[1:]
			}
			if isMoved && l.Name == f.After.Name {
				continue // the page before had them
			}
			if now, is := all[l.Agent]; is {
				if l = now; !f.Match(l) || slices.ContainsFunc(moved, func(m perdure.Listing) bool {
					return m.Agent == l.Agent
				}) {
					continue
				}
			}
			if !give(l) {
				return
			}
		}
		for _, l := range rest {
			if !give(l) {
				return
			}
		}
	}
}

// after is what follows a place of lines that are in order.
func (r *Lister) after(at perdure.ListPlace, lines []perdure.Listing) []perdure.Listing {
	i := slices.IndexFunc(lines, func(l perdure.Listing) bool { return l.Agent == at.Agent })
	if at.Agent.IsZero() || i >= 0 {
		return lines[i+1:]
	}
	return slices.DeleteFunc(slices.Clone(lines), func(l perdure.Listing) bool { return l.Name < at.Name })
}

// behind is the lines of agents whose own are behind, as their memories have them, and those among them that a filter
// selects and that the index has elsewhere or not at all, in order.
func (r *Lister) behind(ctx context.Context, f perdure.Filter) (all map[perdure.AgentID]perdure.Listing,
	moved []perdure.Listing, err error) {
	for was, err := range r.Lister.List(ctx, perdure.Filter{Behind: true, Prefix: f.Prefix}) {
		if err != nil {
			return nil, nil, err
		}
		now, ok := r.derive(ctx, was.Agent)
		if !ok {
			continue
		}
		if all == nil {
			all = map[perdure.AgentID]perdure.Listing{}
		}
		if all[was.Agent] = now; f.Match(now) && (now.Name != was.Name || !f.Match(was)) {
			moved = append(moved, now)
		}
	}
	slices.SortFunc(moved, func(a, b perdure.Listing) int { return a.Place().Compare(b.Place()) })
	if err = ctx.Err(); err == nil && f.Prefix == "" {
		r.keep(all)
	}
	return all, moved, err
}

// derive folds an agent, unless it is as it was.
func (r *Lister) derive(ctx context.Context, id perdure.AgentID) (perdure.Listing, bool) {
	r.mu.Lock()
	r.recall()
	was := r.known[id]
	r.mu.Unlock()
	if heads, err := r.store.Heads(ctx, id); err == nil && len(heads) > 0 && slices.Equal(heads, was.Heads) {
		return was.Line, true
	}
	a, err := perdure.Load(ctx, r.store, id)
	if err != nil {
		return perdure.Listing{}, false
	}
	now := derived{a.Heads(), a.Listing(time.Now())}
	r.mu.Lock()
	r.known[id] = now
	r.kept.folded += now.Line.Entries
	r.mu.Unlock()
	return now.Line, true
}
