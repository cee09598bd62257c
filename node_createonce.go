package perdure

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// CreateOnce is Create for an agent that is to exist once, however often and in however many processes it is called:
// the same genesis names the same agent, for all who sign with this key and share the store. It returns the agent that
// is there, if one is. Inputs are not part of its name: the first call's count. The time it was created is that of its
// second entry.
func (n *Node) CreateOnce(ctx context.Context, g Genesis, inputs Data) (*Agent, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	at, err := n.here(ctx)
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	entries, a, err := n.only(ctx, g, inputs, at.ID)
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	if there, err := n.Load(ctx, a.ID()); !errors.Is(err, ErrNotFound) {
		return there, err
	}
	if err := g.Intent.sensible(time.Now()); err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	// One of this name may have been here, and the store been put back to before: then this is an older copy of it.
	_, err = n.store(ctx, a, a, func() error { return n.Store.Append(ctx, a.ID(), nil, entries...) })
	switch {
	case errors.Is(err, ErrConflict):
		return n.Load(ctx, a.ID()) // another process was first
	case err != nil:
		return nil, fmt.Errorf("create agent: %w", err)
	}
	return a, nil
}

// only is the entries of an agent that CreateOnce creates.
func (n *Node) only(ctx context.Context, g Genesis, inputs Data, at Hash) ([]*Entry, *Agent, error) {
	e, err := n.Key.onlyGenesis(g)
	if err == nil {
		err = n.guard(e)
	}
	if err != nil {
		return nil, nil, err
	}
	a, err := new(Agent).apply([]*Entry{e}, true)
	if err != nil {
		return nil, nil, err
	}
	given := Event{Name: "given-inputs", By: n.Key.Name, Notice: Edit{Mutate: Mutate{Inputs: inputs}}}
	// The seat is not in the genesis: in a store that was put back or copied the same agent must have the same name.
	sits := Event{Name: "seat-taken", By: n.Key.Name, Notice: SeatTaken{At: at}}
	entries, a, err := n.Key.Commit(a, time.Now(), Draft{Body: given, Policy: n.PolicyHash, Trace: n.traceIn(ctx)},
		Draft{Body: sits, Policy: n.PolicyHash, Trace: n.traceIn(ctx)})
	if err == nil {
		err = n.guard(entries[0])
	}
	return append([]*Entry{e}, entries...), a, err
}

// onlyGenesis writes the first entry of an agent that is to exist once: nothing in it is of the moment, and its salt
// follows from the rest. It is not signed.
func (s *Signer) onlyGenesis(g Genesis) (*Entry, error) {
	if g.Charter.Owner.IsZero() {
		g.Charter.Owner = s.key
	}
	rec := saltedBody{Content: g}
	plain, err := bodyCodec.Append(nil, &rec)
	if err != nil {
		return nil, under(err, "$.body")
	}
	salt := HashOf(append(plain, s.key[:]...))
	copy(rec.Salt[:], salt[:])
	e := &Entry{Header: Header{Origin: s.key}, content: g}
	return e, e.encode(&rec)
}
