package perdure

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Snapshot writes down what the agent comes to, so that a copy of it can begin there. Nodes do so by themselves now and
// then. It refuses (key.trusted) an agent that does not count here: a snapshot vouches for what came before. If another
// node was first, it returns an error wrapping ErrConflict.
func (n *Node) Snapshot(ctx context.Context, id AgentID) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("snapshot agent %s: %w", id.Short(), err)
	}
	a, err := n.load(ctx, id)
	if err == nil {
		err = n.trust().Counts(a)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot agent %s: %w", id.Short(), err)
	}
	return n.vouch(ctx, a)
}

// vouch writes a snapshot of an agent in this node's name.
func (n *Node) vouch(ctx context.Context, a *Agent) (*Entry, error) {
	flags, flagged, err := n.Key.Commit(a, time.Now(), a.flags(n.PolicyHash)...)
	if err != nil {
		return nil, fmt.Errorf("snapshot agent %s: %w", a.ID().Short(), err)
	}
	entries, next, err := n.Key.Commit(flagged, time.Now(), Draft{Body: Snapshot{Fold: *flagged.fold},
		Policy: n.PolicyHash})
	if entries = append(flags, entries...); err == nil {
		err = n.append(ctx, a, next, entries...)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot agent %s: %w", a.ID().Short(), err)
	}
	return entries[len(entries)-1], nil
}

// Admit lets an agent count here that has entries by people who are not trusted: this node vouches for what somebody
// looked at, which is given, and says so in the agent's memory. Its owner may go on writing to it. It changes nothing
// about an agent that counts. It refuses (key.trusted) one that cannot be derived here, because bodies are gone that
// only a stranger's snapshot stands for, and one that Trust.Admits refuses. If others wrote to the agent since it was
// looked at, it returns an error wrapping ErrConflict.
func (n *Node) Admit(ctx context.Context, looked *Agent, note string) (bool, error) {
	if err := n.init(); err != nil {
		return false, fmt.Errorf("admit agent %s: %w", looked.ID().Short(), err)
	}
	a, err := n.load(ctx, looked.ID())
	switch {
	case err != nil:
	case !slices.Equal(a.Heads(), looked.Heads()):
		err = ErrConflict
	case n.trust().Counts(a) == nil:
		return false, nil
	case n.trust().Admits(a) != nil:
		err = n.trust().Admits(a)
	default:
		var entries []*Entry
		if entries, err = n.Key.Admission(a, time.Now(), note); err == nil {
			err = n.Store.Append(ctx, a.ID(), a.Heads(), entries...)
		}
	}
	if err != nil {
		return false, fmt.Errorf("admit agent %s: %w", looked.ID().Short(), err)
	}
	return true, n.Arrived(ctx, looked.ID()) // nobody told it anything while it was held
}

// Admission is the entries by which the signer vouches for an agent: a notice that says so, and what the agent comes
// to.
func (s *Signer) Admission(a *Agent, now time.Time, note string) ([]*Entry, error) {
	told, next, err := s.Commit(a, now, append(a.flags(Hash{}),
		Draft{Body: Event{Name: "admitted", By: s.Name, Notice: Admitted{Note: note}}})...)
	if err != nil {
		return nil, err
	}
	snapshot, _, err := s.Commit(next, now, Draft{Body: Snapshot{Fold: *next.fold}})
	return append(told, snapshot...), err
}

// Hold is the entries that pause an agent which arrived, in nobody's name, until somebody admits it.
func (s *Signer) Hold(a *Agent, now time.Time, note string) ([]*Entry, error) {
	pause := Event{Name: "arrived", ID: holdOn(a.Heads()), Notice: Pause{Note: note}}
	entries, _, err := s.Commit(a, now, Draft{Body: pause})
	return entries, err
}

// LetGo is the entries by which an agent goes on in spite of holds put on it elsewhere, and the agent with them; none
// for no holds.
func (s *Signer) LetGo(a *Agent, now time.Time, holds ...*Entry) ([]*Entry, *Agent, error) {
	if len(holds) == 0 {
		return nil, a, nil
	}
	ev, err := lettingGo(holds)
	if err != nil {
		return nil, nil, err
	}
	return s.Commit(a, now, Draft{Body: ev})
}
