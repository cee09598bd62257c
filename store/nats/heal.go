package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// Heal implements perdure.Healer. What can be read of the agent, what lies aside of it and the good copy are put
// together.
func (s *Store) Heal(ctx context.Context, id perdure.AgentID, good []*perdure.Entry) (out perdure.Healed, err error) {
	if err := s.writable(ctx); err != nil {
		return out, s.wrote("heal", id, err)
	}
	done, err := s.turns.Take(ctx, id)
	if err != nil {
		return out, s.wrote("heal", id, err)
	}
	defer done()
	if _, err := s.indexed(ctx, s.streams.list, s.streams.lists(id)); err != nil {
		return out, s.wrote("heal", id, err) // a line of it is written as soon as it can be read
	}
	for out, err = s.heal(ctx, id, good); errors.Is(err, errMoved); {
		out, err = s.heal(ctx, id, good)
	}
	if err == nil && out.Entries > 0 {
		var a *perdure.Agent
		if a, err = perdure.Load(ctx, s, id); err == nil {
			err = s.list(ctx, a.Heads(), a.Listing(time.Now()), true)
		}
	}
	return out, s.wrote("heal", id, err)
}

// heal takes nothing out of the log: nats-server (2.15) that purges some of a file with a message that it cannot read
// drops what comes after that one, also of other agents and what the repair has just written.
func (s *Store) heal(ctx context.Context, id perdure.AgentID, good []*perdure.Entry) (out perdure.Healed, err error) {
	s.states.forget(id) // what was known to be there may be lost
	found, err := s.salvage(ctx, id)
	if err != nil {
		return out, err
	}
	aside, err := s.asideOf(ctx, id)
	if err != nil {
		return out, err
	}
	if found.last == 0 && found.faults == 0 && found.vouched == 0 && len(aside) == 0 {
		return out, perdure.ErrNotFound
	}
	if len(good) == 0 {
		if err := found.depth.Healable(); err != nil {
			return out, err
		}
	}
	whole, rest := out.Join(slices.Concat(found.entries, aside, good))
	out.Gained, out.Aside = out.Gained+out.Entries-int64(len(found.entries)), int64(len(rest))
	if found.faults > 0 {
		out.Leave = leave
	}
	if found.faults == 0 && out.Gained == 0 {
		return out, nil // nothing is wrong with what is in its place, and nothing lies aside that joins it
	}
	if len(whole)+len(rest) == 0 {
		return out, nil // it stays where it is: nothing else would tell that there was such an agent
	}
	out.Short = len(good) == 0 && (found.short || found.count > out.Entries)
	if err := s.setAside(ctx, id, rest); err != nil {
		return out, err
	}
	if len(whole) == 0 {
		gone := &commit{prev: found.last}
		if err := s.commit(ctx, id, gone); err != nil {
			return out, err
		}
		return out, s.unlist(ctx, id)
	}
	_, _, err = s.renew(ctx, id, found.last, perdure.Full, func(yield func(*perdure.Entry, error) bool) {
		for _, e := range whole {
			if !yield(e, nil) {
				return
			}
		}
	})
	return out, err
}

// left is what is in the place of the listing of an agent that went, by the names of a listing.
type left struct {
	Name string `json:"name,omitempty"`
}

// unlist takes an agent of which all lies aside off the list. Its name stays there: only its genesis has it besides.
func (s *Store) unlist(ctx context.Context, id perdure.AgentID) error {
	m, err := s.indexed(ctx, s.streams.list, s.streams.lists(id))
	if err != nil {
		return err
	}
	b, err := json.Marshal(left{nameIn(m)})
	if err == nil {
		_, err = s.store(ctx, s.streams.lists(id), b, anything)
	}
	return err
}

// nameIn is the name in the listing of an agent, also of one that went; empty: it has none.
func nameIn(m *message) string {
	var l left
	if m == nil || json.Unmarshal(m.Data, &l) != nil {
		return ""
	}
	return l.Name
}

