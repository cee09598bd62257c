package home

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Copied is what came of a copy of agents from one store to another.
type Copied struct {
	From    string        `json:"from"`
	To      string        `json:"to"`
	Agents  int64         `json:"agents"`           // that matched
	Copied  int64         `json:"copied"`           // of which something was written
	Same    int64         `json:"same"`             // that were there already
	Entries int64         `json:"entries"`          // verified in what was written
	Failed  []CopyFailure `json:"failed,omitempty"` // the others were copied all the same
}

// CopyFailure is an agent that could not be copied.
type CopyFailure struct {
	Agent perdure.AgentID `json:"agent"`
	Name  string          `json:"name,omitempty"`
	Error string          `json:"error"`
}

// Copy copies the agents that a filter selects from a store to this home's. Each is verified as it is read, written all
// or nothing, and compared with the original; one that is there already costs a look at its heads, so that a copy that
// was interrupted goes on where it was. What is there and not in the original stays. Copies lack the seat of their
// agents, so one whose seat goes to whoever takes it first is not copied. Nothing is made where there is no source, or
// no agent in it that the filter selects. What does not count here does not join an agent that does.
func (h *Home) Copy(ctx context.Context, source *Home, f perdure.Filter) (out *Copied, err error) {
	err = source.Use(ctx, false, func(ctx context.Context, from perdure.Store) error {
		l, err := view.Lister(from)
		if err != nil {
			return err
		}
		var all []perdure.Listing
		for one, err := range l.List(ctx, f) {
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		if err := h.Locate(); err != nil {
			return err
		}
		if h.Scheme == "mem" {
			return perdure.WithHint(perdure.Invalid(errors.New("mem: is gone when this command ends, and the copies "+
				"with it")), "name a store that stays, such as a folder")
		}
		if len(all) == 0 {
			out = &Copied{From: source.Where(), To: h.Where()}
			return nil
		}
		return h.Use(ctx, true, func(ctx context.Context, to perdure.Store) (err error) {
			out, err = h.copy(ctx, source, from, to, all)
			return err
		})
	})
	return out, err
}

func (h *Home) copy(ctx context.Context, source *Home, from, to perdure.Store, all []perdure.Listing) (*Copied, error) {
	out := &Copied{From: source.Where(), To: h.Where()}
	if err := differ(ctx, from, to); err != nil {
		return out, err
	}
	defer h.Progressed("", 0, 0)
	for i, one := range all {
		h.Progressed("copy agents", int64(i), int64(len(all)))
		entries, err := h.copyOne(ctx, source, from, to, &one)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil:
			out.Failed = append(out.Failed, CopyFailure{one.Agent, one.Name, withDo(err)})
		case entries == 0:
			out.Same++
		default:
			out.Copied, out.Entries = out.Copied+1, out.Entries+entries
		}
		out.Agents++
	}
	h.Progressed("copy agents", int64(len(all)), int64(len(all)))
	return out, nil
}

// differ refuses two names of one store.
func differ(ctx context.Context, from, to perdure.Store) error {
	a, ok := from.(perdure.Placed)
	b, also := to.(perdure.Placed)
	if !ok || !also {
		return nil
	}
	here, err := a.Place(ctx)
	if err != nil {
		return err
	}
	there, err := b.Place(ctx)
	if err == nil && here.ID == there.ID && !here.IsZero() {
		err = perdure.Invalid(errors.New("both are the same store; name another one"))
	}
	return err
}

// copyOne copies an agent to the store of this home, and returns how many entries were verified; none: it was there
// already.
func (h *Home) copyOne(ctx context.Context, source *Home, from, to perdure.Store, one *perdure.Listing) (int64,
	error) {
	id := one.Agent
	want, err := from.Heads(ctx, id)
	if err != nil {
		return 0, err
	}
	depth, err := perdure.DepthOf(ctx, from, id)
	if err != nil {
		return 0, err
	}
	have, err := to.Heads(ctx, id)
	switch {
	case err != nil && !errors.Is(err, perdure.ErrNotFound):
		return 0, err
	case err == nil && slices.Equal(have, want):
		if there, err := perdure.DepthOf(ctx, to, id); err != nil || there == perdure.Full || there == depth {
			return 0, errors.Join(err, completed(ctx, to, one))
		}
	}
	if err := source.leaves(ctx, from, id); err != nil {
		return 0, err
	}
	o := perdure.VerifyOptions{Depth: depth}
	got, err := perdure.Verify(perdure.Memory(ctx, from, id), o)
	if err != nil {
		return 0, fmt.Errorf("the original: %w", err)
	}
	if err := h.write(ctx, to, id, have, depth, perdure.Memory(ctx, from, id)); err != nil {
		return 0, err
	}
	return got.Entries, arrivedWhole(ctx, to, id, want)
}

