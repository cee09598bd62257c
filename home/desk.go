package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/turns"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// Visitor is somebody who speaks to agents of a home through a face: who they are, and what they may.
type Visitor struct {
	Name string // how memories name them
	// Person is the key of the person, which signs their votes; nil: it is not here, and they sign for themselves.
	Person *perdure.Signer
	// Key is the key they have shown that they have, where no secret is shared; zero: none.
	Key perdure.Key
	// Speaks says that what they say is a person's word: they may answer what agents ask people, resume agents and
	// settle what is in doubt. A program may not.
	Speaks bool
	Scope  string   // of the agents there are for them; AnyScope: all
	Verbs  []string // nil: all
	// grants say what they may where, if that is not the same everywhere. Then Scope and Verbs cover all of them.
	grants []grant
	Link   *Bound // the one question they may answer; nil: any
	token  *Token
	hook   string // the name of the hook they are behind; empty: of none
	host   bool   // the owner of the home where they are at home
}

// Visit is who has a token, or what is wrong with it.
func (h *Home) Visit(text string, now time.Time) (*Visitor, error) {
	t, person, err := h.Unlock(text, now)
	if err != nil {
		return nil, err
	}
	return &Visitor{
		Name:   t.Name,
		Person: person,
		Speaks: person != nil,
		Scope:  t.Scope,
		Verbs:  t.Verbs,
		Link:   t.Link,
		token:  t,
	}, nil
}

// Owner is who needs no token: whoever can reach what only the home's owner can. They vote elsewhere: with the key of
// this home the node would vote for them.
func (h *Home) Owner() (*Visitor, error) {
	k, err := h.Key()
	if err != nil {
		return nil, err
	}
	v := &Visitor{Name: KeyName(), Speaks: true, Scope: perdure.AnyScope}
	if k != nil {
		v.Name = k.Name
	}
	return v, nil
}

// ID is what tells one visitor from another: the token, the key, or the owner.
func (v *Visitor) ID() string {
	switch {
	case v.token != nil:
		return "token " + v.token.ID
	case !v.Key.IsZero():
		return "key " + v.Key.String()
	case v.hook != "":
		return "hook " + v.hook
	}
	return "owner"
}

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
	id, err := FindShown(ctx, d.Store, arg, func(id perdure.AgentID) bool {
		return (v.Link == nil || v.Link.Agent == id) && d.Shows(ctx, v, id)
	})
	if errors.Is(err, perdure.ErrNotFound) && !v.Everything() {
		err = missing(arg)
	}
	return id, err
}

// named is Find for what looks at the agent anyway: a whole id is not looked up twice.
func (d *Desk) named(ctx context.Context, v *Visitor, arg string) (id perdure.AgentID, err error) {
	if v.Link == nil && v.MayEverywhere(VerbMemory) && id.UnmarshalText([]byte(arg)) == nil {
		return id, nil
	}
	return d.Find(ctx, v, arg)
}

// Shows reports whether an agent is there for a visitor: its scope is theirs, and it keeps no notes that are not for
// them.
func (d *Desk) Shows(ctx context.Context, v *Visitor, id perdure.AgentID) bool {
	if v.MayEverywhere(VerbMemory) {
		return true
	}
	a, err := d.load(ctx, id)
	if err != nil {
		return v.Everything() &&
			!errors.Is(err, perdure.ErrNotFound) // what is wrong with it is said to those who see all
	}
	f := a.Fold()
	scope := f.Charter.Scope
	return v.Sees(scope) && (!workspace.Keeps(f.Intent.Kind) || v.MayIn(VerbMemory, scope) == nil)
}

// Agent is an agent as this home sees it, if it is there for the visitor.
func (d *Desk) Agent(ctx context.Context, v *Visitor, arg string) (*perdure.Agent, error) {
	id, err := d.Find(ctx, v, arg)
	if err != nil {
		return nil, err
	}
	return d.load(ctx, id)
}

// Point is an agent now, or at a point in its memory, if it is there for the visitor.
func (d *Desk) Point(ctx context.Context, v *Visitor, arg string) (*Point, error) {
	name, ref := SplitRef(arg)
	id, err := d.Find(ctx, v, name)
	if err != nil {
		return nil, err
	}
	if ref == "" && name == arg {
		a, err := d.load(ctx, id)
		return &Point{Agent: a}, err
	}
	return FindPoint(ctx, d.Home, d.Store, id.String()+"@"+ref)
}