// salvaged is what can be read of an agent.
type salvaged struct {
	entries []*perdure.Entry
	faults  int
	last    uint64 // its last message, whatever is in it; zero: there is none, or it cannot be read
	vouched uint64 // the last of which a claim or a listing knows; zero: there is none
	count   int64  // how many entries the last that can be read says there are
	short   bool   // its end is lost
	depth   perdure.Depth
}

// vouched is the last commit that the claim or the listing of an agent names.
func (s *Store) vouched(ctx context.Context, id perdure.AgentID) (uint64, error) {
	var r record
	var l placed
	m, err := s.indexed(ctx, s.streams.claim, s.streams.claims(id))
	if errors.Is(err, errIndex) {
		err = nil
	}
	if err == nil && m != nil && json.Unmarshal(m.Data, &r) != nil {
		r = record{} // an index: it vouches for nothing
	}
	if err == nil {
		m, err = s.indexed(ctx, s.streams.list, s.streams.lists(id))
	}
	if err == nil && m != nil {
		if known, good := listingOf(id, m.Data); good {
			l = known
		}
	}
	return max(r.At, l.At), err
}

// salvage reads every entry that is what was written, and counts what is wrong.
func (s *Store) salvage(ctx context.Context, id perdure.AgentID) (out salvaged, err error) {
	out.vouched, err = s.vouched(ctx, id) // before the log, which is then no older
	if err != nil {
		return out, err
	}
	m, err := s.last(ctx, s.streams.log, s.streams.logs(id))
	rotten := errors.Is(err, errRotten)
	if rotten {
		out.faults++
		m, err = s.legibleEnd(ctx, id)
	}
	if err != nil || m == nil {
		out.short = rotten || out.vouched > 0
		return out, err
	}
	first, end := uint64(1), m.Seq
	if !rotten { // else the server takes what is written next for the first
		out.last = end
	}
	if tip, err := decodeCommit(id, m.Seq, m.Data); err == nil {
		first, out.depth = tip.root(), tip.depth
		if tip.gone() {
			return out, nil
		}
	}
	var last *commit
	for m, err := range s.between(ctx, s.streams.logs(id), first, end) {
		if err != nil {
			return out, err
		}
		c, err := decodeCommit(id, m.Seq, m.Data)
		if err != nil {
			out.faults++
			continue
		}
		for _, missing := range s.missing(ctx, id, last, c) {
			if missing == nil {
				out.faults++
			} else {
				s.legible(ctx, id, missing, &out)
			}
		}
		s.legible(ctx, id, c, &out)
		last, out.count = c, c.count
	}
	out.short = rotten || last == nil || last.seq != end || out.vouched > end
	if out.short || last.count != int64(len(out.entries)) {
		out.faults++
	}
	return out, s.usable(ctx)
}

// missing are the commits between two that are not in the log: as pruning left them, oldest first, or nil for what is
// lost.
func (s *Store) missing(ctx context.Context, id perdure.AgentID, last, c *commit) (out []*commit) {
	end := uint64(0)
	if last != nil {
		end = last.seq
	}
	for at := c; at.base != 0 && at.prev > end; {
		prev, err := s.at(ctx, id, at.prev)
		if out = append(out, prev); err != nil {
			break
		}
		at = prev
	}
	slices.Reverse(out)
	return out
}

// legible reads the entries of a commit that can be read.
func (s *Store) legible(ctx context.Context, id perdure.AgentID, c *commit, out *salvaged) {
	next := 0
	for next < c.total {
		for i, e := range s.content(ctx, id, c, next) {
			if e.err != nil {
				break
			}
			out.entries, next = append(out.entries, e.Entry), i+1
		}
		if next >= c.total {
			return
		}
		out.faults++
		// what is in the pages after the one that cannot be read
		i := slices.IndexFunc(c.pages, func(p page) bool { return p.first > next })
		if i < 0 {
			return
		}
		next = c.pages[i].first
	}
}