// completed writes the line about an agent that was copied, if whoever copied it was killed before.
func completed(ctx context.Context, to perdure.Store, one *perdure.Listing) error {
	if listed(ctx, to, one.Agent) {
		return nil
	}
	a, err := perdure.Load(ctx, to, one.Agent)
	if err != nil {
		return err
	}
	return relist(ctx, to, a)
}

// write puts a memory into a store. What joins an agent that is there must count by the trust of this home, as what is
// imported must.
func (h *Home) write(ctx context.Context, to perdure.Store, id perdure.AgentID, have []perdure.Hash, d perdure.Depth,
	entries iter.Seq2[*perdure.Entry, error]) error {
	if len(have) == 0 && d == perdure.Full {
		return perdure.PutAll(ctx, to, id, entries)
	}
	p, ok := to.(perdure.Parter)
	if d != perdure.Full {
		if !ok {
			return errors.New("only a part of it is in the original, and this store holds whole memories only")
		}
		if len(have) > 0 {
			return errors.New("only a part of it is in the original, and another copy is here: import the whole memory")
		}
		return p.Replace(ctx, id, nil, d, entries)
	}
	there, err := perdure.DepthOf(ctx, to, id)
	if err != nil {
		return err
	}
	trust, err := h.Trust()
	if err != nil {
		return err
	}
	if there == perdure.Full {
		_, _, err = trust.Join(ctx, to, id, entries)
		return err
	}
	whole, err := around(ctx, to, id, entries)
	if err != nil {
		return err
	}
	here, err := trust.Load(ctx, to, id)
	if err != nil && !errors.Is(err, perdure.ErrRejected) {
		return err
	}
	if err == nil && trust.Counts(here) == nil {
		next, err := trust.Fold(whole)
		if err != nil {
			return err
		}
		if err := trust.Counts(next); err != nil {
			return err
		}
	}
	return p.Replace(ctx, id, have, perdure.Full, whole)
}

// around is a whole memory with what a store that holds a part of it has besides: no entry and no body is taken away.
// It refuses what does not make one whole memory together.
func around(ctx context.Context, to perdure.Store, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	iter.Seq2[*perdure.Entry, error], error) {
	bodied := map[perdure.Hash]bool{} // the entries of the original, and whether their bodies are there
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		bodied[e.Name] = e.BodyBytes() != nil
	}
	var own []*perdure.Entry
	kept := map[perdure.Hash]*perdure.Entry{}
	for e, err := range perdure.Memory(ctx, to, id) {
		if err != nil {
			return nil, err
		}
		has, known := bodied[e.Name]
		switch {
		case !known && e.BodyBytes() == nil:
			return nil, unlike(fmt.Errorf("entry %s is only here, without its body", e.Name.Short()))
		case !known:
			own = append(own, e)
		case !has && e.BodyBytes() != nil:
			kept[e.Name] = e
		}
	}
	whole := func(yield func(*perdure.Entry, error) bool) {
		for e, err := range entries {
			if err == nil && kept[e.Name] != nil {
				e = kept[e.Name]
			}
			if !yield(e, err) {
				return
			}
		}
		for _, e := range own {
			if !yield(e, nil) {
				return
			}
		}
	}
	if _, err := perdure.Verify(whole, perdure.VerifyOptions{}); err != nil {
		return nil, unlike(err)
	}
	return whole, nil
}

// unlike says of a part that is here that the original is no whole of it.
func unlike(err error) error {
	return perdure.WithHint(fmt.Errorf("only a part of it is here, and it has more than the original: %w", err),
		"nothing was changed: perdure export it where all of that is, then perdure import the file here")
}

// arrivedWhole reads a memory where it was written to: every head of the original is an entry of it.
func arrivedWhole(ctx context.Context, to perdure.Store, id perdure.AgentID, heads []perdure.Hash) error {
	depth, err := perdure.DepthOf(ctx, to, id)
	if err != nil {
		return err
	}
	missing := slices.Clone(heads)
	memory := func(yield func(*perdure.Entry, error) bool) {
		for e, err := range perdure.Memory(ctx, to, id) {
			if err == nil {
				missing = slices.DeleteFunc(missing, func(h perdure.Hash) bool { return h == e.Name })
			}
			if !yield(e, err) {
				return
			}
		}
	}
	if _, err := perdure.Verify(memory, perdure.VerifyOptions{Depth: depth}); err != nil {
		return fmt.Errorf("the copy: %w", err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("the copy lacks entry %s: copy it again", missing[0].Short())
	}
	a, err := perdure.Load(ctx, to, id)
	if err != nil {
		return err
	}
	return Index(ctx, to, a)
}
