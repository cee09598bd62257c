package perdure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/keeper"
)

// What a person tells an agent: each verb looks at the agent first, refuses what would count for nothing, and then
// tells it. The entry is durable when the verb returns. By is the name of the node's key, unless an event or the
// context says otherwise.

type speakerKey struct{}

// WithSpeaker is a context under which the verbs of people name somebody else as the one who says it: a program that
// speaks for whoever has the key. Whose word counts is decided by the signature, not by this name.
func WithSpeaker(ctx context.Context, by string) context.Context {
	return context.WithValue(ctx, speakerKey{}, by)
}

type programKey struct{}

// WithProgram is WithSpeaker for a program behind which no person stands: what it says is not taken at its word, and
// taints the agent as every event of it does. A verb without words does not.
func WithProgram(ctx context.Context, by string) context.Context {
	return context.WithValue(WithSpeaker(ctx, by), programKey{}, true)
}

// wordless reports whether an event says that something is so, and nothing in words of whoever says it.
func (ev *Event) wordless() bool {
	switch x := ev.Notice.(type) {
	case Pause:
		return x.Note == ""
	case Resume:
		return x.Note == ""
	case Cancel:
		return x.Note == ""
	case Grant:
		return x.Note == ""
	}
	return false
}

// Pause keeps an agent from deciding anything until it is resumed. What is under way is cut off where its tool can
// stop. If the same key has paused it in the same words, and nobody has resumed it since, nothing is written, and the
// entry is that of then. An agent that has ended is not paused: Cancel cuts off what it has left under way.
func (n *Node) Pause(ctx context.Context, id AgentID, note string) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		err := n.living(a)
		if err != nil && len(a.fold.Open) > 0 && !a.cancelled() {
			err = WithHint(fmt.Errorf("%w, and something it began is still open", err),
				"it goes on with nothing else; what is under way is cut off by perdure end "+a.ID().Short())
		}
		return Event{Name: "pause", Notice: Pause{Note: note}}, err
	})
}

// Resume ends the pauses of an agent that can be seen here. A pause written elsewhere and not seen yet stands.
func (n *Node) Resume(ctx context.Context, id AgentID, note string) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		return Event{Name: "resume", Notice: Resume{Of: a.fold.Paused, Note: note}}, n.living(a)
	})
}

// Cancel ends an agent for good, and cuts off what is under way where its tool can stop, also that of an agent which
// ended in a copy meanwhile. Its memory stays.
func (n *Node) Cancel(ctx context.Context, id AgentID, note string) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		ev := Event{Name: "cancel", Notice: Cancel{Note: note}}
		if len(a.fold.Open) > 0 && !a.cancelled() {
			return ev, nil
		}
		return ev, n.living(a)
	})
}

// Grant adds to what an agent may spend. Only its owner can.
func (n *Node) Grant(ctx context.Context, id AgentID, amount Spend, note string) (*Entry, error) {
	if amount.Cost < 0 || amount.Tokens < 0 || amount.Calls < 0 || amount == (Spend{}) {
		return nil, Invalid(errors.New("say how much more it may spend: cost, tokens or calls, above zero"))
	}
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		ev := Event{Name: "grant", Notice: Grant{Amount: amount, Note: note}}
		if err := n.living(a); err != nil {
			return ev, err
		}
		if owner, key := a.fold.Charter.Owner, n.Key.Key(); owner != key {
			return ev, WithHint(fmt.Errorf("%w: %s is owned by %s, and this key is %s", ErrDenied, a.called(),
				owner.Short(), key.Short()),
				"use the store and key of its owner")
		}
		if a.fold.Intent.Budget == nil {
			return ev, WithHint(Invalid(fmt.Errorf("%s has no limit to add to", a.called())),
				"it may already spend what policy permits")
		}
		if name := a.fold.Intent.Budget.unlimited(amount); name != "" {
			return ev, WithHint(Invalid(fmt.Errorf("%s has no limit on %s to add to", a.called(), name)),
				"see perdure show for the limits it has; leave --"+name+" out")
		}
		return ev, nil
	})
}

