package capsule

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

func take(t testing.TB, s perdure.Store, b []byte, o ImportOptions) (*Arrival, error) {
	t.Helper()
	return Import(t.Context(), s, bytes.NewReader(b), o)
}

func TestCopiesRelate(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("a")
	first, a1 := w.commit(a, event("first", 10, 1))
	left, _ := w.commit(a1, event("left", 10, 1))
	right, _ := w.commit(a1, event("right", 10, 1))
	capsule := func(entries ...*perdure.Entry) []byte {
		s, id := put(t, entries...)
		return exported(t, s, id, Options{})
	}
	old, one, two := capsule(g, first[0]), capsule(g, first[0], left[0]), capsule(g, first[0], right[0])
	s := new(perdure.MemStore)
	for _, step := range []struct {
		what    string
		capsule []byte
		want    Relation
		entries int
	}{
		{"a new agent", old, Created, 2}, {"the same again", old, Same, 2}, {"a newer copy", one, Newer, 3},
		{"another branch", two, Diverged, 4},
		{"a branch that is here", one, Older, 4},
	} {
		got, err := take(t, s, step.capsule, ImportOptions{Anyone: true, Older: true})
		if err != nil || got.Relation != step.want {
			t.Fatalf("%s: %v, %v, want %v", step.what, got, err, step.want)
		}
		n := 0
		for range perdure.Memory(t.Context(), s, g.ID()) {
			n++
		}
		if n != step.entries {
			t.Fatalf("%s: %d entries, want %d", step.what, n, step.entries)
		}
	}
	_, err := take(t, s, old, ImportOptions{Anyone: true})
	refused(t, "an older copy", err, PredRollback)
}

func TestBadCapsulesLeaveNothingBehind(t *testing.T) {
	s, id := simple(t, 20)
	good := exported(t, s, id, Options{})
	for name, bad := range map[string][]byte{
		"cut": good[:len(good)-5], "flipped at the end": flip(good, len(good)-200),
		"flipped in the middle": flip(good, len(good)/2),
	} {
		to := new(perdure.MemStore)
		if _, err := take(t, to, bad, ImportOptions{Anyone: true}); !errors.Is(err, perdure.ErrRejected) {
			t.Errorf("%s: got %v, want a rejection", name, err)
		}
		if _, err := to.Heads(t.Context(), id); !errors.Is(err, perdure.ErrNotFound) {
			t.Errorf("%s: the store holds something: %v", name, err)
		}
	}
}

func TestArrivalsAreHeldUntilAdmitted(t *testing.T) {
	s, id := simple(t, 10)
	here := newAuthor()
	to := new(perdure.MemStore)
	got, err := take(t, to, exported(t, s, id, Options{}), ImportOptions{Anyone: true, Key: here.Signer, Now: began})
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Load(t.Context(), to, id)
	if err != nil {
		t.Fatal(err)
	}
	if f := a.Fold(); f.State() != phase.Dormant || len(f.Paused) != 1 || f.Paused[0] != got.Hold {
		t.Fatalf("an arriving agent is %v, paused by %v, want dormant by %s", f.State(), f.Paused, got.Hold.Short())
	}
	es, _ := here.commit(a, perdure.Event{Name: "admitted", Notice: perdure.Resume{Of: []perdure.Hash{got.Hold}}})
	if a, err = a.Apply(es...); err != nil || len(a.Fold().Paused) != 0 {
		t.Fatalf("after a resume the agent is paused by %v, %v", a.Fold().Paused, err)
	}
}

