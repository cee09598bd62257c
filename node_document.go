package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/keeper"
)

// CreateAsleep creates an agent that only keeps what it is told, or returns the one that was created so before: the
// same genesis by the same key is the same agent, whichever process is first. It sleeps from its first commit on, so
// that no advisor is ever asked about it.
func (n *Node) CreateAsleep(ctx context.Context, g Genesis) (*Agent, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	at, err := n.here(ctx)
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	genesis, err := n.Key.onlyGenesis(g)
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	there, err := n.Load(ctx, AgentID(genesis.Name))
	if !errors.Is(err, ErrNotFound) {
		return there, err
	}
	entries, a, err := n.asleep(ctx, genesis, at.ID)
	if err != nil {
		return nil, fmt.Errorf("create agent: %w", err)
	}
	// One of this name may have been here, and the store been put back to before: then this is an older copy of it.
	_, err = n.store(ctx, a, a, func() error { return n.Store.Append(ctx, a.ID(), nil, entries...) })
	switch {
	case errors.Is(err, ErrConflict):
		return n.Load(ctx, a.ID()) // another process was first
	case err != nil:
		return nil, fmt.Errorf("create agent: %w", err)
	}
	return a, nil
}

// asleep is the first commit of an agent that CreateAsleep creates: its genesis, its seat, and the decision to sleep.
func (n *Node) asleep(ctx context.Context, genesis *Entry, at Hash) ([]*Entry, *Agent, error) {
	if err := n.guard(genesis); err != nil {
		return nil, nil, err
	}
	a, err := new(Agent).apply([]*Entry{genesis}, true)
	if err != nil {
		return nil, nil, err
	}
	draft := Draft{Policy: n.PolicyHash, Trace: n.traceIn(ctx)}
	sits, rests := draft, draft
	sits.Body = Event{Name: "seat-taken", By: n.Key.Name, Notice: SeatTaken{At: at}}
	rests.Body = Decision{
		Action:  Sleep{Trigger: On{Event: keeper.Never}, Note: "it keeps documents; nothing has to be done"},
		Verdict: Verdict{Answer: Allow, Rules: []string{"runtime.keeps"}},
	}
	more, a, err := n.Key.Commit(a, time.Now(), sits, rests)
	if err != nil {
		return nil, nil, err
	}
	return append([]*Entry{genesis}, more...), a, nil
}

// Writing is a version of a document to be written, and what of its entry the author chooses.
type Writing struct {
	Document Document
	By       string        // who says so, if it is not the owner of the key
	TTL      time.Duration // how long the text is kept; zero: as the intent says
	ID       string        // the author's own id of this version: a second one with it changes nothing
}

// Write writes versions of documents to the memory of an agent, in one commit, if heads are still its heads; without
// heads, whatever they are. Otherwise it writes nothing and returns an error that wraps ErrConflict. So who has read
// everything up to heads knows that nothing came between. An agent that has ended takes documents, too. Its cost is
// that of Tell.
func (n *Node) Write(ctx context.Context, id AgentID, heads []Hash, versions ...Writing) ([]*Entry, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("write to agent %s: %w", id.Short(), err)
	}
	for range maxTells {
		e, err := n.write(ctx, id, heads, versions)
		if errors.Is(err, errStopped) {
			continue
		}
		if err == nil {
			n.relist(ctx, id)
		}
		return e, err
	}
	return nil, fmt.Errorf("write to agent %s: the store is too slow, or this process is stopped again and again; "+
		"write it again", id.Short())
}

func (n *Node) write(ctx context.Context, id AgentID, heads []Hash, versions []Writing) ([]*Entry, error) {
	a, derived, begun, err := n.listening(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(versions) == 1 && versions[0].ID != "" {
		ev := Event{Name: "document", By: versions[0].By, ID: versions[0].ID, Notice: versions[0].Document}
		if a.fold.Received(&ev) {
			if e, err := n.first(ctx, a, &ev); e != nil || err != nil {
				return []*Entry{e}, err
			}
		}
	}
	if heads != nil && !slices.Equal(heads, a.Heads()) {
		return nil, fmt.Errorf("write to agent %s: %w: something else was written to it meanwhile", id.Short(),
			ErrConflict)
	}
	drafts := make([]Draft, len(versions))
	for i, w := range versions {
		ev := Event{Name: "document", By: w.By, ID: w.ID, Notice: w.Document}
		drafts[i] = Draft{Body: ev, Policy: n.PolicyHash, Trace: n.traceIn(ctx), TTL: w.TTL}
	}
	entries, told, err := n.Key.Commit(a, time.Now(), drafts...)
	for _, e := range entries {
		if err == nil {
			err = n.guard(e)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write to agent %s: %w", id.Short(), err)
	}
	written := entries[len(entries)-len(drafts):]
	if derived {
		entries, told = n.summed(ctx, a, told, entries)
	}
	if time.Since(begun) > settled/4 {
		return nil, errStopped
	}
	current := true
	if heads != nil {
		err = n.append(ctx, a, told, entries...)
	} else {
		current, err = n.put(ctx, a, told, entries...)
	}
	if err != nil {
		return nil, fmt.Errorf("write to agent %s: %w", id.Short(), err)
	}
	if current && derived {
		n.remember(told)
	}
	return slices.Clone(written), nil
}
