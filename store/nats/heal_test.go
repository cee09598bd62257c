package nats

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
)

// places are where the commits of an agent are.
func places(t *testing.T, s *Store, id perdure.AgentID) (out []uint64) {
	t.Helper()
	for item, err := range s.Entries(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, seqOf(item.Cursor))
	}
	return out
}

// TestWhatTheServersLoseIsNoticedAndHealed removes a message in the middle of a memory, as a server may lose one: the
// memory is refused, what leads back to genesis can be kept, the rest lies aside, and a good copy brings all of it
// back.
func TestWhatTheServersLoseIsNoticedAndHealed(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	enginetest.Heals(t, s, func(id perdure.AgentID) error {
		return s.remove(t.Context(), s.streams.log, places(t, s, id)[3])
	}, errLost)
}

// TestADamagedEndIsHealed removes the last message of a memory, also one with junk after it.
func TestADamagedEndIsHealed(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	for _, junk := range []bool{false, true} {
		enginetest.HealsTheEnd(t, s, func(id perdure.AgentID) error {
			s.states.forget(id) // as where no process is left that saw it
			at := places(t, s, id)
			s.states.forget(id)
			if err := s.remove(t.Context(), s.streams.log, at[5]); err != nil || !junk {
				return err
			}
			_, err := s.store(t.Context(), s.streams.logs(id), []byte("junk"), anything)
			return err
		})
	}
}

// TestAnAgentOfWhichNothingIsLeftIsMissed removes every message of a memory, also with junk in their place.
func TestAnAgentOfWhichNothingIsLeftIsMissed(t *testing.T) {
	for _, junk := range []bool{false, true} {
		s := open(t, urlAt(serverEnv, fmt.Sprint(t.Name(), junk)), Options{})
		enginetest.HealsNone(t, s, func(id perdure.AgentID) error {
			s.states.forget(id) // as where no process is left that saw it
			lost := places(t, s, id)
			s.states.forget(id)
			for _, at := range lost {
				if err := s.remove(t.Context(), s.streams.log, at); err != nil {
					return err
				}
			}
			if !junk {
				return nil
			}
			_, err := s.store(t.Context(), s.streams.logs(id), []byte("junk"), anything)
			return err
		})
	}
}

// TestAnAgentWithoutItsBeginningKeepsItsName removes the first message of a memory.
func TestAnAgentWithoutItsBeginningKeepsItsName(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	enginetest.HealsWithoutItsBeginning(t, s, func(id perdure.AgentID) error {
		return s.remove(t.Context(), s.streams.log, places(t, s, id)[0])
	})
}

// TestALostEndIsNoticed removes the last message of an agent: the process that was told it is there does not take an
// older one for it, and who asks for damaged agents hears of it where a node had released the agent with it.
func TestALostEndIsNoticed(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	w, _ := enginetest.Grown(t, s)
	id := w.Agent.ID()
	c, err := s.Claim(t.Context(), id, w.Key(), perdure.MaxLease)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), c, w.Agent.Heads(), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.remove(t.Context(), s.streams.log, places(t, s, id)[5]); err != nil {
		t.Fatal(err)
	}
	s.patience = 1 // nobody else uses it
	if heads, err := s.Heads(t.Context(), id); !errors.Is(err, errLost) {
		t.Fatalf("heads of an agent whose last message is gone: %v, %v", heads, err)
	}
	if err := w.Write(t.Context(), t, s); !errors.Is(err, errLost) {
		t.Fatalf("append to it: %v", err)
	}
	other := open(t, urlAt(serverEnv, t.Name()), Options{})
	if ill, err := other.Ailing(t.Context()); err != nil || !errors.Is(ill[id].Reason, errLost) {
		t.Fatalf("ailing: %v, %v", ill, err)
	}
}

