package workspace

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/perdure/perdure"
)

// roleGenesis is how an agent begins that stands for a role.
func (w *Workspace) roleGenesis(role string) perdure.Genesis {
	return perdure.Genesis{
		Intent: perdure.Intent{Name: role, Kind: roleKind, Goal: "keeps the private notes and session summaries of " +
			"the role " + role},
		Charter: perdure.Charter{Scope: cmp.Or(w.Scope, DefaultScope)},
	}
}

// keeperOf reads and writes as whoever keeps the notes of a name: its role or, where there is none and one agent of
// this home works under the name, that agent, which would not read what a new role had.
func (w *Workspace) keeperOf(ctx context.Context, name string) (*Reader, error) {
	if is, err := w.isRole(ctx, name); err != nil {
		return nil, err
	} else if is {
		return w.As(ctx, name)
	}
	found, err := w.Index.called(ctx, name)
	if err != nil {
		return nil, err
	}
	var works []*perdure.Agent
	for _, id := range found {
		a, err := w.Node.Load(ctx, id)
		if err == nil && a.Fold().Charter.Owner == w.Node.Key.Key() && !Keeps(a.Fold().Intent.Kind) {
			works = append(works, a)
		}
	}
	if len(works) == 1 {
		return w.For(ctx, works[0])
	}
	return w.As(ctx, name)
}

// roleAgent is the agent of a role. An index only finds it: whose it is, and that it counts, its memory says. Without
// one of this key, it is the one that another home passed on: who trusts that key to own, and admitted it, shares it.
func (w *Workspace) roleAgent(ctx context.Context, role string) (*perdure.Agent, *unborn, error) {
	if err := w.Index.Follow(ctx, w.Store, nil); err != nil {
		return nil, nil, err
	}
	own, passed, err := w.rolesCalled(ctx, role)
	switch {
	case err != nil || own != nil:
		return own, nil, err
	case len(passed) == 0 && w.Looks:
		return nil, nil, w.noRole(ctx, role)
	case len(passed) == 0:
		a, u, err := w.expect(ctx, w.roleGenesis(role))
		if err == nil && u == nil { // another process began it meanwhile; it may have been another one's before
			if err = w.Index.Follow(ctx, w.Store, nil); err == nil {
				own, _, err = w.rolesCalled(ctx, role)
			}
			a = cmp.Or(own, a)
		}
		return a, u, err
	case len(passed) > 1:
		return nil, nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("%d homes passed on a memory of this role: %s",
			len(passed), idsOf(passed))), "end those that nobody is to use here: perdure end ID; or name another role")
	case len(passed[0].Fold().Paused) > 0:
		return nil, nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("its memory came from another home, and waits to "+
			"be admitted: %s", idsOf(passed))), "to go on with it here: perdure resume "+passed[0].ID().Short()+
			"; to keep another, name another role")
	}
	return passed[0], nil, nil
}

// maxRoles is how many roles are named to who misses one.
const maxRoles = 20

// noRole is the error for a role that has no memory here: it says which have.
func (w *Workspace) noRole(ctx context.Context, role string) error {
	begin := "perdure session open --role " + role + " begins one"
	names, err := w.Index.roles(ctx, maxRoles)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return perdure.WithHint(perdure.Missing("it has no memory here yet"), begin)
	}
	return perdure.WithHint(perdure.Missing("there is no such role; there are "+strings.Join(names, ", ")),
		begin+"; perdure ls --kind "+roleKind+" lists all")
}

// rolesCalled are the agents that began as a role of a name, and count: the one of this key, and those of others. Of
// two of this key one ended before anything was in it: see bear.
func (w *Workspace) rolesCalled(ctx context.Context, role string) (own *perdure.Agent, passed []*perdure.Agent,
	err error) {
	found, err := w.Index.called(ctx, role)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range found {
		a, err := w.Node.Load(ctx, id)
		if err != nil || a.Fold().Intent.Kind != roleKind {
			continue // it does not count here, or is no role
		}
		mine := a.Fold().Charter.Owner == w.Node.Key.Key()
		is, err := w.beganAs(ctx, id, role)
		switch {
		case err != nil:
			return nil, nil, err
		case is && mine && (own == nil || own.Fold().Ended != nil && a.Fold().Ended == nil):
			own = a
		case is && !mine && a.Fold().Ended == nil:
			passed = append(passed, a)
		}
	}
	return own, passed, nil
}

// isRole reports whether a role of this home has a name.
func (w *Workspace) isRole(ctx context.Context, name string) (bool, error) {
	if err := w.Index.Follow(ctx, w.Store, nil); err != nil {
		return false, err
	}
	own, passed, err := w.rolesCalled(ctx, name)
	return own != nil || len(passed) > 0, err
}

func idsOf(agents []*perdure.Agent) string {
	var ids []string
	for _, a := range agents {
		ids = append(ids, a.ID().Short())
	}
	return strings.Join(ids, ", ")
}

// namesakes says which other memories have the name of the role, so that nobody takes them for it.
func (r *Reader) namesakes(ctx context.Context) (notes []string, err error) {
	found, err := r.Index.called(ctx, r.role)
	if err != nil || len(found) == 1 && found[0] == r.agent { // the usual
		return nil, err
	}
	for _, id := range found {
		a, err := r.Node.Load(ctx, id)
		if err != nil || id == r.agent || a.Fold().Ended != nil {
			continue
		}
		switch {
		case a.Fold().Intent.Kind == roleKind:
			notes = append(notes, fmt.Sprintf("another home passed on its memory of %s (%s): it is another than this "+
				"one, and read by the owner alone, with perdure doc ls agents/%s/", r.role, id.Short(), r.role))
		case !r.Hides(a):
			notes = append(notes, fmt.Sprintf("agent %s is called %s, too: it is another than this role, and neither "+
				"reads the notes of the other; another name for one of them would tell them apart", id.Short(), r.role))
		}
	}
	return notes, nil
}

// beganAs reports whether an agent began as that of a role: by nobody's delegation or fork, and for nothing else.
func (w *Workspace) beganAs(ctx context.Context, id perdure.AgentID, role string) (bool, error) {
	want := w.roleGenesis(role).Intent
	for item, err := range w.Store.Entries(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		g, ok := item.Content().(perdure.Genesis)
		return ok && g.Lineage == nil && reflect.DeepEqual(g.Intent, want), nil
	}
	return false, nil
}
