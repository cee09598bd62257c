package perdure

import (
	"context"
	"maps"
	"slices"
)

// young are the children that do not count here because the word of a parent is missing: see Trust.Beside. It may come
// at any time, and changes nothing about them but that they are to be looked at.
type young struct {
	of     map[AgentID][]AgentID // by those whose word is missing
	called map[AgentID]bool      // it came, since they were last looked at
}

// judged is an agent that is about to be judged: where the word of its parent is missing, it is looked whether that has
// come, and this node looks at the child again when it does.
func (n *Node) judged(ctx context.Context, a *Agent) (*Agent, error) {
	t := n.trust()
	if !t.claimed(a) || t.borneOut(a) {
		return a, nil
	}
	n.mu.Lock()
	delete(n.young.called, a.ID())
	n.misses(a) // before it is looked: what comes after that is told
	n.mu.Unlock()
	a, err := t.Beside(ctx, n.Store, a)
	if err == nil && !t.borneOut(a) {
		n.mu.Lock()
		n.misses(a)
		n.mu.Unlock()
	}
	return a, err
}

// misses notes whose word a child waits for: that of its parent, and of those above, who may wait themselves. Of too
// many all are forgotten, and looked at now and then. The caller holds the lock.
func (n *Node) misses(child *Agent) {
	if y := &n.young; y.of == nil || max(len(y.of), len(y.called)) >= maxYoung {
		*y = young{of: map[AgentID][]AgentID{}, called: map[AgentID]bool{}}
	}
	for a := child; a != nil && a.fold.Lineage != nil; a = a.elder {
		elder := a.fold.Lineage.Parent
		if who := n.young.of[elder]; len(who) < maxChildren && !slices.Contains(who, child.ID()) {
			n.young.of[elder] = append(who, child.ID())
		}
	}
}

// call has this node look again at the children that wait for the word of an agent; zero: of any. The caller holds the
// lock.
func (n *Node) call(elder AgentID) {
	elders := []AgentID{elder}
	if elder.IsZero() {
		elders = slices.Collect(maps.Keys(n.young.of))
	}
	for _, elder := range elders {
		for _, id := range n.young.of[elder] {
			delete(n.rests, id)
			n.young.called[id] = true
		}
		delete(n.young.of, elder)
	}
}