// Explain says what policy says, or said, of an action of an agent that is there for the visitor. The name is looked up
// once, with the visitor's eyes: another agent that the home knows by it is not theirs to hear of.
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
	return d.Home.Explain(ctx, d.Store, at, q)
}

// Load is an agent, whoever asks: what the node holds of it, while that is all there is, else derived anew.
func (d *Desk) Load(ctx context.Context, id perdure.AgentID) (*perdure.Agent, error) {
	return d.load(ctx, id)
}

// load is what the node holds of an agent, while that is all there is, else derived anew.
func (d *Desk) load(ctx context.Context, id perdure.AgentID) (*perdure.Agent, error) {
	if a, err := d.Node.Load(ctx, id); err == nil {
		return a, nil
	}
	return d.Home.Load(ctx, d.Store, id)
}

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
	a, err := d.load(ctx, id)
	if err != nil {
		return nil, err
	}
	scope := a.Fold().Charter.Scope
	if err := v.MayIn(verb, scope); err != nil {
		return nil, err
	}
	said := perdure.WithSpeaker(ctx, v.Name)
	if !v.Speaks || v.grants != nil && v.MayIn(VerbAnswer, scope) != nil {
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
	if e, before, err = d.tell(ctx, v, id, ev); errors.Is(err, perdure.ErrNotFound) {
		err = missing(arg)
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
	if ev.ID != "" || v.grants != nil {
		a, err := d.load(ctx, id)
		if err != nil {
			return nil, false, err
		}
		scope := a.Fold().Charter.Scope
		if err := v.MayIn(verbOf(&ev), scope); err != nil {
			return nil, false, err
		}
		ev.Taint = ev.Taint || v.grants != nil && v.MayIn(VerbAnswer, scope) != nil
		before = a.Fold().Received(&ev)
	}
	e, err = d.Node.Tell(ctx, id, ev)
	return e, before, err
}

// Received reports whether an event of the visitor was received before, so that it would change nothing.
func (d *Desk) Received(ctx context.Context, v *Visitor, arg string, ev perdure.Event) (bool, error) {
	a, err := d.Agent(ctx, v, arg)
	if err != nil {
		return false, err
	}
	ev.By, ev.Taint, ev.Notice = v.Name, !v.Speaks, nil
	return a.Fold().Received(&ev), nil
}

// personal are the verbs that are a person's word: whoever answers for people, lets an agent go on, or says that what
// happened did not, so that it happens again, has looked.
var personal = []string{VerbAnswer, VerbResume, VerbSettle}

// may refuses a person's word of a program, and any verb the visitor has no right to.
func (v *Visitor) may(verb string) error {
	if err := v.May(verb); err != nil {
		return err
	}
	if !v.Speaks && slices.Contains(personal, verb) {
		return perdure.WithHint(
			fmt.Errorf("%w: %s is a program: no person stands behind its token, so it cannot %s for one",
				perdure.ErrDenied, v.Name, doing(verb)),
			"make a token for a person: perdure token new NAME --person",
		)
	}
	return nil
}

// Answer answers what an agent asks people.
func (d *Desk) Answer(ctx context.Context, v *Visitor, arg, text string) (*Told, error) {
	return d.verb(ctx, v, VerbAnswer, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		return d.Node.Answer(ctx, a.ID(), text)
	})
}

// Pause keeps an agent from deciding anything until it is resumed.
func (d *Desk) Pause(ctx context.Context, v *Visitor, arg, note string) (*Told, error) {
	return d.verb(ctx, v, VerbPause, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		return d.Node.Pause(ctx, a.ID(), note)
	})
}

// End ends an agent for good.
func (d *Desk) End(ctx context.Context, v *Visitor, arg, note string) (*Told, error) {
	return d.verb(ctx, v, VerbEnd, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		return d.Node.Cancel(ctx, a.ID(), note)
	})
}

