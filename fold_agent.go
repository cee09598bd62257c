package perdure

import (
	"fmt"
	"iter"
	"slices"
)

// Agent is an agent as a node sees it: the fold of the entries it was given, and the recent ones of them. It is
// immutable: Apply returns a new one. Any order of arrival gives the same fold, byte for byte.
type Agent struct {
	fold  *Fold
	prev  segment  // the entries before cur
	cur   segment  // the most recent entries
	top   Position // of the last entry folded
	early []*Entry // waiting for their parents or for the signature that covers them
	full  bool     // hold every entry, however many
	bare  bool     // fold entries without their bodies, as nothing
	depth Depth    // of the memory it was loaded from

	authors *authored // who wrote the entries folded
	epoch   int64     // of the seat, for the advisor of a node that has it
	asker   *Trust    // whom the node trusts that asks its advisor; nil: nobody asks
}

// segment is a run of entries in fold order, and the fold before them: nil when they begin with genesis.
type segment struct {
	base    *Fold
	authors *authored // of what base is the fold of
	last    *link
	n       int
	size    int64 // of the bodies
}

// next is an agent that goes on from a, with nothing waiting.
func (a *Agent) next() *Agent {
	n := *a
	n.early = nil
	return &n
}

// link is one folded entry and the one before it.
type link struct {
	*Entry
	before *link
	unseen           // the acts folded before it that are not in its past
	void   bool      // of a revoked key: see Counting
	moved  *authored // if it moved the agent to another scope: what that took
	here   bool      // it overrules somebody
}

// Fold is what memory comes to. It must not be changed.
func (a *Agent) Fold() *Fold { return a.fold }

// Epoch is that of the agent's seat, as a node tells the advisor it asks: zero where the agent is a copy, and to
// everybody else.
func (a *Agent) Epoch() int64 { return a.epoch }

// SaidBy is who said what a key signed under a name, for an advisor, as the node that asks it trusts: see Trust.SaidBy.
// By itself an agent takes everybody at their word.
func (a *Agent) SaidBy(k Key, as string) (who string, known bool) {
	return a.asker.SaidBy(a.fold, k, &Event{By: as})
}

// ID is the agent's name for life.
func (a *Agent) ID() AgentID { return a.fold.Agent }

// Heads are the entries without a child, ascending: what the next entry names as its parents.
func (a *Agent) Heads() []Hash {
	heads := make([]Hash, len(a.fold.Heads))
	for i := range heads {
		heads[i] = a.fold.Heads[i].Name
	}
	return heads
}

// Recent yields the entries still held, newest first.
func (a *Agent) Recent() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, s := range []segment{a.cur, a.prev} {
			for l := s.last; l != nil; l = l.before {
				if !yield(l.Entry) {
					return
				}
			}
		}
	}
}

// recent is the entry of this name, if it is still held.
func (a *Agent) recent(name Hash) *Entry {
	for e := range a.Recent() {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// holds reports whether an entry is among those still held, or was a head before them.
func (a *Agent) holds(name Hash) bool {
	w := a.window()
	return w.byName[name] != nil || (w.base != nil && w.base.head(name) != nil)
}

// missing names the parents that entries given to Apply are still waiting for.
func (a *Agent) missing() []Hash {
	have := map[Hash]bool{}
	for _, e := range a.early {
		have[e.Name] = true
	}
	w := a.window()
	for name := range w.byName {
		have[name] = true
	}
	if w.base != nil {
		for _, h := range w.base.Heads {
			have[h.Name] = true
		}
	}
	var missing []Hash
	for _, e := range a.early {
		for _, p := range e.Parents {
			if !have[p] {
				missing = append(missing, p)
			}
		}
	}
	slices.SortFunc(missing, Hash.Compare)
	return slices.Compact(missing)
}

// Diverged says in words where branches of this memory did not go together, and which heads it has if more than one. It
// is empty for a memory nobody wrote to from two places at once.
func (a *Agent) Diverged() []string {
	var out []string
	if n := len(a.fold.Heads); n > 1 {
		text := fmt.Sprintf("%d heads", n)
		if a.fold.Ended == nil {
			text += ": the next entry joins them"
		}
		out = append(out, text)
		for _, h := range a.fold.Heads {
			out = append(out, fmt.Sprintf("  head %s at seq %d", h.Name.Short(), h.Seq))
		}
	}
	for _, c := range a.fold.Conflicts {
		out = append(out, fmt.Sprintf("entry %s: %s", c.Entry.Short(), c.What))
	}
	for _, h := range a.fold.happened {
		out = append(out, fmt.Sprintf("decision %s: %s was recorded as %s, but it did happen", h.decision.Short(),
			h.tool, h.as))
	}
	return out
}

// Begin is the agent that a genesis entry begins.
func Begin(genesis *Entry) (*Agent, error) { return new(Agent).Apply(genesis) }

// FromSnapshot is the agent as of a snapshot entry, whose fold is taken as it stands: on the word of whoever signed it.
// Verify derives snapshots again; Trust.Load takes only those of people trusted to own the agent.
func FromSnapshot(snapshot *Entry) (*Agent, error) {
	s, ok := snapshot.content.(Snapshot)
	if !ok {
		return nil, fmt.Errorf("resume %s: entry %s is not a snapshot with its body", snapshot.Agent.Short(),
			snapshot.Name.Short())
	}
	if s.Fold.Agent != snapshot.Agent {
		return nil, reject(predAgent, snapshot, "$.body.content.snapshot.fold.agent", s.Fold.Agent.Short(),
			snapshot.Agent.Short(), "the snapshot is of another agent")
	}
	f := s.Fold.clone().forgetful()
	f.step(snapshot, false, f.known(snapshot.Parents))
	return fromFold(f, snapshot.Position(), snapshot), nil
}

// fromFold is an agent that goes on from a fold at a position, for which the author of a snapshot vouches. To be
// believed in everything takes the right to own.
func fromFold(f *Fold, top Position, snapshot *Entry) *Agent {
	authors := vouched(nil, authored{key: snapshot.Origin, right: MayOwn, scope: f.Charter.Scope, entry: snapshot.Name,
		count: f.Count})
	a := &Agent{fold: f.clone(), cur: segment{base: f, authors: authors}, top: top, authors: authors}
	a.fold.judged = new(judged)
	return a
}

// beforeSnapshot is FromSnapshot without the snapshot itself, which is to be folded next. From there entries can be
// folded that were written beside the snapshot, on the heads it names: whatever is in its past comes before both.
func beforeSnapshot(snapshot *Entry) (*Agent, error) {
	if _, err := FromSnapshot(snapshot); err != nil {
		return nil, err
	}
	s, _ := snapshot.content.(Snapshot)
	top := Position{Seq: s.Fold.Seq}
	for i := range top.Name {
		top.Name[i] = 0xff // everything of this seq is folded
	}
	return fromFold(s.Fold.clone().forgetful(), top, snapshot), nil
}
