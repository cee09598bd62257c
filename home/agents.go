package home

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/seal"
	"github.com/perdure/perdure/view"
)

// Agents is what people look at and tell, wherever it is: in a store here (Near) or behind a server (Away). An argument
// names an agent as people type it: AGENT, or AGENT@REF for a point in its memory.
type Agents interface {
	List(ctx context.Context, f perdure.Filter) ([]Listed, error)
	Show(ctx context.Context, arg string, how Screen) (*Glance, error)
	// State is everything derived from a memory, as a value for view.Readable.
	State(ctx context.Context, arg string) (any, error)
	Diff(ctx context.Context, from, to string) (*Diff, error)
	// Inbox is what waits for people, and in faults which agents could not be looked at.
	Inbox(ctx context.Context) (found []view.Wait, faults error, err error)
	// Tell tells an agent something. What was told although an error came after it is returned with the error.
	Tell(ctx context.Context, arg string, what Message) (*Told, error)
	// Create makes an agent; file is where the intent was read, to which names in it are relative.
	Create(ctx context.Context, f *IntentFile, file string) (*Made, error)
	Fork(ctx context.Context, arg string, f Fork) (*Forked, error)
	// Nodes are those that the home of the agents knows of; of an agent, if one is named, with what each has of it.
	Nodes(ctx context.Context, agent string) (*Nodes, error)
	// Explain says what policy says, or said, of an action.
	Explain(ctx context.Context, arg string, q WhyQuestion) (*Explained, error)
}

// Screen says what of an agent is shown.
type Screen struct {
	Rows  bool // as rows for people, not as a value for programs
	Brief bool // rows are cut to fit a line
}

// Glance is an agent on one screen.
type Glance struct {
	view.Summary
	view.Sent
	now   time.Time
	brief bool
	rows  []view.PageRow
}

// Page is what people are shown.
func (s *Glance) Page() []view.PageRow {
	if s.rows != nil {
		return s.rows
	}
	return s.Summary.Page(s.now, s.brief)
}

// Diff is what differs between two points.
type Diff struct {
	From    string        `json:"from"`
	To      string        `json:"to"`
	Changes []view.Change `json:"changes"`
}

// Made is an agent that was made.
type Made struct {
	Agent perdure.AgentID `json:"agent"`
	Name  string          `json:"name,omitempty"`
}

// Near is the agents of a home here, and those in files. Its store is open only while something is asked of it.
type Near struct{ *Home }

var _ Agents = Near{}

// List lists agents.
func (n Near) List(ctx context.Context, f perdure.Filter) (found []Listed, err error) {
	err = n.Use(ctx, false, func(ctx context.Context, s perdure.Store) (err error) {
		found, err = n.Home.List(ctx, s, f)
		return err
	})
	return found, err
}

// Point calls f with the point in memory that an argument means.
func (n Near) Point(ctx context.Context, arg string, f func(context.Context, perdure.Store, *Point) error) error {
	return n.UseFor(ctx, arg, func(ctx context.Context, s perdure.Store, arg string) error {
		p, err := FindPoint(ctx, n.Home, s, arg)
		if err != nil {
			return err
		}
		return f(ctx, s, p)
	})
}

// at is the point that an argument means, to be looked at when its store is closed.
func (n Near) at(ctx context.Context, arg string) (p *Point, err error) {
	err = n.Point(ctx, arg, func(_ context.Context, _ perdure.Store, at *Point) error {
		p = at
		return nil
	})
	return p, err
}

// Show is an agent on one screen.
func (n Near) Show(ctx context.Context, arg string, how Screen) (*Glance, error) {
	out := &Glance{brief: how.Brief}
	err := n.Point(ctx, arg, func(ctx context.Context, s perdure.Store, p *Point) (err error) {
		out.Summary, out.now, err = n.Summary(ctx, s, p)
		unseal(n.Vault(), out.Waits)
		return err
	})
	return out, err
}

// State is the fold of a memory.
func (n Near) State(ctx context.Context, arg string) (any, error) {
	p, err := n.at(ctx, arg)
	if err != nil {
		return nil, err
	}
	return p.Agent.Fold(), nil
}