func TestHoldsAreNothingNew(t *testing.T) {
	w, here := newAuthor(), newAuthor()
	g, a := w.genesis("a")
	first, a1 := w.commit(a, event("first", 10, 1))
	second, _ := w.commit(a1, event("second", 10, 1))
	from, id := put(t, g, first[0])
	old := exported(t, from, id, Options{})
	if err := from.Put(t.Context(), id, second...); err != nil {
		t.Fatal(err)
	}
	s := new(perdure.MemStore)
	came, err := take(t, s, old, ImportOptions{Anyone: true, Key: here.Signer, Now: began})
	if err != nil {
		t.Fatal(err)
	}
	again := func(what string, file []byte, want Relation) {
		t.Helper()
		if got, err := take(t, s, file, ImportOptions{Anyone: true, Key: here.Signer}); err != nil ||
			got.Relation != want ||
			!got.Hold.IsZero() {
			t.Fatalf("%s: got %+v, %v, want %v", what, got, err, want)
		}
	}
	tell := func(n perdure.Notice) {
		t.Helper()
		a := must(perdure.Load(t.Context(), s, id))
		es, _ := here.commit(a, perdure.Event{Name: "told", Notice: n})
		if err := s.Append(t.Context(), id, a.Heads(), es...); err != nil {
			t.Fatal(err)
		}
	}
	again("on hold", old, Same)
	tell(perdure.Resume{Of: []perdure.Hash{came.Hold}})
	again("admitted", old, Same)
	again("grown elsewhere", exported(t, from, id, Options{}), Newer)
	_, err = take(t, s, old, ImportOptions{Anyone: true})
	refused(t, "older than what came since", err, PredRollback)
	s = new(perdure.MemStore)
	if _, err = take(t, s, old, ImportOptions{Anyone: true}); err != nil {
		t.Fatal(err)
	}
	tell(perdure.Pause{Note: "a person's"})
	_, err = take(t, s, old, ImportOptions{Anyone: true})
	refused(t, "older than a pause that was not for its arrival", err, PredRollback)
}

// holdOn is the id of the hold of an agent with these heads.
func holdOn(heads []perdure.Hash) string {
	var all []byte
	for _, h := range heads {
		all = append(all, h[:]...)
	}
	return "held-" + perdure.HashOf(all).String()
}

// A pause is a hold by what it is, not by what it is called: who can name an event must not make an older copy pass for
// the same.
func TestAPauseByAPersonIsNoHold(t *testing.T) {
	for _, c := range []struct {
		what string
		of   func(on []perdure.Hash) perdure.Event
		want Relation
	}{
		{"of a person, called as a hold is", func(on []perdure.Hash) perdure.Event {
			return perdure.Event{Name: "arrived", By: "ada", ID: holdOn(on), Notice: perdure.Pause{}}
		}, Older},
		{"with the id of another hold", func([]perdure.Hash) perdure.Event {
			return perdure.Event{Name: "arrived", ID: holdOn(nil), Notice: perdure.Pause{}}
		}, Older},
		{"that is a hold, called otherwise", func(on []perdure.Hash) perdure.Event {
			return perdure.Event{Name: "wait", ID: holdOn(on), Notice: perdure.Pause{}}
		}, Same},
	} {
		w := newAuthor()
		g, a := w.genesis("a")
		first, a1 := w.commit(a, event("first", 10, 1))
		s, id := put(t, g, first[0])
		copied := exported(t, s, id, Options{})
		paused, a2 := w.commit(a1, c.of(a1.Heads()))
		if err := s.Put(t.Context(), id, paused...); err != nil {
			t.Fatal(err)
		}
		got, err := take(t, s, copied, ImportOptions{Anyone: true, Older: true})
		if err != nil || got.Relation != c.want {
			t.Errorf("a pause %s: %v, %v, want %v", c.what, got, err, c.want)
		}
		// a pause on top of what happened here is no hold of what arrived
		more, a3 := w.commit(a2, event("more", 10, 1))
		again, _ := w.commit(a3, c.of(a3.Heads()))
		if err := s.Put(t.Context(), id, append(more, again...)...); err != nil {
			t.Fatal(err)
		}
		if got, err := take(t, s, copied, ImportOptions{Anyone: true, Older: true}); err != nil ||
			got.Relation != Older {
			t.Errorf("a pause %s, and more: %v, %v, want it older", c.what, got, err)
		}
	}
}

