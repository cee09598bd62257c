package home

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/schema"
)

// maxEnclosed bounds the bytes of policies that one agent brings along: every process of the home reads them, and that
// takes a second or two.
const maxEnclosed = 512 << 10

// Learn keeps in the home what an agent that came from elsewhere brings along: the text of its own policies and of the
// schema of its state, as far as nodes here do not know them. Each is what its hash says. Policies of agents only
// narrow what the home permits.
func (h *Home) Learn(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	if h.Dir == "" {
		return nil
	}
	a, err := h.Load(ctx, s, id)
	if err != nil {
		return err
	}
	wanted, err := h.unknown(a.Fold())
	if err != nil || len(wanted) == 0 {
		return err
	}
	size := 0
	for e, err := range perdure.Memory(ctx, s, id) {
		if err != nil {
			return err
		}
		ev, _ := e.Content().(perdure.Event)
		n, ok := ev.Notice.(perdure.Enclosed)
		i := slices.Index(wanted, n.Of)
		if !ok || i < 0 {
			continue
		}
		wanted = slices.Delete(wanted, i, i+1)
		if n.Kind == perdure.EnclosedPolicy {
			size += len(n.Text)
		}
		if err = fmt.Errorf("policies of more than %d bytes", maxEnclosed); size <= maxEnclosed {
			err = h.keepEnclosed(&n)
		}
		if err != nil {
			return perdure.WithHint(fmt.Errorf("what agent %s brings along: %w", id.Short(), err),
				"it does nothing here without its policies; whoever made it can make it again with shorter ones")
		}
	}
	return nil
}

// unknown is what an agent names by its hash and the home does not know.
func (h *Home) unknown(f *perdure.Fold) ([]perdure.Hash, error) {
	var wanted []perdure.Hash
	if len(f.Charter.Policies) > 0 {
		set, err := LoadPolicy(h, nil)
		if err != nil {
			return nil, err
		}
		for _, hash := range f.Charter.Policies {
			if set.Under(hash) == nil {
				wanted = append(wanted, hash)
			}
		}
	}
	if id := f.Intent.StateSchema; !id.IsZero() {
		known, err := h.Schemas()
		if err != nil {
			return nil, err
		}
		if _, err := known.Lookup(schema.Hash(id)); err != nil {
			wanted = append(wanted, id)
		}
	}
	return wanted, nil
}

// keepEnclosed keeps one text, if it is what its hash says.
func (h *Home) keepEnclosed(n *perdure.Enclosed) error {
	switch n.Kind {
	case perdure.EnclosedPolicy:
		set, err := policy.FromText(n.Of, n.Text)
		if err != nil {
			return err
		}
		for i, text := range set.Texts() {
			if err := h.Keep(filepath.Join(PolicyDir, knownDir, n.Of.Short(), fmt.Sprintf("%d.cedar", i+1)),
				[]byte(text)); err != nil {
				return err
			}
		}
	case perdure.EnclosedSchema:
		sch, err := schema.FromText(n.Of, n.Text)
		if err != nil {
			return err
		}
		known, err := h.Schemas()
		if err == nil {
			err = known.Add(sch)
		}
		if err != nil {
			return err
		}
		return h.Keep(filepath.Join(schemaDir, filepath.Base(sch.Name())+"-"+n.Of.Short()+".lode"), sch.JSON())
	}
	return nil
}
