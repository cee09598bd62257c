package home

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

type visitorKey struct{}

// admitted is whom a gate let in, and who that is now.
type admitted struct {
	v   *Visitor
	now func() (*Visitor, error)
}

// WithVisitor is a context of a request that a gate let in: whatever answers it, in whatever protocol, speaks for this
// visitor. Now finds out anew who it is, for what takes long; nil: it is asked once.
func WithVisitor(ctx context.Context, v *Visitor, now func() (*Visitor, error)) context.Context {
	return context.WithValue(ctx, visitorKey{}, admitted{v, now})
}

// VisitorIn is the visitor whom a gate let in; nil: there was no gate.
func VisitorIn(ctx context.Context) *Visitor {
	in, _ := ctx.Value(visitorKey{}).(admitted)
	return in.v
}

// VisitorNow is VisitorIn as it is now: a token may have been revoked while a person was asked.
func VisitorNow(ctx context.Context) (*Visitor, error) {
	in, _ := ctx.Value(visitorKey{}).(admitted)
	switch {
	case in.v == nil:
		return nil, fmt.Errorf("%w: the request came by no gate", ErrUnknown)
	case in.now == nil:
		return in.v, nil
	}
	return in.now()
}

// Through is the visitor as a program speaks for them and not as them. The verbs are those that the way it came stands
// for. It speaks for a person only if the visitor does.
func (v *Visitor) Through(program string, verbs ...string) *Visitor {
	w := *v
	w.Name, w.by = program+" for "+v.Name, true
	if w.Verbs != nil {
		w.Verbs = append(slices.Clone(w.Verbs), verbs...)
	}
	return &w
}

// Host is the owner of the home where they are at home, at a terminal or behind a program of theirs. What they decide
// is signed with the home's key, as the command line does.
func (d *Desk) Host() (*Visitor, error) {
	v, err := d.Home.Owner()
	if err != nil {
		return nil, err
	}
	v.Person, v.host = d.Node.Key, true
	return v, nil
}

// onceLabel tells apart agents of the same intent that are to exist once each.
const onceLabel = "once"

// CreateOnce is Create for an agent that a visitor wants to exist once for a key, however often and in however many
// processes it is asked for at once. What it begins with follows from the intent and the key.
func (d *Desk) CreateOnce(ctx context.Context, v *Visitor, f *IntentFile, key string) (*perdure.Agent, error) {
	g, err := d.genesis(v, f)
	if err == nil {
		err = checkKind(g.Intent.Kind)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(v.ID() + "\n" + key))
	g.Intent.Labels = maps.Clone(g.Intent.Labels)
	if g.Intent.Labels == nil {
		g.Intent.Labels = map[string]string{}
	}
	g.Intent.Labels[onceLabel] = hex.EncodeToString(sum[:16])
	if g.Intent.Name == "" {
		g.Intent.Name = Slug(g.Intent.Goal) + "-" + hex.EncodeToString(sum[:4])
	}
	n, inputs := d.Node, g.Intent.Inputs
	if len(g.Charter.Policies) > 0 {
		if n, err = d.Home.maker(ctx, d.Store, &g); err != nil {
			return nil, err
		}
	}
	g.Intent.Inputs = nil
	a, err := n.CreateOnce(ctx, g, inputs)
	if err != nil {
		return nil, err
	}
	if err := Index(ctx, d.Store, a); err != nil { // the agent is there
		d.Home.noteFault(ctx, view.Called(a)+" is made, but perdure ls does not show it yet", err)
	}
	return a, nil
}
