package home

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/schema"
	"github.com/perdure/perdure/view"
)

// Typed is the state of an agent as a value of its schema.
type Typed struct {
	Schema *schema.Schema // in the version that was asked for
	Value  []byte         // canonical

	all *schema.Registry
}

// TypedState is the state of an agent under a version of the schema its intent names, which it must fit; as is a number
// or latest. The schemas are those of the home, and more.
func (h *Home) TypedState(a *perdure.Agent, as string, more ...*schema.Schema) (*Typed, error) {
	t, err := h.typed(a.Fold(), as, more)
	if err != nil {
		return nil, fmt.Errorf("state of %s: %w", view.Called(a), err)
	}
	return t, nil
}

func (h *Home) typed(f *perdure.Fold, as string, more []*schema.Schema) (*Typed, error) {
	if f.Intent.StateSchema.IsZero() {
		return nil, perdure.Missing("its intent names no schema: an agent gets one when it is made; see perdure state")
	}
	all, err := h.Schemas()
	if err != nil {
		return nil, err
	}
	for _, s := range more {
		if err := all.Add(s); err != nil {
			return nil, fmt.Errorf("schema %s: %w", s.Name(), err)
		}
	}
	s, err := all.Lookup(schema.Hash(f.Intent.StateSchema))
	if err == nil {
		s, err = all.Version(s, as)
	}
	if err != nil {
		return nil, err
	}
	value, err := all.StateAs(f.Intent.StateSchema, f.Vars, s)
	return &Typed{s, value, all}, err
}

// Upgraded is what came of UpgradeState.
type Upgraded struct {
	Agent   perdure.AgentID `json:"agent"`
	Schema  schema.Hash     `json:"schema"`
	Version int             `json:"version"`
	Entry   perdure.Hash    `json:"entry,omitzero"` // none: it was of that version already
	Seq     int64           `json:"seq,omitempty"`
}

// UpgradeState moves an agent to a version of the schema of its state, as TypedState found it. With keep the home keeps
// that schema.
func (h *Home) UpgradeState(ctx context.Context, s perdure.Store, id perdure.AgentID, to *Typed, keep bool) (*Upgraded, error) {
	hash := perdure.Hash(to.Schema.ID())
	if keep && h.Dir != "" {
		path := filepath.Join(SchemaDir, to.Schema.Name()+"-"+hash.Short()+".lode")
		if err := h.Keep(path, to.Schema.JSON()); err != nil {
			return nil, err
		}
	}
	n, err := h.Node(ctx, s)
	if err != nil {
		return nil, err
	}
	n.State = to.all
	e, err := n.UpgradeState(ctx, id, hash)
	if errors.Is(err, perdure.ErrConflict) {
		return nil, perdure.WithHint(err, "something happened to the agent meanwhile: run it again")
	}
	if err != nil {
		return nil, err
	}
	r := &Upgraded{Agent: id, Schema: to.Schema.ID(), Version: to.Schema.Version()}
	if e != nil {
		r.Entry, r.Seq = e.Name, e.Seq
	}
	return r, nil
}
