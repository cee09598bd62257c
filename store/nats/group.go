package nats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	client "github.com/nats-io/nats.go"
)

// Commits of several agents that come at the same time share one atomic batch, where the servers have those, and with
// it one sync. A batch is stored whole or not at all: where one of its commits was written on what is not the last any
// more, each is sent by itself, so that it fails nobody else.

const (
	// singles is how many messages and batches are under way at a time before commits wait for each other: few writers
	// are faster without.
	singles = 24
	// leastGroup is how many commits a batch is worth it for.
	leastGroup = 8
	// maxGroup and maxGroupBytes bound a batch: servers take 1,000 messages, and nobody is to wait long.
	maxGroup, maxGroupBytes = 256, 2 << 20
)

// Headers of batches.
const (
	batchID     = "Nats-Batch-Id"
	batchSeq    = "Nats-Batch-Sequence"
	batchCommit = "Nats-Batch-Commit"
)

// posting is a message that waits to be sent with others.
type posting struct {
	subject  string
	header   client.Header
	data     []byte
	expected uint64

	seq  uint64
	err  error
	done chan struct{}
}

func (p *posting) finish(seq uint64, err error) {
	p.seq, p.err = seq, err
	close(p.done)
}

// postings are those of a store.
type postings struct {
	mu    sync.Mutex
	under int // messages and batches under way
	queue []*posting
}

// post is publish, with others where many publish at once.
func (s *Store) post(ctx context.Context, subject string, h client.Header, data []byte, expected uint64) (uint64,
	error) {
	if !s.server.atomic {
		return s.publish(ctx, subject, h, data, expected)
	}
	g := &s.postings
	g.mu.Lock()
	if g.under < singles {
		g.under++
		g.mu.Unlock()
		defer s.postNext()
		return s.publish(ctx, subject, h, data, expected)
	}
	p := &posting{subject: subject, header: h, data: data, expected: expected, done: make(chan struct{})}
	g.queue = append(g.queue, p)
	g.mu.Unlock()
	<-p.done
	return p.seq, p.err
}

// postNext sends those that wait, once something has ended.
func (s *Store) postNext() {
	g := &s.postings
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.under--
		return
	}
	n, size := 0, 0
	for n < min(len(g.queue), maxGroup) && size < maxGroupBytes {
		size += len(g.queue[n].data)
		n++
	}
	all := g.queue[:n:n]
	g.queue = g.queue[n:]
	go func() {
		s.postAll(all)
		s.postNext()
	}()
}

// postAll sends messages, as a batch or each by itself, and says what came of each.
func (s *Store) postAll(all []*posting) {
	if len(all) >= leastGroup {
		last, err := s.postBatch(all)
		if err == nil {
			for i, p := range all {
				p.finish(last-uint64(len(all)-1-i), nil)
			}
			return
		}
		if !refused(err) { // whether it is there nobody knows: who sends it again finds out
			for _, p := range all {
				p.finish(0, err)
			}
			return
		}
	}
	var group sync.WaitGroup
	for _, p := range all {
		group.Go(func() { p.finish(s.publish(context.Background(), p.subject, p.header, p.data, p.expected)) })
	}
	group.Wait()
}

// postBatch sends messages as one atomic batch, and returns the number of the last.
func (s *Store) postBatch(all []*posting) (uint64, error) {
	id := rand.Text()
	for i, p := range all {
		m := p.message()
		m.Header.Set(batchID, id)
		m.Header.Set(batchSeq, strconv.Itoa(i+1))
		if i < len(all)-1 {
			if err := s.conn.PublishMsg(m); err != nil {
				return 0, err
			}
			continue
		}
		m.Header.Set(batchCommit, "1")
		answer, err := s.send(context.Background(), m)
		if err != nil {
			return 0, err
		}
		var out ack
		switch err := json.Unmarshal(answer.Data, &out); {
		case err != nil:
			return 0, fmt.Errorf("read answer of the server: %w", err)
		case out.Error != nil:
			return 0, out.Error
		case out.Seq == 0 || out.Count != len(all):
			return 0, fmt.Errorf("the server acknowledged %d of %d messages", out.Count, len(all))
		}
		return out.Seq, nil
	}
	return 0, nil
}

// message is what is sent.
func (p *posting) message() *client.Msg {
	m := &client.Msg{Subject: p.subject, Header: client.Header{}, Data: p.data}
	for k, v := range p.header {
		m.Header[k] = v
	}
	if p.expected != anything {
		m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(p.expected, 10))
	}
	return m
}
