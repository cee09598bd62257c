package tool

import (
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure"
)

// Agents is what Send and Cancel need of a node. *perdure.Node is one.
type Agents interface {
	// Load is an agent that counts; others are refused with an error that wraps perdure.ErrRejected.
	Load(ctx context.Context, id perdure.AgentID) (*perdure.Agent, error)
	// Tell tells an agent something.
	Tell(ctx context.Context, id perdure.AgentID, ev perdure.Event) (*perdure.Entry, error)
}

// other is an agent that another names, or why it is left alone.
func other(ctx context.Context, n Agents, id perdure.AgentID) (f *perdure.Fold, why string, err error) {
	a, err := n.Load(ctx, id)
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		return nil, "there is no agent " + id.Short() + " here", nil
	case errors.Is(err, perdure.ErrRejected):
		return nil, "agent " + id.Short() + " is held here: nothing it says of itself counts", nil
	case err != nil:
		return nil, "", err
	}
	return a.Fold(), "", nil
}

// message says whom to tell what. A policy sees them before anything is sent, and the tool holds them against the
// receiver: what a rule permits by relation or scope reaches nobody else.
type message struct {
	To    string       `json:"to" jsonschema:"who it is to you: parent, child, or agent for any other"`
	Agent string       `json:"agent,omitempty" jsonschema:"the id of the agent to tell; not needed for your parent"`
	Scope string       `json:"scope,omitempty" jsonschema:"a scope that you and the other agent are both in; none: your own"`
	Event string       `json:"event" jsonschema:"the name of the event, such as found"`
	Data  perdure.Data `json:"data,omitempty" jsonschema:"any value"`
}

// Send is the tool send: an agent tells another something, as an event that says who sent it. It reaches the agent's
// parent, its children, and agents in its own scope; agents elsewhere only in a scope that holds both and that the call
// names, so that policy can permit it. An agent that has text from somebody not trusted in its memory passes the taint
// on. What is sent twice under one key is told once.
func Send(n Agents) perdure.Tool {
	spec := perdure.Spec{Name: "send",
		Description: "tells another agent something: your parent, a child, or an agent in your scope",
		Effect:      perdure.Idempotent}
	return newTyped(spec, func(ctx context.Context, c perdure.Call, a message) (perdure.Result, error) {
		sender, err := caller(ctx, n, &c)
		if err != nil {
			return perdure.Result{}, err
		}
		id, why := a.receiver(sender)
		if why != "" {
			return refused("send: %s", why), nil
		}
		receiver, why, err := other(ctx, n, id)
		if err != nil {
			return perdure.Result{}, err
		}
		if why == "" {
			why = a.refuses(sender, receiver)
		}
		if why != "" {
			return refused("send: %s", why), nil
		}
		data, err := c.Opened.Seal(a.Data)
		if err != nil {
			return perdure.Result{}, err
		}
		_, err = n.Tell(ctx, id, perdure.Event{Name: a.Event, Data: data, By: c.Agent.String(), ID: c.Key,
			Taint: !sender.Taint.IsZero()})
		if errors.Is(err, perdure.ErrTerminated) {
			return refused("send: agent %s has ended", id.Short()), nil
		}
		return perdure.Result{}, err
	})
}

// caller is the agent that calls.
func caller(ctx context.Context, n Agents, c *perdure.Call) (*perdure.Fold, error) {
	if c.Caller != nil {
		return c.Caller, nil
	}
	a, err := n.Load(ctx, c.Agent)
	if err != nil {
		return nil, err
	}
	return a.Fold(), nil
}

// receiver is whom to tell, or why nobody.
func (a *message) receiver(sender *perdure.Fold) (id perdure.AgentID, why string) {
	switch {
	case a.Event == "":
		return id, "field event: give the event a name"
	case a.Event == perdure.AnswerEvent: // that is what a person says
		return id, "field event: an agent does not answer for a person; use another name"
	case a.To != relParent && a.To != relChild && a.To != relAgent:
		return id, "field to: want parent, child or agent"
	}
	if a.To == relParent {
		l := sender.Lineage
		if l == nil || l.Relation != perdure.Child {
			return id, "you have no parent"
		}
		if a.Agent != "" && a.Agent != l.Parent.String() {
			return id, "field agent: that is not your parent"
		}
		return l.Parent, ""
	}
	if err := id.UnmarshalText([]byte(a.Agent)); err != nil {
		return id, "field agent: " + clip(a.Agent) + " is not the id of an agent"
	}
	if id == sender.Agent {
		return id, "that is yourself: use remember"
	}
	return id, ""
}

// What a receiver is to a sender.
const (
	relParent = "parent"
	relChild  = "child"
	relAgent  = "agent"
)

// refuses says why an agent is not told, held against what it says of itself; nothing: it is.
func (a *message) refuses(sender, f *perdure.Fold) string {
	switch a.To {
	case relParent: // that it is the parent is the sender's word; both must say so
		if !slices.ContainsFunc(f.Children, func(c perdure.ChildInfo) bool { return c.Agent == sender.Agent }) {
			return "agent " + f.Agent.Short() + " has no such child"
		}
		return ""
	case relChild:
		if l := f.Lineage; l == nil || l.Relation != perdure.Child || l.Parent != sender.Agent {
			return "agent " + f.Agent.Short() + " is not your child"
		}
		return ""
	}
	scope := a.Scope
	if scope == "" {
		scope = sender.Charter.Scope
	}
	switch {
	case scope == perdure.NoScope || !perdure.InScope(sender.Charter.Scope, scope):
		return "you are not in scope " + scope
	case !perdure.InScope(f.Charter.Scope, scope):
		return "agent " + f.Agent.Short() + " is not in scope " + scope +
			"; name one that holds you both, if policy permits it"
	}
	return ""
}