// Resume ends the pauses of an agent. To admit one that is held is for the home's owner.
func (d *Desk) Resume(ctx context.Context, v *Visitor, arg, note string) (*Told, error) {
	return d.verb(ctx, v, VerbResume, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		if held := d.Node.Trusted().Counts(a); held != nil && v.ID() != "owner" {
			return nil, perdure.WithHint(
				fmt.Errorf("%w: %s is held: %s", perdure.ErrDenied, view.Called(a), view.HeldText(held)),
				"the owner of the home admits it there: perdure resume "+view.Callable(a),
			)
		}
		return d.Home.Resume(ctx, d.Node, a, note, false)
	})
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
	if len(view.Changed(&m)) == 0 && len(set) == 0 {
		return nil, perdure.Invalid(errors.New("say what to change, such as the goal, labels, tools or state"))
	}
	return d.verb(ctx, v, VerbEdit, arg, func(ctx context.Context, a *perdure.Agent) (*perdure.Entry, error) {
		m.Labels = Relabelled(a.Fold().Intent.Labels, m.Labels)
		return d.Node.Edit(ctx, a.ID(), m, set)
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

// genesis is what an agent in the visitor's scope begins with.
func (d *Desk) genesis(v *Visitor, f *IntentFile) (g perdure.Genesis, err error) {
	if err := v.May(VerbCreate); err != nil {
		return g, err
	}
	if f.Scope == "" {
		f.Scope = v.home(VerbCreate)
	}
	if f.Scope != "" {
		if err := v.MayIn(VerbCreate, f.Scope); err != nil {
			return g, err
		}
	}
	if err := d.Home.NameKeys(f); err != nil {
		return g, err
	}
	if g, err = f.Genesis(time.Now()); err != nil {
		return g, perdure.Invalid(err)
	}
	for _, name := range append(f.Policies, f.StateSchema) { // a visitor reads no files here
		if _, err := perdure.ParseHash(name); err != nil && name != "" {
			return g, perdure.Invalid(fmt.Errorf("%s: want the hash of a schema or policy that this home has", name))
		}
	}
	if err := d.names(v, g.Charter.Scope, g.Charter); err != nil {
		return g, err
	}
	return g, f.Refer(d.Home, "", &g)
}

// Create makes an agent in the visitor's scope.
func (d *Desk) Create(ctx context.Context, v *Visitor, f *IntentFile) (*perdure.Agent, error) {
	g, err := d.genesis(v, f)
	if err != nil {
		return nil, err
	}
	if len(g.Charter.Policies) > 0 {
		return d.Home.Create(ctx, d.Store, g)
	}
	if err := d.Home.checkName(ctx, d.Store, g.Intent.Name); err != nil {
		return nil, err
	}
	return d.Home.createBy(ctx, d.Node, g)
}

// Namesake says, for whoever made an agent, that it cannot be named by its name because others have it, too. Empty: it
// can. Of agents that are not shown to the visitor, nothing is said.
func (d *Desk) Namesake(ctx context.Context, v *Visitor, a *perdure.Agent) string {
	name := a.Fold().Intent.Name
	if name == "" {
		return ""
	}
	all, err := Candidates(ctx, d.Store, name)
	if err != nil || !slices.ContainsFunc(all, func(l perdure.Listing) bool {
		return l.Agent != a.ID() && d.Shows(ctx, v, l.Agent)
	}) {
		return "" // as nearly always: that it is found is not tried
	}
	if found, err := d.Find(ctx, v, name); err == nil && found == a.ID() {
		return ""
	}
	return fmt.Sprintf("another agent is called %s, too: name this one by its id, %s", view.ShownName(name),
		a.ID().Short())
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
		return workspace.Keeps(l.Kind) && v.MayIn(VerbMemory, l.Scope) != nil
	})
	if err != nil {
		return nil, "", err
	}
	everything, notes := v.Everything(), v.MayEverywhere(VerbMemory)
	found = slices.DeleteFunc(found, func(l perdure.Listing) bool { // the index only finds
		return (!everything || !notes && workspace.Keeps(l.Kind)) && !d.Shows(ctx, v, l.Agent)
	})
	lines, err := d.Home.Check(ctx, d.Store, found, false)
	return lines, next, err
}

// votesWith is the key whose answers are the visitor's; zero: it is not known here.
func (v *Visitor) votesWith() perdure.Key {
	if v.Person != nil {
		return v.Person.Key()
	}
	return v.Key
}

