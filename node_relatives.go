package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// announce tells an ended agent's relatives. It looks first, so that saying it again adds nothing, and at both: that
// one agent calls another its child or its parent is only its word.
func (n *Node) announce(ctx context.Context, a *Agent, r *announceStep) error {
	ctx = traced(context.WithoutCancel(ctx), a.fold.Trace, a.fold.Ended.Entry)
	if !r.Parent.IsZero() {
		parent, err := n.counted(ctx, r.Parent) // one that is held is told when somebody admits it
		if err != nil {
			return err
		}
		if parent != nil && slices.ContainsFunc(parent.fold.Children, func(c ChildInfo) bool {
			return c.Agent == a.ID() && !c.Ended
		}) {
			if _, err := n.Tell(ctx, r.Parent, Event{Name: "child-ended", By: a.ID().String(), ID: "ended",
				Notice: r.Ended.heardIn(a.fold.Charter.Scope, parent.fold.Charter.Scope),
				Taint:  n.tainted(a)}); err != nil {
				return err
			}
		}
	}
	for _, id := range r.Children {
		child, err := n.counted(ctx, id)
		if err != nil {
			return err
		}
		if child != nil && child.fold.childOf(a.ID()) && child.fold.Ended == nil {
			if _, err := n.Tell(ctx, id, Event{Name: "cancel", By: a.ID().String(), ID: "parent-ended",
				Notice: Cancel{Note: "its parent has ended"}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// heardIn is what a parent in a scope hears of the end of a child in one. A child is in its parent's scope when it is
// created; where the parent has moved into a narrower one since, whoever is in that may not be in the child's, and
// reads what the parent is told. Then it is that the child has ended, how, and what it spent.
func (c ChildEnded) heardIn(child, parent string) ChildEnded {
	if !InScope(child, parent) {
		c.Result, c.Note = Data{}, "what it came to stays in its scope: this agent has moved into another since"
	}
	return c
}

// Arrived tells an agent that came from elsewhere and its relatives here what they missed of each other: its parent
// that it has ended, it of its children that have, its living children that they are cancelled, and it that its parent
// has ended. Of agents that do not count here it says nothing. Saying it again adds nothing. Call it after an import.
//
// When a node is to look at the agent is what it comes to, not what whoever wrote its last entry says: the store is
// told. An agent that was told of the end of a child which goes on here is paused, until a person has looked.
func (n *Node) Arrived(ctx context.Context, id AgentID) error {
	if err := n.init(); err != nil {
		return fmt.Errorf("arrived: agent %s: %w", id.Short(), err)
	}
	a, err := n.counted(ctx, id)
	if a == nil || err != nil {
		return err
	}
	at, err := n.here(ctx)
	if err == nil {
		err = n.wasTold(ctx, a, at)
	}
	if err != nil {
		return fmt.Errorf("arrived: agent %s: %w", id.Short(), err)
	}
	tellers := []AgentID{id}
	if l := a.fold.Lineage; l != nil && l.Relation == Child && a.fold.Ended == nil {
		tellers = append(tellers, l.Parent)
	}
	for i := range a.fold.Children {
		if c := &a.fold.Children[i]; !c.Ended {
			tellers = append(tellers, c.Agent)
		}
	}
	if err := n.dueAsFolded(ctx, a); err != nil {
		return fmt.Errorf("arrived: agent %s: %w", id.Short(), err)
	}
	for _, who := range tellers {
		ended, err := n.counted(ctx, who)
		if err != nil {
			return err
		}
		if ended == nil || ended.fold.Ended == nil {
			continue
		}
		if s, ok := ended.fold.plan(&n.caps, time.Now()).(announceStep); ok {
			if err := n.announce(ctx, ended, &s); err != nil {
				return fmt.Errorf("tell the relatives of agent %s: %w", who.Short(), err)
			}
		}
	}
	return nil
}

// counted is an agent that is here and counts, else nil.
func (n *Node) counted(ctx context.Context, id AgentID) (*Agent, error) {
	a, err := n.relative(ctx, id)
	if a == nil || err != nil || n.trust().Counts(a) != nil {
		return nil, err
	}
	return a, nil
}

// relative is an agent that another calls its parent or child; nil if it is not here, or nothing it says of itself can
// be believed here.
func (n *Node) relative(ctx context.Context, id AgentID) (*Agent, error) {
	a, err := n.load(ctx, id)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrRejected) {
		return nil, nil
	}
	return a, err
}

// childOf reports whether the agent says of itself that it is a child of another.
func (f *Fold) childOf(parent AgentID) bool {
	return f.Lineage != nil && f.Lineage.Relation == Child && f.Lineage.Parent == parent
}

// bornOut refuses to tell a parent of the end of a child that the child's own memory does not bear out. That one agent
// has ended is for itself to say: the parent gets back what it may still spend.
func (n *Node) bornOut(ctx context.Context, parent *Agent, said *ChildEnded) error {
	child, err := n.counted(ctx, said.Child)
	if err != nil {
		return err
	}
	why := ""
	switch {
	case child == nil:
		why = "it is not here, or does not count here"
	case !child.fold.childOf(parent.ID()):
		why = "it is not a child of this agent"
	case child.fold.Ended == nil:
		why = "it goes on"
	case child.fold.Ended.Entry != said.Head || child.fold.Ended.Signal != said.Signal:
		why = "it ended otherwise"
	default:
		return nil
	}
	return fmt.Errorf("%w: the end of child %s: %s", ErrDenied, said.Child.Short(), why)
}

// wasTold pauses an agent that believes a child to have ended which goes on here, where its seat is: nowhere else can
// it have ended.
func (n *Node) wasTold(ctx context.Context, a *Agent, at Place) error {
	if a.fold.Ended != nil || len(a.fold.Paused) > 0 {
		return nil
	}
	for i := range a.fold.Children {
		c := &a.fold.Children[i]
		if !c.Ended {
			continue
		}
		child, err := n.counted(ctx, c.Agent)
		if err != nil {
			return err
		}
		if child == nil || child.fold.Ended != nil || !child.fold.childOf(a.ID()) || len(child.fold.Seats) == 0 ||
			!child.fold.seatedAt(at) {
			continue
		}
		_, err = n.Tell(ctx, a.ID(), Event{Name: "pause", By: n.Key.Name, Notice: Pause{
			Note: "it was told that its child " + child.called() + " has ended, which goes on here: look who said so"}})
		return err
	}
	return nil
}

// dueAsFolded tells the store when an agent that came from elsewhere is due, if its last entry says otherwise.
func (n *Node) dueAsFolded(ctx context.Context, a *Agent) error {
	heads := a.Heads()
	if len(heads) != 1 || a.recent(heads[0]) == nil {
		return nil // it is due at once; or nothing but a snapshot of it is here
	}
	now := time.Now()
	said := a.recent(heads[0]).Due
	is, _ := a.fold.dueIn(n.placed.Load(), now)
	if said == is || said != 0 && is != 0 && max(said, is) <= TimeOf(now) {
		return nil
	}
	c, err := n.claim(ctx, a.ID())
	if errors.Is(err, ErrConflict) {
		return nil // a node that works on it says when it is due
	}
	if err == nil {
		err = c.release(ctx, heads, is)
	}
	return err
}
