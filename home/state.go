package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/schema"
	"github.com/perdure/perdure/view"
)

// Typed is the state of an agent under a schema.
type Typed struct {
	Schema *schema.Schema // in the version that was asked for

	all *schema.Registry
	of  *perdure.Agent
}

// Value is the state as canonical bytes, which must fit the schema.
func (t *Typed) Value() ([]byte, error) {
	f := t.of.Fold()
	value, err := t.all.StateAs(f.Intent.StateSchema, f.Vars, t.Schema)
	if err != nil {
		err = fmt.Errorf("state of %s: %w", view.Called(t.of), err)
	}
	if err != nil && len(f.Vars) == 0 {
		err = perdure.WithHint(fmt.Errorf("%w; nothing of it is set yet", err),
			"the agent sets it as it works; or set what is required: perdure edit "+view.Callable(t.of)+
				" --set NAME=VALUE")
	}
	return value, err
}

// Moved is the state as JSON after UpgradeState, or the error that this would return. One of which nothing is set yet
// moves as it is.
func (h *Home) Moved(ctx context.Context, t *Typed) ([]byte, error) {
	if k, err := h.Key(); k == nil {
		if err = cmp.Or(err, h.lostKey(ctx)); err != nil {
			return nil, err
		}
	}
	f := t.of.Fold()
	if f.Ended != nil {
		return nil, fmt.Errorf("upgrade the state of agent %s: %w", t.of.ID().Short(), perdure.ErrTerminated)
	}
	if to := perdure.Hash(t.Schema.ID()); to != f.Intent.StateSchema {
		if _, err := t.all.MoveState(f.Intent.StateSchema, to, maps.Clone(f.Vars)); err != nil {
			return nil, fmt.Errorf("upgrade the state of agent %s: %w", t.of.ID().Short(), err)
		}
	}
	if len(f.Vars) == 0 {
		return []byte("{}"), nil
	}
	return t.JSON()
}

// JSON is the state as JSON.
func (t *Typed) JSON() ([]byte, error) {
	value, err := t.Value()
	if err != nil {
		return nil, err
	}
	return t.Schema.ToJSON(value)
}

// Vein is the state as a .vein file that follows the value with a fingerprint; zero: it is the first.
func (t *Typed) Vein(parent schema.Hash) ([]byte, error) {
	value, err := t.Value()
	if err != nil {
		return nil, err
	}
	b, err := schema.Pack(t.Schema, value, schema.Options{Embed: true, Parent: parent})
	if err != nil {
		return nil, fmt.Errorf("state of %s: %w", view.Called(t.of), err)
	}
	return b, nil
}

// unfit is what of the state of an agent does not fit its schema; nil: nothing, or nobody here can tell.
func (h *Home) unfit(f *perdure.Fold) *view.Unfit {
	if f.Intent.StateSchema.IsZero() || len(f.Vars) == 0 || f.Ended != nil {
		return nil
	}
	all, err := h.Schemas()
	if err != nil {
		return nil // whoever asks for the state is told
	}
	check := func(vars map[string]perdure.Data) error { return all.CheckState(f.Intent.StateSchema, vars) }
	bad := check(f.Vars)
	if bad == nil || errors.Is(bad, perdure.ErrIncapable) {
		return nil
	}
	u, left := &view.Unfit{Why: bad.Error()}, maps.Clone(f.Vars)
	for _, name := range slices.Sorted(maps.Keys(f.Vars)) {
		var r *perdure.Rejection
		alone := check(map[string]perdure.Data{name: f.Vars[name]})
		if errors.As(alone, &r) && r.Predicate == canon.PredCritical && r.Path == "$" { // no variable of the schema
			delete(left, name)
			u.Drop = append(u.Drop, name)
		}
	}
	if check(left) != nil {
		u.Drop = nil
	}
	return u
}

// TypedState is the state of an agent under a version of the schema its intent names; as is a number or latest. The
// schemas are those of the home, and more.
func (h *Home) TypedState(a *perdure.Agent, as string, more ...*schema.Schema) (*Typed, error) {
	all, s, err := h.stateSchema(a.Fold(), as, more)
	if err != nil {
		return nil, fmt.Errorf("state of %s: %w", view.Called(a), err)
	}
	return &Typed{s, all, a}, nil
}

func (h *Home) stateSchema(f *perdure.Fold, as string, more []*schema.Schema) (*schema.Registry, *schema.Schema,
	error) {
	if f.Intent.StateSchema.IsZero() {
		return nil, nil, perdure.Missing("its intent names no schema: an agent gets one when it is made; see perdure " +
			"state")
	}
	all, err := h.Schemas()
	if err != nil {
		return nil, nil, err
	}
	for _, m := range more {
		all.AddByID(m) // the home may call others so
	}
	s, err := all.Lookup(schema.Hash(f.Intent.StateSchema))
	if err != nil {
		return nil, nil, err
	}
	line := new(schema.Registry)
	for _, one := range append([]*schema.Schema{s}, more...) {
		if err := line.Add(one); err != nil {
			return nil, nil, fmt.Errorf("schema %s: %w", one.Name(), err)
		}
	}
	s, err = all.Version(line.Latest(s.Name()), as)
	return all, s, err
}

// Upgraded is what came of UpgradeState.
type Upgraded struct {
	Agent   perdure.AgentID `json:"agent"`
	Schema  schema.Hash     `json:"schema"`
	Version int             `json:"version"`
	Entry   perdure.Hash    `json:"entry,omitzero"` // none: it was of that version already
	Seq     int64           `json:"seq,omitempty"`

	called, of string
	unset      bool // nothing of the state is set yet
}

// String says it in a line.
func (u *Upgraded) String() string {
	when := "already"
	if u.Seq > 0 {
		when = fmt.Sprintf("now (seq %d)", u.Seq)
	}
	text := fmt.Sprintf("%s: its state is of %s version %d %s", u.called, u.of, u.Version, when)
	if u.unset {
		text += "; nothing of it is set yet"
	}
	return text
}

// UpgradeState moves an agent to a version of the schema of its state, as TypedState found it. With keep the home keeps
// that schema.
func (h *Home) UpgradeState(ctx context.Context, s perdure.Store, id perdure.AgentID, to *Typed, keep bool) (*Upgraded,
	error) {
	hash := perdure.Hash(to.Schema.ID())
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
	if keep && h.Dir != "" {
		mark := "" // it takes no name: what the agent brought along may be called anything
		if own := to.all.Latest(to.Schema.Name()); own != nil && to.Schema.Succeeds(own) == nil {
			mark = ownMark
		}
		path := filepath.Join(schemaDir, to.Schema.Name()+"-"+hash.Short()+mark+".lode")
		if err := h.Keep(path, to.Schema.JSON()); err != nil {
			return nil, err
		}
	}
	r := &Upgraded{Agent: id, Schema: to.Schema.ID(), Version: to.Schema.Version(), called: view.Called(to.of),
		of: to.Schema.Name(), unset: len(to.of.Fold().Vars) == 0}
	if e == nil {
		return r, nil
	}
	r.Entry, r.Seq = e.Name, e.Seq
	return r, h.heardElsewhere(ctx, s, to.of)
}
