package perdure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/perdure/perdure/seal"
)

// Collected is what a collection drops, or would drop.
type Collected struct {
	Agent   AgentID `json:"agent"`
	Entries int64   `json:"entries"`
	Bytes   int64   `json:"bytes"`
	Rule    string  `json:"rule"`
	names   []Hash
	next    Time // when the first body goes that is left; zero: none does
	replays bool // nothing of it goes before its end
}

// expired reports whether the body of e has outlived its time. The genesis is kept: it says what the agent is.
func (e *Entry) expired(ttl int64, now Time) bool {
	ttl = e.lasts(ttl)
	return ttl > 0 && e.body != nil && e.Kind != KindGenesis && e.Time+Time(ttl) <= now
}

// lasts is how long the body of e is kept, in an agent with this ttl.
func (e *Entry) lasts(ttl int64) int64 {
	if e.TTL > 0 {
		return e.TTL
	}
	return ttl
}

// settled is how long the entries under a snapshot have lain there before bodies they carry are dropped. An entry that
// was being written meanwhile comes beside or after the snapshot, not before it: what it would take to fold it again
// must not be gone.
const settled = time.Minute

// Expired finds what Collect would drop. Nothing is changed.
func (n *Node) Expired(ctx context.Context, id AgentID) (Collected, error) {
	if err := n.init(); err != nil {
		return Collected{}, fmt.Errorf("look for expired bodies of agent %s: %w", id.Short(), err)
	}
	a, err := Load(ctx, n.Store, id)
	if err != nil {
		return Collected{}, err
	}
	s, err := n.survey(ctx, a, time.Now())
	if err != nil {
		return Collected{}, err
	}
	return s.Collected, nil
}

// Collect drops the bodies that have outlived their time, by the entry's own ttl or the intent's, and takes what they
// said out of the inbox. It first records what goes and why. What it drops is in the past of a snapshot under which
// everything has lain for a while (a minute, or the ttl if that is shorter), and which stays: so every copy that has
// the same entries comes to the same fold, with the bodies or without. The rest goes with a later collection, as does
// what a collection that was cut off has left. What copies did apart stays until the advisor was asked knowing all of
// it. Nothing of an agent goes before its end if its advisor goes through its memory again, as those of package durable
// do: what they did would be done again.
//
// Entries that were written on what came before that snapshot, in a copy made long ago, can then no longer be folded
// here: Mergeable says so before they are added.
func (n *Node) Collect(ctx context.Context, id AgentID) (Collected, error) {
	if err := n.init(); err != nil {
		return Collected{}, fmt.Errorf("collect agent %s: %w", id.Short(), err)
	}
	pruner, ok := n.Store.(Pruner)
	if !ok {
		return Collected{}, fmt.Errorf("collect agent %s: this store keeps every body", id.Short())
	}
	for try := 1; ; try++ {
		c, err := n.collect(ctx, pruner, id)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, ErrConflict) || try == collectTries {
			return Collected{}, fmt.Errorf("collect agent %s: %w", id.Short(), err)
		}
		select { // others write to it: between two of their entries there is room
		case <-ctx.Done():
			return Collected{}, ctx.Err()
		case <-time.After(time.Duration(rand.Int64N(int64(min(try, 20)) * int64(time.Millisecond)))):
		}
	}
}

// collectTries bounds how often a collection begins again because others wrote to the agent.
const collectTries = 200

func (n *Node) collect(ctx context.Context, pruner Pruner, id AgentID) (Collected, error) {
	a, err := n.load(ctx, id)
	if err == nil {
		err = n.trust().Counts(a)
	}
	if err != nil {
		return Collected{}, err
	}
	now := time.Now()
	s, err := n.survey(ctx, a, now)
	if err != nil {
		return Collected{}, err
	}
	on := slices.SortedFunc(slices.Values(a.Heads()), Hash.Compare)
	if len(s.all) > 0 && !slices.Equal(byName(s.all).heads(), on) {
		return Collected{}, ErrConflict // others wrote to it meanwhile
	}
	entries, next, err := s.record(n, a, now)
	if err != nil || len(entries) == 0 {
		return s.Collected, err
	}
	if err := s.rehearse(n, entries, next); err != nil {
		return Collected{}, err
	}
	if s.Bytes, err = n.prune(ctx, pruner, a, next, s.names, entries...); err != nil {
		return Collected{}, err
	}
	if l, ok := n.Store.(Lister); ok { // what is recorded counts in the list, too
		if err := l.Index(ctx, next.Heads(), next.listing(n.trust(), now)); err != nil {
			n.Log.Warn("list agent", "agent", id.Short(), "err", err)
		}
	}
	return s.Collected, nil
}