// Edit changes an agent from outside: what it is for, narrower bounds, and its state by name. Its advisor is told
// before it proposes anything else. An empty goal, a deadline that has passed, wider bounds and an edit that names
// nothing to change are refused.
func (n *Node) Edit(ctx context.Context, id AgentID, m Mutate, set map[string]Data) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		ev := Event{Name: "edit", Notice: Edit{Mutate: m}, Set: set}
		if err := n.living(a); err != nil {
			return ev, err
		}
		if err := m.sensible(time.Now()); err != nil {
			return ev, err
		}
		if m.empty() && len(set) == 0 {
			return ev, Invalid(errors.New("say what to change, such as the goal, labels, tools or state"))
		}
		if err := a.fold.remakes(&m); err != nil {
			return ev, WithHint(Invalid(fmt.Errorf("%s: %w", a.called(), err)), "make another agent: perdure new")
		}
		if err := a.fold.widens(&m); err != nil {
			return ev, WithHint(Invalid(fmt.Errorf("%s: %w", a.called(), err)),
				"an edit narrows what an agent is allowed to do, and never widens it: its owner adds to a budget with "+
					"perdure grant, and perdure fork makes an agent with wider bounds")
		}
		return ev, nil
	})
}

// say tells an agent what a look at it makes of it.
func (n *Node) say(ctx context.Context, id AgentID, what func(a *Agent) (Event, error)) (*Entry, error) {
	return n.sayIn(ctx, id, func(a *Agent) (Event, context.Context, error) {
		ev, err := what(a)
		return ev, ctx, err
	})
}

// sayIn is say, under a context that depends on the look.
func (n *Node) sayIn(ctx context.Context, id AgentID,
	what func(a *Agent) (Event, context.Context, error)) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, err
	}
	a, _, err := n.hearer(ctx, id)
	if err != nil {
		return nil, err
	}
	ev, ctx, err := what(a)
	if err != nil {
		return nil, err
	}
	if err := n.heeds(a, &ev); err != nil {
		return nil, err
	}
	if ev.By == "" {
		ev.By, _ = ctx.Value(speakerKey{}).(string)
	}
	if ev.By == "" {
		ev.By = n.Key.Name
	}
	if program, _ := ctx.Value(programKey{}).(bool); program && !ev.wordless() {
		ev.Taint = true
	}
	if was := a.pausedAs(n.Key.Key(), &ev); was != nil {
		return was, nil
	}
	e, listed, err := n.record(ctx, id, ev)
	if err != nil {
		return nil, err
	}
	if !listed {
		n.relist(ctx, id)
	}
	return e, nil
}

// heeds refuses what is said to an agent that keeps documents, which nobody would ever read, and to one that is held
// here. That would not let the agent do anything here, and where the agent lives, in this store or where it came from,
// the entry of a key that nobody there trusts would hold it. An approval is judged by itself, and its owner is heard
// wherever it is.
func (n *Node) heeds(a *Agent, ev *Event) error {
	if ev.Notice == nil && keeper.Is(a.fold.Intent.Kind) {
		return WithHint(Invalid(fmt.Errorf("%s keeps documents, and does not answer", a.called())),
			"tell another agent; perdure doc read and perdure doc write are for documents")
	}
	if _, answers := ev.Notice.(Approval); answers || a.fold.Charter.Owner == n.Key.Key() {
		return nil // the word of its owner holds no agent
	}
	why := n.trust().Counts(a)
	if why == nil {
		return nil
	}
	return WithHint(fmt.Errorf("%w: %s is held here: %v", ErrDenied, a.called(), why), // it was not rejected
		"look at it, and admit it first: perdure resume "+a.ID().Short())
}

// pausedAs is the entry by which a key paused the agent as an event says, if that still stands and is not long ago.
func (a *Agent) pausedAs(key Key, ev *Event) *Entry {
	for _, h := range a.fold.Paused {
		if e := a.recent(h); e != nil && e.Origin == key {
			if was, _ := e.content.(Event); was.Notice == ev.Notice && was.By == ev.By {
				return e
			}
		}
	}
	return nil
}

// relist is list for what was written whether it can be listed or not: a node that looks at it writes its line.
func (n *Node) relist(ctx context.Context, id AgentID) {
	if err := n.list(ctx, id); err != nil {
		n.Log.Warn("list agent", "agent", id.Short(), "err", err)
	}
}

// list records the line about an agent that was told something, so that listings show it before a node has looked.
func (n *Node) list(ctx context.Context, id AgentID) error {
	l, ok := n.Store.(Lister)
	if !ok {
		return nil
	}
	a, _, err := n.hearer(ctx, id)
	if err != nil {
		return err
	}
	return l.Index(ctx, a.Heads(), a.listing(n.trust(), time.Now()))
}

// living refuses an agent that has ended. An end that does not count here keeps nobody from saying something to it.
func (n *Node) living(a *Agent) error {
	if n.trust().Ended(a) != nil {
		return fmt.Errorf("%s: %w", a.called(), ErrTerminated)
	}
	return nil
}

// called is what people call an agent: its name, or the beginning of its id.
func (a *Agent) called() string {
	if a.fold.Intent.Name != "" {
		return a.fold.Intent.Name
	}
	return a.ID().Short()
}
