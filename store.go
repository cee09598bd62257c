package perdure

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/phase"
)

// Store is where agents rest. It keeps entries and derives every index from them; it holds no truth of its own.
//
// Entries handed to a store have been checked by Agent.Apply. A store refuses an entry whose parents it does not hold
// (*Rejection entry.linked), and adding an entry it already holds changes nothing.
type Store interface {
	// Append durably adds entries if heads are still the heads of the memory; no heads creates it. Otherwise it adds
	// nothing and returns an error wrapping ErrConflict. When it returns nil the entries survive any crash.
	Append(ctx context.Context, id AgentID, heads []Hash, entries ...*Entry) error
	// Put durably adds entries whatever the heads are. It is never refused for a conflict.
	Put(ctx context.Context, id AgentID, entries ...*Entry) error
	// Entries yields the memory after a cursor, in the order it arrived here: parents before children. The zero Cursor
	// is the beginning; one below that of an item is just before that item. An entry keeps its cursor, unless the
	// memory had to be written anew (Heal, Replace, a file that was merged): who keeps a cursor keeps the name of its
	// entry with it, and looks whether it still stands there. Of an agent the store does not hold it yields an error
	// wrapping ErrNotFound, and so does Snapshots.
	Entries(ctx context.Context, id AgentID, after Cursor) iter.Seq2[Item, error]
	// Heads returns the entries without a child, ascending, or an error wrapping ErrNotFound.
	Heads(ctx context.Context, id AgentID) ([]Hash, error)
	// Snapshots yields the snapshots to resume from, newest first: those that named every head when they arrived, so
	// that nothing that came before is missing from them, and that still have their body. The item's cursor is where to
	// go on reading.
	Snapshots(ctx context.Context, id AgentID) iter.Seq2[Item, error]
	// Due yields the agents a node should look at, earliest first. An agent with one head is due when that entry says,
	// which its author derived from everything there is, or up to a second before that; one with several is due AtOnce,
	// until a node that has seen them all releases it.
	Due(ctx context.Context, now time.Time) iter.Seq2[Look, error]
	// Close ends the use of the store. What was acknowledged stays. Every later call but Close returns an error
	// wrapping fs.ErrClosed.
	Close() error
}

// Cursor is a place in the order of arrival of one agent's memory in one store, or of all that arrived there, see
// Feeder. Cursors of different stores do not compare.
type Cursor int64

// Item is an entry and where it stands in a store.
type Item struct {
	*Entry
	Cursor Cursor
}

// Look is an agent and when a node should look at it.
type Look struct {
	Agent AgentID
	Due   Time
	Scope string // as the agent is listed; empty: not known. It is a hint, for the share of a node that a scope gets
}

// AtOnce is when a node should look at an agent with several heads: nobody who wrote one of them had seen the others,
// so none of them says when something is to be done. The node that looks folds them together, and says so when it
// releases the agent. It is the earliest time there is, whatever the clock was when the heads arrived.
const AtOnce Time = 1

// Claimer is a store that lets one node at a time work on an agent. A claim saves work, it is not what keeps effects
// single: that is Append. While a claim holds, Due leaves the agent out.
type Claimer interface {
	// Claim takes the agent for the node until the lease ends, at most for MaxLease. It returns an error wrapping
	// ErrConflict when another node holds it. Each claim of an agent has a higher fence than the one before.
	//
	// A node names itself by something no other process has: its key may be shared.
	Claim(ctx context.Context, id AgentID, node Key, lease time.Duration) (Claim, error)
	// Renew moves the end of the lease. It returns an error wrapping ErrConflict when the claim has been lost.
	Renew(ctx context.Context, c Claim, lease time.Duration) error
	// Release gives the claim up and sets when a node should look next; zero: only on an event. A lost claim is not an
	// error. The time is an index: it is ignored if entries arrived that the heads do not cover.
	Release(ctx context.Context, c Claim, heads []Hash, due Time) error
}

// Holder is a Claimer that can say which agents nodes are at work on, and which nodes have died.
type Holder interface {
	// Reclaim ends the claims of nodes that are known to have died, before their leases do: what they had is due now.
	Reclaim(ctx context.Context) error
	// Held yields the agents whose claims hold, and whether the node that has one is known to have died. Nothing is
	// changed.
	Held(ctx context.Context) iter.Seq2[Holding, error]
}

