package home

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// Changes are the agents in a scope that have got entries here since a position, as far as they are there for the
// visitor; after none, and where the position means nothing any more, all of them. It costs what is new. A position
// means nothing for another scope or other rights: what they left out would never be named.
func (l Local) Changes(ctx context.Context, after, scope string, limit int) (exchange.Changes, error) {
	out := exchange.Changes{Agents: []perdure.AgentID{}}
	if err := l.Visitor.May(VerbRead); err != nil {
		return out, err
	}
	f, ok := l.Desk.Store.(perdure.Feeder)
	if !ok {
		return out, l.all(ctx, scope, &out)
	}
	feed, end, err := f.FeedEnd(ctx)
	if err != nil {
		return out, err
	}
	feed = l.filtered(feed, scope)
	at, err := parsePosition(after, feed)
	if err != nil {
		return out, err
	}
	if at < 0 { // everything that is listed, and from then on what arrives
		out.Position = positionOf(feed, end)
		return out, l.all(ctx, scope, &out)
	}
	seen := map[perdure.AgentID]bool{}
	for item, err := range f.Feed(ctx, at) {
		if err != nil {
			return out, err
		}
		if id := item.ID(); !seen[id] {
			if len(seen) == limit {
				out.More = true
				break
			}
			seen[id] = true
			private, err := l.private(ctx, id)
			if err != nil {
				return out, err
			}
			l.add(ctx, &out, id, scope, private)
		}
		at = item.Cursor
	}
	out.Position = positionOf(feed, at)
	return out, nil
}

// all adds every agent in a scope.
func (l Local) all(ctx context.Context, scope string, out *exchange.Changes) error {
	lister, err := view.Lister(l.Desk.Store)
	if err != nil {
		return err
	}
	for one, err := range lister.List(ctx, perdure.Filter{Scope: scope}) {
		if err != nil {
			return err
		}
		l.add(ctx, out, one.Agent, scope, workspace.KeepsPrivate(one.Kind))
	}
	return nil
}

// add adds an agent, if it is in a scope and there for the visitor.
func (l Local) add(ctx context.Context, out *exchange.Changes, id perdure.AgentID, scope string, private bool) {
	switch {
	case !l.passes(ctx, id, scope):
	case private:
		out.Private = append(out.Private, id)
	default:
		out.Agents = append(out.Agents, id)
	}
}

// private reports whether an agent here keeps the private notes of a role, as it is listed: of some memories only a
// part is here, which does not say it. Of one that is not listed yet, its first entry does.
func (l Local) private(ctx context.Context, id perdure.AgentID) (bool, error) {
	lister, err := view.Lister(l.Desk.Store)
	if err != nil {
		return false, err
	}
	for one, err := range lister.List(ctx, perdure.Filter{Prefix: id.String()}) {
		return workspace.KeepsPrivate(one.Kind), err
	}
	for item, err := range l.Desk.Store.Entries(ctx, id, 0) {
		if errors.Is(err, perdure.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		g, _ := item.Content().(perdure.Genesis)
		return workspace.KeepsPrivate(g.Intent.Kind), nil
	}
	return false, nil
}

// passes reports whether an agent is in a scope and there for the visitor.
func (l Local) passes(ctx context.Context, id perdure.AgentID, scope string) bool {
	if !l.Desk.Shows(ctx, l.Visitor, id) {
		return false
	}
	if scope == "" || scope == perdure.AnyScope {
		return true
	}
	a, err := l.Desk.Load(ctx, id)
	return err == nil && perdure.InScope(a.Fold().Charter.Scope, scope)
}

// filtered is what a feed is called of which the scope and the visitor's rights leave something out.
func (l Local) filtered(feed perdure.Hash, scope string) perdure.Hash {
	v := l.Visitor
	if v.Owns(perdure.AnyScope) && (scope == "" || scope == perdure.AnyScope) {
		return feed
	}
	return sha256.Sum256(fmt.Appendf(feed[:], "%q %q %q %q", scope, v.Scope, v.Verbs, v.grants))
}

func positionOf(feed perdure.Hash, at perdure.Cursor) string {
	return feed.String() + ":" + strconv.FormatInt(int64(at), 10)
}

// parsePosition is a position of a feed; negative: none of this feed.
func parsePosition(text string, feed perdure.Hash) (perdure.Cursor, error) {
	if text == "" {
		return -1, nil
	}
	of, at, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || n < 0 {
		return 0, perdure.Invalid(errors.New("position: want one that was answered before"))
	}
	if of != feed.String() {
		return -1, nil // the store was restored or rebuilt
	}
	return perdure.Cursor(n), nil
}
