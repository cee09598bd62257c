package server

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// countedStore is a store that counts the entries that are taken from it.
type countedStore struct {
	*perdure.MemStore
	entries int
}

func (s *countedStore) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range s.MemStore.Entries(ctx, id, after) {
			if s.entries++; !yield(item, err) {
				return
			}
		}
	}
}

// held are the bytes of frames. It fails where they are more than is taken for a reader at a time.
func held(t *testing.T, frames []frame) (size int) {
	t.Helper()
	for i, f := range frames {
		if size > sendBytes && i > 0 {
			t.Fatalf("%d frames are taken for a reader at once, of %d bytes and more", len(frames), size)
		}
		size += len(f.text)
	}
	return size
}

// What is taken for a reader, and held until they have it, is a little at a time, from the row and from the store; and
// the store is not read again and again for it.
func TestLittleIsTakenForAReaderAtATime(t *testing.T) {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	s := &countedStore{MemStore: new(perdure.MemStore)}
	n := &perdure.Node{Store: s, Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "hear"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := perdure.DataOf(strings.Repeat("x", 3000))
	if err != nil {
		t.Fatal(err)
	}
	desk := &home.Desk{Home: new(home.Home), Store: s, Node: n}
	topic := newTopic(desk, a.ID())
	if err := topic.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(topic.ready)
	const events = 400
	for i := range events {
		if _, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: fmt.Sprint(i), Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	topic.refresh(t.Context())
	if len(topic.row) < events {
		t.Fatalf("the row has %d frames, want all there are", len(topic.row))
	}
	at, got := topic.start, 0
	for {
		turn := topic.next(at)
		if held(t, turn.frames); len(turn.frames) > 0 && &turn.frames[0] == &topic.row[got] {
			t.Fatal("the whole row is held")
		}
		got, at = got+len(turn.frames), turn.frames[len(turn.frames)-1].place.Cursor
		if !turn.rest {
			break
		}
	}
	if got != len(topic.row) {
		t.Errorf("the row has %d frames, a reader got %d", len(topic.row), got)
	}
	r := &reader{s: &Server{Desk: desk}, topic: topic, scribe: scribe{desk: desk}, checked: time.Now()}
	r.edition = topic.edition
	before, read, parts := s.entries, 0, 0
	for more := true; more; parts++ {
		var frames []frame
		if frames, more, err = r.page(t.Context()); err != nil {
			t.Fatal(err)
		}
		if held(t, frames); len(frames) > 0 {
			read, r.place = read+len(frames), frames[len(frames)-1].place
		}
	}
	all := 0
	for _, err := range s.MemStore.Entries(t.Context(), a.ID(), 0) {
		if all++; err != nil {
			t.Fatal(err)
		}
	}
	if read != all || s.entries-before > all+parts || parts < 10 {
		t.Errorf("a reader got %d of %d entries in %d parts, for which %d were read", read, all, parts,
			s.entries-before)
	}
	if p, ok := topic.place(r.place.Cursor, r.place.Mark()); !ok || p.Mark() != topic.end.Mark() {
		t.Errorf("the store ends at %v, the row at %v", r.place, topic.end)
	}
}

// endingStore has something happen before one of the reads of a memory.
type endingStore struct {
	*perdure.MemStore
	left int // reads before it
	then func()
}

func (s *endingStore) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	if s.left--; s.left == 0 {
		s.then()
	}
	return s.MemStore.Entries(ctx, id, after)
}

// Whenever an agent ends, while a topic begins or before or after, those who follow are told so after its last entry.
func TestWheneverAnAgentEndsThatIsTold(t *testing.T) {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	during := 0
	for reads := 1; ; reads++ {
		s := &endingStore{MemStore: new(perdure.MemStore)}
		n := &perdure.Node{Store: s.MemStore, Key: key}
		a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "end"},
			Charter: perdure.Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		s.left, s.then = reads, func() {
			if _, err := n.Cancel(context.WithoutCancel(t.Context()), a.ID(), "over"); err != nil {
				t.Error(err)
			}
		}
		topic := newTopic(&home.Desk{Home: new(home.Home), Store: s, Node: n}, a.ID())
		if err := topic.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.left > 0 { // it did not end meanwhile
			break
		}
		close(topic.ready)
		topic.refresh(t.Context())
		if during++; !topic.ended {
			t.Errorf("it ended before read %d, and nobody is told", reads)
		}
	}
	if during == 0 {
		t.Error("it never ended while the topic began")
	}
}
