package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// birth is what the first entry of an agent says of where it belongs. It never changes.
type birth struct {
	scope  string
	parent perdure.AgentID // that delegated to it; zero: nobody did
}

// maxLine bounds the generations that are looked back over.
const maxLine = 256

// lineOf are the scopes in which an agent began, and those it descends from: those a person gave, or were narrowed from
// one. What an agent reads is for all of them. Its own scope may have become narrower since, by what it or its parent
// decided: then more would be for it to read, and its result goes to its parent. Where one of them is not here, nothing
// is for all of them.
func (w *Workspace) lineOf(ctx context.Context, id perdure.AgentID) (scopes []string, err error) {
	for range maxLine {
		b, err := w.birthOf(ctx, id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(scopes, b.scope) {
			scopes = append(scopes, b.scope)
		}
		if b.parent.IsZero() {
			return scopes, nil
		}
		id = b.parent
	}
	return []string{perdure.NoScope}, nil
}

// birthOf is where an agent began.
func (w *Workspace) birthOf(ctx context.Context, id perdure.AgentID) (birth, error) {
	w.mu.Lock()
	b, ok := w.births[id]
	w.mu.Unlock()
	if ok {
		return b, nil
	}
	b.scope = perdure.NoScope
	for item, err := range w.Store.Entries(ctx, id, 0) {
		if errors.Is(err, perdure.ErrNotFound) {
			return b, nil
		}
		if err != nil {
			return b, fmt.Errorf("find where agent %s began: %w", id.Short(), err)
		}
		g, ok := item.Content().(perdure.Genesis)
		if !ok || item.ID() != id {
			return b, nil // only a part of it is here
		}
		if b.scope = g.Charter.Scope; g.Lineage != nil && g.Lineage.Relation == perdure.Child {
			b.parent = g.Lineage.Parent
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.births == nil || len(w.births) >= maxStandings {
			w.births = map[perdure.AgentID]birth{}
		}
		w.births[id] = b
		return b, nil
	}
	return b, nil
}

// in reports whether the reader is in a scope: it belongs there, and so did those it descends from when they began.
func (r *Reader) in(scope string) bool {
	return perdure.InScope(r.scope, scope) && !slices.ContainsFunc(r.line, func(of string) bool {
		return !perdure.InScope(of, scope)
	})
}
