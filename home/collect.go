package home

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
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
func (h *Home) Collect(ctx context.Context, s perdure.Store, names []string, dry bool) (found []perdure.Collected,
	err error) {
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

// SetCollected is what went of a set of capsules.
type SetCollected struct {
	Set    string `json:"set"`
	Chunks int    `json:"chunks"`
	Bytes  int64  `json:"bytes"`
	Kept   int    `json:"kept"`
	Dry    bool   `json:"dry_run"`
}

// CollectSet removes the chunks of a set, which is a folder, that no capsule in it refers to; dry, it only counts them.
func CollectSet(ctx context.Context, dir string, dry bool) (*SetCollected, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, perdure.Invalid(fmt.Errorf("%s: want a folder that perdure export --set wrote", dir))
	}
	set, err := capsule.OpenSet(dir)
	if err != nil {
		return nil, err
	}
	got, err := set.Collect(ctx, dry)
	return &SetCollected{dir, got.Chunks, got.Bytes, got.Kept, dry}, errors.Join(err, set.Close())
}

// Erase destroys the key of a subject in this home's vault, and records in an agent that it was done.
func (h *Home) Erase(ctx context.Context, s perdure.Store, arg, subject, why string) (*Erased, error) {
	id, err := Find(ctx, s, arg)
	if err != nil {
		return nil, err
	}
	n, err := h.Node(ctx, s)
	if err != nil {
		return nil, err
	}
	e, err := n.Erase(ctx, id, subject, why)
	if err != nil {
		return nil, err
	}
	return &Erased{id, e.Name, e.Seq}, nil
}

// Erased is the entry that says that a subject was erased.
type Erased struct {
	Agent perdure.AgentID `json:"agent"`
	Entry perdure.Hash    `json:"entry"`
	Seq   int64           `json:"seq"`
}
