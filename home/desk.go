package home

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/turns"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// Desk is where visitors speak to the agents of a home: the verbs of people with the checks that each makes. What a
// verb returns is durable. All faces that have visitors share one.
type Desk struct {
	Home  *Home
	Store perdure.Store
	Node  *perdure.Node // stores what is said; its key is that of the home, and votes for nobody but its host

	Turns turns.Turns[perdure.AgentID]

	// Requests remembers what came here, with every process that serves the home; nil: this one alone does.
	Requests *Requests

	// MaxArrival bounds the bytes that arrive of one agent at once, by exchange; zero: 1 GiB.
	MaxArrival int64
}

// Find is the id of an agent by its name or the beginning of its id, if it is there for the visitor.
func (d *Desk) Find(ctx context.Context, v *Visitor, arg string) (perdure.AgentID, error) {
	id, err := d.Home.FindAgentShown(ctx, d.Store, arg, func(id perdure.AgentID) bool {
		return (v.Link == nil || v.Link.Agent == id) && d.Shows(ctx, v, id)
	})
	if errors.Is(err, perdure.ErrNotFound) && !v.Everything() {
		err = missing(arg)
	}
	return id, err
}

// named is Find for what looks at the agent anyway: a whole id is not looked up twice.
func (d *Desk) named(ctx context.Context, v *Visitor, arg string) (id perdure.AgentID, err error) {
	if v.Link == nil && v.Owns(perdure.AnyScope) && id.UnmarshalText([]byte(arg)) == nil {
		return id, nil
	}
	return d.Find(ctx, v, arg)
}

// Shows reports whether an agent is there for a visitor: its scope is theirs and, if it is there to keep documents,
// they own it.
func (d *Desk) Shows(ctx context.Context, v *Visitor, id perdure.AgentID) bool {
	if v.Owns(perdure.AnyScope) {
		return true
	}
	a, err := d.Load(ctx, id)
	if err != nil {
		return v.Everything() &&
			!errors.Is(err, perdure.ErrNotFound) // what is wrong with it is said to those who see all
	}
	return v.shown(a)
}

// shown is Shows for an agent that is at hand.
func (v *Visitor) shown(a *perdure.Agent) bool {
	scope := a.Fold().Charter.Scope
	return v.Sees(scope) && (!workspace.Keeps(a.Fold().Intent.Kind) || v.Owns(scope))
}

// ShowsNotes reports whether documents in the memory of an agent are there for a visitor who is shown the agent: they
// are its own notes.
func (d *Desk) ShowsNotes(ctx context.Context, v *Visitor, id perdure.AgentID) bool {
	if v.Owns(perdure.AnyScope) {
		return true
	}
	a, err := d.Load(ctx, id)
	return err == nil && v.Owns(a.Fold().Charter.Scope)
}

// Agent is an agent as this home sees it, if it is there for the visitor.
func (d *Desk) Agent(ctx context.Context, v *Visitor, arg string) (*perdure.Agent, error) {
	id, err := d.Find(ctx, v, arg)
	if err != nil {
		return nil, err
	}
	return d.Load(ctx, id)
}

// Point is an agent now, or at a point in its memory, if it is there for the visitor.
func (d *Desk) Point(ctx context.Context, v *Visitor, arg string) (*Point, error) {
	name, ref := SplitRef(arg)
	id, err := d.Find(ctx, v, name)
	if err != nil {
		return nil, err
	}
	if ref == "" && name == arg {
		a, err := d.Load(ctx, id)
		return &Point{Agent: a}, err
	}
	return FindPoint(ctx, d.Home, d.Store, id.String()+"@"+ref)
}

// Explain says what policy says, or said, of an action of an agent that is there for the visitor. The name is looked up
// once, with the visitor's eyes: another agent that the home knows by it is not theirs to hear of. The node here knows
// the classes of its tools, also of those that MCP servers offer.
func (d *Desk) Explain(ctx context.Context, v *Visitor, arg string, q WhyQuestion) (*Explained, error) {
	name, ref := SplitRef(arg)
	id, err := d.Find(ctx, v, name)
	if err != nil {
		return nil, err
	}
	at := id.String()
	if name != arg {
		at += "@" + ref
	}
	q.tools = d.Node.Tools
	return d.Home.Explain(ctx, d.Store, at, q)
}

// Load is an agent, whoever asks: what the node holds of it, while that is all there is, else derived anew.
func (d *Desk) Load(ctx context.Context, id perdure.AgentID) (*perdure.Agent, error) {
	if a, err := d.Node.Load(ctx, id); err == nil {
		return a, nil
	}
	return d.Home.Load(ctx, d.Store, id)
}

// Voices are who says what in an agent of the store.
func (d *Desk) Voices(ctx context.Context, id perdure.AgentID) view.Voices {
	return d.Home.Voices(func() (*perdure.Agent, error) { return d.Load(ctx, id) })
}

// noteNamesake tells whoever made an agent that it cannot be named by its name because others have it, too. Of agents
// that are not shown to the visitor, nothing is said.
func (d *Desk) noteNamesake(ctx context.Context, v *Visitor, id perdure.AgentID, name string) {
	if name == "" {
		return
	}
	if !d.another(ctx, v, id, name) {
		return // as nearly always: that it is found is not tried
	}
	if found, err := d.Find(ctx, v, name); err != nil || found != id {
		d.Home.noteFor(ctx, "another agent is also called %s: refer to this one by its id, %s", view.ShownName(name),
			id.Short())
	}
}

// another reports whether the lines about agents have another that may be meant by the name of one. It is asked for
// each agent that is made, so none whose line is behind is derived anew.
func (d *Desk) another(ctx context.Context, v *Visitor, id perdure.AgentID, name string) bool {
	l, ok := d.Store.(perdure.Lister)
	if !ok {
		return false
	}
	filters := []perdure.Filter{{Name: name}}
	if prefix := strings.ToLower(name); len(name) >= view.MinPrefix && view.IsHex(prefix) {
		filters = append(filters, perdure.Filter{Prefix: prefix})
	}
	looked := 0
	for _, f := range filters {
		for one, err := range l.List(ctx, f) {
			if looked++; err != nil || looked > maxCandidates {
				return false
			}
			if one.Agent != id && (f.Name == "" || one.Name == name) && d.Shows(ctx, v, one.Agent) {
				return true
			}
		}
	}
	return false
}

// List is a page of the agents that are there for the visitor, each with what is wrong with it.
func (d *Desk) List(
	ctx context.Context,
	v *Visitor,
	f perdure.Filter,
	cursor string,
	limit int,
) ([]Listed, string, error) {
	if !v.Everything() {
		switch {
		case v.Scope == perdure.AnyScope: // several, which have nothing in common
		case f.Scope == "" || perdure.InScope(v.Scope, f.Scope):
			f.Scope = v.Scope
		case !v.Sees(f.Scope):
			return nil, "", nil
		}
	}
	found, next, err := Page(ctx, d.Store, f, cursor, limit, func(l perdure.Listing) bool {
		return workspace.Keeps(l.Kind) && !v.Owns(l.Scope)
	})
	if err != nil {
		return nil, "", err
	}
	everything, notes := v.Everything(), v.Owns(perdure.AnyScope)
	found = slices.DeleteFunc(found, func(l perdure.Listing) bool { // the index only finds
		return (!everything || !notes && workspace.Keeps(l.Kind)) && !d.Shows(ctx, v, l.Agent)
	})
	lines, err := d.Home.Check(ctx, d.Store, found, false)
	return lines, next, err
}
