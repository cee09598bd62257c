package perdure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/keeper"
)

// Create writes a new agent and stores it, as part of the trace of ctx if there is one. It runs when a node next looks.
// An empty goal and a deadline that has passed are refused.
func (n *Node) Create(ctx context.Context, g Genesis) (*Agent, error) {
	err := n.init()
	if err == nil {
		err = g.Intent.unclaimed(time.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	at, err := n.here(ctx)
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	g.Seat = at.ID
	e, err := n.Key.genesis(g, time.Now(), n.traceIn(ctx))
	if err == nil {
		err = n.Key.seal(e)
	}
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	if err := n.guard(e); err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	a, err := Begin(e)
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	entries, a, err := n.enclosed(a, e)
	if err == nil {
		err = n.append(ctx, nil, a, entries...)
	}
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	return a, nil
}

// sensible refuses what nobody can mean an agent to be for: nothing, or something by a time that has passed.
func (i *Intent) sensible(now time.Time) error {
	if strings.TrimSpace(i.Goal) == "" {
		return errNoGoal
	}
	return i.Deadline.ahead("deadline", now)
}

// unclaimed is sensible for an agent that no door begins, see keeper.Label.
func (i *Intent) unclaimed(now time.Time) error {
	for name := range keeper.Labels(i.Labels) {
		return Invalid(errors.New(keptLabel(name)))
	}
	return i.sensible(now)
}

// keptLabel says why a label is refused.
func keptLabel(name string) string {
	return fmt.Sprintf("label %s: once and a2a-… say whose an agent is, and only the server that begins it for a "+
		"client sets them", name)
}

var errNoGoal = Invalid(errors.New("the goal is empty; say what the agent is for"))

// ahead refuses a time that has passed, by what it is; none is ahead.
func (t Time) ahead(what string, now time.Time) error {
	if t == 0 || t.Go().After(now) {
		return nil
	}
	return Invalid(fmt.Errorf("the %s %s has passed; name a later time", what, t))
}

// enclosed is the entries of a new agent: its genesis, and the texts of what its charter and intent name.
func (n *Node) enclosed(a *Agent, genesis *Entry) ([]*Entry, *Agent, error) {
	entries := []*Entry{genesis}
	var drafts []Draft
	if len(a.fold.Charter.Policies) > 0 || !a.fold.Intent.StateSchema.IsZero() {
		for _, ev := range n.enclose(a.fold) {
			drafts = append(drafts, Draft{Body: ev, Policy: n.PolicyHash})
		}
	}
	more, a, err := n.Key.Commit(a, time.Now(), drafts...)
	for _, e := range more {
		if err == nil {
			err = n.guard(e) // a policy or schema can hold a secret, too
		}
	}
	return append(entries, more...), a, err
}

// Start writes a new agent and does the first work on it here, so that its genesis and what follows without delay (a
// first decision, going to sleep) share one commit. It returns once that is durable; the agent goes on when a node next
// looks.
func (n *Node) Start(ctx context.Context, g Genesis) (*Agent, error) {
	err := n.fit()
	if err == nil {
		err = g.Intent.unclaimed(time.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	at, err := n.here(ctx)
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	g.Seat = at.ID
	e, err := n.Key.genesis(g, time.Now(), n.traceIn(ctx))
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	if err := n.guard(e); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	a, err := new(Agent).apply([]*Entry{e}, true)
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	w := &work{n: n, a: a, pending: []*Entry{e}}
	for len(w.heads) == 0 && err == nil {
		var step Step
		step, err = w.cycle(ctx)
		if _, idle := step.(Idle); idle {
			break
		}
	}
	err = errors.Join(err, w.flush(ctx))
	if w.unmark(); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	return w.a, n.index(ctx, w)
}
