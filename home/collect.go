package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/seal"
	"github.com/perdure/perdure/view"
)

// IDs are the agents of a store: those that are named, or all.
func (h *Home) IDs(ctx context.Context, s perdure.Store, names ...string) ([]perdure.AgentID, error) {
	if len(names) == 0 {
		return allIDs(ctx, s, false)
	}
	return h.namedIDs(ctx, s, names)
}

// namedIDs are the agents that are named.
func (h *Home) namedIDs(ctx context.Context, s perdure.Store, names []string) (ids []perdure.AgentID, err error) {
	for _, name := range names {
		id, err := h.FindAgent(ctx, s, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// allIDs are all agents of a store; living: but those that have ended.
func allIDs(ctx context.Context, s perdure.Store, living bool) (ids []perdure.AgentID, err error) {
	l, err := view.Lister(s)
	if err != nil {
		return nil, err
	}
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return nil, err
		}
		if !living || one.State != phase.Terminated {
			ids = append(ids, one.Agent)
		}
	}
	return ids, nil
}

// Collect drops the bodies that have expired, of the agents named or of all, and says what went; dry, what would. Of
// all, it leaves out those that are held, and goes on after one that cannot be collected: found is what went, with or
// without an error.
func (h *Home) Collect(ctx context.Context, s perdure.Store, names []string, dry bool) (found []perdure.Collected,
	err error) {
	ids, err := h.IDs(ctx, s, names...)
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
	var held, failed int64
	var first error
	for i, id := range ids {
		got, err := work(ctx, id)
		switch {
		case err != nil && len(names) > 0:
			return found, err
		case ctx.Err() != nil:
			return found, ctx.Err()
		case untrusted(err):
			held++
		case err != nil:
			failed, first = failed+1, cmp.Or(first, err)
			h.note("%v", err)
		case got.Entries > 0:
			found = append(found, got)
		}
		h.Progressed("gc", int64(i+1), int64(len(ids)))
	}
	if !dry && len(found) > 0 {
		if err := h.tidyIndex(ctx, s); err != nil {
			h.note("the search index still has what is gone, until the next search: %v", err)
		}
	}
	if held > 0 {
		h.note("nothing is dropped of %s held here; see perdure inbox", view.Several(held, "agent"))
	}
	if first != nil {
		first = &someFailed{fmt.Sprintf("%d of %s could not be collected", failed,
			view.Several(int64(len(ids)), "agent")), first}
	}
	return found, first
}

// untrusted reports whether an error says that an agent has entries that do not count here.
func untrusted(err error) bool {
	var r *perdure.Rejection
	return errors.As(err, &r) && r.Predicate == "key.trusted"
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
	id, err := h.FindAgent(ctx, s, arg)
	if err != nil {
		return nil, err
	}
	n, err := h.Node(ctx, s)
	if err != nil {
		return nil, err
	}
	before := false
	if n.Vault != nil {
		if known, err := n.Vault.Knows(subject); err == nil && known { // else Key would make one
			_, err := n.Vault.Key(subject)
			before = errors.Is(err, seal.ErrErased)
		}
	}
	e, err := n.Erase(ctx, id, subject, why)
	if err != nil {
		return nil, err
	}
	return &Erased{id, e.Name, e.Seq, before}, nil
}

// Erased is the entry that says that a subject was erased.
type Erased struct {
	Agent perdure.AgentID `json:"agent"`
	Entry perdure.Hash    `json:"entry"`
	Seq   int64           `json:"seq"`
	// Before says that the key was gone already; the entry is that of then, or says so in an agent that did not yet.
	Before bool `json:"before,omitempty"`
}

// Text says it to people, of an agent as they call it.
func (e *Erased) Text(agent string) string {
	if e.Before {
		return fmt.Sprintf("%s: the key of the subject was destroyed before (seq %d)\n", agent, e.Seq)
	}
	return fmt.Sprintf("%s: the key of the subject is destroyed (seq %d)\n", agent, e.Seq)
}
