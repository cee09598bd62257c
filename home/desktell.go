package home

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// told is what came of an entry.
func (d *Desk) told(ctx context.Context, e *perdure.Entry, err error) (*Told, error) {
	if err != nil {
		return nil, err
	}
	return d.Home.Told(context.WithoutCancel(ctx), d.Store, e), nil // the entry is durable: what follows only says so
}

// verb finds an agent, and has the visitor tell it something.
func (d *Desk) verb(
	ctx context.Context,
	v *Visitor,
	verb, arg string,
	do func(context.Context, *perdure.Agent) (*perdure.Entry, error),
) (*Told, error) {
	if err := v.may(verb); err != nil {
		return nil, err
	}
	id, err := d.Find(ctx, v, arg)
	if err != nil {
		return nil, err
	}
	done, err := d.Turns.Take(ctx, id)
	if err != nil {
		return nil, err
	}
	defer done()
	a, err := d.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	scope := a.Fold().Charter.Scope
	if err := v.MayIn(verb, scope); err != nil {
		return nil, err
	}
	if (v.by || !v.Speaks) && (verb == VerbPause || verb == VerbEnd) && workspace.Keeps(a.Fold().Intent.Kind) {
		return nil, perdure.WithHint(fmt.Errorf("%w: %s keeps documents, and has nothing to stop", perdure.ErrDenied,
			view.Called(a)), "a person may: perdure "+verb+" "+id.Short())
	}
	said := perdure.WithSpeaker(ctx, v.Name)
	if v.taints(scope) {
		said = perdure.WithProgram(ctx, v.Name)
	}
	e, err := do(said, a)
	return d.told(ctx, e, err)
}

// Event tells an agent what happened. Of a program, what it says is not taken at its word. Before says that it was
// received before, and nothing changed.
func (d *Desk) Event(
	ctx context.Context,
	v *Visitor,
	arg string,
	ev perdure.Event,
) (e *perdure.Entry, before bool, err error) {
	if err := d.mayTell(v, &ev); err != nil {
		return nil, false, err
	}
	id, err := d.named(ctx, v, arg)
	if err != nil {
		return nil, false, err
	}
	done, err := d.Turns.Take(ctx, id)
	if err != nil {
		return nil, false, err
	}
	defer done()
	e, before, err = d.tell(ctx, v, id, ev)
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		err = missing(arg)
	case errors.Is(err, perdure.ErrTerminated) && !errors.As(err, new(*perdure.Hint)): // that says more
		if a, unread := d.Load(ctx, id); unread == nil {
			err = fmt.Errorf("%s: %w", view.Called(a), perdure.ErrTerminated)
		}
	}
	return e, before, err
}

// verbOf is the verb that an event takes.
func verbOf(ev *perdure.Event) string {
	if ev.Name == perdure.AnswerEvent { // models are shown it as a person's word
		return VerbAnswer
	}
	return VerbEvent
}

// mayTell refuses an event that the visitor may not send anywhere, and one without a name.
func (d *Desk) mayTell(v *Visitor, ev *perdure.Event) error {
	if err := v.may(verbOf(ev)); err != nil {
		return err
	}
	if ev.Name == "" {
		return perdure.Invalid(errors.New("an event needs a name"))
	}
	return nil
}

// tell is Event in the agent's turn.
func (d *Desk) tell(ctx context.Context, v *Visitor, id perdure.AgentID, ev perdure.Event) (e *perdure.Entry,
	before bool, err error) {
	ev.By, ev.Taint, ev.Notice = v.Name, !v.Speaks, nil
	if v.grants != nil {
		a, err := d.Load(ctx, id)
		if err != nil {
			return nil, false, err
		}
		scope := a.Fold().Charter.Scope
		if err := v.MayIn(verbOf(&ev), scope); err != nil {
			return nil, false, err
		}
		ev.Taint = v.taints(scope)
	}
	var wrote []*perdure.Entry
	e, err = d.Node.Tell(perdure.WithJournal(ctx, func(_ perdure.AgentID, entries []*perdure.Entry) error {
		wrote = entries
		return nil
	}), id, ev)
	return e, err == nil && !slices.Contains(wrote, e), err
}