// Diff compares two points, in the store or in files.
func (n Near) Diff(ctx context.Context, from, to string) (*Diff, error) {
	a, err := n.at(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := n.at(ctx, to)
	if err != nil {
		return nil, err
	}
	d := DiffOf(a, b)
	if d.From == d.To { // a file, and the agent of that name
		d.From, d.To = from, to
	}
	return d, nil
}

// DiffOf is what differs between two points.
func DiffOf(from, to *Point) *Diff {
	return &Diff{from.Name(), to.Name(),
		view.Compare(view.Readable(from.Agent.Fold()), view.Readable(to.Agent.Fold()))}
}

// Inbox is what waits for people.
func (n Near) Inbox(ctx context.Context) (found []view.Wait, faults error, err error) {
	err = n.Use(ctx, false, func(ctx context.Context, s perdure.Store) (err error) {
		found, faults, err = n.Home.Inbox(ctx, s, time.Now())
		unseal(n.Vault(), found)
		return err
	})
	return found, faults, err
}

// unseal has the people of a home see opened what they are asked about.
func unseal(v seal.Vault, waits []view.Wait) {
	for i := range waits {
		waits[i].Unseal(v)
	}
}

// Tell tells an agent something by this home's key, and says how it stands then.
func (n Near) Tell(ctx context.Context, arg string, what Message) (told *Told, err error) {
	if err := jsontext.UTF8(what); err != nil {
		return nil, perdure.Invalid(err)
	}
	err = n.UseFor(ctx, arg, func(ctx context.Context, s perdure.Store, arg string) error {
		a, err := n.Agent(ctx, s, arg)
		if err != nil {
			return err
		}
		node, err := n.Node(ctx, s)
		if err != nil {
			return err
		}
		var r Told
		e, err := what.say(ctx, n.Home, node, a, &r)
		if err != nil {
			return err
		}
		told = n.Told(context.WithoutCancel(ctx), s, e) // the event is durable: what follows only says so
		told.About, told.Before, told.id = r.About, r.Before, r.id
		return nil
	})
	return told, err
}

// Create makes an agent in this home, which is made if it is not there.
func (n Near) Create(ctx context.Context, f *IntentFile, file string) (made *Made, err error) {
	if len(f.Approvers)+len(f.Delegates) > 0 {
		if _, err := n.KeyPath(); err != nil {
			return nil, err
		}
		if err := n.nameKeys(f); err != nil {
			return nil, err
		}
	}
	g, err := f.Genesis(time.Now())
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	err = n.Use(ctx, true, func(ctx context.Context, s perdure.Store) error {
		if err := f.Refer(n.Home, file, &g); err != nil {
			return err
		}
		a, err := n.Home.Create(ctx, s, g)
		if err == nil {
			made = &Made{a.ID(), a.Fold().Intent.Name}
		}
		return err
	})
	return made, err
}

// Fork makes an agent that begins where another was.
func (n Near) Fork(ctx context.Context, arg string, f Fork) (forked *Forked, err error) {
	err = n.Point(ctx, arg, func(ctx context.Context, s perdure.Store, p *Point) (err error) {
		if n.InFile != "" {
			return perdure.WithHint(perdure.Invalid(fmt.Errorf("a fork is made in a store, and %s is a file",
				view.InLine(n.InFile))), "import it first: perdure import "+view.Pasted(n.InFile))
		}
		if forked, err = n.Home.Fork(ctx, s, p, f); err == nil {
			forked.Of = view.Called(p.Agent)
		}
		return err
	})
	return forked, err
}

// Nodes are those that this home knows of.
func (n Near) Nodes(ctx context.Context, agent string) (all *Nodes, err error) {
	err = n.Use(ctx, false, func(ctx context.Context, s perdure.Store) error {
		node, err := n.Node(ctx, s)
		if err == nil {
			all, err = n.Home.Nodes(ctx, &Desk{Home: n.Home, Store: s, Node: node}, agent)
		}
		return err
	})
	return all, err
}

// Explain says what policy says, or said, of an action of an agent in the store or in a file.
func (n Near) Explain(ctx context.Context, arg string, q WhyQuestion) (e *Explained, err error) {
	err = n.UseFor(ctx, arg, func(ctx context.Context, s perdure.Store, arg string) (err error) {
		e, err = n.Home.Explain(ctx, s, arg, q)
		return err
	})
	return e, err
}