// Holding is an agent some node holds.
type Holding struct {
	Agent AgentID
	Dead  bool // its node is known to have died
}

// Claim is one node's hold on an agent.
type Claim struct {
	Agent AgentID
	Node  Key
	Fence int64
}

// Lister is a store that can say which agents it holds. Every field of a Listing is an index over the fold and can be
// rebuilt.
type Lister interface {
	// List yields the agents that match, by name; those of one name in an order that stays. What it costs does not
	// depend on what comes before Filter.After: all pages of a list together cost about what the list does.
	List(ctx context.Context, f Filter) iter.Seq2[Listing, error]
	// Index records the listing of an agent as folded at heads; it is ignored when the store knows one of more entries,
	// unless these are the heads there are. From entries that are added without it until a listing folded at the heads
	// they make, the agent is listed as behind: that is as durable as the entries.
	Index(ctx context.Context, heads []Hash, l Listing) error
}

// Listing is one line about an agent. Its texts are cut where they are very long, and labels that are, are left out.
type Listing struct {
	Agent   AgentID           `json:"agent"`
	Name    string            `json:"name,omitempty"`
	Kind    string            `json:"kind,omitempty"`
	Scope   string            `json:"scope"`
	State   phase.State       `json:"state"`
	Labels  map[string]string `json:"labels,omitempty"`
	Created Time              `json:"created"`
	Updated Time              `json:"updated"`
	Due     Time              `json:"due,omitempty"`
	Entries int64             `json:"entries"`
	Waiting bool              `json:"waiting,omitempty"` // for a person; time alone can make it so from Due on

	// Behind says that entries came which the line does not tell of: whoever decides or shows by it folds the agent.
	Behind bool `json:"-"`
}

// Filter selects agents. Zero fields select all.
type Filter struct {
	Prefix string            // of the agent's id, in hex
	Name   string            // exact name, or a glob with * and ?
	Kind   string            // exact
	Scope  string            // this scope and below
	States []phase.State     // any of these
	Labels map[string]string // all of these
	Since  Time              // updated at or after
	Before Time              // updated before

	Waiting bool // for a person
	Behind  bool // of which entries came that their lines do not tell of
	Limit   int

	// After is the last agent of the page before: those that follow it in the list are selected. Zero: all. If it is
	// gone since, those of its name may come again. Agents made since the first page may be missing.
	After ListPlace
}

// ListPlace is where an agent stands in a list.
type ListPlace struct {
	Name  string
	Agent AgentID
}

// Place is where the agent stands in a list.
func (l *Listing) Place() ListPlace { return ListPlace{l.Name, l.Agent} }

// Compare orders places by name, then id.
func (p ListPlace) Compare(q ListPlace) int {
	return cmp.Or(cmp.Compare(p.Name, q.Name), bytes.Compare(p.Agent[:], q.Agent[:]))
}

// place is where the list begins, nil: at its beginning.
func (f *Filter) place() *ListPlace {
	if f.After.Agent.IsZero() {
		return nil
	}
	return &f.After
}

// Match reports whether the filter selects l. It leaves Limit and After to the caller.
func (f Filter) Match(l Listing) bool {
	if f.Kind != "" && f.Kind != l.Kind || f.Scope != "" && !InScope(l.Scope, f.Scope) || f.Name != "" &&
		!matchGlob(f.Name, l.Name) {
		return false
	}
	if f.Since != 0 && l.Updated < f.Since || f.Before != 0 && l.Updated >= f.Before {
		return false
	}
	if f.Waiting && !l.Waiting || f.Behind && !l.Behind {
		return false
	}
	if len(f.States) > 0 && !slices.Contains(f.States, l.State) {
		return false
	}
	for k, v := range f.Labels {
		if got, ok := l.Labels[k]; !ok || got != v {
			return false
		}
	}
	return f.Prefix == "" || strings.HasPrefix(l.Agent.String(), strings.ToLower(f.Prefix))
}

// matchGlob reports whether all of s matches pattern, in which * stands for any run of characters and ? for one.
func matchGlob(pattern, s string) bool {
	p, t := []rune(pattern), []rune(s)
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(string(p[i:]), "*") == ""
}

