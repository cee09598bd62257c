package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

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
	if err := d.Home.nameKeys(f); err != nil {
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
	g.Taint = v.taints(g.Charter.Scope)
	return g, f.Refer(d.Home, "", &g)
}

// Create makes an agent in the visitor's scope.
func (d *Desk) Create(ctx context.Context, v *Visitor, f *IntentFile) (*perdure.Agent, error) {
	g, err := d.genesis(v, f)
	if err != nil {
		return nil, err
	}
	if err := checkName(g.Intent.Name); err != nil {
		return nil, err
	}
	n := d.Node
	if len(g.Charter.Policies) > 0 {
		if n, err = d.Home.maker(ctx, d.Store, &g); err != nil {
			return nil, err
		}
	}
	a, err := d.Home.createBy(ctx, n, g)
	if err == nil {
		d.noteNamesake(ctx, v, a.ID(), a.Fold().Intent.Name)
	}
	return a, err
}

// Fork makes an agent that begins where another was, at AGENT or AGENT@REF.
func (d *Desk) Fork(ctx context.Context, v *Visitor, arg string, f Fork) (*Forked, error) {
	for _, verb := range []string{VerbCreate, VerbRead} {
		if err := v.May(verb); err != nil {
			return nil, err
		}
	}
	p, err := d.Point(ctx, v, arg)
	if err == nil { // it has the whole memory, and what comes of it says what was done
		err = v.MayIn(VerbRead, p.Agent.Fold().Charter.Scope)
	}
	if err != nil {
		return nil, err
	}
	scope := p.Agent.Fold().Charter.Scope
	if f.Over != nil {
		scope = cmp.Or(f.Over.Scope, scope)
	}
	if err := v.MayIn(VerbCreate, scope); err != nil {
		return nil, err
	}
	if f.Over != nil {
		if f.Over.StateSchema != "" || len(f.Over.Policies) > 0 {
			return nil, perdure.Invalid(
				errors.New("a fork keeps the schema and the policies of the agent it begins from"),
			)
		}
	}
	if f.Over != nil {
		if err := d.Home.nameKeys(f.Over); err != nil {
			return nil, err
		}
		g, err := f.Over.Genesis(time.Now())
		if err != nil {
			return nil, perdure.Invalid(err)
		}
		if err := d.names(v, scope, g.Charter); err != nil {
			return nil, err
		}
	}
	f.taint = (f.Goal != "" || f.Name != "" || f.Over != nil) && v.taints(scope)
	r, err := d.Home.Fork(ctx, d.Store, p, f)
	if err == nil && !f.Dry {
		d.noteNamesake(ctx, v, r.Agent, r.Name)
		r.Notes = NotesIn(ctx)
	}
	return r, err
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

// mayAdd refuses a visitor who may not bring entries of an agent that is here: its scope is theirs to import into, and
// it is there for them. The error wraps ErrNotFound if it is not here.
func (d *Desk) mayAdd(ctx context.Context, v *Visitor, id perdure.AgentID) error {
	if err := v.May(VerbImport); err != nil || v.Owns(perdure.AnyScope) {
		return err
	}
	a, err := d.Load(ctx, id)
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		return err
	case err != nil && v.Everything() && v.grants == nil:
		return nil // what comes may mend it
	}
	if err != nil || v.MayIn(VerbImport, a.Fold().Charter.Scope) != nil || !v.shown(a) {
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
	if err := d.mayAdd(ctx, v, head.Agent); err != nil && !errors.Is(err, perdure.ErrNotFound) {
		return nil, err
	}
	if !v.Everything() || v.grants != nil {
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
