package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// older is a copy of an agent that lacks entries this home has seen of it.
type older struct {
	Seen    perdure.Time `json:"seen,omitzero"`  // when
	Missing int64        `json:"missing"`        // how many entries, at least
	Gone    bool         `json:"gone,omitempty"` // the agent is not there at all

	name string // in a command
}

// what says what is missing.
func (o *older) what() string {
	on := ""
	if o.Seen != 0 {
		on = " on " + o.Seen.Go().Local().Format("2006-01-02 15:04")
	}
	if o.Gone {
		return fmt.Sprintf("%s was seen here%s and is not here any more", o.name, on)
	}
	is := "entry is"
	if o.Missing != 1 {
		is = "entries are"
	}
	return fmt.Sprintf("this copy is older than one seen here%s: %d %s missing", on, o.Missing, is)
}

// fix says what to do.
func (o *older) fix() string {
	if o.Gone {
		return "import a good copy, or " + suggest("doctor --forget") + " to forget it"
	}
	return "import a good copy, or " + suggest("resume") + " " + o.name + " --older to go on from here"
}

func (o *older) String() string { return o.what() + "; " + o.fix() }

// lookWitness is what this home has seen, to be asked only: looking is not seeing. Nil for a home in memory.
func (h *home) lookWitness() (*sqlite.Witness, error) {
	if h.dir == "" || h.looked != nil {
		return h.looked, nil
	}
	w, err := sqlite.LookWitness(filepath.Join(h.dir, witnessFile))
	if err != nil {
		return nil, err
	}
	h.looked = w
	return w, nil
}

// behind says what this copy of an agent lacks of what was seen here; nil: nothing.
func (h *home) behind(ctx context.Context, s perdure.Store, a *perdure.Agent) (*older, error) {
	w, err := h.lookWitness()
	if w == nil || err != nil {
		return nil, err
	}
	seen, err := w.Sighting(a.ID())
	if err != nil {
		return nil, err
	}
	missing, err := perdure.Behind(ctx, s, a, seen.Heads)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	return &older{Seen: seen.At, Missing: max(seen.Seq-a.Fold().Seq, int64(len(missing))), name: callable(a)}, nil
}

// storePath is the store as a witness notes it.
func (h *home) storePath() string {
	if h.agent != "" { // a file that is run is a store of its own
		if path, err := filepath.Abs(h.agent); err == nil {
			return path
		}
	}
	if path, err := filepath.Abs(h.file); err == nil {
		return path
	}
	return h.file
}

// listed is one line of ls: what the index says, and what is wrong with the agent.
type listed struct {
	perdure.Listing
	Depth   string `json:"depth,omitempty"`   // how much of its memory is here
	Damaged string `json:"damaged,omitempty"` // why it cannot be read
	Older   *older `json:"older,omitempty"`
}

// header reads the heads of agents as far as the store knows them without reading memories.
type header interface {
	Tops(ctx context.Context) (map[perdure.AgentID][]perdure.Hash, error)
}