// survey is what there is to collect of an agent.
type survey struct {
	Collected
	all      []*Entry // in fold order
	base     Hash     // the snapshot that stands for what is dropped; zero: one is to be written
	snapshot bool     // a snapshot of everything is to be written first
	events   []Hash   // the messages whose data leaves the inbox
	vouch    func(*Entry) bool
	now      Time
}

func (n *Node) survey(ctx context.Context, a *Agent, now time.Time) (*survey, error) {
	ttl := a.fold.Intent.TTL
	s := &survey{Collected: Collected{Agent: a.ID(), Rule: "ttl of the entries"}}
	if ttl > 0 {
		s.Rule = fmt.Sprintf("ttl %s of the intent", time.Duration(ttl)*time.Millisecond)
	}
	s.vouch = func(e *Entry) bool { return n.trust().Allows(e.Origin, MayOwn, a.fold.Charter.Scope) }
	t, some := TimeOf(now), false
	s.now = t
	for e, err := range Memory(ctx, n.Store, a.ID()) {
		if err != nil {
			return nil, fmt.Errorf("look for expired bodies of agent %s: %w", a.ID().Short(), err)
		}
		if some = e.content == nil || e.expired(ttl, t); some {
			break
		}
	}
	if !some {
		return s, nil // the usual: not all of it is needed at once
	}
	all, err := collect(Memory(ctx, n.Store, a.ID()))
	if err != nil {
		return nil, fmt.Errorf("look for expired bodies of agent %s: %w", a.ID().Short(), err)
	}
	if s.replays = a.fold.Ended == nil && slices.ContainsFunc(all, (*Entry).replays); s.replays {
		return s, nil
	}
	s.all = sorted(all)
	wait := settled.Milliseconds()
	over, silent := map[Hash]bool{}, map[Hash]bool{} // whose time is up; and whose word is not to be found any more
	due := 0
	for _, e := range s.all {
		silent[e.Name] = e.content == nil
		if !e.expired(ttl, t) {
			continue
		}
		over[e.Name], silent[e.Name] = true, true
		if !e.derived() {
			due++
		}
		wait = min(wait, e.lasts(ttl))
	}
	for i := range a.fold.Inbox {
		if m := &a.fold.Inbox[i]; len(m.Data) > 0 && silent[m.Event] {
			s.events = append(s.events, m.Event)
		}
	}
	if a.fold.hides() && (slices.ContainsFunc(a.fold.fallen, func(m Message) bool { return !silent[m.Event] }) ||
		slices.ContainsFunc(a.fold.echoes, func(h Hash) bool { return !silent[h] }) ||
		slices.ContainsFunc(a.fold.marks, func(m wakeMark) bool { return !silent[m.event] })) {
		s.events = nil // a snapshot would keep them from the advisor, or show it again what it has seen
		return s, nil
	}
	past, keep := s.choose(t-Time(wait), due, over, silent), s.parted(a.fold)
	drop := func(e *Entry) bool {
		return past[e.Name] && e.content != nil && !keep[e.Name] && (over[e.Name] || e.repeats(silent))
	}
	s.next = firstLeft(s.all, ttl, drop)
	if slices.ContainsFunc(s.all, func(e *Entry) bool { return e.repeats(silent) && !drop(e) }) {
		s.next = earliest(s.next, t+Time(wait))
	}
	if !slices.ContainsFunc(s.all, func(e *Entry) bool {
		return drop(e) && (!e.derived() || !over[e.Name] || e.repeats(silent))
	}) {
		return s, nil // snapshots and records go along with others
	}
	for _, e := range s.all {
		if drop(e) {
			s.names = append(s.names, e.Name)
			s.Entries++
			s.Bytes += e.Size
		}
	}
	return s, nil
}

// parted is the advice of copies that were apart which the last one was given without knowing, and what was decided
// about it. The fold keeps only what was proposed last, so until the advisor was asked knowing all of it, only these
// bodies tell how far the others have come.
func (s *survey) parted(f *Fold) map[Hash]bool {
	keep, known := map[Hash]bool{}, map[Hash]bool{}
	if f.straight() || f.Ended != nil {
		return keep
	}
	for _, e := range slices.Backward(s.all) {
		if e.Kind != KindAdvice || known[e.Name] {
			continue
		}
		if keep[e.Name] = len(known) > 0; !keep[e.Name] {
			for _, p := range byName(s.all).past(e.Name) {
				known[p.Name] = true
			}
		}
	}
	for _, e := range s.all {
		if d, ok := e.content.(Decision); ok && keep[d.Advice] {
			keep[e.Name] = true
		}
	}
	return keep
}

// firstLeft is when the first body goes of those that are not dropped; zero: none does.
func firstLeft(all []*Entry, ttl int64, drop func(*Entry) bool) (first Time) {
	for _, e := range all {
		if lasts := e.lasts(ttl); lasts > 0 && e.content != nil && e.Kind != KindGenesis && !e.derived() && !drop(e) {
			first = earliest(first, e.Time+Time(lasts))
		}
	}
	return first
}

