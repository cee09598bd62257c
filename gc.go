package perdure

import (
	"context"
	"fmt"
	"time"
)

// Collected is what a collection drops, or would drop.
type Collected struct {
	Agent   AgentID `json:"agent"`
	Entries int64   `json:"entries"`
	Bytes   int64   `json:"bytes"`
	Rule    string  `json:"rule"`
	names   []Hash
}

// expired reports whether the body of e has outlived its time. The genesis is kept: it says what the agent is.
func (e *Entry) expired(ttl int64, now Time) bool {
	if e.TTL > 0 {
		ttl = e.TTL
	}
	return ttl > 0 && e.body != nil && e.Kind != KindGenesis && e.Time+Time(ttl) <= now
}

// Expired finds the bodies of an agent that have outlived their time, by the entry's own ttl or the intent's. Nothing is changed.
func (n *Node) Expired(ctx context.Context, id AgentID) (Collected, error) {
	n.init()
	a, err := Load(ctx, n.Store, id)
	if err != nil {
		return Collected{}, err
	}
	return n.expired(ctx, a)
}

func (n *Node) expired(ctx context.Context, a *Agent) (Collected, error) {
	ttl := a.fold.Intent.TTL
	c := Collected{Agent: a.ID(), Rule: "ttl of the entries"}
	if ttl > 0 {
		c.Rule = fmt.Sprintf("ttl %s of the intent", time.Duration(ttl)*time.Millisecond)
	}
	now := TimeOf(time.Now())
	for e, err := range Memory(ctx, n.Store, a.ID()) {
		if err != nil {
			return Collected{}, fmt.Errorf("look for expired bodies of agent %s: %w", a.ID().Short(), err)
		}
		if e.expired(ttl, now) {
			c.names = append(c.names, e.Name)
			c.Entries++
			c.Bytes += e.Size
		}
	}
	return c, nil
}

// Collect drops the bodies that Expired finds. It first writes a snapshot of everything and a record of what goes and why, so that the agent
// goes on and everything still verifies. A collection that was cut off is finished by the next one.
func (n *Node) Collect(ctx context.Context, id AgentID) (Collected, error) {
	n.init()
	pruner, ok := n.Store.(Pruner)
	if !ok {
		return Collected{}, fmt.Errorf("collect agent %s: this store keeps every body", id.Short())
	}
	a, err := n.load(ctx, id)
	if err == nil {
		err = n.caps.Trust.Counts(a)
	}
	if err != nil {
		return Collected{}, fmt.Errorf("collect agent %s: %w", id.Short(), err)
	}
	c, err := n.expired(ctx, a)
	if err != nil || c.Entries == 0 {
		return c, err
	}
	heads := a.Heads()
	now := time.Now()
	recorded, next, err := n.Key.Commit(a, now, Draft{Policy: n.PolicyHash, Body: Event{
		Name: "pruned", By: "runtime", Notice: Pruned{Rule: c.Rule, Through: heads[0], Entries: c.Entries, Bytes: c.Bytes},
	}})
	if err != nil {
		return Collected{}, err
	}
	snapshot, _, err := n.Key.Commit(next, now, Draft{Policy: n.PolicyHash, Body: Snapshot{Fold: *next.fold}})
	if err != nil {
		return Collected{}, err
	}
	if err := n.Store.Append(ctx, id, heads, append(recorded, snapshot...)...); err != nil {
		return Collected{}, fmt.Errorf("record what is pruned of agent %s: %w", id.Short(), err)
	}
	if c.Bytes, err = pruner.Prune(ctx, id, c.names...); err != nil {
		return Collected{}, fmt.Errorf("prune agent %s: %w", id.Short(), err)
	}
	return c, nil
}

// Erase destroys the key of a subject in the node's vault, and with it everything that was ever sealed for it in any copy of any agent, and
// records in this agent that it was done. It refuses a subject the vault never had a key for, with an error that wraps ErrNotFound: a name
// spelled wrong would be recorded as erased while everything can still be read.
func (n *Node) Erase(ctx context.Context, id AgentID, subject, note string) (*Entry, error) {
	if n.Vault == nil {
		return nil, fmt.Errorf("erase %s: this node has no vault", subject)
	}
	if _, err := Load(ctx, n.Store, id); err != nil {
		return nil, err
	}
	if v, ok := n.Vault.(Knower); ok {
		known, err := v.Knows(subject)
		if err == nil && !known {
			err = fmt.Errorf("erase %q: %w: nothing was ever sealed for it with this vault: look at the name again, or erase where it was sealed", subject, ErrNotFound)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := n.Vault.Erase(subject); err != nil {
		return nil, err
	}
	return n.Tell(ctx, id, Event{Name: "erased", By: "runtime", Notice: Erased{Subject: HashOf([]byte(subject)), Note: note}})
}
