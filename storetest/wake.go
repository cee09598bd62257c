package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

var waking = map[string]func(*testing.T, *suite){
	"NoWakeUpIsLost":               testNoWakeUpLost,
	"AUnionWakesWhatNoBranchWakes": testUnionWakes,
	"AStaleReleaseHidesNothing":    testStaleRelease,
}

// slumber is a decision to sleep until a trigger is met.
func slumber(t perdure.Trigger) perdure.Decision {
	return perdure.Decision{Action: perdure.Sleep{Trigger: t}, Verdict: perdure.Verdict{Answer: perdure.Allow}}
}

func isDue(looks []perdure.Look, id perdure.AgentID) bool {
	return slices.ContainsFunc(looks, func(l perdure.Look) bool { return l.Agent == id })
}

// testUnionWakes lets two who cannot see each other tell an agent half of what it waits for.
func testUnionWakes(t *testing.T, s *suite) {
	w := newAuthor(t)
	a := s.grow(w, s.create(w, "a"), began, slumber(perdure.All{Of: []perdure.Trigger{perdure.On{Event: "one"},
		perdure.On{Event: "two"}}}))
	one, _ := w.commit(a, began, event("one", 10))
	two, _ := w.commit(a, began, event("two", 10))
	s.put(t, a.ID(), one...)
	if got := due(t, s, began.Add(time.Hour)); len(got) != 0 {
		t.Fatalf("due with half of what it waits for: %v", got)
	}
	s.put(t, a.ID(), two...)
	if got := due(t, s, began); len(got) != 1 {
		t.Fatalf("due with both halves, on two branches: %v, want the agent", got)
	}
	if !s.Volatile {
		s.reopen()
		if got := due(t, s, began); len(got) != 1 {
			t.Fatalf("due after reopening: %v, want the agent", got)
		}
	}
	if r, ok := s.Store.(reindexer); ok {
		if err := r.Reindex(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := due(t, s, began); len(got) != 1 {
			t.Fatalf("due after reindexing: %v, want the agent", got)
		}
	}
}

func testStaleRelease(t *testing.T, s *suite) {
	c := optional[perdure.Claimer](t, s.Store)
	w := newAuthor(t)
	a := s.grow(w, s.create(w, "a"), began, slumber(perdure.All{Of: []perdure.Trigger{perdure.On{Event: "one"},
		perdure.On{Event: "two"}}}))
	held := claim(t, c, a.ID(), newAuthor(t).Key(), time.Minute)
	one, seen := w.commit(a, began, event("one", 10))
	two, _ := w.commit(a, began, event("two", 10))
	s.put(t, a.ID(), one...)
	s.put(t, a.ID(), two...)
	if err := c.Release(t.Context(), held, seen.Heads(), 0); err != nil {
		t.Fatal(err)
	}
	if got := due(t, s, time.Now()); len(got) != 1 {
		t.Fatalf("due after a release by a node that had not seen all: %v, want the agent", got)
	}
}

// testNoWakeUpLost is the law of waking: whenever a node that can do everything has something to do for an agent, Due
// yields it, wherever the seat is and whoever counts as a person, whatever arrived in whatever order, and whoever
// claimed and released it meanwhile.
func testNoWakeUpLost(t *testing.T, s *suite) {
	rapid.Check(t, func(r *rapid.T) {
		newWakeWorld(t, r, s).run()
	})
}

// wakeWorld is one agent, copies of it that are written to apart from each other, and the store they come together in.
type wakeWorld struct {
	t      *testing.T
	r      *rapid.T
	s      *suite
	cast   []author       // who own and have owned it, and approve; the first has begun it
	trust  *perdure.Trust // in all of them
	places []perdure.Hash // where its seat may be
	now    time.Time
	id     perdure.AgentID
	copies []*perdure.Agent
	writes [][]*perdure.Entry // of each copy, not in the store yet
	all    *perdure.Agent     // what the store holds
	held   perdure.Claim
	seen   *perdure.Agent // by the holder of the claim
}

func newWakeWorld(t *testing.T, r *rapid.T, s *suite) *wakeWorld {
	w := &wakeWorld{t: t, r: r, s: s, now: began, trust: new(perdure.Trust),
		places: []perdure.Hash{perdure.HashOf([]byte("here")), perdure.HashOf([]byte("there"))}}
	for _, name := range people {
		who := newAuthor(t)
		w.cast = append(w.cast, who)
		w.trust = w.trust.With(perdure.Trustee{Key: who.Key(), Name: name, Rights: perdure.MayOwn | perdure.MayApprove,
			Scope: perdure.AnyScope})
	}
	return w
}

var people = []string{"alice", "bob", "carol"}

// nodes are those that may look at the agent: one that goes by nothing, and in each place one of each person's. Each
// can do everything.
func (w *wakeWorld) nodes() []perdure.Capabilities {
	nodes := []perdure.Capabilities{{All: true}}
	for _, at := range w.places {
		for _, who := range w.cast {
			nodes = append(nodes, perdure.Capabilities{All: true, Node: who.Key(), Seat: perdure.Place{ID: at},
				Trust: w.trust})
		}
	}
	return nodes
}

func (w *wakeWorld) choose(n int) int { return rapid.IntRange(0, n-1).Draw(w.r, "choice") }

func (w *wakeWorld) run() {
	g, a := w.cast[0].genesis(perdure.Intent{}, "acme")
	w.id, w.all = a.ID(), a
	w.s.append(w.t, w.id, nil, g)
	for range 3 {
		w.copies, w.writes = append(w.copies, a), append(w.writes, nil)
	}
	for range 4 + w.choose(20) {
		w.now = w.now.Add(time.Duration(w.choose(3)) * time.Minute)
		switch w.choose(8) {
		case 0:
			w.claim()
		case 1:
			w.release()
		case 2, 3:
			w.share(w.choose(len(w.copies)))
		default:
			w.write(w.choose(len(w.copies)))
		}
		w.law()
	}
	for i := range w.copies {
		w.share(i)
		w.law()
	}
	w.release()
	w.law()
}

// write lets the owner of a copy write to it.
func (w *wakeWorld) write(i int) {
	a := w.copies[i]
	if w.choose(3) == 0 {
		a = w.merge(a, w.all)
	}
	entries, next, err := w.cast[w.choose(len(w.cast))].Commit(a, w.now, perdure.Draft{Body: w.body(a.Fold())})
	if err != nil {
		w.r.Fatal(err)
	}
	w.copies[i], w.writes[i] = next, append(w.writes[i], entries...)
}

// merge is a copy with what another has besides.
func (w *wakeWorld) merge(a, other *perdure.Agent) *perdure.Agent {
	next, err := a.Apply(slices.Collect(other.Recent())...)
	if err != nil {
		w.r.Fatal(err)
	}
	return next
}

// share brings what was written to a copy into the store, by Append where that can be, else by Put.
func (w *wakeWorld) share(i int) {
	entries := w.writes[i]
	if len(entries) == 0 {
		return
	}
	before := w.all.Heads()
	if slices.Equal(entries[0].Parents, before) {
		w.s.append(w.t, w.id, before, entries...)
	} else {
		if err := w.s.Append(w.t.Context(), w.id, entries[0].Parents, entries...); !errors.Is(err,
			perdure.ErrConflict) {
			w.r.Fatalf("append on heads that moved: got %v, want ErrConflict", err)
		}
		w.s.put(w.t, w.id, entries...)
	}
	w.all, w.writes[i] = w.merge(w.all, w.copies[i]), nil
}

func (w *wakeWorld) claim() {
	c, ok := w.s.Store.(perdure.Claimer)
	if !ok || w.held.Fence != 0 {
		return
	}
	var err error
	if w.held, err = c.Claim(w.t.Context(), w.id, newAuthor(w.t).Key(), time.Minute); err != nil {
		w.r.Fatal(err)
	}
	w.seen = w.all
}

func (w *wakeWorld) release() {
	if w.held.Fence == 0 {
		return
	}
	if w.choose(2) == 0 {
		w.seen = w.all
	}
	if err := w.s.Store.(perdure.Claimer).Release(w.t.Context(), w.held, w.seen.Heads(),
		w.seen.Fold().Due(w.now)); err != nil {
		w.r.Fatal(err)
	}
	w.held = perdure.Claim{}
}

// body is something to write that has to do with when to look.
func (w *wakeWorld) body(f *perdure.Fold) perdure.Body {
	names := []string{"one", "two", "three"}
	on := func() perdure.Trigger { return perdure.On{Event: names[w.choose(3)]} }
	switch w.choose(16) {
	case 0, 1:
		return slumber(perdure.All{Of: []perdure.Trigger{on(), on(), on()}})
	case 2:
		after := perdure.After{Millis: int64(1+w.choose(5)) * 60_000}
		return slumber(perdure.Any{Of: []perdure.Trigger{perdure.All{Of: []perdure.Trigger{on(), after}},
			perdure.All{Of: []perdure.Trigger{on(), on()}}}})
	case 3:
		k := perdure.KeyChange{Owner: w.cast[w.choose(len(w.cast))].Key()}
		if w.choose(3) == 0 {
			k = perdure.KeyChange{Revoke: newAuthor(w.t).Key()}
		}
		return perdure.Event{Name: "key", Notice: k}
	case 4:
		return perdure.Event{Name: "pause", Notice: perdure.Pause{}}
	case 5:
		return perdure.Event{Name: "resume", Notice: perdure.Resume{Of: f.Paused}}
	case 6:
		if w.choose(4) == 0 {
			return perdure.Event{Name: "cancel", Notice: perdure.Cancel{}}
		}
		return perdure.Advice{Advisor: "a"}
	case 7:
		return perdure.Decision{Action: perdure.Execute{Tool: "x"}, Effect: perdure.Effect(1 + w.choose(3)),
			Verdict:  perdure.Verdict{Answer: perdure.Allow},
			Deadline: perdure.TimeOf(w.now.Add(5 * time.Minute))}
	case 8:
		if len(f.Open) > 0 {
			return perdure.Outcome{Decision: f.Open[0].Decision, Signal: perdure.Signal(1 + w.choose(8))}
		}
	case 9, 10:
		return w.seat(f)
	case 11, 12, 13:
		return w.question(f)
	}
	return event(names[w.choose(3)], 10)
}

// seat takes the seat, or hands it over to somebody or to whoever takes it.
func (w *wakeWorld) seat(f *perdure.Fold) perdure.Body {
	var of []perdure.Hash
	for _, s := range f.Seats {
		of = append(of, s.Claim)
	}
	if len(of) == 1 && !f.Seats[0].Given {
		given := perdure.SeatGiven{At: f.Seats[0].At, Of: of, Owned: true}
		if w.choose(2) == 0 {
			given.To = w.cast[w.choose(len(w.cast))].Key()
		}
		return perdure.Event{Name: "seat-given", Notice: given}
	}
	return perdure.Event{Name: "seat-taken", Notice: perdure.SeatTaken{At: w.places[w.choose(2)], Of: of,
		Lost: w.choose(2) == 0}}
}

// question answers a question that is open, or asks one of several people.
func (w *wakeWorld) question(f *perdure.Fold) perdure.Body {
	if len(f.Asks) > 0 {
		q := f.Asks[0]
		return perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest,
			Approve: w.choose(5) > 0}}
	}
	v := perdure.Verdict{Answer: perdure.Ask, Quorum: int64(1 + w.choose(3)),
		Expires: perdure.TimeOf(w.now.Add(100 * time.Hour))}
	if w.choose(3) > 0 {
		v.Asked = people
	}
	return perdure.Decision{Action: perdure.Execute{Tool: "x"}, Verdict: v}
}

// law holds Due against what each node would do, now and later.
func (w *wakeWorld) law() {
	if w.held.Fence != 0 {
		return // the end of its lease is when somebody looks
	}
	for _, at := range []time.Time{w.now, w.now.Add(time.Duration(w.choose(20)) * time.Minute),
		w.now.Add(1000 * time.Hour)} {
		if isDue(due(w.t, w.s, at), w.id) {
			continue
		}
		for _, node := range w.nodes() {
			if step := perdure.Plan(w.all, node, at); step.Doing().What != phase.StepIdle {
				w.r.Fatalf("at %s there is %#v to do for %+v, with heads %v, and the agent is not due", at, step, node,
					texts(w.all.Heads()))
			}
		}
	}
}
