package perdure

import (
	"fmt"
	"slices"
)

// delegate records a delegated agent, sets its budget aside, and leaves its creation open.
func (f *Fold) delegate(e *Entry, d *Decision, a Delegate) {
	child, err := DecodeEntry(d.Child, Limits{})
	if err != nil { // checkBody has read it already
		return
	}
	g, _ := child.content.(Genesis)
	if err := f.checkChild(&g); err != nil {
		f.conflict(e, "delegation wider than the agent itself: no child came of it")
		return
	}
	if len(f.Children)-f.weigh().ended >= maxChildren {
		f.conflict(e, "more children than an agent has: no child came of it")
		return
	}
	if !f.open(e, d, a) {
		return
	}
	c := ChildInfo{Agent: child.ID(), Decision: e.Name}
	if g.Intent.Budget != nil {
		c.Reserve = g.Intent.Budget.amounts()
	}
	f.Children = append(mine(f, f.Children, &f.own.children), c)
}

// within reports whether every element of a is in b.
func within[T comparable](a, b []T) bool {
	if len(a)*len(b) <= 256 {
		return !slices.ContainsFunc(a, func(v T) bool { return !slices.Contains(b, v) })
	}
	set := make(map[T]struct{}, len(b))
	for _, v := range b {
		set[v] = struct{}{}
	}
	return !slices.ContainsFunc(a, func(v T) bool { _, ok := set[v]; return !ok })
}

// amounts is a budget as an amount; what is not limited is not set aside.
func (b *Budget) amounts() Spend {
	at := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	return Spend{Cost: at(b.Cost), Tokens: at(b.Tokens), Calls: at(b.Calls)}
}

// ChildGenesis is the genesis of a child that fits inside its parent: scope, budget, deadline, tools and depth are the
// narrower of what is asked and what the parent has left. Cause is the advice that proposed it.
func (f *Fold) ChildGenesis(d *Delegate, cause Hash) (Genesis, error) {
	if f.Charter.Depth < 1 {
		return Genesis{}, fmt.Errorf("delegate: the charter of %s allows no further generation", f.Agent.Short())
	}
	scope := d.Scope
	if scope == "" {
		scope = f.Charter.Scope
	}
	if !InScope(scope, f.Charter.Scope) {
		return Genesis{}, fmt.Errorf("delegate: scope %s is not within %s", scope, f.Charter.Scope)
	}
	g := Genesis{
		Intent: d.Intent,
		Charter: Charter{Owner: f.Charter.Owner, Scope: scope,
			Policies: append(f.Charter.Policies[:len(f.Charter.Policies):len(f.Charter.Policies)], d.Policies...),
			Depth:    min(max(d.Depth, 0), f.Charter.Depth-1), Approvers: f.Charter.Approvers,
			Delegates: f.Charter.Delegates},
		Lineage: &Lineage{Parent: f.Agent, Cause: cause, Relation: Child},
		Taint:   !f.Taint.IsZero(),
	}
	g.Intent.Budget = g.Intent.Budget.meet(f.Left())
	g.Intent.Tools = meetTools(f.Intent.Tools, g.Intent.Tools)
	if f.Intent.Deadline != 0 {
		g.Intent.Deadline = earliest(g.Intent.Deadline, f.Intent.Deadline)
	}
	return g, nil
}

// checkChild says in what a child's genesis is wider than its parent was, if in anything.
func (f *Fold) checkChild(g *Genesis) error {
	switch {
	case g.Lineage == nil || g.Lineage.Parent != f.Agent:
		return fmt.Errorf("child names another parent")
	case !InScope(g.Charter.Scope, f.Charter.Scope):
		return fmt.Errorf("child scope %s is not within %s", g.Charter.Scope, f.Charter.Scope)
	case g.Charter.Depth >= f.Charter.Depth:
		return fmt.Errorf("child depth %d is not below %d", g.Charter.Depth, f.Charter.Depth)
	case g.Charter.Owner != f.Charter.Owner:
		return fmt.Errorf("child has another owner")
	case !g.Intent.Budget.within(f.Left()):
		return fmt.Errorf("child budget is wider than what its parent has left")
	case f.Intent.Tools != nil && (g.Intent.Tools == nil || !within(g.Intent.Tools, f.Intent.Tools)):
		return fmt.Errorf("child has tools its parent does not have")
	case !within(f.Charter.Policies, g.Charter.Policies):
		return fmt.Errorf("child leaves out a policy of its parent")
	case len(f.Charter.Approvers) > 0 && (len(g.Charter.Approvers) == 0 ||
		!within(g.Charter.Approvers, f.Charter.Approvers)):
		return fmt.Errorf("child has approvers its parent does not have")
	case !within(g.Charter.Delegates, f.Charter.Delegates):
		return fmt.Errorf("child has delegates its parent does not have")
	case f.Intent.Deadline != 0 && (g.Intent.Deadline == 0 || g.Intent.Deadline > f.Intent.Deadline):
		return fmt.Errorf("child deadline is later than its parent's")
	}
	return nil
}

// checkCameOf says in what the genesis of a child is not what its delegation comes to. Policy and people judge the
// delegation; the genesis is written down beside it, by whoever decided. Of budget and deadline it may have less: what
// the parent had left then, and checkChild has looked.
func (f *Fold) checkCameOf(d *Delegate, child []byte) error {
	want, err := f.ChildGenesis(d, Hash{})
	if err != nil {
		return err
	}
	e, err := DecodeEntry(child, Limits{})
	if err != nil {
		return err
	}
	got, _ := e.content.(Genesis)
	if !got.Intent.Budget.within(d.Intent.Budget) || d.Intent.Deadline != 0 &&
		(got.Intent.Deadline == 0 || got.Intent.Deadline > d.Intent.Deadline) {
		return fmt.Errorf("the child has more budget or time than it was delegated")
	}
	want.Intent.Budget, want.Intent.Deadline = got.Intent.Budget, got.Intent.Deadline
	was, err := got.digest()
	if err != nil {
		return err
	}
	if is, err := want.digest(); err != nil || is != was || got.Lineage == nil || got.Lineage.Relation != Child {
		return fmt.Errorf("the child is not the one that was delegated to")
	}
	if want.Taint && !got.Taint {
		return fmt.Errorf("the child does not say that text from somebody not trusted may speak in it")
	}
	return nil
}

// digest is a hash of the intent and charter of a child.
func (g *Genesis) digest() (Hash, error) {
	b, err := effectCodec.Append(nil, &effectRecord{Action: Delegate{
		Intent: g.Intent, Scope: g.Charter.Scope, Depth: g.Charter.Depth, Policies: g.Charter.Policies,
	}})
	for _, keys := range [][]Key{{g.Charter.Owner}, g.Charter.Approvers, g.Charter.Delegates} {
		b = append(b, byte(len(keys)))
		for _, k := range keys {
			b = append(b, k[:]...)
		}
	}
	return HashOf(b), err
}