// Received reports whether an event of the visitor was received before, so that it would change nothing. Who may not
// send it learns nothing of the agent.
func (d *Desk) Received(ctx context.Context, v *Visitor, arg string, ev perdure.Event) (bool, error) {
	if err := d.mayTell(v, &ev); err != nil {
		return false, err
	}
	a, err := d.Agent(ctx, v, arg)
	if err == nil {
		err = v.MayIn(verbOf(&ev), a.Fold().Charter.Scope)
	}
	if err != nil {
		return false, err
	}
	ev.By, ev.Taint, ev.Notice = v.Name, !v.Speaks, nil
	return a.Fold().Received(&ev), nil
}

// Answer answers what an agent asks people.
func (d *Desk) Answer(ctx context.Context, v *Visitor, arg, text string) (*Told, error) {
	var asked Told
	out, err := d.verb(ctx, v, VerbAnswer, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		return Answer{text}.say(ctx, d.Home, d.Node, a, &asked)
	})
	if out != nil {
		out.About = asked.About
	}
	return out, err
}

// Pause keeps an agent from deciding anything until it is resumed.
func (d *Desk) Pause(ctx context.Context, v *Visitor, arg, note string) (*Told, error) {
	before := false
	told, err := d.verb(ctx, v, VerbPause, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		e, err := d.Node.Pause(ctx, a.ID(), note)
		before = err == nil && pausedAt(a, e)
		return e, err
	})
	if told != nil {
		told.Before = before
	}
	return told, err
}

// End ends an agent for good.
func (d *Desk) End(ctx context.Context, v *Visitor, arg, note string) (*Told, error) {
	return d.verb(ctx, v, VerbEnd, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		return d.Node.Cancel(ctx, a.ID(), note)
	})
}

// Resume ends the pauses of an agent. To admit one that is held, or waits since it arrived, is for the home's owner.
func (d *Desk) Resume(ctx context.Context, v *Visitor, arg, note string) (*Told, error) {
	return d.verb(ctx, v, VerbResume, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		if err := d.mayAdmit(ctx, v, a); err != nil {
			return nil, err
		}
		return d.Home.Resume(ctx, d.Node, a, note, false)
	})
}

// mayAdmit refuses to let an agent go on that nobody has admitted, unless the owner of the home says so.
func (d *Desk) mayAdmit(ctx context.Context, v *Visitor, a *perdure.Agent) error {
	if v.ID() == ownerID {
		return nil
	}
	why := ""
	if held := d.Node.Trusted().Counts(a); held != nil {
		why = "is held: " + view.HeldText(held)
	} else if waits, err := arrivalHold(ctx, d.Store, a); err != nil {
		return err
	} else if waits {
		why = "came from elsewhere, and waits until it is admitted"
	}
	if why == "" {
		return nil
	}
	return perdure.WithHint(fmt.Errorf("%w: %s %s", perdure.ErrDenied, view.Called(a), why),
		"the owner of the home admits it there: perdure resume "+a.ID().Short())
}

// Grant adds to what an agent may spend.
func (d *Desk) Grant(ctx context.Context, v *Visitor, arg string, amount perdure.Spend, note string) (*Told, error) {
	return d.verb(ctx, v, VerbGrant, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		return d.Node.Grant(ctx, a.ID(), amount, note)
	})
}

// Edit changes an agent from outside. A label that is empty is taken away.
func (d *Desk) Edit(
	ctx context.Context,
	v *Visitor,
	arg string,
	m perdure.Mutate,
	set map[string]perdure.Data,
) (*Told, error) {
	return d.verb(ctx, v, VerbEdit, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		return Edit{Mutate: m, Set: set}.say(ctx, d.Home, d.Node, a, nil)
	})
}

// Settle records what came of an effect that is in doubt, by the beginning of its decision.
func (d *Desk) Settle(ctx context.Context, v *Visitor, arg, decision string, s perdure.Settle) (*Told, error) {
	var about *view.Wait
	out, err := d.verb(
		ctx,
		v,
		VerbSettle,
		arg,
		func(ctx context.Context, a *perdure.Agent) (_ *perdure.Entry, err error) {
			if s.Decision, about, err = view.Unsettled(a, decision); err != nil {
				return nil, err
			}
			return d.Node.Settle(ctx, a.ID(), s)
		},
	)
	if out != nil {
		out.About = about
	}
	return out, err
}
