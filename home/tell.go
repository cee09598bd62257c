package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/seal"
	"github.com/perdure/perdure/view"
)

// Told is what an agent was told, and how it stands after it.
type Told struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Entry    perdure.Hash    `json:"entry"`
	Seq      int64           `json:"seq"`
	What     string          `json:"what"`
	Standing phase.Standing  `json:"standing"`         // empty: it cannot be said
	Lacks    string          `json:"lacks,omitempty"`  // what is still used up of its budget, after a grant
	About    *view.Wait      `json:"about,omitempty"`  // what was answered, whole
	Before   bool            `json:"before,omitempty"` // it was received before, and nothing changed
	Notes    []string        `json:"notes,omitempty"`  // for whoever asked from elsewhere: see WithNotes
	// it is an answer that counts elsewhere: the agent does not count here
	SendBack bool `json:"-"`

	Now *perdure.Agent `json:"-"` // as it is now; nil: it cannot be read
	view.Sent

	id string // that the sender gave the event
}

// Told says what an entry told an agent. The entry is durable: that something went wrong since undoes nothing, and is
// noted. How the agent stands is left out then.
func (h *Home) Told(ctx context.Context, s perdure.Store, e *perdure.Entry) *Told {
	ev, _ := e.Content().(perdure.Event)
	out := &Told{Agent: e.ID(), Entry: e.Name, Seq: e.Seq, What: view.EventText(&ev)}
	if err := h.stands(ctx, s, out, &ev); err != nil {
		h.noteFault(ctx, "it is recorded, but how the agent stands now cannot be said", err)
	}
	out.Notes = NotesIn(ctx)
	return out
}

// stands adds how an agent stands after an event.
func (h *Home) stands(ctx context.Context, s perdure.Store, out *Told, ev *perdure.Event) error {
	a, err := h.Load(ctx, s, out.Agent)
	if err != nil {
		return err
	}
	out.Now, out.Name = a, a.Fold().Intent.Name
	if err := Index(ctx, s, a); err != nil {
		h.noteFault(ctx, "it is recorded, but perdure ls does not show it yet", err)
	}
	trust, err := h.Trust()
	if err != nil {
		return err
	}
	if err := h.heardElsewhere(ctx, s, a); err != nil {
		return err
	}
	_, vote := ev.Notice.(perdure.Approval)
	out.SendBack = vote && trust.Counts(a) != nil
	if out.Standing, err = h.Standing(ctx, s, a, time.Now()); err != nil {
		return err
	}
	if _, granted := ev.Notice.(perdure.Grant); granted {
		out.Lacks, _ = a.Fold().Exhausted()
	}
	return nil
}

// heardElsewhere says so of an agent that was told something here and goes on in another store.
func (h *Home) heardElsewhere(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return err
	}
	if a.Fold().HandedOver(place) {
		h.noteFor(ctx, "%s was handed over: it goes on where its file was imported, and hears this only when a copy "+
			"from here is imported there", view.Called(a))
	} else if h.InFile != "" && !a.Fold().SeatLoose() && a.Fold().SeatElsewhere(place) {
		h.noteFor(ctx, "the seat of %s is elsewhere: it hears this once this file is imported there, with perdure "+
			"import %s", view.Called(a), view.Pasted(h.InFile))
	} else if peers, err := h.Peers(); a.Fold().SeatElsewhere(place) && err == nil && len(peers) == 0 {
		h.noteFor(ctx, "the seat of %s is elsewhere: it hears this there once it is passed on, with perdure push %s "+
			"PLACE", view.Called(a), view.Callable(a))
	}
	return nil
}

// Called is the agent's name, or the beginning of its id.
func (t *Told) Called() string { return view.ShownName(cmp.Or(t.Name, t.Agent.Short())) }

// Text says what the agent was told, in one line.
func (t *Told) Text() string {
	text := fmt.Sprintf("%s (seq %d)", view.OneLine(t.What, view.ScreenText), t.Seq)
	if t.Standing != "" {
		text += ", now " + string(t.Standing)
	}
	if t.Lacks != "" {
		text += "; that is not enough yet (" + t.Lacks + ")"
	}
	switch {
	case t.Before && t.id != "":
		text = fmt.Sprintf("%s was received before (seq %d); nothing changed", view.OneLine(t.id, 0), t.Seq)
	case t.Before:
		text = fmt.Sprintf("already %s (seq %d); nothing changed", view.OneLine(t.What, view.ScreenText), t.Seq)
	}
	return t.Called() + ": " + text
}

// Sealed is data that only the vault of this home opens, for a person, so that it can be erased everywhere.
func (h *Home) Sealed(subject string, data perdure.Data) (perdure.Data, error) {
	vault := h.Vault()
	if vault == nil {
		return nil, perdure.Invalid(errors.New("a store in memory has no vault to keep the key in; name another store"))
	}
	return seal.For(vault, subject, data)
}

// over is why an agent that has ended does not go on: it may be that only a stranger says so.
func (h *Home) over(a *perdure.Agent) error {
	trust, err := h.Trust()
	if err != nil || trust.Ended(a) != nil {
		return errors.Join(fmt.Errorf("%s: %w", view.Called(a), perdure.ErrTerminated), err)
	}
	return perdure.WithHint(fmt.Errorf("%s: %w: an entry that does not count here ends it", view.Called(a),
		perdure.ErrDenied), "go on with a copy from before that: perdure import FILE --drop-unknown")
}

// Resume ends the pauses of an agent that are known here, and admits one that is held: this home's key vouches for all
// of it, and the home learns what it brings along. With older it goes on from this copy although a newer one was seen.
func (h *Home) Resume(ctx context.Context, n *perdure.Node, a *perdure.Agent, why string, older bool) (*perdure.Entry,
	error) {
	if a.Fold().Ended != nil {
		return nil, h.over(a)
	}
	if older {
		if _, err := n.Accept(ctx, a.ID(), why); err != nil {
			return nil, err
		}
	}
	admitted, err := h.admit(ctx, n, a, why)
	if err != nil {
		return nil, err
	}
	if len(a.Fold().Paused) == 0 && !admitted && !older {
		return nil, perdure.WithHint(fmt.Errorf("%s is not paused", view.Called(a)),
			"see perdure show "+view.Callable(a)+" for what it waits for")
	}
	return n.Resume(ctx, a.ID(), why)
}

// admit makes an agent count here that is held, and says what it vouched for.
func (h *Home) admit(ctx context.Context, n *perdure.Node, a *perdure.Agent, why string) (bool, error) {
	held := n.Trusted().Counts(a)
	if held == nil {
		return false, nil
	}
	if _, err := n.Admit(ctx, a, why); err != nil {
		return false, err
	}
	f := a.Fold()
	h.noteFor(ctx, "admitted %s: %s, owner %s, scope %s; %s", view.Called(a), view.Several(f.Count, "entry"),
		f.Charter.Owner.Short(), f.Charter.Scope,
		view.HeldText(held))
	if err := h.Learn(ctx, n.Store, a.ID()); err != nil {
		h.noteFault(ctx, "what it brings along could not be kept, and it runs here once the home has it", err)
	}
	return true, nil
}