// choose is the past of the snapshot that stands for what is dropped: one that is there (base), or one to be written
// now, which leaves out what is silent. Everything under it is from before a time.
func (s *survey) choose(before Time, due int, over, silent map[Hash]bool) map[Hash]bool {
	m := byName(s.all)
	newest := true
	s.snapshot = due > 0
	fits, last := complete(s.all), latest(s.all, s.now) // where something came late, it is folded before a snapshot
	for i, e := range slices.Backward(s.all) {
		if e.Kind != KindSnapshot || e.content == nil || !fits[i] || !newest && last[i] > before || !s.vouch(e) {
			continue
		}
		past, covers := map[Hash]bool{}, 0
		for _, p := range m.past(e.Parents...) {
			if past[p.Name] = true; over[p.Name] && !p.derived() {
				covers++
			}
		}
		if newest {
			newest, s.snapshot = false, covers < due || e.repeats(silent)
		}
		if quiet := s.snapshot && s.quiet(before); last[i] <= before && !quiet {
			s.base = e.Name
			return past
		} else if quiet {
			break
		}
	}
	if !s.snapshot || !s.quiet(before) {
		return nil
	}
	past := map[Hash]bool{}
	for _, e := range s.all {
		past[e.Name] = true
	}
	return past
}

// quiet reports whether nothing was written since a time. Who wrote by a clock that is ahead says nothing of when.
func (s *survey) quiet(since Time) bool {
	return !slices.ContainsFunc(s.all, func(e *Entry) bool { return e.Time > since && e.Time <= s.now })
}

// derived reports whether an entry only tells what others come to, or that their bodies went.
func (e *Entry) derived() bool { return e.Kind == KindSnapshot || e.pruned() }

// pruned reports whether an entry is the record of a collection.
func (e *Entry) pruned() bool {
	ev, _ := e.content.(Event)
	_, is := ev.Notice.(Pruned)
	return is
}

// replays reports whether an entry is advice of somebody who goes through all of memory again: it has to be there.
func (e *Entry) replays() bool {
	adv, _ := e.content.(Advice)
	return adv.Replays
}

// repeats reports whether an entry is a snapshot in which something is still to be read that others said.
func (e *Entry) repeats(silent map[Hash]bool) bool {
	snap, _ := e.content.(Snapshot)
	return slices.ContainsFunc(snap.Fold.Inbox, func(m Message) bool { return len(m.Data) > 0 && silent[m.Event] })
}

// record writes what goes: after a snapshot on the very heads there are, if one is needed, so that what is being
// written on them can be folded beside it. In that the inbox does not say it any more.
func (s *survey) record(n *Node, a *Agent, now time.Time) (entries []*Entry, next *Agent, err error) {
	next = a
	write := func(b Body) {
		if err == nil {
			var more []*Entry
			more, next, err = n.Key.Commit(next, now, Draft{Policy: n.PolicyHash, Body: b})
			entries = append(entries, more...)
		}
	}
	for _, d := range a.flags(n.PolicyHash) {
		write(d.Body)
	}
	if s.snapshot || len(s.events) > 0 {
		write(Snapshot{Fold: *next.fold.unsaid(s.events)})
	}
	if len(s.names) > 0 && err == nil {
		entries, bytes := s.unaccounted(a.depth, n.trust().Dropped(a.fold.Charter, a.fold.Former...))
		write(Event{Name: "pruned", By: runtimeName, Notice: Pruned{
			Rule: s.Rule, Through: cmp.Or(s.base, next.Heads()[0]), Entries: entries,
			Bytes: bytes}})
	}
	return entries, next, err
}

// unaccounted is how much is gone then that no other record tells of that stays: what this collection drops, and of a
// memory that is whole but for that also what those told of that are dropped themselves. Whoever gets the memory counts
// what is missing by the records that count: what nobody accounts for somebody else has left out.
func (s *survey) unaccounted(d Depth, counts func(*Entry) int64) (entries, bytes int64) {
	gone := oneOf(s.names)
	for _, e := range s.all {
		if e.content == nil || gone(e.Name) {
			entries, bytes = entries+1, bytes+e.Size
		} else if n := counts(e); n > 0 {
			entries, bytes = entries-n, bytes-e.content.(Event).Notice.(Pruned).Bytes
		}
	}
	if d != Full {
		return s.Entries, s.Bytes
	}
	return max(entries, s.Entries), max(bytes, s.Bytes)
}

