package home

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/view"
)

// Fork says how a fork differs from the agent it begins from. The zero fork is the same, and only rehearses.
type Fork struct {
	Goal, Name string
	Over       *IntentFile // its fields replace those of the agent's intent
	Live       bool        // it acts, as policy permits
	Dry        bool        // nothing is made

	taint bool // what is said here is no person's word
}

// Forked is what came of a fork: the new agent, what of the other's effects is not undone by it, and what was open
// there and does not come along.
type Forked struct {
	Agent    perdure.AgentID `json:"agent,omitzero"` // none if nothing was made
	Name     string          `json:"name"`
	From     perdure.AgentID `json:"from"`
	At       perdure.Hash    `json:"at"`
	Rehearse bool            `json:"rehearse"`
	Paused   bool            `json:"paused,omitempty"`
	Effects  []view.Undone   `json:"not_undone"`
	Open     []view.Pending  `json:"left_open,omitempty"` // what came to nothing yet there
	Notes    []string        `json:"notes,omitempty"`     // for whoever asked from elsewhere: see WithNotes

	Of string `json:"-"` // what the other is called
	view.Sent
}

// Fork makes an agent that begins where another was. It belongs to this home's key.
func (h *Home) Fork(ctx context.Context, s perdure.Store, p *Point, f Fork) (*Forked, error) {
	if err := jsontext.UTF8(f); err != nil {
		return nil, perdure.Invalid(err)
	}
	if f.Over != nil {
		if err := h.nameKeys(f.Over); err != nil {
			return nil, err
		}
	}
	g, err := f.genesis(ctx, s, p)
	if err != nil {
		return nil, err
	}
	r, err := forked(ctx, s, p.Agent, &g)
	if err != nil || f.Dry {
		return r, err
	}
	n, err := h.maker(ctx, s, &g)
	if err != nil {
		return nil, err
	}
	a, err := n.Fork(ctx, p.Agent, g)
	if err != nil {
		return nil, err
	}
	r.Agent, r.Paused = a.ID(), len(a.Fold().Paused) > 0
	return r, nil
}

// forked is what comes of a fork of an agent as it was at the point of the fork.
func forked(ctx context.Context, s perdure.Store, from *perdure.Agent, g *perdure.Genesis) (_ *Forked, err error) {
	r := &Forked{Name: g.Intent.Name, From: g.Lineage.Parent, At: g.Lineage.Cause, Rehearse: g.Lineage.Rehearse,
		Open: view.PendingOf(from)}
	r.Effects, err = view.EffectsOf(ctx, s, from)
	return r, err
}

// Forked is what came of a fork that was made before, by the agent it made.
func (h *Home) Forked(ctx context.Context, s perdure.Store, id perdure.AgentID, g *perdure.Genesis) (*Forked, error) {
	p, err := FindPoint(ctx, h, s, g.Lineage.Parent.String()+"@"+g.Lineage.Cause.String())
	if err != nil {
		return nil, err
	}
	a, err := h.Load(ctx, s, id)
	if err != nil {
		return nil, err
	}
	r, err := forked(ctx, s, p.Agent, g)
	if err != nil {
		return nil, err
	}
	r.Agent, r.Paused = id, len(a.Fold().Paused) > 0
	return r, nil
}

// genesis is what the new agent begins with.
func (f *Fork) genesis(ctx context.Context, s perdure.Store, p *Point) (g perdure.Genesis, err error) {
	at := p.Agent.Heads()[0]
	if p.Entry != nil {
		at = p.Entry.Name
	}
	g = p.Agent.Fold().ForkGenesis(at, f.Live)
	if f.Over != nil {
		if err := f.Over.putOver(&g, time.Now()); err != nil {
			return g, perdure.Invalid(fmt.Errorf("intent: %w", err))
		}
	}
	if f.Goal != "" {
		g.Intent.Goal = f.Goal
	}
	g.Taint = g.Taint || f.taint
	if f.Name != "" {
		g.Intent.Name = f.Name
	}
	if g.Intent.Name == "" {
		g.Intent.Name, err = freeName(ctx, s, view.Called(p.Agent))
	}
	return g, err
}
