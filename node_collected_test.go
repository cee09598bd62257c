package perdure_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
)

// horizon is an agent in a store that is collected, the same one with every body, and copies made on the way.
type horizon struct {
	t       *testing.T
	failed  error
	n       *perdure.Node
	id      perdure.AgentID
	pruned  *perdure.MemStore
	full    *perdure.MemStore
	copies  []*perdure.MemStore
	flying  []*perdure.Entry // written, and not stored yet
	flown   time.Duration
	refused int
	dropped int64
}

// fatal notes the first thing that went wrong.
func (h *horizon) fatal(err error) {
	if h.failed == nil {
		h.failed = err
	}
}

// all puts what one store has into another.
func (h *horizon) all(from, to perdure.Store) {
	h.fatal(perdure.PutAll(h.t.Context(), to, h.id, perdure.Memory(h.t.Context(), from, h.id)))
}

func (h *horizon) land() {
	for _, e := range h.flying {
		h.fatal(h.pruned.Put(h.t.Context(), h.id, e))
	}
	h.flying, h.flown = nil, 0
}

// same fails unless the collected memory comes to what the whole one does.
func (h *horizon) same() {
	h.all(h.pruned, h.full)
	got, err := perdure.Load(h.t.Context(), h.pruned, h.id)
	if err != nil {
		h.fatal(err)
		return
	}
	want, err := perdure.Load(h.t.Context(), h.full, h.id)
	if err != nil {
		h.fatal(err)
		return
	}
	g, err := got.Fold().Hash()
	h.fatal(err)
	w, err := want.Fold().Hash()
	h.fatal(err)
	if g != w {
		h.fatal(fmt.Errorf("the collected memory comes to %s, the whole one to %s", g.Short(), w.Short()))
	}
	_, err = perdure.Verify(perdure.Memory(h.t.Context(), h.pruned, h.id), perdure.VerifyOptions{})
	h.fatal(err)
}

func (h *horizon) tell(s perdure.Store, text string) {
	a, err := perdure.Load(h.t.Context(), s, h.id)
	if err != nil {
		h.fatal(err)
		return
	}
	es, _, err := h.n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "said", Data: words(text)}})
	h.fatal(err)
	h.fatal(s.Put(h.t.Context(), h.id, es...))
}

func words(s string) perdure.Data {
	d, err := perdure.DataOf(s)
	if err != nil {
		panic(err)
	}
	return d
}

var horizonOps = []string{"tell", "tell", "fly", "land", "snapshot", "collect", "collect", "copy", "elsewhere", "merge",
	"wait 1s", "wait 20s", "wait 2m", "wait 2h"}

// step does one thing; which says which copy is meant.
func (h *horizon) step(op string, which int) {
	op, long, _ := strings.Cut(op, " ")
	switch op {
	case "tell":
		h.tell(h.pruned, cmp.Or(long, "words"))
	case "fly": // it is on its way when others write
		a, err := perdure.Load(h.t.Context(), h.pruned, h.id)
		if err != nil {
			h.fatal(err)
			return
		}
		es, _, err := h.n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "flew",
			Data: words(cmp.Or(long, "words"))}})
		h.fatal(err)
		h.flying = append(h.flying, es...)
	case "land":
		h.land()
	case "snapshot":
		_, err := h.n.Snapshot(h.t.Context(), h.id)
		h.fatal(err)
	case "wait":
		d, err := time.ParseDuration(long)
		h.fatal(err)
		if h.flown += d; h.flown >= 50*time.Second {
			h.land() // nothing is on its way for longer
		}
		time.Sleep(d)
	case "collect":
		c, err := h.n.Collect(h.t.Context(), h.id)
		h.fatal(err)
		h.dropped += c.Entries
	case "copy":
		c := new(perdure.MemStore)
		h.all(h.pruned, c)
		h.copies = append(h.copies, c)
	case "elsewhere":
		if len(h.copies) > 0 {
			h.tell(h.copies[which%len(h.copies)], "words")
		}
	case "merge":
		if len(h.copies) == 0 {
			return
		}
		c := h.copies[which%len(h.copies)]
		err := perdure.Mergeable(perdure.Memory(h.t.Context(), h.pruned, h.id), perdure.Memory(h.t.Context(), c, h.id))
		if errors.Is(err, perdure.ErrRejected) {
			h.refused++
			return
		}
		h.fatal(err)
		h.land()
		h.all(c, h.full) // a copy may have bodies that are gone
		h.all(c, h.pruned)
	}
}