// asideOf reads what lies aside of the agent.
func (s *Store) asideOf(ctx context.Context, id perdure.AgentID) (out []*perdure.Entry, err error) {
	m, err := s.get(ctx, s.streams.row, query{Last: s.streams.aside(id)})
	if err != nil || m == nil {
		return nil, err
	}
	c, err := decodeCommit(id, m.Seq, m.Data)
	if err != nil {
		return nil, nil // nothing of it can be read
	}
	var found salvaged
	s.legible(ctx, id, c, &found)
	return found.entries, s.usable(ctx)
}

// setAside keeps what has no place, in the place of what was kept before.
func (s *Store) setAside(ctx context.Context, id perdure.AgentID, rest []*perdure.Entry) error {
	before, err := s.lastOf(ctx, s.streams.row, ">")
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		w, c := &sheet{s: s, id: id, aside: true}, &commit{count: int64(len(rest))}
		for _, e := range rest {
			if err := w.add(ctx, e); err != nil {
				return err
			}
		}
		if err := w.finish(ctx, c); err != nil {
			return err
		}
		if _, err := s.store(ctx, s.streams.aside(id), c.encode(id), anything); err != nil {
			return err
		}
	}
	err = s.purge(ctx, s.streams.row, s.streams.aside(id), before+1)
	if err == nil {
		err = s.purge(ctx, s.streams.row, s.streams.sides(id), before+1)
	}
	return err
}

// Ailing implements perdure.Healer: the agents of which something lies aside, and those whose last commits are gone
// though a node saw them, or they were listed.
func (s *Store) Ailing(ctx context.Context) (map[perdure.AgentID]perdure.Ailment, error) {
	out := map[perdure.AgentID]perdure.Ailment{}
	err := s.lists.sync(ctx) // before the log, which is then no older
	if err == nil {
		err = s.index.sync(ctx)
	}
	if err == nil {
		err = s.unread(ctx, out)
	}
	if err == nil {
		s.index.mu.Lock()
		s.lists.mu.Lock()
		lost := func(id perdure.AgentID, at uint64) {
			if l := s.index.all[id]; l == nil || at > l.seq {
				out[id] = perdure.Ailment{Name: s.lists.all[id].Name, Gone: l == nil || !l.there(),
					Reason: fmt.Errorf("%w (message %d)", errLost, at)}
			}
		}
		for id, l := range s.index.all {
			lost(id, l.claim.At)
		}
		for id, l := range s.lists.all {
			lost(id, l.At)
		}
		s.lists.mu.Unlock()
		s.index.mu.Unlock()
		err = s.asides(ctx, out)
	}
	if err != nil {
		return nil, fmt.Errorf("look for damaged agents: %w", err)
	}
	return out, nil
}

// asides adds the agents of which something lies aside.
func (s *Store) asides(ctx context.Context, out map[perdure.AgentID]perdure.Ailment) error {
	all, err := s.subjects(ctx, s.streams.row, s.streams.prefix+"aside.*")
	if err != nil {
		return err
	}
	for _, subject := range all {
		id, ok := agentOf(subject)
		if !ok {
			continue
		}
		m, err := s.get(ctx, s.streams.row, query{Last: subject})
		if err != nil {
			return err
		}
		n := int64(0)
		if m != nil {
			if c, err := decodeCommit(id, m.Seq, m.Data); err == nil {
				n = c.count
			}
		}
		l, err := s.listing(ctx, id)
		gone := errors.Is(err, perdure.ErrNotFound)
		if gone {
			if m, err = s.get(ctx, s.streams.list, query{Last: s.streams.lists(id)}); err != nil {
				return err
			}
			l.Name = nameIn(m)
		}
		out[id] = perdure.Ailment{Name: l.Name, Gone: gone,
			Reason: fmt.Errorf("%d entries of it lie aside: what they are written on cannot be read", n)}
	}
	return nil
}