// Fork makes an agent that begins where another was, at AGENT or AGENT@REF.
func (d *Desk) Fork(ctx context.Context, v *Visitor, arg string, f Fork) (*Forked, error) {
	if err := v.May(VerbCreate); err != nil {
		return nil, err
	}
	p, err := d.Point(ctx, v, arg)
	if err != nil {
		return nil, err
	}
	if f.Over == nil || f.Over.Scope == "" {
		if err := v.MayIn(VerbCreate, p.Agent.Fold().Charter.Scope); err != nil {
			return nil, err
		}
	}
	if f.Over != nil {
		if f.Over.Scope != "" {
			if err := v.MayIn(VerbCreate, f.Over.Scope); err != nil {
				return nil, err
			}
		}
		if f.Over.StateSchema != "" || len(f.Over.Policies) > 0 {
			return nil, perdure.Invalid(
				errors.New("a fork keeps the schema and the policies of the agent it begins from"),
			)
		}
	}
	if f.Over != nil {
		if err := d.Home.NameKeys(f.Over); err != nil {
			return nil, err
		}
		g, err := f.Over.Genesis(time.Now())
		if err != nil {
			return nil, perdure.Invalid(err)
		}
		if err := d.names(v, cmp.Or(f.Over.Scope, p.Agent.Fold().Charter.Scope), g.Charter); err != nil {
			return nil, err
		}
	}
	return d.Home.Fork(ctx, d.Store, p, f)
}

// names refuses approvers and delegates whom the home does not trust with that: a visitor who could name others could
// name themselves, and approve what they proposed.
func (d *Desk) names(v *Visitor, scope string, c perdure.Charter) error {
	if v.owns() {
		return nil // they may trust whom they like
	}
	trust := d.Node.Trusted()
	for _, x := range []struct {
		keys  []perdure.Key
		right perdure.Right
		what  string
	}{{c.Approvers, perdure.MayApprove, "approve"}, {c.Delegates, perdure.MayOwn, "own"}} {
		for _, k := range x.keys {
			if trust.Allows(k, x.right, cmp.Or(scope, perdure.AnyScope)) {
				continue
			}
			return perdure.WithHint(fmt.Errorf("%w: key %s is not trusted here to %s, so %s cannot name it in a "+
				"charter",
				perdure.ErrDenied, k.Short(), x.what, v.Name),
				"have the owner trust it first: perdure key trust "+k.String()+" --rights "+x.what)
		}
	}
	return nil
}

// mayAdd refuses a visitor who may not bring entries of an agent that is here: its scope is theirs to import into. The
// error wraps ErrNotFound if it is not here.
func (d *Desk) mayAdd(ctx context.Context, v *Visitor, id perdure.AgentID) error {
	if err := v.May(VerbImport); err != nil || v.Everything() && v.grants == nil {
		return err
	}
	a, err := d.load(ctx, id)
	if errors.Is(err, perdure.ErrNotFound) {
		return err
	}
	if err != nil || v.MayIn(VerbImport, a.Fold().Charter.Scope) != nil {
		return fmt.Errorf("%w: %s may not write to agent %s", perdure.ErrDenied, v.Name, id.Short())
	}
	return nil
}

// Import takes in a capsule that was read to its end, whose head is given: by policy, and held if it has entries by
// keys that are not trusted here.
func (d *Desk) Import(
	ctx context.Context,
	v *Visitor,
	src io.ReadSeeker,
	head *capsule.Head,
	older bool,
) (*Arrived, error) {
	if err := v.May(VerbImport); err != nil {
		return nil, err
	}
	in := &Intake{ImportOptions: capsule.ImportOptions{Older: older}}
	if err := d.Home.admitting(ctx, in); err != nil {
		return nil, err
	}
	if !v.Everything() || v.grants != nil {
		if err := d.mayAdd(ctx, v, head.Agent); err != nil && !errors.Is(err, perdure.ErrNotFound) {
			return nil, err
		}
		admit := in.Admit
		in.Admit = func(a *perdure.Agent) perdure.Verdict {
			if scope := a.Fold().Charter.Scope; v.MayIn(VerbImport, scope) != nil {
				why := fmt.Sprintf("its scope is %s, and %s may not import into that", scope, v.Name)
				return perdure.Verdict{Answer: perdure.Deny, Reason: why}
			}
			return admit(a)
		}
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return d.Home.takeIn(ctx, d.Store, in, func(o capsule.ImportOptions) (*capsule.Arrival, error) {
		return capsule.Import(ctx, d.Store, src, o)
	})
}