func TestACollectedMemoryComesToWhatTheWholeOneDoes(t *testing.T) {
	var dropped int64
	refused := 0
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.SampledFrom(horizonOps), 30, 150).Draw(rt, "ops")
		which := rapid.SliceOfN(rapid.IntRange(0, 7), len(ops), len(ops)).Draw(rt, "which")
		h := &horizon{pruned: new(perdure.MemStore), full: new(perdure.MemStore)}
		at := 0
		synctest.Test(t, func(t *testing.T) {
			h.t = t
			h.n = newNode(t, h.pruned, scripted(steps("none", 0)))
			h.id = create(t, h.n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
			for i := 0; i < len(ops) && h.failed == nil; i++ {
				at = i
				h.step(ops[i], which[i])
				h.same()
			}
		})
		if h.failed != nil {
			rt.Fatalf("step %d, %s: %v", at, ops[at], h.failed)
		}
		dropped, refused = dropped+h.dropped, refused+h.refused
	})
	if dropped == 0 {
		t.Error("nothing was dropped: the test tried nothing")
	}
	t.Logf("%d bodies were dropped, %d merges refused", dropped, refused)
}

// TestWhatIsGoneStillTakesItsRoom: an event on its way that the inbox has no room for beside what expired has none
// beside what is gone either, or two copies of the same entries would come to two folds.
func TestWhatIsGoneStillTakesItsRoom(t *testing.T) {
	large := strings.Repeat("x", 3<<20)
	for range 8 { // it comes before the snapshot or after it, by their names
		synctest.Test(t, func(t *testing.T) {
			h := &horizon{t: t, pruned: new(perdure.MemStore), full: new(perdure.MemStore)}
			h.n = newNode(t, h.pruned, scripted(steps("none", 0)))
			h.id = create(t, h.n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
			for _, op := range []string{"tell " + large, "tell " + large, "wait 2h", "fly " + large, "collect", "land",
				"tell"} {
				h.step(op, 0)
				h.same()
			}
			if h.failed != nil || h.dropped == 0 {
				t.Fatalf("%d bodies were dropped: %v", h.dropped, h.failed)
			}
			if inbox := load(t, h.pruned, h.id).Inbox; len(inbox) != 3 || inbox[0].Gone == 0 {
				t.Errorf("%d messages, want the second, without its words, and the last two", len(inbox))
			}
		})
	}
}

func TestACopyMadeBeforeACollectionIsRefusedBeforeItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &horizon{t: t, pruned: new(perdure.MemStore), full: new(perdure.MemStore)}
		h.n = newNode(t, h.pruned, scripted(steps("none", 0)))
		h.id = create(t, h.n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		for _, op := range []string{"tell", "copy", "tell", "tell", "elsewhere", "wait 2h", "collect", "tell"} {
			h.step(op, 0)
			h.same()
		}
		before := load(t, h.pruned, h.id).Count
		if h.step("merge", 0); h.refused != 1 || h.dropped == 0 {
			t.Errorf("%d merges were refused after %d bodies were dropped, want one", h.refused, h.dropped)
		}
		h.same()
		if got := load(t, h.pruned, h.id).Count; got != before || h.failed != nil {
			t.Errorf("%d entries after the refusal, want %d as before (%v)", got, before, h.failed)
		}
	})
}

// slowAdvisor is an advisor before which everything is made durable.
type slowAdvisor struct{ perdure.Advisor }

func TestAnOutcomeThatComesAfterACollectionIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		done := make(chan struct{})
		slow := &tool{spec: perdure.Spec{Name: "slow", Effect: perdure.Once, Deadline: 24 * time.Hour}}
		slow.call = func(context.Context, perdure.Call) (perdure.Result, error) {
			<-done
			return perdure.Result{}, nil
		}
		n := newNode(t, store, slowAdvisor{scripted(steps("slow", 1))}, slow)
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		ended := make(chan error)
		go func() {
			_, err := n.RunAgent(t.Context(), id)
			ended <- err
		}()
		synctest.Wait()
		other := newNode(t, store, scripted(steps("none", 0)))
		for range 3 {
			if _, err := other.Tell(t.Context(), id, perdure.Event{Name: "said", Data: words("sesame")}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour)
		if c, err := other.Collect(t.Context(), id); err != nil || c.Entries == 0 {
			t.Fatalf("collected %+v, %v", c, err)
		}
		close(done)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if f := load(t, store, id); f.Ended == nil || len(f.Open) > 0 {
			t.Errorf("ended %v with %d effects open, want the outcome recorded and the agent to go on", f.Ended,
				len(f.Open))
		}
	})
}

func TestWhatIsGoneIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(steps("none", 0)))
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		for i := range 3 {
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: fmt.Sprint("said-", i),
				Data: words("sesame")}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.Snapshot(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if _, err := n.Collect(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		for e, err := range perdure.Memory(t.Context(), store, id) {
			if err != nil {
				t.Fatal(err)
			}
			if b := e.BodyBytes(); bytes.Contains(b, []byte("sesame")) {
				t.Errorf("%s %s still says it", e.Kind, e.Name.Short())
			}
		}
		f := load(t, store, id)
		if len(f.Inbox) != 3 {
			t.Errorf("%d messages are left in the inbox, want all 3 without their words", len(f.Inbox))
		}
		for _, m := range f.Inbox {
			if len(m.Data) > 0 {
				t.Errorf("the inbox still says %s", m.Data.JSON())
			}
		}
		count := f.Count
		for range 5 { // a memory at rest does not grow by being collected
			time.Sleep(24 * time.Hour)
			if _, err := n.Collect(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if got := load(t, store, id).Count; got != count {
			t.Errorf("collecting what is collected wrote %d entries", got-count)
		}
	})
}

func TestARunningNodeCollectsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(steps("none", 0)))
		n.CollectEvery = 10 * time.Minute
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		other := create(t, n, perdure.Genesis{})
		for _, id := range []perdure.AgentID{id, other} {
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "said", Data: words("sesame")}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		said := func(id perdure.AgentID) (n int) {
			for e, err := range perdure.Memory(t.Context(), store, id) {
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(e.BodyBytes(), []byte("sesame")) {
					n++
				}
			}
			return n
		}
		if time.Sleep(50 * time.Minute); said(id) == 0 {
			t.Error("it went before its time")
		}
		if time.Sleep(time.Hour); said(id) != 0 || said(other) == 0 {
			t.Errorf("%d and %d entries still say it, want none and some", said(id), said(other))
		}
		count := load(t, store, id).Count
		if time.Sleep(48 * time.Hour); load(t, store, id).Count != count {
			t.Error("a memory at rest grew by being collected")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// What cannot be dropped though its time is up is not read again at every round: of an agent whose advisor goes through
// its memory again nothing goes before its end, and one that was collected is not looked through anew.
func TestWhatCannotBeDroppedIsNotReadForEver(t *testing.T) {
	for name, replays := range map[string]bool{"a function that lives": true, "one that was collected": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &copytest.Counter{MemStore: new(perdure.MemStore)}
				n := newNode(t, store, scripted(steps("none", 0)))
				n.CollectEvery = 10 * time.Minute
				id := create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
				a, err := perdure.Load(t.Context(), store, id)
				if err != nil {
					t.Fatal(err)
				}
				drafts := []perdure.Draft{{Body: perdure.Event{Name: "pause", Notice: perdure.Pause{}}}}
				for range 500 {
					drafts = append(drafts, perdure.Draft{Body: perdure.Advice{Advisor: "m", Replays: replays}})
				}
				entries, _, err := n.Key.Commit(a, time.Now(), drafts...)
				if err == nil {
					err = store.Put(t.Context(), id, entries...)
				}
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- n.Run(ctx) }()
				time.Sleep(3 * time.Hour)
				before := store.Read
				time.Sleep(48 * time.Hour)
				if read := store.Read - before; read > 500 {
					t.Errorf("%d entries were read in two days in which nothing happened", read)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if got, err := n.Expired(t.Context(), id); err != nil || !replays && got.Entries > 0 {
					t.Errorf("%d entries are left to be dropped, %v", got.Entries, err)
				}
			})
		})
	}
}

// TestAnEventIsNotWrittenAgainAfterItsBodyWent: what comes a second time changes nothing, however late.
func TestAnEventIsNotWrittenAgainAfterItsBodyWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(steps("none", 0)))
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		tell := func() *perdure.Entry {
			e, err := n.Tell(t.Context(), id, perdure.Event{Name: "paid", By: "hook", ID: "m1"})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		if first := tell(); tell().Name != first.Name {
			t.Error("the second is not the first")
		}
		time.Sleep(2 * time.Hour)
		if got, err := n.Collect(t.Context(), id); err != nil || got.Entries == 0 {
			t.Fatalf("%d bodies went, %v", got.Entries, err)
		}
		before := load(t, store, id).Count
		for range 2 {
			ev, _ := tell().Content().(perdure.Event)
			if _, ok := ev.Notice.(perdure.Pruned); !ok {
				t.Errorf("got %+v, want the record of the collection", ev)
			}
		}
		if got := load(t, store, id).Count; got != before {
			t.Errorf("it was written %d times more", got-before)
		}
	})
}

// feedCounter counts how often the entries of an agent are asked for, and what is read of what arrived.
type feedCounter struct {
	copytest.Counter
	asked, fed int
}