// rehearse folds the memory as the collection would leave it. Whatever is amiss, nothing is dropped that the agent
// needs.
func (s *survey) rehearse(n *Node, entries []*Entry, want *Agent) error {
	if len(s.names) == 0 {
		return nil
	}
	gone := oneOf(s.names)
	var left []*Entry
	for _, e := range slices.Concat(s.all, entries) {
		if gone(e.Name) {
			e = e.Drop()
		}
		left = append(left, e)
	}
	a, err := resume(sorted(left), s.vouch)
	if err != nil {
		return fmt.Errorf("nothing was dropped: without these bodies it could not be folded: %w", err)
	}
	got, err := a.fold.Hash()
	if err != nil {
		return err
	}
	if hash, err := want.fold.Hash(); err != nil || hash != got {
		return errors.Join(errors.New("nothing was dropped: without these bodies its state would be different"), err)
	}
	return nil
}

// Mergeable refuses entries (entry.body-present) that, once added to a memory, would keep it from being folded: they
// were written on what came before a snapshot that stands for bodies that are gone. Ask it before entries of another
// copy are added. The entries hold parents before children; what of them is in the memory is left out. A memory that is
// not there (ErrNotFound) takes everything. Both sequences are ranged over several times.
func Mergeable(memory, entries iter.Seq2[*Entry, error]) error {
	have, bare := map[Hash]bool{}, false
	for e, err := range memory {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		have[e.Name], bare = true, bare || bodiless(e)
	}
	fresh := lacking(entries, func(h Hash) bool { return have[h] })
	var first *Entry
	for e, err := range fresh {
		if err != nil {
			return err
		}
		if first, bare = cmp.Or(first, e), bare || bodiless(e); bare {
			break
		}
	}
	if first == nil || !bare {
		return nil
	}
	if _, err := FoldEntries(memory); err != nil {
		return nil // it cannot be folded as it is: nothing is lost
	}
	here, err := collect(memory)
	if err != nil {
		return err
	}
	more, err := collect(fresh)
	if err != nil {
		return err
	}
	if _, err := resume(sorted(append(here, more...)), nil); err != nil {
		return reject(predBodyPresent, first, "$.body", "entries beside bodies that one of the copies no longer has",
			"entries written after them",
			"the copies parted before one of them collected its past (perdure gc), so they cannot be merged any "+
				"more: go on with the one that has the seat. If that is the one that arrives, perdure import FILE "+
				"--set-aside OLD.agent keeps the one here as a file, and puts the other in its place. To go on with "+
				"the one here, take the seat (perdure seat take); what the other did since they parted it does not "+
				"know, and may do again: look at its log first")
	}
	return nil
}

// erased is the entry of an agent that says that a subject was erased whose key is gone; nil: there is none.
func (n *Node) erased(ctx context.Context, id AgentID, subject string) (*Entry, error) {
	if _, err := n.Vault.Key(subject); !errors.Is(err, seal.ErrErased) {
		return nil, nil // a key that cannot be read can be destroyed
	}
	want := HashOf([]byte(subject))
	for e, err := range Backwards(ctx, n.Store, id, nil) {
		if err != nil {
			return nil, err
		}
		if said, ok := e.content.(Event); ok {
			if x, ok := said.Notice.(Erased); ok && x.Subject == want {
				return e, nil
			}
		}
	}
	return nil, nil
}

// Erase destroys the key of a subject in the node's vault, and with it everything that was ever sealed for it in any
// copy of any agent. First it records that in this agent: a key that is gone without a word would look like damage. If
// it is cut off between the two, do it again: what this agent records already is not recorded twice. It refuses a
// subject the vault never had a key for, with an error that wraps ErrNotFound: a name spelled wrong would be recorded
// as erased while everything can still be read.
func (n *Node) Erase(ctx context.Context, id AgentID, subject, note string) (*Entry, error) {
	if err := n.init(); err != nil { // before anything is destroyed: it could not be recorded
		return nil, fmt.Errorf("erase %s: %w", subject, err)
	}
	if n.Vault == nil {
		return nil, fmt.Errorf("erase %s: this node has no vault", subject)
	}
	if _, err := Load(ctx, n.Store, id); err != nil {
		return nil, err
	}
	known, err := n.Vault.Knows(subject)
	if err == nil && !known {
		err = fmt.Errorf("erase %q: %w: nothing was ever sealed for it with this vault: check the name, or erase it "+
			"where it was sealed", subject, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if e, err := n.erased(ctx, id, subject); e != nil || err != nil {
		return e, err
	}
	e, err := n.Tell(ctx, id, Event{Name: "erased", By: runtimeName,
		Notice: Erased{Subject: HashOf([]byte(subject)), Note: note}})
	if err != nil {
		return nil, err
	}
	n.relist(ctx, id)
	if err := n.Vault.Erase(subject); err != nil {
		return nil, WithHint(fmt.Errorf("erase %q: it is recorded, and its key is still there: %w", subject, err),
			"do it again")
	}
	return e, nil
}
