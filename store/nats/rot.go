package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// errRotten says that a server has a message and cannot read it.
var errRotten = errors.New("the server has a message that it cannot read any more")

// errIndex is errRotten of an index. The server must not be asked to store another message there: it keeps one per
// subject, and takes minutes over removing one that it cannot read.
var errIndex = fmt.Errorf("%w, in an index: stop the nodes, and run `perdure doctor --reindex`", errRotten)

// leave is why a store of which the servers lost something is best given up, also once it is repaired.
const leave = "bytes that a server cannot read stay in its file: if it is killed, loses power, or is to take other " +
	"messages out of that file, it may drop all that comes after them there, also of other agents"

// last reads the last message on a subject from the leader; nil: there is none. A server says the same of one that it
// has and cannot read, for which last returns errRotten: a message written there as the first would take its place.
func (s *Store) last(ctx context.Context, stream, subject string) (*message, error) {
	m, err := s.get(ctx, stream, query{Last: subject})
	if m != nil || err != nil {
		return m, err
	}
	there, err := s.subjects(ctx, stream, subject)
	if err != nil || len(there) == 0 {
		return nil, err
	}
	if m, err = s.get(ctx, stream, query{Last: subject}); m == nil && err == nil { // it may have come meanwhile
		err = errRotten
	}
	return m, err
}

// indexed is last, of an index.
func (s *Store) indexed(ctx context.Context, stream, subject string) (*message, error) {
	m, err := s.last(ctx, stream, subject)
	if errors.Is(err, errRotten) {
		err = errIndex
	}
	return m, err
}

// legibleEnd is the last message of an agent that can be read, where its last one cannot be; nil: none can.
func (s *Store) legibleEnd(ctx context.Context, id perdure.AgentID) (end *message, err error) {
	last, err := s.lastOf(ctx, s.streams.log, s.streams.prefix+"log.*")
	if err != nil {
		return nil, err
	}
	for m, err := range s.between(ctx, s.streams.logs(id), 1, last) {
		if err != nil {
			return nil, err
		}
		end = m
	}
	return end, s.usable(ctx)
}

// unread adds the agents whose last message the servers cannot read: who follows the log hears nothing of them.
func (s *Store) unread(ctx context.Context, out map[perdure.AgentID]perdure.Ailment) error {
	info, err := s.info(ctx, s.streams.log)
	if err != nil {
		return err
	}
	known := map[perdure.AgentID]bool{}
	s.index.mu.Lock()
	for id, l := range s.index.all {
		if l.seq > 0 {
			known[id] = true
		}
	}
	s.index.mu.Unlock()
	if info.State.Named <= len(known) {
		return nil
	}
	all, err := s.subjects(ctx, s.streams.log, s.streams.prefix+"log.*")
	if err != nil {
		return err
	}
	for _, subject := range all {
		id, ok := agentOf(subject)
		if !ok || known[id] {
			continue
		}
		_, err := s.last(ctx, s.streams.log, subject)
		if errors.Is(err, errRotten) {
			l, _ := s.lists.known(id)
			out[id] = perdure.Ailment{Name: l.Name, Gone: true, Reason: errEnd}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Sound says whether the servers can read all that they keep of the indexes: of what nobody who follows them was sent,
// each is looked at.
func (s *Store) Sound(ctx context.Context) error {
	err := s.lists.sync(ctx)
	if err == nil {
		err = s.index.sync(ctx)
	}
	known := map[string]bool{}
	s.index.mu.Lock()
	s.lists.mu.Lock()
	for id := range s.lists.all {
		known[s.streams.lists(id)] = true
	}
	for id, l := range s.index.all {
		known[s.streams.claims(id)] = l.claim.Fence > 0
	}
	for node := range s.index.roster {
		known[s.streams.roster(node)] = true
	}
	s.lists.mu.Unlock()
	s.index.mu.Unlock()
	for _, x := range [][2]string{{s.streams.list, "list.*"}, {s.streams.claim, "claim.*"}} {
		var all []string
		if err == nil {
			all, err = s.subjects(ctx, x[0], s.streams.prefix+x[1])
		}
		for _, subject := range all {
			if err == nil && !known[subject] {
				_, err = s.indexed(ctx, x[0], subject)
			}
		}
	}
	return err
}

// restocks is how often it is tried to empty an index while others write to it.
const restocks = 8

// restock empties an index of which the server cannot read everything, and stores anew what it can: nothing less takes
// such a message away. Where others wrote to it meanwhile, what they wrote stays, and so does the damage.
func (s *Store) restock(ctx context.Context, stream, subjects string) error {
	for range restocks {
		info, err := s.info(ctx, stream)
		if err != nil {
			return err
		}
		kept, rotten, err := s.legibles(ctx, stream, subjects)
		if err != nil || len(rotten) == 0 {
			return err
		}
		if err := s.purge(ctx, stream, ">", info.State.LastSeq+1); err != nil {
			return err
		}
		if stream == s.streams.claim {
			refence(kept, rotten)
		}
		for subject, data := range kept {
			if _, err := s.store(ctx, subject, data, 0); err != nil && !errors.Is(err, errMoved) {
				return err
			}
		}
	}
	return errIndex
}

// legibles are the messages of an index of agents that can be read, by their subjects, and the subjects of those that
// cannot. What nodes say of themselves is not among the first: they say it again.
func (s *Store) legibles(ctx context.Context, stream, subjects string) (kept map[string][]byte, rotten []string,
	err error) {
	all, err := s.subjects(ctx, stream, subjects)
	kept = map[string][]byte{}
	for _, subject := range all {
		m, err := s.last(ctx, stream, subject)
		if errors.Is(err, errRotten) {
			rotten = append(rotten, subject)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if _, ok := agentOf(subject); ok && m != nil {
			kept[subject] = m.Data
		}
	}
	return kept, rotten, err
}

// refence adds claims of nobody in the place of those that are lost. Fences grow with the time, so the next is above
// any that was given, also by a node whose clock was ahead, as long as one of its claims is left.
func refence(kept map[string][]byte, rotten []string) {
	fence := int64(perdure.TimeOf(time.Now()))
	for _, data := range kept {
		var r record
		if json.Unmarshal(data, &r) == nil {
			fence = max(fence, r.Fence)
		}
	}
	for _, subject := range rotten {
		if _, ok := agentOf(subject); ok {
			kept[subject], _ = json.Marshal(record{Fence: fence})
		}
	}
}