func (s *feedCounter) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	s.asked++
	return s.Counter.Entries(ctx, id, after)
}

func (s *feedCounter) Feed(ctx context.Context, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range s.MemStore.Feed(ctx, after) {
			if s.fed++; !yield(item, err) {
				return
			}
		}
	}
}

// TestAgentsAtRestAreNotLookedAtToCollect holds against a node that listed all agents, and asked for the entries of
// each, at every round.
func TestAgentsAtRestAreNotLookedAtToCollect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &feedCounter{Counter: copytest.Counter{MemStore: new(perdure.MemStore)}}
		n := newNode(t, store, scripted(steps("none", 0)))
		n.CollectEvery = 10 * time.Minute
		var last perdure.AgentID
		for i := range 50 {
			ttl := int64(i%2) * 100 * time.Hour.Milliseconds()
			last = create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: ttl}})
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		time.Sleep(time.Hour)
		asked, fed, read := store.asked, store.fed, store.Read
		if fed == 0 {
			t.Error("nothing was read of what arrived")
		}
		time.Sleep(48 * time.Hour)
		if store.asked != asked || store.fed != fed || store.Read != read {
			t.Errorf("in two days without a change %d agents, %d arrivals and %d entries were read", store.asked-asked,
				store.fed-fed, store.Read-read)
		}
		time.Sleep(100 * time.Hour)
		if got, err := n.Expired(t.Context(), last); err != nil || got.Entries > 0 {
			t.Errorf("%d entries are left to be dropped, %v", got.Entries, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAnAgentThatALateEntryBrokeIsMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &horizon{t: t, pruned: new(perdure.MemStore), full: new(perdure.MemStore)}
		h.n = newNode(t, h.pruned, scripted(steps("none", 0)))
		h.id = create(t, h.n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()},
			Charter: perdure.Charter{Owner: h.n.Key.Key()}})
		for _, op := range []string{"tell", "copy", "tell", "tell", "elsewhere", "wait 2h", "collect", "tell"} {
			h.step(op, 0)
		}
		if e, err := h.n.Mend(t.Context(), h.id); e != nil || err != nil {
			t.Fatalf("mending a good agent came to %v, %v", e, err)
		}
		before := load(t, h.pruned, h.id)
		h.all(h.copies[0], h.pruned) // as an older version did
		if _, err := perdure.Load(t.Context(), h.pruned, h.id); !errors.Is(err, perdure.ErrRejected) {
			t.Fatalf("got %v, want an agent that cannot be folded", err)
		}
		if _, err := h.n.Mend(t.Context(), h.id); err != nil {
			t.Fatal(err)
		}
		after := load(t, h.pruned, h.id)
		if len(after.Inbox) != len(before.Inbox)+1 || len(after.Heads) != 1 {
			t.Errorf("%d messages and %d heads, want the late one of %d too, and one head", len(after.Inbox),
				len(after.Heads), len(before.Inbox)+1)
		}
		if _, err := perdure.Verify(perdure.Memory(t.Context(), h.pruned, h.id), perdure.VerifyOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := h.n.Tell(t.Context(), h.id, perdure.Event{Name: "go"}); err != nil {
			t.Error(err)
		}
	})
}

// TestSnapshotsBesideACollectionVerify that were written on the same heads before it, by a node that had the data.
func TestSnapshotsBesideACollectionVerify(t *testing.T) {
	t.Parallel()
	for range 8 { // the name decides which of them is held against the other
		synctest.Test(t, func(t *testing.T) {
			h := &horizon{t: t, pruned: new(perdure.MemStore), full: new(perdure.MemStore)}
			h.n = newNode(t, h.pruned, scripted(steps("none", 0)))
			h.id = create(t, h.n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
			h.step("tell", 0)
			h.step("tell", 0)
			a, err := perdure.Load(t.Context(), h.pruned, h.id)
			if err != nil {
				t.Fatal(err)
			}
			beside, _, err := h.n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Snapshot{Fold: *a.Fold()}})
			if err != nil {
				t.Fatal(err)
			}
			h.step("wait 2h", 0)
			h.step("collect", 0)
			if h.failed != nil || h.dropped == 0 {
				t.Fatal(h.failed, h.dropped)
			}
			if _, _, err = h.n.Trust.Join(t.Context(), h.pruned, h.id, func(yield func(*perdure.Entry, error) bool) {
				for _, e := range beside {
					if !yield(e, nil) {
						return
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			_, err = perdure.Verify(perdure.Memory(t.Context(), h.pruned, h.id), perdure.VerifyOptions{})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