// What only holds an agent, ends holds or vouches for it is nothing that an older copy lacks; what people said is.
func TestOnlyWhatHoldsOrAdmitsIsNothingNew(t *testing.T) {
	paused := func(by string) []perdure.Body {
		return []perdure.Body{perdure.Event{Name: "arrived", By: by, Notice: perdure.Pause{}}}
	}
	for what, c := range map[string]struct {
		in, since func(a *perdure.Agent) []perdure.Body // what is in the copy, and what came here since
		want      Relation
	}{
		"an admission": {nil, func(*perdure.Agent) []perdure.Body {
			return []perdure.Body{perdure.Event{Name: "admitted", Notice: perdure.Admitted{}}}
		}, Same},
		"a snapshot": {nil, func(a *perdure.Agent) []perdure.Body {
			return []perdure.Body{perdure.Snapshot{Fold: *a.Fold()}}
		}, Same},
		"a hold of an earlier version": {nil, func(*perdure.Agent) []perdure.Body { return paused("") }, Same},
		"a pause of a person that is called so": {nil, func(*perdure.Agent) []perdure.Body {
			return paused("ada")
		}, Older},
		"the resume of a pause that is in the copy": {
			func(*perdure.Agent) []perdure.Body { return paused("ada") },
			func(a *perdure.Agent) []perdure.Body {
				return []perdure.Body{perdure.Event{Name: "resume", Notice: perdure.Resume{Of: a.Fold().Paused}}}
			}, Older,
		},
		"a resume of nothing": {nil, func(*perdure.Agent) []perdure.Body {
			return []perdure.Body{perdure.Event{Name: "resume", Notice: perdure.Resume{}}}
		}, Older},
	} {
		w := newAuthor()
		g, a := w.genesis("a")
		s, id := put(t, g)
		write := func(of func(a *perdure.Agent) []perdure.Body) {
			if of == nil {
				return
			}
			var es []*perdure.Entry
			es, a = w.commit(a, of(a)...)
			if err := s.Put(t.Context(), id, es...); err != nil {
				t.Fatal(err)
			}
		}
		write(c.in)
		copied := exported(t, s, id, Options{})
		write(c.since)
		if got, err := take(t, s, copied, ImportOptions{Anyone: true, Older: true}); err != nil ||
			got.Relation != c.want {
			t.Errorf("%s: got %v, %v, want %v", what, got, err, c.want)
		}
	}
}

func TestPolicySaysWhoComesIn(t *testing.T) {
	s, id := simple(t, 10)
	file := exported(t, s, id, Options{})
	here := newAuthor()
	for _, c := range []struct {
		what       string
		answer     perdure.Answer
		hold       *perdure.Signer
		here, held bool
	}{
		{"allowed", perdure.Allow, here.Signer, true, false},
		{"asked", perdure.Ask, here.Signer, true, true},
		{"asked, and a person says yes", perdure.Ask, nil, true, false},
		{"denied", perdure.Deny, here.Signer, false, false},
		{"denied, whatever a person says", perdure.Deny, nil, false, false},
	} {
		to := new(perdure.MemStore)
		asked := 0
		o := ImportOptions{Anyone: true, Key: c.hold, Admit: func(a *perdure.Agent) perdure.Verdict {
			if asked++; a.ID() != id {
				t.Errorf("%s: asked about %s", c.what, a.ID())
			}
			return perdure.Verdict{Answer: c.answer, Reason: "because"}
		}}
		got, err := take(t, to, file, o)
		if _, missing := to.Heads(t.Context(), id); c.here != (missing == nil) || errors.Is(err, ErrDenied) == c.here ||
			asked != 1 {
			t.Errorf("%s: %v, asked %d times, in the store: %v", c.what, err, asked, missing)
		}
		if c.here && got.Hold.IsZero() == c.held {
			t.Errorf("%s: hold %s", c.what, got.Hold.Short())
		}
		if !c.here {
			continue
		}
		if _, err := take(t, to, file, o); err != nil || asked != 1 {
			t.Errorf("%s, again: %v, asked %d times", c.what, err, asked)
		}
	}
}

