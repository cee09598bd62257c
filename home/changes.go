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
// visitor, at most so many; after none, and where the position means nothing any more, all of them, as many at a time.
// It costs what is new. A position means nothing for another scope or other rights: what they left out would never be
// named.
func (l Local) Changes(ctx context.Context, after, scope string, limit int) (exchange.Changes, error) {
	out := exchange.Changes{Agents: []perdure.AgentID{}}
	if err := l.Visitor.May(VerbRead); err != nil {
		return out, err
	}
	var from position
	f, feeds := l.Desk.Store.(perdure.Feeder)
	if feeds {
		var err error
		if from.feed, from.at, err = f.FeedEnd(ctx); err != nil {
			return out, err
		}
	}
	from.feed = l.filtered(from.feed, scope)
	known, err := from.parse(after)
	if err != nil {
		return out, err
	}
	if !feeds || !known || from.page != "" { // everything that is listed, and from then on what arrives
		if err := l.listed(ctx, &from, scope, limit, &out); err != nil {
			return out, err
		}
		if feeds || out.More {
			out.Position = from.String()
		}
		return out, nil
	}
	seen := map[perdure.AgentID]bool{}
	for item, err := range f.Feed(ctx, from.at) {
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
		from.at = item.Cursor
	}
	out.Position = from.String()
	return out, nil
}

// listed adds the agents in a scope on the next page of the list.
func (l Local) listed(ctx context.Context, from *position, scope string, limit int, out *exchange.Changes) error {
	found, next, err := Page(ctx, l.Desk.Store, perdure.Filter{Scope: scope}, from.page, limit, nil)
	if err != nil {
		return err
	}
	for _, one := range found {
		l.add(ctx, out, one.Agent, scope, workspace.KeepsPrivate(one.Kind))
	}
	from.page, out.More = next, next != ""
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

// position is how far somebody knows what has changed here: what is in a feed up to a cursor, and, while they are told
// of all agents, those on the pages of the list before this one.
type position struct {
	feed perdure.Hash
	at   perdure.Cursor
	page string
}

func (p *position) String() string {
	text := p.feed.String() + ":" + strconv.FormatInt(int64(p.at), 10)
	if p.page != "" {
		text += ":" + p.page
	}
	return text
}

// parse goes on from a position; else it is none of this feed.
func (p *position) parse(text string) (known bool, err error) {
	if text == "" {
		return false, nil
	}
	of, at, _ := strings.Cut(text, ":")
	at, page, _ := strings.Cut(at, ":")
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || n < 0 {
		return false, perdure.Invalid(errors.New("position: want one that was answered before"))
	}
	if of != p.feed.String() {
		return false, nil // the store was restored or rebuilt
	}
	p.at, p.page = perdure.Cursor(n), page
	return true, nil
}