// check finds what is wrong with the agents that are listed, as far as their heads tell, and adds those that are damaged or gone.
// All says that nothing was left out of the list.
func (h *home) check(ctx context.Context, s perdure.Store, found []perdure.Listing, all bool) ([]listed, error) {
	out := make([]listed, len(found))
	known := map[perdure.AgentID]bool{}
	heads := func(id perdure.AgentID) ([]perdure.Hash, error) { return s.Heads(ctx, id) }
	if t, ok := s.(header); ok {
		tops, err := t.Tops(ctx)
		if err != nil {
			return nil, err
		}
		heads = func(id perdure.AgentID) ([]perdure.Hash, error) { return tops[id], nil }
	}
	w, err := h.lookWitness()
	if err != nil {
		return nil, err
	}
	seen := map[perdure.AgentID]sqlite.Sighting{}
	if w != nil {
		for id, one := range w.Sightings() {
			seen[id] = one
		}
	}
	for i, one := range found {
		known[one.Agent] = true
		if out[i], err = h.checkOne(ctx, s, one, seen[one.Agent].Heads, heads); err != nil {
			return nil, err
		}
	}
	if !all {
		return out, nil
	}
	ill, err := h.ailing(ctx, s)
	if err != nil {
		return nil, err
	}
	for id, x := range ill {
		if !known[id] {
			known[id] = true
			out = append(out, listed{Listing: perdure.Listing{Agent: id, Name: x.Name}, Damaged: x.Reason.Error()})
		}
	}
	for id, one := range seen {
		if known[id] || one.Store != h.storePath() {
			continue
		}
		if _, err := s.Heads(ctx, id); errors.Is(err, perdure.ErrNotFound) {
			gone := &older{Seen: one.At, Missing: one.Seq + 1, Gone: true, name: id.Short()}
			out = append(out, listed{Listing: perdure.Listing{Agent: id}, Older: gone})
		}
	}
	more := out[len(found):]
	slices.SortFunc(more, func(a, b listed) int { return perdure.Hash(a.Agent).Compare(perdure.Hash(b.Agent)) })
	return out, nil
}

// ailing is the agents a store knows to be damaged.
func (h *home) ailing(ctx context.Context, s perdure.Store) (map[perdure.AgentID]perdure.Ailment, error) {
	if x, ok := s.(perdure.Healer); ok {
		return x.Ailing(ctx)
	}
	return nil, nil
}

// checkOne compares the heads of an agent with those that were seen, and reads its memory only where they differ.
func (h *home) checkOne(ctx context.Context, s perdure.Store, one perdure.Listing, seen []perdure.Hash, heads func(perdure.AgentID) ([]perdure.Hash, error)) (listed, error) {
	out := listed{Listing: one}
	d, err := perdure.DepthOf(ctx, s, one.Agent)
	if err == nil {
		out.Depth = d.String()
	}
	now, err := heads(one.Agent)
	if err == nil && (len(seen) == 0 || slices.Equal(now, seen)) {
		return out, nil
	}
	var a *perdure.Agent
	if err == nil {
		a, err = perdure.Load(ctx, s, one.Agent)
	}
	if err == nil {
		out.Older, err = h.behind(ctx, s, a)
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out.Damaged = err.Error()
	}
	return out, nil
}

// wrong is what is wrong with an agent that is listed, and what to do; empty: nothing.
func (l *listed) wrong() (what, fix string) {
	switch {
	case l.Damaged != "":
		return calledBy(l.Name, l.Agent) + " is damaged: " + l.Damaged, suggest("doctor --repair") + ", or import a good copy"
	case l.Older != nil && l.Older.Gone:
		return l.Older.what(), l.Older.fix()
	case l.Older != nil:
		return calledBy(l.Name, l.Agent) + ": " + l.Older.what(), l.Older.fix()
	}
	return "", ""
}

// standing is how an agent is listed.
func (l *listed) standing() string {
	switch {
	case l.Damaged != "":
		return "damaged"
	case l.Older != nil && l.Older.Gone:
		return "gone"
	case l.Older != nil:
		return "older"
	}
	return l.State.String()
}

// forget misses the agents no longer that were seen in this store and are not in it any more. How far they had come is not forgotten: an old copy
// that turns up is not to do again what was done since.
func (h *home) forget(ctx context.Context, s perdure.Store) (gone []perdure.AgentID, err error) {
	w, err := h.witness()
	seen, ok := w.(*sqlite.Witness)
	if !ok || err != nil {
		return nil, err
	}
	for id, one := range seen.Sightings() {
		if one.Store != h.storePath() {
			continue
		}
		if _, err := s.Heads(ctx, id); errors.Is(err, perdure.ErrNotFound) {
			if err := seen.Unplace(id); err != nil {
				return gone, err
			}
			gone = append(gone, id)
		}
	}
	return gone, nil
}
