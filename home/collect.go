package home

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// IDs are the agents of a store: the one that is named, or all.
func IDs(ctx context.Context, s perdure.Store, names ...string) (ids []perdure.AgentID, err error) {
	for _, name := range names {
		id, err := Find(ctx, s, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if len(names) > 0 {
		return ids, nil
	}
	l, err := view.Lister(s)
	if err != nil {
		return nil, err
	}
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, one.Agent)
	}
	return ids, nil
}

// Collect drops the bodies that have expired, of the agents named or of all, and says what went; dry, what would.
func (h *Home) Collect(ctx context.Context, s perdure.Store, names []string, dry bool) (found []perdure.Collected, err error) {
	ids, err := IDs(ctx, s, names...)
	if err != nil {
		return nil, err
	}
	n, err := h.Node(ctx, s)
	if err != nil {
		return nil, err
	}
	work := n.Collect
	if dry {
		work = n.Expired
	}
	defer h.Progressed("", 0, 0)
	for i, id := range ids {
		got, err := work(ctx, id)
		if err != nil {
			return found, err
		}
		if got.Entries > 0 {
			found = append(found, got)
		}
		h.Progressed("gc", int64(i+1), int64(len(ids)))
	}
	return found, nil
}
