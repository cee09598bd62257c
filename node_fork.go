package perdure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/perdure/perdure/internal/keeper"
)

// ForkGenesis is what a fork begins with unless its maker says otherwise: the intent and charter as of this point, what
// was left of the budget, and no name and no owner yet. At is the entry it is forked at; a fork that is not live only
// rehearses.
func (f *Fold) ForkGenesis(at Hash, live bool) Genesis {
	g := Genesis{Intent: f.Intent, Charter: f.Charter}
	g.Intent.Name, g.Intent.Budget = "", f.Left()
	g.Charter.Owner = Key{}
	if len(keeper.Labels(f.Intent.Labels)) > 0 { // nobody's task is a fork of one
		g.Intent.Labels = maps.Clone(f.Intent.Labels)
		maps.DeleteFunc(g.Intent.Labels, func(name, _ string) bool { return keeper.Label(name) })
	}
	g.Lineage = &Lineage{Parent: f.Agent, Cause: at, Relation: Fork, Rehearse: !live}
	g.Taint = !f.Taint.IsZero()
	return g
}

// checkFork says in what a fork is wider than the agent was, if in anything. Whoever owns that agent may widen it;
// nobody else gets around its bounds by making a copy.
func (f *Fold) checkFork(g *Genesis) error {
	l := g.Lineage
	switch {
	case l == nil || l.Relation != Fork || l.Parent != f.Agent || l.Cause.IsZero():
		return fmt.Errorf("fork: its lineage does not name %s and an entry of it", f.Agent.Short())
	case g.Charter.Owner == f.Charter.Owner:
		return nil
	case !InScope(g.Charter.Scope, f.Charter.Scope):
		return fmt.Errorf("fork: scope %s is not within %s, and only the owner may widen it", g.Charter.Scope,
			f.Charter.Scope)
	case g.Charter.Depth > f.Charter.Depth:
		return fmt.Errorf("fork: depth %d is more than %d, and only the owner may widen it", g.Charter.Depth,
			f.Charter.Depth)
	case !within(f.Charter.Policies, g.Charter.Policies):
		return errors.New("fork: it leaves out a policy of the charter, and only the owner may")
	}
	return nil
}

// Fork writes a new agent that begins where another was, which is given as of that point, with its state. It belongs to
// this node's key. All of it passes what everything passes that this node writes: the guard, the schema of its state,
// the texts it names by hash; the entries are stored at once or not at all. It begins awake: what was open there, a
// sleep too, is for its advisor to propose again. A fork of an agent that is paused here, or does not count, begins
// paused, so that nobody starts by a copy what was not let go on. Fold.ForkGenesis is a Genesis to begin with: its
// lineage must name the agent and the point.
func (n *Node) Fork(ctx context.Context, from *Agent, g Genesis) (*Agent, error) {
	if from == nil {
		return nil, Invalid(errors.New("fork: say which agent; Load or LoadAt has one as of a point"))
	}
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("fork %s: %w", from.ID().Short(), err)
	}
	a, entries, err := n.fork(ctx, from, g)
	if err == nil {
		err = n.append(ctx, nil, a, entries...)
	}
	if err != nil {
		return nil, fmt.Errorf("fork %s: %w", from.ID().Short(), err)
	}
	return a, n.index(ctx, &work{n: n, a: a, heads: a.Heads()})
}

// fork is the entries of a fork and what they come to.
func (n *Node) fork(ctx context.Context, from *Agent, g Genesis) (*Agent, []*Entry, error) {
	if owner := g.Charter.Owner; !owner.IsZero() && owner != n.Key.Key() {
		return nil, nil, fmt.Errorf("its owner would be %s, and this node can only speak for %s", owner.Short(),
			n.Key.Key().Short())
	}
	g.Charter.Owner = n.Key.Key()
	// whom strangers let approve and run it has no say in what is ours
	if !n.trust().owned(from.fold, from.fold.Charter.Scope) {
		g.Charter.Approvers, g.Charter.Delegates = nil, nil
	}
	g.Taint = g.Taint || n.tainted(from)
	if err := from.fold.checkFork(&g); err != nil {
		return nil, nil, err
	}
	if err := g.Intent.unclaimed(time.Now()); err != nil {
		return nil, nil, WithHint(err, "give the fork a goal and a deadline of its own: perdure fork --intent FILE")
	}
	d, err := DepthOf(ctx, n.Store, from.ID())
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, nil, err
	}
	if d != Full && g.Lineage != nil && !g.Lineage.Rehearse { // it would have all the rights that the agent lacks here
		return nil, nil,
			fmt.Errorf("%w: this store holds %s, so a fork of it can only rehearse: import the whole memory first",
				ErrDenied, d.stored())
	}
	now := time.Now()
	at, err := n.here(ctx)
	if err != nil {
		return nil, nil, err
	}
	g.Seat = at.ID
	begun, err := n.Key.genesis(g, now, n.traceIn(ctx))
	if err == nil {
		err = n.Key.seal(begun)
	}
	if err != nil {
		return nil, nil, err
	}
	a, err := Begin(begun)
	if err == nil && len(from.fold.Vars) > 0 {
		err = n.checkState(a.fold, from.fold.Vars)
	}
	if err != nil {
		return nil, nil, err
	}
	drafts, err := n.forkDrafts(ctx, from, a)
	if err != nil {
		return nil, nil, err
	}
	told, a, err := n.Key.Commit(a, now, drafts...)
	if err != nil {
		return nil, nil, err
	}
	entries := append([]*Entry{begun}, told...)
	for _, e := range entries {
		if err := n.guard(e); err != nil {
			return nil, nil, err
		}
	}
	return a, entries, nil
}

// forkDrafts is what follows the genesis of a fork: the texts it names, where it comes from with the state it begins
// with, and the pause it takes over.
func (n *Node) forkDrafts(ctx context.Context, from, a *Agent) ([]Draft, error) {
	var drafts []Draft
	add := func(ev Event) { drafts = append(drafts, Draft{Body: ev, Policy: n.PolicyHash}) }
	if len(a.fold.Charter.Policies) > 0 || !a.fold.Intent.StateSchema.IsZero() {
		for _, ev := range n.enclose(a.fold) {
			add(ev)
		}
	}
	whence, err := DataOf(map[string]any{
		"agent": from.ID().String(), "entry": a.fold.Lineage.Cause.String(), "seq": from.fold.Seq,
	})
	if err != nil {
		return nil, err
	}
	add(Event{Name: "forked", By: n.Key.Name, ID: "forked", Data: whence, Set: from.fold.Vars})
	today, err := n.load(ctx, from.ID())
	if err == nil {
		err = n.trust().Counts(today)
	}
	switch {
	case errors.Is(err, ErrRejected):
		add(Event{Name: "pause", By: n.Key.Name,
			Notice: Pause{Note: "the agent it was forked from does not count here"}})
	case err != nil:
		return nil, err
	case len(today.fold.Paused) > 0:
		add(Event{Name: "pause", By: n.Key.Name, Notice: Pause{Note: "the agent it was forked from is paused"}})
	}
	return drafts, nil
}