func TestStrangersAreRefused(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("a")
	es, a := w.commit(a, event("x", 10, 1))
	snap, a := w.commit(a, snapshot(a))
	more, _ := w.commit(a, event("y", 10, 1))
	s, id := put(t, g, es[0], snap[0], more[0])
	trust := perdure.NewTrust(perdure.Trustee{Key: w.Key(), Rights: perdure.MayOwn, Scope: "acme"})
	for _, d := range []Depth{perdure.Full, perdure.Headers} {
		b := exported(t, s, id, Options{Depth: d})
		_, err := take(t, new(perdure.MemStore), b, ImportOptions{Trust: new(perdure.Trust), Refuse: true})
		refused(t, "a stranger's agent at depth "+d.String(), err, "key.trusted")
		if got, err := take(t, new(perdure.MemStore), b, ImportOptions{Trust: new(perdure.Trust)}); err != nil ||
			got.Stranger == nil {
			t.Errorf("a stranger's agent at depth %s: %+v, %v, want it to come and not count", d, got, err)
		}
		if _, err := take(t, new(perdure.MemStore), b, ImportOptions{Trust: trust}); err != nil {
			t.Fatalf("a trusted agent at depth %v: %v", d, err)
		}
	}
	end := exported(t, s, id, Options{Depth: perdure.Last(0)})
	if got, err := take(t, new(perdure.MemStore), end, ImportOptions{Trust: new(perdure.Trust)}); err != nil ||
		got.Stranger == nil {
		t.Errorf("a stranger's end of a memory: %+v, %v, want it to come and not count", got, err)
	}
	to, _ := put(t, g, es[0])
	if got, err := take(t, to, end, ImportOptions{Trust: trust}); err != nil || got.Relation != Diverged &&
		got.Relation != Newer {
		t.Fatalf("the end of a memory whose beginning is here: %v, %v", got, err)
	}
	if foldHash(t, to, id) != foldHash(t, s, id) {
		t.Fatal("a memory put together from its beginning and its end folds to something else")
	}
	_, err := take(t, new(perdure.MemStore), end, ImportOptions{Trust: new(perdure.Trust), Refuse: true})
	refused(t, "a stranger's end of a memory", err, "key.trusted")
}

func TestLargeCapsulesArriveAtOnce(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("large")
	s, id := put(t, g)
	for i := range 20 {
		es, next := w.commit(a, event("blob", 2<<20, uint64(i)), event("small", 10, 1))
		if err := s.Append(t.Context(), id, a.Heads(), es...); err != nil {
			t.Fatal(err)
		}
		a = next
	}
	to := &countingStore{MemStore: new(perdure.MemStore)}
	if _, err := take(t, to, exported(t, s, id, Options{}), ImportOptions{Anyone: true}); err != nil {
		t.Fatal(err)
	}
	if to.puts != 1 {
		t.Errorf("40 MiB arrived in %d parts, want all at once: a part is an older copy", to.puts)
	}
	if foldHash(t, to, id) != foldHash(t, s, id) {
		t.Error("what arrived folds to something else")
	}
	for range to.Due(t.Context(), time.Now()) {
		return
	}
	t.Error("the agent is not due after the import")
}

// countingStore counts what it is given.
type countingStore struct {
	*perdure.MemStore
	puts int
}

func (s *countingStore) PutAll(ctx context.Context, id perdure.AgentID,
	entries iter.Seq2[*perdure.Entry, error]) error {
	s.puts++
	return s.MemStore.PutAll(ctx, id, entries)
}

func (s *countingStore) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	s.puts++
	return s.MemStore.Put(ctx, id, entries...)
}

// flip is b with one bit of the byte at i changed.
func flip(b []byte, i int) []byte {
	c := bytes.Clone(b)
	c[i] ^= 1 << (i % 8)
	return c
}

// Whoever names nobody to trust takes in nothing.
func TestImportWithoutTrustIsRefused(t *testing.T) {
	s, id := simple(t, 5)
	to := new(perdure.MemStore)
	_, err := take(t, to, exported(t, s, id, Options{}), ImportOptions{})
	if refused := new(perdure.Rejection); !errors.As(err, &refused) || refused.Predicate != "key.trusted" {
		t.Errorf("got %v, want it refused by key.trusted", err)
	}
	if _, err := perdure.Load(t.Context(), to, id); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("got %v, want nothing written", err)
	}
}