// TestALostEndThatWasListedIsNoticed is the same of an agent that no node has released: what it was listed as is more
// than is there, also where nothing is.
func TestALostEndThatWasListedIsNoticed(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	for _, all := range []bool{false, true} {
		w, _ := enginetest.Grown(t, s)
		id := w.Agent.ID()
		l := w.Agent.Listing(time.Now())
		l.Name = "a"
		if err := s.Index(t.Context(), w.Agent.Heads(), l); err != nil {
			t.Fatal(err)
		}
		if ill, err := s.Ailing(t.Context()); err != nil || ill[id].Reason != nil {
			t.Fatalf("ailing before: %v, %v", ill, err)
		}
		lost := places(t, s, id)
		if !all {
			lost = lost[5:]
		}
		for _, seq := range lost {
			if err := s.remove(t.Context(), s.streams.log, seq); err != nil {
				t.Fatal(err)
			}
		}
		other := open(t, urlAt(serverEnv, t.Name()), Options{})
		ill, err := other.Ailing(t.Context())
		if x := ill[id]; err != nil || !errors.Is(x.Reason, errLost) || x.Gone != all || x.Name != "a" {
			t.Fatalf("all lost %t: ailing: %+v, %v", all, x, err)
		}
		if all {
			continue
		}
		if got, err := other.Heal(t.Context(), id, nil); err != nil || !got.Short {
			t.Fatalf("heal: %+v, %v", got, err)
		}
		if ill, err := other.Ailing(t.Context()); err != nil || ill[id].Reason != nil {
			t.Fatalf("ailing after all: %v, %v", ill, err)
		}
	}
}

// TestWhatOthersPublishIsRefused publishes on the subject of an agent what no store wrote.
func TestWhatOthersPublishIsRefused(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	w, good := enginetest.Grown(t, s)
	id := w.Agent.ID()
	forged := follow(s.states.get(id))
	forged.heads = []perdure.Hash{{1}}
	for _, data := range [][]byte{nil, []byte("junk"), forged.encode(perdure.AgentID{2})} {
		if _, err := s.store(t.Context(), s.streams.logs(id), data, anything); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Heads(t.Context(), id); !errors.Is(err, errCommit) {
			t.Fatalf("heads of an agent with a message that is none: %v", err)
		}
	}
	for _, err := range s.Feed(t.Context(), 0) { // others are not held up
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Entries != int64(len(good)) || got.Aside != 0 {
		t.Fatalf("heal: %+v, %v, want all %d entries", got, err, len(good))
	}
	w.Kept(t, s)
	if err := w.Write(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
}

// TestIndexesBeginAnewWhereAStreamDoes makes the stream of claims anew behind a store that has followed it: what comes
// under numbers that it has seen before counts all the same.
func TestIndexesBeginAnewWhereAStreamDoes(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	w, _ := enginetest.Grown(t, s)
	id := w.Agent.ID()
	due := func() (n int) {
		t.Helper()
		for _, err := range s.Due(t.Context(), time.Now().Add(perdure.MaxLease)) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	for range 3 {
		c, err := s.Claim(t.Context(), id, w.Key(), perdure.MaxLease)
		if err == nil {
			err = s.Release(t.Context(), c, w.Agent.Heads(), perdure.TimeOf(time.Now()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := due(); n != 1 {
		t.Fatalf("%d agents are due, want the one", n)
	}
	if err := s.unmake(t.Context(), s.streams.claim); err != nil {
		t.Fatal(err)
	}
	if err := s.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := open(t, urlAt(serverEnv, t.Name()), Options{})
	c, err := other.Claim(t.Context(), id, w.Key(), perdure.MaxLease)
	if err == nil {
		err = other.Release(t.Context(), c, w.Agent.Heads(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := due(); n != 0 {
		t.Fatalf("%d agents are due, want none: it was released until an event", n)
	}
}

// TestAStoreMayBeClosedByWhoWatchesIt closes a store where its watcher is told something.
func TestAStoreMayBeClosedByWhoWatchesIt(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	other := open(t, urlAt(serverEnv, t.Name()), Options{})
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for { // nothing says when a watcher has begun
			enginetest.NewWriter(t, other)
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	for _, err := range s.Watch(t.Context()) {
		if errors.Is(err, fs.ErrClosed) {
			break
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-over
}