// Watcher is a store that can tell when entries arrive, from this process or another.
type Watcher interface {
	// Watch yields the ids of agents that got entries, until ctx ends. It may yield an id more than once, and yields
	// the zero AgentID when it cannot tell which agents changed.
	Watch(ctx context.Context) iter.Seq2[AgentID, error]
}

// Feeder is a store that keeps the order in which the entries of all its agents arrived: what streams and notifications
// resume from.
//
// A position in it is the Cursor of an item that Feed yielded, or one that FeedEnd returned; zero is before everything.
// It is not a cursor of Entries. Positions grow in the order of arrival, whichever process wrote: nothing that arrives
// later ever appears at or before a position that was yielded or returned, so whoever keeps only the last position
// misses nothing. Where entries are pruned, their positions stay, without bodies. Where a store had to write the memory
// of an agent anew (Heal, Replace, a file that came back), all of it arrives again: who must do something once per
// entry goes by its name. Entries that cannot be read are left out, and arrive once healed.
//
// Positions are of one feed. A store that cannot go on with it, because it was rebuilt, restored from a backup, copied,
// or may have lost what it showed, begins another, whose id no feed had before. Positions of an earlier feed mean
// nothing then: compare FeedEnd before reading with the id kept beside a position, and once more before keeping the
// next position.
type Feeder interface {
	// Feed yields what arrived after a position, oldest first, over all agents, and ends where there is nothing more
	// for now. What Heads showed is in it from then on, unless another write is stuck. What it costs depends on what is
	// new. After a position behind the end it yields an error wrapping ErrNotFound: that is of another feed.
	Feed(ctx context.Context, after Cursor) iter.Seq2[Item, error]
	// FeedEnd returns the id of the feed, and the position of what arrived last.
	FeedEnd(ctx context.Context) (feed Hash, end Cursor, err error)
}

// Beyond is the refusal of a position by a feed that ends before it.
func (c Cursor) Beyond(end Cursor) error {
	return fmt.Errorf("position %d of the feed, which ends at %d: %w: the store was restored or rebuilt; begin at 0",
		c, end, ErrNotFound)
}

// Pruner is a store that can drop bodies.
type Pruner interface {
	// Prune durably adds entries as Append does, and drops the bodies of those that are named, which stay. It does both
	// if heads are still the heads of the memory. Otherwise it does neither, and returns an error wrapping ErrConflict.
	// It returns how many bytes of bodies went.
	//
	// Whoever reads what was added may still find some of the bodies until Prune returns, and after a crash until
	// somebody prunes them again: go by what the entries say, not by which bodies are there. From the moment that
	// anything was added, an Append on the heads from before is a conflict.
	Prune(ctx context.Context, id AgentID, heads, names []Hash, entries ...*Entry) (int64, error)
}

// putBytes is up to how much of a sequence is added in one Put. A store that takes in a sequence has to know all it
// holds of the agent, or writes that anew: what is short must cost what is new.
const putBytes = 8 << 20

// PutAll durably adds the entries of a sequence to a store, all or none. A short one is one Put, and so is a longer one
// where the store is no Parter.
func PutAll(ctx context.Context, s Store, id AgentID, entries iter.Seq2[*Entry, error]) error {
	return putAll(ctx, s, id, entries, func(all []*Entry) error { return s.Put(ctx, id, all...) })
}

// putOn is PutAll if heads are still the heads of the memory, else it returns an error wrapping ErrConflict. A sequence
// that takes more than one Put is added in any case.
func putOn(ctx context.Context, s Store, id AgentID, heads []Hash, entries iter.Seq2[*Entry, error]) error {
	return putAll(ctx, s, id, entries, func(all []*Entry) error { return s.Append(ctx, id, heads, all...) })
}

func putAll(ctx context.Context, s Store, id AgentID, entries iter.Seq2[*Entry, error],
	put func([]*Entry) error) error {
	p, streams := s.(Parter)
	var all []*Entry
	size := 0
	for e, err := range entries {
		if err != nil {
			return err
		}
		if size += len(e.HeaderBytes()) + len(e.BodyBytes()); streams && size > putBytes {
			return p.PutAll(ctx, id, entries)
		}
		all = append(all, e)
	}
	return put(all)
}
