package nats

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

// errRotten says that a server has a message and cannot read it.
var errRotten = errors.New("the server has a message that it cannot read any more")

// errIndex is errRotten of an index. The server must not be asked to store another message there: it keeps one per
// subject, and takes minutes over removing one that it cannot read.
var errIndex = perdure.WithHint(fmt.Errorf("%w, in an index", errRotten), remake)

// remake is what to do about an index of which something is lost.
const remake = "stop the nodes, then perdure doctor --reindex"

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

// indexed is last, of an index. What is kept aside while the index is made anew is there, with the number zero.
func (s *Store) indexed(ctx context.Context, stream, subject string) (*message, error) {
	m, err := s.last(ctx, stream, subject)
	if errors.Is(err, errRotten) {
		return nil, errIndex
	}
	if m != nil || err != nil {
		return m, err
	}
	if m, err = s.keptAside(ctx, stream, s.streams.kept(subject)); m != nil {
		m.Seq = 0
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
			err = s.unfinished(ctx, x[0], x[1])
		}
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
