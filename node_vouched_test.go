package perdure_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
	"github.com/perdure/perdure/phase"
)

// author is a key that n trusts as author, from now on.
func author(t *testing.T, n *perdure.Node) *perdure.Signer {
	t.Helper()
	key, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	n.Trust = n.Trust.With(perdure.Trustee{Key: key.Key(), Name: "author", Rights: perdure.MayAuthor,
		Scope: perdure.AnyScope})
	return key
}

// A node that tells its agent much puts no snapshot on top of what a stranger wrote into it: that would admit it.
func TestTellingVouchesForNothing(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(nothing))
	n.SnapshotEvery = 4
	id := create(t, n, perdure.Genesis{})
	s := on(t, loaded(t, store, id))
	s.write(perdure.Event{Name: "hello"})
	put(t, store, id, s.all...)
	for range 12 {
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go"}); err != nil {
			t.Fatal(err)
		}
	}
	if n.Trust.Counts(loaded(t, store, id)) == nil {
		t.Error("what the stranger wrote counts")
	}
}

// The bodies that a collection drops are stood for by a snapshot that counts. Nobody could resume from that of an
// author, and nothing would ever be collected.
func TestNoAuthorsSnapshotStandsForWhatIsCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(nothing))
		key := author(t, n)
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		for range 3 {
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go"}); err != nil {
				t.Fatal(err)
			}
		}
		copytest.Write(t, store, id, key, perdure.Snapshot{Fold: *load(t, store, id)})
		time.Sleep(2 * time.Hour)
		c, err := n.Collect(t.Context(), id)
		if err != nil || c.Entries == 0 {
			t.Fatalf("%+v %v, want something collected", c, err)
		}
		if _, err := n.Trust.Load(t.Context(), store, id); err != nil {
			t.Errorf("after the collection: %v", err)
		}
	})
}

// An agent is mended from a snapshot that counts, whatever an author says that it comes to.
func TestAnAgentIsMendedFromNoAuthorsSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &horizon{t: t, pruned: new(perdure.MemStore), full: new(perdure.MemStore)}
		h.n = newNode(t, h.pruned, scripted(nothing))
		key := author(t, h.n)
		h.id = create(t, h.n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		for _, op := range []string{"tell", "copy", "tell", "tell", "elsewhere", "wait 2h", "collect", "tell"} {
			h.step(op, 0)
		}
		lie := *load(t, h.pruned, h.id)
		lie.Intent.Goal = "pay mallory"
		copytest.Write(t, h.pruned, h.id, key, perdure.Snapshot{Fold: lie})
		h.all(h.copies[0], h.pruned)
		if _, err := h.n.Mend(t.Context(), h.id); err != nil {
			t.Fatal(err)
		}
		if got := load(t, h.pruned, h.id).Intent.Goal; got != "be tested" || h.failed != nil {
			t.Errorf("its goal is %q, %v", got, h.failed)
		}
	})
}

// An agent that does not count here may get more of the same, whoever collected it: nothing is done for it.
func TestWhatDoesNotCountJoinsWithoutBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, here := new(perdure.MemStore), new(perdure.MemStore)
		n := newNode(t, there, scripted(nothing))
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
		copytest.Merge(t, there, here, id)
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go", Data: words("words")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		other := newNode(t, there, scripted(nothing)) // whose key owns agents there
		if c, err := other.Collect(t.Context(), id); err != nil || c.Entries == 0 {
			t.Fatalf("%+v %v, want something collected", c, err)
		}
		a, added, err := new(perdure.Trust).Join(t.Context(), here, id, perdure.Memory(t.Context(), there, id))
		if err != nil || added == 0 || new(perdure.Trust).Counts(a) == nil {
			t.Errorf("%d entries joined, %v", added, err)
		}
	})
}

// An agent that is held is told nothing, but by its owner, and answered: an answer is judged by itself.
func TestWhatIsSaidToAHeldAgentIsRefused(t *testing.T) {
	store := new(perdure.MemStore)
	pay, _ := counter("pay", perdure.Once)
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	s := on(t, loaded(t, store, id))
	s.write(perdure.Event{Name: "hello"})
	put(t, store, id, s.all...)
	other := newNode(t, store, scripted(nothing))
	before := load(t, store, id).Count
	for what, do := range map[string]func() error{
		"a pause": func() error { _, err := other.Pause(t.Context(), id, ""); return err },
		"an end":  func() error { _, err := other.Cancel(t.Context(), id, ""); return err },
		"an edit": func() error {
			_, err := other.Edit(t.Context(), id, perdure.Mutate{Goal: new("x")}, nil)
			return err
		},
		"an event": func() error { _, err := other.Tell(t.Context(), id, perdure.Event{Name: "x"}); return err },
	} {
		if err := do(); !errors.Is(err, perdure.ErrDenied) {
			t.Errorf("%s: %v, want it denied", what, err)
		}
	}
	if after := load(t, store, id).Count; after != before {
		t.Errorf("%d entries were written", after-before)
	}
	q := load(t, store, id).Asks[0]
	if _, err := other.Approve(t.Context(), id, q.Digest, 0, ""); errors.Is(err, perdure.ErrDenied) {
		t.Errorf("an answer: %v", err)
	}
	if _, err := n.Pause(t.Context(), id, ""); err != nil {
		t.Errorf("its owner: %v", err)
	}
}

// Somebody who must say whether something happened is waited for, before any node that could ask has looked.
func TestWhatIsInDoubtWaitsForAPerson(t *testing.T) {
	store := new(perdure.MemStore)
	n, other := newNode(t, store, scripted(nothing)), newNode(t, store, scripted(nothing))
	now := time.Now()
	for what, x := range map[string]struct {
		at       time.Time
		deadline time.Duration
		doubt    bool
		want     phase.Standing
	}{
		"under way":         {now, time.Hour, false, phase.StandingRunning},
		"past its deadline": {now, -time.Hour, false, phase.StandingWaiting},
		"in doubt":          {now, time.Hour, true, phase.StandingWaiting},
		"begun in a future": {now.Add(1000 * time.Hour), 1000 * time.Hour, false, phase.StandingWaiting},
	} {
		id := create(t, n, perdure.Genesis{})
		d := open("pay", perdure.Once)
		d.Deadline = perdure.TimeOf(x.at.Add(x.deadline))
		s := &stranger{t: t, key: n.Key, a: loaded(t, store, id), at: x.at}
		s.write(d)
		put(t, store, id, s.all...)
		if x.doubt { // by somebody who cannot know; and something else can go on
			copytest.Write(t, store, id, other.Key, perdure.Outcome{Decision: s.all[0].Name, Signal: perdure.Failed})
			copytest.Write(t, store, id, n.Key, open("look", perdure.Read))
		}
		if got := loaded(t, store, id).Standing(n.Trust, perdure.Place{}, now); got != x.want {
			t.Errorf("%s: it is %s, want %s", what, got, x.want)
		}
	}
}
